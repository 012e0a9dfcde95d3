"""The exercises of the course: one module a lesson, named like the lesson without its number."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from memory_tutor import course
from memory_tutor.exercises import Exercise, Lesson


@cache
def lesson(name: str) -> Lesson:
    """The exercises and predictions of a lesson.

    Args:
        name: "01_stateless_calls"; `course.find_lesson` makes it from other forms.
    """
    found = import_module(f"{__name__}.{name.partition('_')[2]}").lesson
    assert isinstance(found, Lesson) and found.name == name, name
    return found


def lessons() -> list[Lesson]:
    """All lessons, in order."""
    return [lesson(name) for name in course.lesson_names()]


def find_exercise(name: str, here: str | None = None) -> Exercise:
    """The exercise of this name, of whichever lesson.

    Args:
        name: of the exercise.
        here: full name of the lesson that is being worked at, whose exercises are suggested first.

    Raises:
        CourseError: there is none; the message names the nearest.
    """
    known = {key: exercise for each in lessons() for key, exercise in each.exercises.items()}
    if not isinstance(name, str) or name not in known:
        sides = [key for key, exercise in known.items() if exercise.answer == name]
        if sides:
            raise course.CourseError(
                f"{name} is checked from {len(sides)} sides: {', '.join(sides)}. Name one of them."
            )
        raise course.unknown("exercise", name, known, lesson(here).exercises if here else ())
    return known[name]


def find_answer(name: str) -> Exercise:
    """An exercise that a learner answers by a function or class of this name.

    Raises:
        CourseError: there is none; the message names the nearest.
    """
    known = {exercise.answer: exercise for each in lessons() for exercise in each.exercises.values()}
    if not isinstance(name, str) or name not in known:
        raise course.unknown("exercise", name, known)
    return known[name]
