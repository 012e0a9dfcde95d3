"""Giving a learner the new version of a lesson, with their answers in it, and the old notebook kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_tutor import course, files, originals
from memory_tutor.merging import Merged, merge, same_cells
from memory_tutor.notebooks import checked_name, grading, text_of
from memory_tutor.progress import MARKER
from memory_tutor.workspace import WorkspaceError, back_up, notebook, parse_notebook

#: Seconds that another memory-tutor may take to finish an update of the same folder.
PATIENCE = 20.0


@dataclass(frozen=True)
class Update:
    """What an update did.

    Args:
        lesson: its name.
        notebook: the learner's.
        backup: the dated copy of what it was.
        merged: what became of the learner's things.
    """

    lesson: str
    notebook: Path
    backup: Path
    merged: Merged

    def lines(self) -> list[str]:
        """What there is to tell the learner."""
        made = self.merged
        kept = [
            *made.answers,
            *_counted(len(made.predictions), "prediction"),
            *_counted(made.edits, "edited cell"),
            *_counted(made.own, "cell of your own", "cells of your own"),
        ]
        told = [f"{self.lesson} is the new version now. Carried over: {', '.join(kept) or 'nothing was there yet'}."]
        if made.reread:
            told.append(f"The task has changed, so read it again: {', '.join(made.reread)}.")
        if made.dropped:
            told.append(f"No longer asked for, and kept at the end of the notebook: {', '.join(made.dropped)}.")
        if made.beside:
            cells = " and ".join(_counted(made.beside, "cell"))
            told.append(f"You and the course both changed {cells}; your version stands below the course's.")
        if made.left_behind:
            cells = " and ".join(_counted(made.left_behind, "other cell"))
            told.append(f"In {cells} what you had is another text than the course's now; it is in the old notebook.")
        told.append(f"The old notebook is kept in {self.backup}.")
        return told


@dataclass
class Found:
    """What a look at a folder found.

    Args:
        waiting: lessons of which there is a new version.
        refreshed: lessons that the learner had not touched, and that are the new version now.
        problems: a line for each notebook that could not be looked at.
    """

    waiting: list[str] = field(default_factory=list)
    refreshed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def look(folder: Path) -> Found:
    """Find the lessons that have a new version; a notebook that was never touched becomes it at once.

    No work of the learner's is changed. A notebook that is what it would be anyway is noted as up to date.

    Raises:
        OSError: the folder cannot be written.
    """
    found = Found()
    for lesson in course.lesson_names():
        file = notebook(folder, lesson)
        today = course.path("lessons", lesson).read_bytes()
        if not file.is_file() or originals.kept(folder, lesson) == today:
            continue
        try:
            with _alone(folder):
                if _refresh(folder, lesson, today):
                    found.refreshed.append(lesson)
                elif _merged(folder, lesson, file.read_bytes()) is not None:
                    found.waiting.append(lesson)
        except WorkspaceError as error:
            found.problems.append(error.message)
    return found


def update(folder: Path, lesson: str) -> Update | None:
    """Make a learner's notebook the new version of its lesson, with all that they wrote in it.

    The old notebook is copied first; the new one is put in its place whole or not at all.

    Returns:
        None if the notebook is up to date.

    Raises:
        WorkspaceError: there is no notebook, it cannot be read, or it was saved meanwhile; it is as it was.
        OSError: the folder cannot be written; the notebook is as it was.
    """
    file = notebook(folder, lesson)
    if not file.exists():
        raise WorkspaceError(f"There is no {file}. To copy it: memory-tutor start {folder}")
    with _alone(folder):
        if originals.kept(folder, lesson) == course.path("lessons", lesson).read_bytes():
            return None
        before = file.read_bytes()
        made = _merged(folder, lesson, before)
        if made is None:
            return None
        # Half a character, which UTF-8 cannot hold, becomes what JSON writes for it.
        data = text_of(made.book).encode("utf-8", "backslashreplace")
        backup = back_up(folder, file)
        if backup.read_bytes() != before or file.read_bytes() != before:
            raise WorkspaceError(f"{file.name} was saved meanwhile and is as it was. Try again: memory-tutor update")
        files.replace(file, data, folder / MARKER)
        originals.keep(folder, lesson, course.path("lessons", lesson).read_bytes())
    return Update(lesson, file, backup, made)


def _refresh(folder: Path, lesson: str, today: bytes) -> bool:
    """Give a learner the new version of a lesson that is still, byte for byte, what they once got."""
    file, original = notebook(folder, lesson), originals.kept(folder, lesson)
    if original is None or original == today or file.read_bytes() != original:
        return False
    files.replace(file, today, folder / MARKER)
    originals.keep(folder, lesson, today)
    return True


def _merged(folder: Path, lesson: str, data: bytes) -> Merged | None:
    """What an update would make of a notebook; None, and noted as up to date, if it would change nothing."""
    today = course.path("lessons", lesson).read_bytes()
    theirs = parse_notebook(f"{lesson}.ipynb", data)
    new = parse_notebook(f"{lesson}.ipynb", today)
    kept = originals.kept(folder, lesson)
    try:
        original = parse_notebook(f"{lesson}.ipynb", kept) if kept is not None else None
    except WorkspaceError:  # it can be done without
        original = None
    try:
        made = merge(original, theirs, new)
    except (RecursionError, MemoryError) as error:
        raise WorkspaceError(f"{lesson}.ipynb holds code that is nested too deeply, and is as it was.") from error
    if same_cells(made.book, theirs) or (original is None and not _is_of_another_version(theirs, new)):
        originals.keep(folder, lesson, today)
        return None
    return made


def _is_of_another_version(theirs: Any, lesson: Any) -> bool:
    """Whether a notebook of which no original is kept was made from another version of its lesson.

    Code that differs may be what the learner tried, so the texts and what is locked decide.
    """
    of_the_course = {cell.id: cell for cell in lesson.cells if _is_answer_free(cell)}
    mine = {cell.get("id"): cell for cell in theirs.cells}
    texts = {cell.source.strip() for cell in theirs.cells}
    return any(
        (id_ in mine and mine[id_].source.strip() != cell.source.strip())
        or (id_ not in mine and cell.source.strip() not in texts)
        for id_, cell in of_the_course.items()
    )


def _is_answer_free(cell: Any) -> bool:
    return cell.cell_type == "markdown" or bool(grading(cell).get("locked")) or checked_name(cell) is not None


def _counted(number: int, one: str, many: str = "") -> list[str]:
    """["1 cell"], ["3 cells"], or [] for none."""
    return [f"{number} {one if number == 1 else many or one + 's'}"] if number else []


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process at a time update a folder.

    Raises:
        WorkspaceError: another one takes too long.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / MARKER / "update.lock", timeout=PATIENCE)
    try:
        lock.acquire()
    except Timeout as error:
        raise WorkspaceError("Another memory-tutor is updating this folder. Try again when it has ended.") from error
    try:
        yield
    finally:
        lock.release()
