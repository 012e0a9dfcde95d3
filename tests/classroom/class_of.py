"""Submissions of a class for tests and benchmarks: right ones, every misconception, damaged and hostile ones.

Right answers are those of solutions/, wrong ones those of tests/misconceptions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

from memory_tutor import checks, course

sys.path.append(str(Path(__file__).parents[1] / "misconceptions"))

Book = dict[str, Any]


@dataclass(frozen=True)
class Member:
    """A student of the class.

    Args:
        student: their name.
        lesson: that they hand in.
        data: their notebook.
        points: by exercise, where that is known for sure.
        fragment: of the message that their wrong answer must get; "" if all is right.
    """

    student: str
    lesson: str
    data: bytes
    points: dict[str, int]
    fragment: str = ""

    @property
    def path(self) -> str:
        return f"{self.student}/{self.lesson}.ipynb"


@cache
def _text(part: Any, lesson: str) -> str:
    return course.path(part, lesson).read_text(encoding="utf-8")


def solved(lesson: str) -> Book:
    """The lesson with the course's own answers."""
    return dict(json.loads(_text("solutions", lesson)))


def untouched(lesson: str) -> Book:
    """The lesson as students get it."""
    return dict(json.loads(_text("lessons", lesson)))


def data(book: Book) -> bytes:
    """The bytes of a notebook's file."""
    return json.dumps(book, ensure_ascii=False).encode("utf-8")


def code_cell(source: Any) -> Book:
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}


def answered(lesson: str, **answers: str) -> Book:
    """The lesson as students get it, with the course's answers in it, or these.

    Args:
        answers: by the name of what is defined.
    """
    own = {_answer_name(cell): cell["source"] for cell in solved(lesson)["cells"]}
    book = untouched(lesson)
    for cell in book["cells"]:
        if name := _answer_name(cell):
            cell["source"] = dedent(answers[name]) if name in answers else own[name]
    return book


def _answer_name(cell: Book) -> str:
    """What is defined in a cell that is for an answer; "" for other cells."""
    marks = cell["metadata"].get("nbgrader", {})
    return str(marks["grade_id"]) if marks.get("solution") else ""


def mistaken(lesson: str) -> Iterator[Member]:
    """A student for each wrong answer that the lesson's check must catch; all their other answers are right."""
    module = import_module(f"test_{lesson}")
    asked = checks.lesson(lesson)
    full = {name: exercise.points for name, exercise in asked.exercises.items()}
    for name, group in module.WRONG.items():
        answer = asked.exercises[name].answer
        # Where one class answers several exercises, a mistake in it may cost more than one of them.
        others = {} if len(asked.answered_by(answer)) > 1 else full
        for number, (_, code, fragment) in enumerate(group):
            book = answered(lesson, **{answer: code})
            yield Member(f"{name}-{number}", lesson, data(book), {**others, name: 0}, fragment)


def able(lesson: str, student: str = "able") -> Member:
    """A student whose answers are all right."""
    points = {name: exercise.points for name, exercise in checks.lesson(lesson).exercises.items()}
    return Member(student, lesson, data(answered(lesson)), points)


def idle(lesson: str, student: str = "idle") -> Member:
    """A student who has handed in the lesson as it was."""
    points = dict.fromkeys(checks.lesson(lesson).exercises, 0)
    return Member(student, lesson, data(untouched(lesson)), points)


# -- notebooks as they arrive --------------------------------------------------------------------------


def _without_metadata(book: Book) -> Book:
    book["metadata"] = {}
    for cell in book["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    return book


def _without_checks(book: Book) -> Book:
    book["cells"] = [cell for cell in book["cells"] if not _text_of(cell).startswith("tutor.check(")]
    return book


def _with_doubled_cells(book: Book) -> Book:
    book["cells"] = [
        copied for cell in book["cells"] for copied in ([cell, cell] if "nbgrader" in cell["metadata"] else [cell])
    ]
    return book


def _with_checks_as_prose(book: Book) -> Book:
    for cell in book["cells"]:
        if _text_of(cell).startswith("tutor.check("):
            cell["cell_type"] = "markdown"
    return book


def _of_version_3(book: Book) -> Book:
    cells = []
    for cell in book["cells"]:
        old = dict(cell)
        if cell["cell_type"] == "code":
            old["input"], old["language"], old["prompt_number"] = old.pop("source"), "python", 1
        cells.append(old)
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": cells}]}


def _text_of(cell: Book) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


#: Notebooks that other tools or hands have changed, and that count in full.
CHANGED: dict[str, Callable[[Book], Book]] = {
    "no metadata": _without_metadata,
    "no check cells": _without_checks,
    "doubled cells": _with_doubled_cells,
    "check cells as prose": _with_checks_as_prose,
    "version 3": _of_version_3,
    "cells moved": lambda book: {**book, "cells": [*book["cells"][::-1], *book["cells"]]},
    "a failing cell first": lambda book: {**book, "cells": [code_cell("1 / 0"), *book["cells"]]},
}

#: Files that cannot be marked, with a piece of what is said of them.
DAMAGED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "zeros": (b"\0" * 4096, "is empty"),
    "no JSON": (b"<html>Please sign in</html>", "is damaged"),
    "cut": (data({"cells": [code_cell("x = 1")] * 9})[:300], "is damaged"),
    "a list": (b"[]", "no notebook"),
    "no cells": (b'{"a": 1}', "has no cells"),
    "cells of no list": (b'{"cells": {"a": 1}}', "has no cells"),
    "nested": (b'{"cells": ' + b"[" * 200_000, "nested too deeply"),
    "parts": (b'{"cells": [' + b"{}," * 4_000_000 + b"1]}", "too many parts"),
    "a number": (b'{"cells": ' + b"7" * 9_999 + b"}", "is damaged"),
}

#: Cells that harm whoever runs them, if they can; they stand before all others.
HOSTILE: dict[str, str] = {
    "never ends": """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    try:
        while True: time.sleep(0.01)
    except BaseException: pass
""",
    "leaves": "import os\nos._exit(0)",
    "memory bomb": "hoard = []\nwhile True: hoard.append(bytearray(b'x') * (8 << 20))",
    "fork bomb": """
import os, time
for _ in range(1000):
    try:
        if os.fork() == 0: time.sleep(600)
    except OSError: break
""",
    "daemon": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(0.05)
    os._exit(0)
""",
    "prints a gigabyte": "for _ in range(1000): print('x' * 1_000_000)",
}


def hostile(lesson: str) -> Iterator[Member]:
    """A student for each hostile cell; all their answers are right. What they get for them is up to the grader."""
    for name, cell in HOSTILE.items():
        book = answered(lesson)
        book["cells"].insert(0, code_cell(cell))
        yield Member(f"hostile-{name}", lesson, data(book), {})


def everyone(lesson: str, students: int = 300) -> dict[str, list[Member]]:
    """A class, by kind: each wrong answer, change, damage and attack once, one untouched lesson, and the rest right.

    Args:
        lesson: that all of them hand in.
        students: how many there are.

    Raises:
        ValueError: that is too few for one of each.
    """
    points = able(lesson).points
    kinds = {
        "wrong": list(mistaken(lesson)),
        "untouched": [idle(lesson)],
        "changed": [
            Member(f"changed-{name}", lesson, data(change(answered(lesson))), points)
            for name, change in CHANGED.items()
        ],
        "damaged": [Member(f"damaged-{name}", lesson, raw, {}, said) for name, (raw, said) in DAMAGED.items()],
        "hostile": list(hostile(lesson)),
    }
    others = sum(map(len, kinds.values()))
    if students <= others:
        raise ValueError(f"A class with one of each in {lesson} has more than {others} students.")
    return {"right": [able(lesson, f"right-{number}") for number in range(students - others)], **kinds}


def handed_in(folder: Path, members: Iterable[Member]) -> Path:
    """The folder, with a folder for each student's notebook in it."""
    for member in members:
        file = folder / member.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(member.data)
    return folder
