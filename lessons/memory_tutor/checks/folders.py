"""What a learner's code has left in a folder."""

from __future__ import annotations

import os
import stat
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
