"""Writing a file whole or not at all, and never over another by accident."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def create(file: Path, data: bytes, scratch: Path) -> bool:
    """Write a new file, whole or not at all, and never over another.

    Args:
        file: to create.
        data: its content.
        scratch: a folder on the same disk for the temporary file.

    Returns:
        False if something of this name exists.
    """
    if os.path.lexists(file):
        return False
    with _temporary(data, scratch) as whole:
        try:
            os.link(whole, file)
        except FileExistsError:
            return False
        except (OSError, NotImplementedError):  # a disk without hard links, as on many USB sticks
            return _create_in_place(file, data)
    return True


def _create_in_place(file: Path, data: bytes) -> bool:
    try:
        stream = file.open("xb")
    except FileExistsError:
        return False
    try:
        with stream:
            _fill(stream, data)
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    return True


def replace(file: Path, data: bytes, scratch: Path) -> None:
    """Replace a file's content, whole or not at all; make it if it is not there.

    Args:
        file: to write.
        data: its content.
        scratch: a folder on the same disk for the temporary file.
    """
    with _temporary(data, scratch) as whole:
        if file.exists():
            shutil.copymode(file, whole)
        whole.replace(file)


@contextmanager
def _temporary(data: bytes, scratch: Path) -> Iterator[Path]:
    """A file that holds these bytes, on the disk, and is gone afterwards unless it was moved."""
    handle, name = tempfile.mkstemp(prefix="copy-", suffix=".tmp", dir=scratch)
    try:
        with os.fdopen(handle, "wb") as stream:
            _fill(stream, data)
        Path(name).chmod(0o644)  # mkstemp makes it private; a notebook is an ordinary file
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _fill(stream: BinaryIO, data: bytes) -> None:
    """Write the whole content through to the disk: a full one shows now, not when the file is closed."""
    stream.write(data)
    stream.flush()
    os.fsync(stream.fileno())
