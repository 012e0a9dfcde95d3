"""A course of two small lessons in a folder of the test's own, for tests of the learner's side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tiny_course
from memory_tutor import checks, course
from memory_tutor.exercises import Lesson, Misconception
from memory_tutor.notebooks import text_of
from tiny_course import code, prose

if TYPE_CHECKING:
    from memory_tutor.learner import Learner

NAMES = ("01_loud", "02_quiet")
STUB = "def {name}(text: str) -> str:\n    raise NotImplementedError  # put your code in place of this line"


def _lesson(name: str, *exercises: str) -> Lesson:
    made = Lesson(name, name[3:].title(), level=1, minutes=1)
    for exercise in exercises:

        def look(learner: Learner, exercise: str = exercise) -> None:
            if learner.call(exercise, "hi").value != f"{exercise} hi":
                raise Misconception(f"[{exercise}] was not said.")

        look.__name__ = exercise
        made.exercise(points=3, hints=["What is asked?", "At the start.", "A sum."])(look)
    made.predict(f"guess_{name[3:]}", choices={"a": "yes"}, right="a", why={"a": "it is"})
    return made


LESSONS = [_lesson("01_loud", "shout", "call"), _lesson("02_quiet", "whisper")]


def notebook(lesson: Lesson) -> Any:
    """The lesson as a learner gets it."""
    cells = [prose("title", f"# {lesson.title}")]
    for name in lesson.exercises:
        cells += [
            prose(f"{name}-task", f"Write `{name}(text)`.", grade_id=f"task_{name}", locked=True),
            code(f"{name}-answer", STUB.format(name=name), grade_id=name, solution=True),
            code(f"{name}-check", f'tutor.check("{name}")', "raises-exception", grade_id=f"check_{name}", grade=True),
        ]
    return tiny_course.nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )


@pytest.fixture
def small_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the small course in the place of the real one; returns the folder of its parts."""
    root = tmp_path / "course"
    for part in ("lessons", "solutions", "cassettes"):
        (root / part).mkdir(parents=True)
    for lesson in LESSONS:
        file = root / "lessons" / f"{lesson.name}.ipynb"
        file.write_text(text_of(notebook(lesson)), encoding="utf-8", newline="\n")
    monkeypatch.setattr(course, "folder", lambda part: root / part)
    monkeypatch.setattr(checks, "lesson", {each.name: each for each in LESSONS}.__getitem__)
    return root
