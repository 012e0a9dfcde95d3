"""Beginning a lesson or an exercise anew, after a dated copy of what the learner has."""

from __future__ import annotations

import copy
import re
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_tutor import checks, course, files, originals
from memory_tutor.names import LintSyntaxError, bound_names
from memory_tutor.notebooks import grading, text_of
from memory_tutor.progress import MARKER
from memory_tutor.workspace import WorkspaceError, back_up, notebook, read_notebook


@dataclass(frozen=True)
class Reset:
    """What a reset did.

    Args:
        notebook: that was reset.
        backup: the dated copy of what it was; None if there was no notebook.
        names: exercises and predictions that begin anew.
        also_defined: numbers of other cells (the first is 1) that still define the exercise's name.
    """

    notebook: Path
    backup: Path | None
    names: list[str]
    also_defined: list[int]


def reset_lesson(folder: Path, lesson: str) -> Reset:
    """Begin a lesson anew, after a dated copy of the learner's notebook."""
    file = notebook(folder, lesson)
    fresh = course.path("lessons", lesson).read_bytes()
    backup = back_up(folder, file) if file.exists() else None
    files.replace(file, fresh, folder / MARKER)
    originals.keep(folder, lesson, fresh)
    made = checks.lesson(lesson)
    return Reset(file, backup, [*made.exercises, *made.predictions], [])


def reset_exercise(folder: Path, lesson: str, name: str) -> Reset:
    """Put one answer cell back to its stub, wherever it is by now, after a dated copy of the notebook.

    The cell is found by its nbgrader id, else by the name that it defines; if it is gone, the stub
    is put before its first check. Everything else in the notebook stays as it is. With a class that answers
    several exercises, all of them begin anew.

    Raises:
        CourseError: the lesson has no such exercise; the nearest is named.
        WorkspaceError: there is no notebook, or it cannot be read.
    """
    made = checks.lesson(lesson)
    answer = made.exercises[name].answer if name in made.exercises else name
    if answer not in made.answers:
        raise course.CourseError(f"{lesson} has no exercise {name!r}. {course.suggest(name, list(made.exercises))}")
    names = [exercise.name for exercise in made.answered_by(answer)]
    file = notebook(folder, lesson)
    if not file.exists():
        raise WorkspaceError(f"There is no {file}. To copy it: memory-tutor start {folder}")
    book = read_notebook(file)
    stub = next(cell for cell in read_notebook(course.path("lessons", lesson)).cells if _answers(cell, answer))
    also_defined = _put_back(book, stub, answer, names)
    backup = back_up(folder, file)
    # Half a character, which UTF-8 cannot hold, becomes what JSON writes for it.
    files.replace(file, text_of(book).encode("utf-8", "backslashreplace"), folder / MARKER)
    return Reset(file, backup, names, also_defined)


def defines(source: str, name: str) -> bool:
    """Whether a cell's code defines a global name, even if the code does not parse."""
    try:
        return name in bound_names(source)
    except LintSyntaxError:
        return bool(re.search(rf"^(async\s+)?(def|class)\s+{re.escape(name)}\b", source, re.MULTILINE))


def _answers(cell: Any, name: str) -> bool:
    """Whether a cell is marked as the answer to an exercise."""
    marks = grading(cell)
    return marks.get("grade_id") == name and bool(marks.get("solution"))


def _put_back(book: Any, stub: Any, name: str, exercises: list[str]) -> list[int]:
    """Put the stub in the place of the answer to some exercises; returns which other cells define its name."""
    cells = book.cells
    marked = [index for index, cell in enumerate(cells) if _answers(cell, name)]
    defining = [i for i, cell in enumerate(cells) if cell.cell_type == "code" and defines(cell.source, name)]
    checking = [i for i, cell in enumerate(cells) if any(_checks(cell, each) for each in exercises)]
    for index in checking:  # what the check said is of the answer that goes
        if cells[index].cell_type == "code":
            cells[index].outputs, cells[index].execution_count = [], None
    both = [index for index in marked if index in defining]
    place = next(iter(both + marked + defining), None)
    stub = copy.deepcopy(stub)
    if place is None:
        place = checking[0] if checking else len(cells)
        cells.insert(place, stub)
        defining = []
    else:
        cells[place] = stub
    if (book.nbformat, book.nbformat_minor) < (4, 5):
        stub.pop("id", None)  # older notebooks have none
    elif any(cell.get("id") == stub.id for index, cell in enumerate(cells) if index != place):
        stub.id = uuid.uuid4().hex[:8]  # a copied cell took it along
    return [index + 1 for index in defining if index != place]


def _checks(cell: Any, name: str) -> bool:
    """Whether a cell does nothing but check an exercise."""
    return bool(re.fullmatch(rf"\s*tutor\.check\(\s*(['\"]){re.escape(name)}\1\s*\)\s*;?\s*", cell.source))
