"""The files below a folder or in a zip, listed and read without following anything out of it.

A zip is never unpacked: a member is read into memory, as far as the limit goes, so that neither its name nor the
size that it claims can do harm.
"""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Protocol

from memory_tutor.errors import TutorError
from memory_tutor.grading.records import holds_results
from memory_tutor.grading.words import shown

#: The largest file that is read, in bytes. A notebook that printed in a loop and was saved has 50 MB.
LARGEST = 64_000_000
#: How many files may lie in one place, and how deep. A class's repositories with their history stay below.
MOST, DEEPEST = 200_000, 20
#: What editors, systems and version control put beside a learner's work.
LITTER = {"__MACOSX", "__pycache__", "node_modules", "Thumbs.db", "desktop.ini"}


class PlaceError(TutorError):
    """What was named as the place of the submissions is none."""


class Unreadable(TutorError):
    """A file that cannot be marked; the message says why, and what to do."""


@dataclass(frozen=True)
class File:
    """A file of a place.

    Args:
        path: below the place.
        modified: seconds since 1970, for comparison with others of the place.
    """

    path: PurePosixPath
    modified: float


class Place(Protocol):
    """Where submissions are."""

    #: Of the folder, or of the zip without its ending.
    name: str
    #: A line for each thing that was passed over.
    notes: list[str]

    def files(self) -> list[File]:
        """The regular files, in the order of their paths."""

    def read(self, file: File) -> bytes:
        """The content of a file.

        Raises:
            Unreadable: it is too large, damaged, or no longer there.
        """


@contextmanager
def opened(path: Path, skipped: Path | None = None) -> Iterator[Place]:
    """A folder or a zip.

    Args:
        path: of it.
        skipped: a folder that may lie in it and is none of it.

    Raises:
        PlaceError: it is neither.
        OSError: it cannot be read.
    """
    if path.is_dir():
        yield Folder(path, skipped)
        return
    if not path.is_file():
        raise PlaceError(f"There is no {path}. Name the folder or the zip with your students' notebooks.")
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise PlaceError(f"{path} is no zip that can be read ({error}). Name a folder or a zip.") from error
    with archive:
        yield Zip(path.stem, archive)


def is_litter(path: PurePosixPath) -> bool:
    """Whether a path is a hidden one, or one that systems make."""
    return any(part.startswith(".") or part in LITTER for part in path.parts)


class Folder:
    """A folder on the disk.

    Args:
        path: of it. It may be a link; what is in it may not.
        skipped: a folder that may lie in it and is none of it.
    """

    def __init__(self, path: Path, skipped: Path | None = None) -> None:
        self._root = path.resolve()
        self._skipped = skipped and skipped.resolve()
        self.name = self._root.name
        self.notes: list[str] = []

    def files(self) -> list[File]:
        found: list[File] = []
        for path, status in self._walk(PurePosixPath()):
            if stat.S_ISREG(status.st_mode):
                found.append(File(path, status.st_mtime))
            else:
                what = "a link" if stat.S_ISLNK(status.st_mode) else "no ordinary file"
                self.notes.append(f"{shown(path)} is {what} and was not read.")
            if len(found) > MOST:
                raise PlaceError(f"{self._root} holds more than {MOST:,} files. Name the folder of the submissions.")
        return sorted(found, key=lambda file: file.path)

    def _walk(self, below: PurePosixPath) -> Iterator[tuple[PurePosixPath, os.stat_result]]:
        try:
            entries = list(os.scandir(self._root / below))
        except OSError as error:
            if below == PurePosixPath():
                raise
            self.notes.append(f"{shown(below)} was not read: {error.strerror}.")
            return
        for entry in entries:
            path = below / entry.name
            if is_litter(path) or self._root / path == self._skipped:
                continue
            if not entry.is_dir(follow_symlinks=False):
                yield path, entry.stat(follow_symlinks=False)
            elif holds_results(self._root / path):
                self.notes.append(f"{shown(path)} holds the results of another batch and was not read.")
            elif len(path.parts) > DEEPEST:
                self.notes.append(f"{shown(path)} lies too deep and was not read.")
            else:
                yield from self._walk(path)

    def read(self, file: File) -> bytes:
        # Looked at again: between listing and reading a link or a pipe may have come in its place.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            handle = os.open(self._root / file.path, flags)
            with os.fdopen(handle, "rb") as stream:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise Unreadable("This is no ordinary file any more.")
                return _limited(stream.read(LARGEST + 1))
        except OSError as error:
            raise Unreadable(f"The file cannot be read: {error.strerror}.") from error


class Zip:
    """A zip; what is in it is read member by member.

    Args:
        name: of it.
        archive: opened.
    """

    def __init__(self, name: str, archive: zipfile.ZipFile) -> None:
        self.name = name
        self.notes: list[str] = []
        self._archive = archive
        self._members: dict[PurePosixPath, zipfile.ZipInfo] = {}

    def files(self) -> list[File]:
        members = self._archive.infolist()
        if len(members) > MOST:
            raise PlaceError(f"The zip holds more than {MOST:,} files. Name the folder of the submissions.")
        for member in members:
            name = _name(member)
            path = PurePosixPath(name)
            if name.endswith("/") or not path.parts or (not _leads_out(path) and is_litter(path)):
                continue
            if trouble := _trouble(path, member):
                self.notes.append(f"{shown(name)} {trouble} and was not read.")
            elif path in self._members:
                self.notes.append(f"{shown(name)} is in the zip twice; the later one was read.")
                self._members[path] = member
            else:
                self._members[path] = member
        return [File(path, _moment(member)) for path, member in sorted(self._members.items())]

    def read(self, file: File) -> bytes:
        member = self._members[file.path]
        try:
            with self._archive.open(member) as stream:
                return _limited(stream.read(LARGEST + 1))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
            raise Unreadable(f"It is damaged in the zip ({error}). It is needed again.") from error
        except (RuntimeError, NotImplementedError) as error:  # a password, or a way of packing that Python lacks
            if member.flag_bits & 1:
                raise Unreadable(
                    "It has a password in the zip. Unpack the zip with it, and name the folder."
                ) from error
            raise Unreadable(f"It cannot be unpacked ({error}). It is needed again.") from error


def _limited(data: bytes) -> bytes:
    if len(data) > LARGEST:
        raise Unreadable(
            f"It has more than {LARGEST // 1_000_000} MB. The notebook is needed without its outputs "
            "(JupyterLab: Edit, Clear Outputs of All Cells)."
        )
    return data


def _name(member: zipfile.ZipInfo) -> str:
    """The name of a member, with slashes.

    Macs write UTF-8 without saying so, which zipfile reads as code page 437; old Windows tools write backslashes.
    """
    name = member.filename
    if not member.flag_bits & 0x800:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _leads_out(path: PurePosixPath) -> bool:
    return path.is_absolute() or ".." in path.parts or path.parts[0].endswith(":")


def _trouble(path: PurePosixPath, member: zipfile.ZipInfo) -> str:
    """Why a member is not read, if so."""
    mode = member.external_attr >> 16
    if _leads_out(path):
        return "has a name that leads out of the zip"
    if stat.S_ISLNK(mode):
        return "is a link"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "is no ordinary file"
    if len(path.parts) > DEEPEST:
        return "lies too deep"
    return ""


def _moment(member: zipfile.ZipInfo) -> float:
    try:
        return datetime(*member.date_time).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
