"""Made-up marks, and classes made of them."""

from __future__ import annotations

from collections.abc import Callable

from memory_tutor import checks
from memory_tutor.exercises import WORD, Result, Status
from memory_tutor.grading.classroom import Classroom
from memory_tutor.grading.records import Mark

MakeClass = Callable[..., Classroom]


def a_mark(student: str, lesson: str, *outcomes: tuple[Status, str], **more: object) -> Mark:
    """A mark with an outcome for each exercise of a lesson, in their order."""
    results = []
    for exercise, (status, message) in zip(checks.lesson(lesson).exercises.values(), outcomes, strict=False):
        points = exercise.points if status == "passed" else 0
        text = f"{WORD[status]} {exercise.name}: {message}"
        results.append(Result(exercise.name, status, points, exercise.points, text))
    known = {
        "file": f"{student}/{lesson}.ipynb",
        "sha256": "5" * 64,
        "fingerprint": "now",
        "of": checks.lesson(lesson).points,
    }
    return Mark(student, lesson, results=tuple(results), **{**known, **more})  # type: ignore[arg-type]
