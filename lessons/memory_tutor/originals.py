"""What each lesson read when a learner got it, so that their changes are told from those of a later version."""

from __future__ import annotations

import hashlib
from pathlib import Path

from memory_tutor import course, files
from memory_tutor.progress import MARKER

FOLDER = "originals"


def keep(folder: Path, lesson: str, data: bytes) -> None:
    """Keep what a lesson read when it was given to the learner.

    It is written after the notebook: a process that is killed between the two leaves an older original, which
    the next update finds to have nothing to change.

    Args:
        folder: the learner's.
        data: the lesson's file.

    Raises:
        OSError: it cannot be written; what was kept before is still there.
    """
    file = _file(folder, lesson)
    file.parent.mkdir(exist_ok=True)
    files.replace(file, data, folder / MARKER)


def kept(folder: Path, lesson: str) -> bytes | None:
    """What the learner's notebook was made from; None in a folder that keeps no originals, or not this one."""
    return _read(_file(folder, lesson))


def decline(folder: Path, lesson: str) -> None:
    """Remember that today's version of a lesson was offered and not wanted; a later one is offered again."""
    file = _declined(folder, lesson)
    file.parent.mkdir(exist_ok=True)
    files.replace(file, _digest(lesson), folder / MARKER)


def is_declined(folder: Path, lesson: str) -> bool:
    """Whether today's version of a lesson was offered and not wanted."""
    return _read(_declined(folder, lesson)) == _digest(lesson)


def _file(folder: Path, lesson: str) -> Path:
    return folder / MARKER / FOLDER / f"{lesson}.ipynb"


def _declined(folder: Path, lesson: str) -> Path:
    return folder / MARKER / FOLDER / f"{lesson}.declined"


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:  # none was kept, or it cannot be read: the same to those who ask
        return None


def _digest(lesson: str) -> bytes:
    return hashlib.sha256(course.path("lessons", lesson).read_bytes()).hexdigest().encode() + b"\n"
