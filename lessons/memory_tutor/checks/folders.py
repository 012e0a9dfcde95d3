"""What a learner's code has left in a folder, and, where the system tells, what it did there on the way."""

from __future__ import annotations

import os
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

#: How many entries are looked at in a folder, how many bytes in a file, how deep folders go.
ENTRIES, BYTES, DEPTH = 200, 4_000_000, 4

FOLDER = "a folder"


def entries(folder: Path, depth: int = DEPTH) -> dict[str, bytes | str]:
    """All that stands in a folder; what is there is not trusted.

    Returns:
        The name, relative and with "/" between its parts, to the bytes of a regular file, or to words that say
        what else is there: FOLDER, or another text. Nothing is followed, and nothing is waited for.
    """
    found: dict[str, bytes | str] = {}
    try:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            return found
        with os.scandir(folder) as scanned:
            items = sorted(islice(scanned, ENTRIES), key=lambda item: item.name)
    except OSError:
        return found
    for item in items:
        path = folder / item.name
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            found[item.name] = FOLDER
            below = entries(path, depth - 1) if depth else {}
            found.update({f"{item.name}/{name}": what for name, what in below.items()})
        else:
            found[item.name] = _read(path) if stat.S_ISREG(mode) else "no regular file"
    return found


def _read(path: Path) -> bytes | str:
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))
    try:
        number = os.open(path, flags)
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                return "no regular file"
            text = file.read(BYTES + 1)
    except OSError:
        return "a file that cannot be read"
    return text if len(text) <= BYTES else f"a file of more than {BYTES:,} bytes"


@dataclass
class Watched:
    """What happened to the names in one folder; nothing where the system does not tell.

    Args:
        removed: names that were deleted, or moved away to elsewhere or to another name.
        renamed: of these, names that were changed to another name in the folder.
        came: names that something was moved to from outside the folder; none if a folder was made in it meanwhile.
    """

    removed: set[str] = field(default_factory=set)
    renamed: set[str] = field(default_factory=set)
    came: set[str] = field(default_factory=set)


#: Of Linux's inotify: bits of an event's mask.
MOVED_FROM, MOVED_TO, CREATED, DELETED, OVERFLOW, IS_FOLDER = 0x40, 0x80, 0x100, 0x200, 0x4000, 0x4000_0000


@contextmanager
def watch(folder: Path) -> Iterator[Watched]:
    """Watch the names in a folder. Read the result after the block; it is empty on systems other than Linux."""
    watched = Watched()
    number = _start(folder)
    try:
        yield watched
        if number is not None:
            _collect(_events(number), watched)
    finally:
        if number is not None:
            os.close(number)


def _start(folder: Path) -> int | None:
    if sys.platform != "linux":
        return None
    import ctypes

    try:
        library = ctypes.CDLL(None)
        number = int(library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if number < 0:
            return None
        if library.inotify_add_watch(number, os.fsencode(folder), MOVED_FROM | MOVED_TO | CREATED | DELETED) < 0:
            os.close(number)
            return None
    except (OSError, AttributeError):
        return None
    return number


def _events(number: int) -> list[tuple[int, int, str]]:
    """Mask, cookie and name of each event."""
    found: list[tuple[int, int, str]] = []
    while True:
        try:
            data = os.read(number, 65_536)
        except OSError:  # there are no more
            return found
        while data:
            _, mask, cookie, length = struct.unpack_from("iIII", data)
            name = data[16 : 16 + length].rstrip(b"\0")
            found.append((mask, cookie, os.fsdecode(name)))
            data = data[16 + length :]


def _collect(events: list[tuple[int, int, str]], watched: Watched) -> None:
    if any(mask & OVERFLOW for mask, _, _ in events):
        return
    left = {cookie for mask, cookie, _ in events if mask & MOVED_FROM}
    arrived = {cookie for mask, cookie, _ in events if mask & MOVED_TO}
    watched.removed |= {name for mask, _, name in events if mask & (MOVED_FROM | DELETED)}
    watched.renamed |= {name for mask, cookie, name in events if mask & MOVED_FROM and cookie in arrived}
    if any(mask & IS_FOLDER and mask & (CREATED | MOVED_TO) for mask, _, _ in events):
        return
    watched.came |= {name for mask, cookie, name in events if mask & MOVED_TO and cookie not in left}
