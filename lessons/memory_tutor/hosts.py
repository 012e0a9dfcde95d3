"""Where a learner's process runs: a host starts it, and has a folder that both sides reach.

`ThisMachine` starts it as any program of this user. `grading.sandbox` has another host, which keeps it in.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, ClassVar, Protocol, TypeVar

from memory_tutor import leftovers, orphans
from memory_tutor.limits import Limits

T = TypeVar("T")
#: Variables that a learner's code has no business with.
SECRET = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY")
#: Variables without which Python does not start, or finds no programs.
NEEDED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "VIRTUAL_ENV", "PYTHONPATH", "DYLD_LIBRARY_PATH")


class Running(Protocol):
    """A process that `memory_tutor.process` runs in."""

    #: What it says, and where it listens.
    incoming: IO[bytes]
    outgoing: IO[bytes]

    @property
    def stopped(self) -> str:
        """Why its host has ended it, a sentence; "" if it has not."""

    def end(self) -> None:
        """Kill it and all that it has started; harmless when it has ended."""


class Host(Protocol):
    """Starts the processes of one notebook, one after another."""

    def start(self) -> Running:
        """Start a process.

        Raises:
            OSError: it cannot be started.
        """

    def folder(self) -> str:
        """Make an empty folder that the learner's code and the check reach by this path."""

    def no_room(self) -> str:
        """That the learner's code has used up what room there is for its files, a sentence; "" if it has not.

        What is full beside, such as the disk of this machine, is not the learner's doing.
        """

    def run(self, function: Callable[..., T], *args: object) -> T:
        """Do something of the check's with files that the learner's code has made, where these files are.

        Args:
            function: of a module that imports nothing of this package.
            args: plain values, which the returned value is, too.
        """

    def close(self) -> None:
        """Remove the folders and all that is in them."""


class ThisMachine:
    """A host that keeps nobody in: for the learner's own machine, and where there is no sandbox.

    Args:
        directory: in which the cells run; None for one of their own.
        limits: for the process; None for those that hold anyway. With limits, it gets only what it needs of the
            environment, and what it has started ends with it, if this is Linux.
    """

    def __init__(self, directory: Path | None = None, limits: Limits | None = None) -> None:
        self._directory = directory
        self._limits = limits
        self._folders: list[tempfile.TemporaryDirectory[str]] = []

    def start(self) -> Running:
        return _Process(self._directory, self._limits)

    def folder(self) -> str:
        # On Windows a file that the learner's code has left open cannot be removed.
        self._folders.append(tempfile.TemporaryDirectory(prefix=leftovers.prefix(), ignore_cleanup_errors=True))
        return self._folders[-1].name

    def no_room(self) -> str:
        return ""

    def run(self, function: Callable[..., T], *args: object) -> T:
        return function(*args)

    def close(self) -> None:
        while self._folders:
            _remove(self._folders.pop())


def _remove(folder: tempfile.TemporaryDirectory[str]) -> None:
    """Remove a folder with all that a learner's code has left in it, as far as that can be done."""
    with suppress(RecursionError):  # folders within each other, more of them than Python calls itself
        folder.cleanup()


class _Process:
    """A process of this user's; see `ThisMachine`."""

    stopped = ""
    #: The numbers of all that live: what one of them leaves behind is told from the others by it.
    _living: ClassVar[set[int]] = set()

    def __init__(self, directory: Path | None, limits: Limits | None) -> None:
        self._others = None if limits is None else orphans.adopt()
        self._folder = tempfile.TemporaryDirectory(prefix=leftovers.prefix(), ignore_cleanup_errors=True)
        known = os.environ if limits is None else {name: os.environ[name] for name in NEEDED if name in os.environ}
        environment = {name: value for name, value in known.items() if name not in SECRET}
        # IPython keeps a profile somewhere: not in the user's own folder.
        environment |= {"MEMORY_TUTOR_LEARNER": "1", "IPYTHONDIR": self._folder.name}
        # It is killed in the end and cannot tidy up: what its code puts into temporary folders goes with it.
        environment |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder.name)
        if limits is not None:
            environment["HOME"] = self._folder.name
        self._popen = subprocess.Popen(
            # -P: a file of the learner's folder must not stand for a module of ours.
            [sys.executable, "-P", "-m", "memory_tutor.process", *([json.dumps(asdict(limits))] if limits else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=directory or self._folder.name,
            start_new_session=True,
        )
        self._living.add(self._popen.pid)
        assert self._popen.stdin is not None and self._popen.stdout is not None
        self.incoming, self.outgoing = self._popen.stdout, self._popen.stdin

    def end(self) -> None:
        if self._popen.returncode is not None:
            return
        if sys.platform == "win32":
            self._popen.kill()
        else:
            # Before anyone has waited for it: until then its number, and so its group's, is its own.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        self._living.discard(self._popen.pid)
        if self._others is not None:  # a process that has left its group is not killed with it
            orphans.end(self._others | self._living)
        _remove(self._folder)
