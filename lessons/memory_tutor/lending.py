"""Which of the course's own answers a notebook that is being marked may have."""

from __future__ import annotations

from collections.abc import Callable

from memory_tutor import checks, course, notebooks
from memory_tutor.errors import TutorError
from memory_tutor.names import tutor_calls
from memory_tutor.solutions import answer_cells
from memory_tutor.worker import Message

#: Answers the question for an answer, by its name.
Lend = Callable[[str], Message]


def for_lesson(lesson: str) -> Lend:
    """Lend what the lesson's own cells ask for, unless it is an exercise of this lesson.

    Args:
        lesson: that is marked.

    Returns:
        Gives {"cells": the code cells of the solved notebook, …}, or {"refused": why not}.
    """

    def lend(name: str) -> Message:
        try:
            exercise = checks.find_answer(name)
            if exercise.lesson != lesson and name in _asked_for(lesson):
                return {"cells": [list(cell) for cell in answer_cells(exercise)]}
        except TutorError as error:
            return {"refused": error.message}
        return {"refused": f"The course's own {name} is not to be had where {lesson} is marked."}

    return lend


def _asked_for(lesson: str) -> set[str]:
    cells = notebooks.read(course.path("lessons", lesson)).cells
    return {
        name
        for cell in cells
        if cell.cell_type == "code"
        for method, name in tutor_calls(cell.source)
        if method in ("answer", "reference")
    }
