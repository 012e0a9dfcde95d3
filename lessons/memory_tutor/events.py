"""A file of events, one JSON object a line, that several processes append to and nobody rewrites."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

Event = dict[str, Any]

#: How many bytes before the place up to which a file was read must still be there when it is read on.
_SEEN = 256


class EventLog:
    """The events of a file, each of which is given out once.

    Reading goes on where it stopped, so that a question about a long history costs no more than what is new.

    Args:
        file: need not exist.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read_to = 0
        self._last_seen = b""
        self._inode: tuple[int, int] | None = None

    def append(self, event: Event) -> None:
        """Add an event.

        Raises:
            OSError: it was not written, or only a part of it.
        """
        _append_line(self._file, json.dumps(event).encode("ascii"))

    def read(self) -> tuple[bool, list[Event]]:
        """The events that are new, from whichever process.

        A line torn by a crash or edited by hand is passed over.

        Returns:
            Whether the file is another one than at the last reading, so that all its events are given again;
            and the events.

        Raises:
            OSError: it cannot be read.
        """
        try:
            with self._file.open("rb") as stream:
                anew = self._is_another(stream)
                if anew:
                    self._read_to, self._last_seen = 0, b""
                stream.seek(self._read_to)
                return anew, self._parse(stream.read())
        except FileNotFoundError:
            anew, self._read_to, self._last_seen = self._read_to > 0, 0, b""
            return anew, []

    def _is_another(self, stream: BinaryIO) -> bool:
        """Whether the file was replaced, cut or edited; notes which one it is."""
        found = os.fstat(stream.fileno())
        inode, self._inode = self._inode, (found.st_dev, found.st_ino)
        if self._read_to == 0:
            return False
        stream.seek(self._read_to - len(self._last_seen))
        return inode != self._inode or stream.read(len(self._last_seen)) != self._last_seen

    def _parse(self, data: bytes) -> list[Event]:
        lines = data.split(b"\n")
        events = [event for line in lines[:-1] if (event := _event(line)) is not None]
        read = len(data) - len(lines[-1])
        if (last := _event(lines[-1])) is not None:  # whole, although its line is not ended
            events.append(last)
            read = len(data)
        self._last_seen = (self._last_seen + data[max(0, read - _SEEN) : read])[-_SEEN:]
        self._read_to += read
        return events


def _event(line: bytes) -> Event | None:
    """The event of a line, or None if there is none that can be read."""
    if not line:
        return None
    try:
        event = json.loads(line.decode())
    except (ValueError, RecursionError):  # a UnicodeDecodeError is a ValueError
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _append_line(file: Path, line: bytes) -> None:
    """Add a line in one write, so that several processes never tear or lose each other's.

    Raises:
        OSError: it was not written, or only a part of it; the next line starts on a line of its own.
    """
    handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        _lock_where_appending_is_not_atomic(handle)
        size = os.lseek(handle, 0, os.SEEK_END)
        torn = size > 0 and _last_byte(handle, size) != b"\n"
        data = (b"\n" if torn else b"") + line + b"\n"
        if os.write(handle, data) != len(data):
            raise OSError(errno.ENOSPC, "No space left on device")
    finally:
        os.close(handle)


def _last_byte(handle: int, size: int) -> bytes:
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1)


def _lock_where_appending_is_not_atomic(handle: int) -> None:
    """On Windows an append is a seek and a write: hold a byte far behind the end until the file is closed."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, 2**30, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
