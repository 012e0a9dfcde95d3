"""Processes that a notebook's code has started and that have outlived it, where no sandbox ends them.

Linux gives those that have lost their parent to the nearest process above that has asked for them. Other systems give
them to the first process of the machine, and nobody can tell any more whose they were.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Set
from contextlib import suppress
from pathlib import Path

#: Seconds for ending them, and between two looks: whoever is ended may leave others.
PATIENCE, LOOK = 5.0, 0.005
_PR_SET_CHILD_SUBREAPER = 36


def adopt() -> frozenset[int]:
    """From now on, be the parent of each process below this one that loses its own.

    Returns:
        The numbers of the children that this process has already; none where there is no such thing as adoption.
    """
    if sys.platform != "linux":
        return frozenset()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return _children()


def end(known: Set[int]) -> None:
    """End all children, and what they leave, until none is there.

    Args:
        known: numbers of those that stay.
    """
    if sys.platform != "linux":
        return
    last = time.monotonic() + PATIENCE
    while (orphans := _children() - known) and time.monotonic() < last:
        for number in orphans:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        time.sleep(LOOK)
        for number in orphans:
            with suppress(ChildProcessError):
                os.waitpid(number, os.WNOHANG)


def _children() -> frozenset[int]:
    """The processes whose parent this one is, also those that have ended and that nobody has waited for."""
    return frozenset(int(place.name) for place in Path("/proc").glob("[0-9]*") if _parent(place) == os.getpid())


def _parent(place: Path) -> int:
    """The number of a process's parent, 0 if it has gone meanwhile."""
    try:
        # Behind the program's name, which may be any text in brackets.
        return int((place / "stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0
