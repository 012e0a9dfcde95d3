"""The learner's folder: made and marked, given its lessons, and backed up."""

from __future__ import annotations

import errno
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_tutor import course, files, originals
from memory_tutor.errors import TutorError
from memory_tutor.progress import MARKER, find_folder

DEFAULT = Path("my-lessons")
#: Where the dated copies go. Not a hidden folder: JupyterLab does not show those.
BACKUPS = "backups"
#: What may stand in a folder that still counts as empty.
LITTER = {
    ".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints",
    ".git", ".gitignore", ".venv", ".vscode", ".idea",
}  # fmt: skip


class WorkspaceError(TutorError):
    """A folder cannot be a learner's folder, or is not one."""


# -- making and finding it -----------------------------------------------------------------------------


def make(folder: Path) -> Path:
    """Make a learner's folder, or go on with one.

    Args:
        folder: one that is marked, or empty, or holds the course's notebooks, or does not exist.

    Returns:
        Its absolute path.

    Raises:
        WorkspaceError: the folder is something else; nothing was changed.
        OSError: it cannot be written.
    """
    folder = _absolute(folder)
    _refuse_the_courses_own(folder)
    if folder.exists() and not folder.is_dir():
        raise WorkspaceError(f"{folder} is a file. Name a folder: memory-tutor start {DEFAULT}")
    marker = folder / MARKER
    if not marker.is_dir():
        if marker.exists():
            raise WorkspaceError(f"{marker} is a file where a folder must be. Move it away, then start again.")
        _refuse_a_folder_of_other_things(folder)
        marker.mkdir(parents=True, exist_ok=True)
    return folder


def find(folder: Path | None = None) -> Path:
    """The learner's folder that a command works on.

    Args:
        folder: the one asked for; else the nearest at or above the current folder, else `my-lessons` in it.

    Raises:
        WorkspaceError: there is none.
    """
    if folder is not None:
        place = _absolute(folder)
        if (place / MARKER).is_dir():
            return place
        raise WorkspaceError(
            f"{folder} is not a folder made by memory-tutor. To make it one: memory-tutor start {folder}\n"
            "(That opens JupyterLab, too; Ctrl+C ends it, and the folder stays.)"
        )
    found = find_folder() or find_folder(DEFAULT)
    if found is None:
        raise WorkspaceError(
            "There is no folder of lessons here. Go to the one that `memory-tutor start` made,\n"
            f"name it with --folder, or make one: memory-tutor start {DEFAULT}"
        )
    return found


def find_to_read(folder: Path | None = None) -> Path:
    """The folder whose notebooks a command looks at: one of a learner, or a named one that holds lessons.

    Args:
        folder: the one asked for, which need not be marked; else as for `find`.

    Raises:
        WorkspaceError: there is none.
    """
    if folder is not None and any(notebook(_absolute(folder), name).is_file() for name in course.lesson_names()):
        return _absolute(folder)
    return find(folder)


def _absolute(folder: Path) -> Path:
    """The folder that a name stands for.

    Raises:
        WorkspaceError: it stands for none.
    """
    try:
        return folder.expanduser().resolve()
    except RuntimeError as error:  # "~name" of nobody, or (before Python 3.13) links in a circle
        raise WorkspaceError(f"{folder} is no folder: {str(error).rstrip('.')}. Name another one.") from error


def _refuse_the_courses_own(folder: Path) -> None:
    """Raise if a folder belongs to the course itself, in this checkout or another one, or in the package."""
    parts = {"lessons", "solutions", "cassettes"}
    for place in (folder, *folder.parents):
        source = place.name in parts and (place.parent / "lessons" / "memory_tutor").is_dir()
        if source or place == course.PACKAGE:
            raise WorkspaceError(
                f"{folder} is the course's own folder. Your answers need one of their own, "
                f"for example: memory-tutor start {DEFAULT}"
            )
        if place.name == MARKER:
            raise WorkspaceError(f"{folder} is where memory-tutor keeps your progress. Name another folder.")


def _refuse_a_folder_of_other_things(folder: Path) -> None:
    if not folder.is_dir():
        return
    held = {entry.name for entry in folder.iterdir()} - LITTER
    notebooks = {name for name in held if name.endswith(".ipynb")}
    ours = {f"{name}.ipynb" for name in course.lesson_names()}
    if held and not (notebooks and notebooks <= ours):
        some = ", ".join(sorted(held)[:3]) + (", …" if len(held) > 3 else "")
        raise WorkspaceError(
            f"{folder} already holds other things ({some}). Nothing was changed.\n"
            f"Name a new folder, for example: memory-tutor start {folder / DEFAULT.name}"
        )


# -- copying lessons in --------------------------------------------------------------------------------


def notebook(folder: Path, lesson: str) -> Path:
    """The learner's notebook of a lesson; it may not exist."""
    return folder / f"{lesson}.ipynb"


def copy_lessons(folder: Path) -> list[str]:
    """Copy the lessons that a learner does not have yet. What stands there already is never touched.

    Returns:
        The names of the lessons that were copied.

    Raises:
        OSError: the folder cannot be written; no half copy is left.
    """
    copied = []
    for lesson in course.lesson_names():
        data = course.path("lessons", lesson).read_bytes()
        if files.create(notebook(folder, lesson), data, folder / MARKER):
            copied.append(lesson)
            originals.keep(folder, lesson, data)
    return copied


def read_notebook(file: Path) -> Any:
    """A notebook in today's format.

    Raises:
        WorkspaceError: the file is empty, cut short, or not a notebook; one line.
        OSError: it cannot be read.
    """
    return parse_notebook(file.name, file.read_bytes())


def parse_notebook(name: str, data: bytes) -> Any:
    """A notebook in today's format, from the bytes of its file.

    Args:
        name: of the file, for messages.

    Raises:
        WorkspaceError: they are empty, cut short, or not a notebook; one line.
    """
    import nbformat

    again = f"To begin it anew, with a copy kept: memory-tutor reset {name.removesuffix('.ipynb')}"
    if not data.strip():
        raise WorkspaceError(f"{name} is empty. {again}")
    try:
        book = nbformat.reads(data.decode("utf-8-sig"), as_version=4)  # type: ignore[no-untyped-call]
        for cell in book.cells:  # what every reader relies on
            if not isinstance(cell.cell_type, str) or not isinstance(cell.metadata, dict):
                raise TypeError("a cell without a type")
            cell.source = cell.source if isinstance(cell.source, str) else "".join(cell.source)
    except Exception as error:  # nbformat lets KeyError, AttributeError and others through for odd files
        reason = " ".join(str(error).split())[:100]
        raise WorkspaceError(f"{name} is no notebook any more ({reason}). {again}") from error
    return book


def back_up(folder: Path, file: Path) -> Path:
    """Keep a dated copy of a notebook beside the lessons.

    Raises:
        OSError: it cannot be written; nothing else has been changed by then.
    """
    backups = folder / BACKUPS
    backups.mkdir(exist_ok=True)
    moment = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    data = file.read_bytes()
    for count in range(1, 1000):
        again = f"-{count}" if count > 1 else ""
        copied = backups / f"{file.stem}.{moment}{again}.ipynb"
        if files.create(copied, data, folder / MARKER):
            return copied
    raise FileExistsError(errno.EEXIST, "Too many copies of this second", str(backups))
