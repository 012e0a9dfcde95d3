"""Temporary folders named after the process that makes them: what a killed one leaves can be told, and removed."""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

_NAME = re.compile(r"memory-tutor-(\d+)-([0-9a-f]{8})-\w+")


def prefix() -> str:
    """How the name of a temporary folder of this process begins."""
    return f"memory-tutor-{os.getpid()}-{_machine()}-"


def clear() -> None:
    """Remove the folders, and the links to them, that processes of this user's have left which live no more.

    Several graders may do so at once: what a living process has made is touched by none. On Windows nothing is done: to
    ask there whether a process lives can end it.
    """
    if sys.platform == "win32":
        return
    for path in _dead():
        with suppress(OSError, RecursionError):  # gone meanwhile, or deeper than Python calls itself
            if path.is_symlink():
                path.unlink()
            else:
                shutil.rmtree(path)


def _dead() -> Iterator[Path]:
    for place in {Path("/tmp"), Path(tempfile.gettempdir())}:
        for path in place.glob("memory-tutor-*"):
            name = _NAME.fullmatch(path.name)
            if name and name[2] == _machine() and _is_ours(path) and not _lives(int(name[1])):
                yield path


@cache
def _machine() -> str:
    """Whose processes are counted as this one is: machines and containers may share a folder, but not their numbers."""
    namespace = ""
    with suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return f"{zlib.crc32(f'{platform.node()} {namespace}'.encode()):08x}"


def _is_ours(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return status.st_uid == os.geteuid() and (stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode))


def _lives(number: int) -> bool:
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it may be somebody else's by now: what is left stays, then
    return True
