"""The course's own answers, read from the solved notebooks where this installation carries them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from memory_tutor import course
from memory_tutor.errors import TutorError
from memory_tutor.exercises import Exercise
from memory_tutor.remaking import remake

MARKER = re.compile(r"^\s*### (BEGIN|END) SOLUTION\s*$\n?", re.MULTILINE)


class NoSolution(TutorError):
    """This installation carries no solutions."""


def solution_source(exercise: Exercise) -> str:
    """The solved answer cell of an exercise, without its markers.

    Raises:
        NoSolution: the package was built without solutions, as for a class.
    """
    for answer, source in _cells(exercise):
        if answer == exercise.answer:
            return MARKER.sub("", source).rstrip()
    raise NoSolution(f"The solutions of {exercise.lesson} hold no {exercise.answer}. Install again.")


def reference(exercise: Exercise, given: dict[str, Any]) -> Any:
    """The function or class of the solution, made anew.

    Args:
        exercise: whose answer it is.
        given: the notebook's names; `client` and `model` are taken from there, and what the lesson gives to
            its learners where this notebook has it, so that both mean the same by `Conflict`.

    Raises:
        NoSolution: as for `solution_source`.
    """
    return remake(answer_cells(exercise), exercise.answer, given)


def answer_cells(exercise: Exercise) -> list[tuple[str | None, str]]:
    """The code cells of an exercise's solved notebook: which exercise each answers, if any, and its source.

    Raises:
        NoSolution: as for `solution_source`.
    """
    try:
        return list(_cells(exercise))
    except NoSolution:
        raise NoSolution(
            f"This cell needs the course's own {exercise.answer}, and this installation carries no solutions.\n"
            "Nothing is broken: go on with the next cell."
        ) from None


def _cells(exercise: Exercise) -> Iterator[tuple[str | None, str]]:
    """The code cells of an exercise's solved notebook: which exercise each answers, if any, and its source."""
    notebook = course.path("solutions", exercise.lesson) if course.has("solutions") else None
    if notebook is None or not notebook.is_file():
        raise NoSolution(
            f"This installation of memory-tutor carries no solutions, so that of {exercise.answer} cannot be shown.\n"
            "Ask your teacher."
        )
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            marks = cell["metadata"].get("nbgrader", {})
            yield marks["grade_id"] if marks.get("solution") else None, "".join(cell["source"])
