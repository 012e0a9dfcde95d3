"""A course of one small lesson in a folder of the test's own, to break in every way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

from memory_tutor.checkout import Checkout
from memory_tutor.exercises import Lesson, Misconception
from memory_tutor.notebooks import text_of

if TYPE_CHECKING:
    from memory_tutor.learner import Learner

NAME = "01_tiny"

# The lesson is not one of the real course, so it opens its tape itself, and checks by an assertion.
SETUP = """\
import os
from pathlib import Path
from openai import OpenAI
from memory_tutor import replay

class tutor:
    check = staticmethod(lambda name: print("PASSED" if globals()[name]("x") == "x!" else 1 / 0))
    predict = reveal = hint = staticmethod(lambda *arguments: None)

folder = os.environ.get("MEMORY_TUTOR_RECORD_TO")
mode = os.environ.get("MEMORY_TUTOR_MODE", "replay")
if "MEMORY_TUTOR_LEARNER" not in os.environ:
    tape = replay.open("01_tiny", mode, record_to=Path(folder) if folder else None)
    print("recorded from", tape.recording.metadata.get("model")) if mode == "replay" else None
client = OpenAI(api_key=os.environ.get("OPENAI_API_KEY", "unused"))

def send(text):
    reply = client.chat.completions.create(model="any", messages=[{"role": "user", "content": text}])
    return reply.choices[0].message.content
"""
ANSWER = """\
def shout(text: str) -> str:
    ### BEGIN SOLUTION
    return text + "!"
    ### END SOLUTION
"""


def code(id_: str, source: str, *tags: str, **marks: Any) -> Any:
    cell = nbformat.v4.new_code_cell(source.rstrip("\n"), id=id_)
    return _marked(cell, tags, marks)


def prose(id_: str, source: str, **marks: Any) -> Any:
    return _marked(nbformat.v4.new_markdown_cell(source, id=id_), (), marks)


def _marked(cell: Any, tags: tuple[str, ...], marks: dict[str, Any]) -> Any:
    if tags:
        cell.metadata["tags"] = list(tags)
    if marks:
        plain = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}
        cell.metadata["nbgrader"] = nbformat.from_dict({**plain, **marks})
    return cell


def notebook() -> Any:
    """The solved lesson, without a fault."""
    cells = [
        prose("title", "# A tiny lesson"),
        code("setup", SETUP),
        code("predict-same", 'tutor.predict("same", "a")'),
        code("demo", 'print(send("My name is Ada."))'),
        code("reveal-same", 'tutor.reveal("same")'),
        code("edits", 'for text in ["one", "two"]:\n    print(send(text))', "solution-only"),
        code("pitfall", "[][0]", "raises-exception"),
        prose("shout-task", "Write `shout(text)`.", grade_id="task_shout", locked=True),
        code("shout-answer", ANSWER, grade_id="shout", solution=True),
        code("shout-check", 'tutor.check("shout")', "raises-exception", **CHECK),
        prose("end", "That is all."),
    ]
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "any"}})


CHECK = {"grade_id": "check_shout", "grade": True, "locked": True, "points": 3}


def lesson(name: str = NAME) -> Lesson:
    """What the tiny lesson asks."""
    made = Lesson(name, "Tiny", level=1, minutes=1)

    @made.exercise(points=3, hints=["What is loud?", "At the end.", "text + …"])
    def shout(learner: Learner) -> None:
        """Add an exclamation mark."""
        if learner.call("shout", "hello").value != "hello!":
            raise Misconception("It is not loud.")

    made.predict("same", choices={"a": "yes", "b": "no"}, right="a", why={"a": "it is", "b": "it is not"})
    return made


def cell(nb: Any, id_: str) -> Any:
    """The cell of this id."""
    return next(each for each in nb.cells if each.id == id_)


def make(root: Path, nb: Any = None, asks: Lesson | None = None) -> Checkout:
    """Lay the course out in a folder."""
    asks = asks or lesson()
    for folder in ("solutions", "lessons/memory_tutor", "cassettes", "tests/misconceptions"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "solutions" / f"{NAME}.ipynb").write_text(text_of(nb or notebook()), encoding="utf-8", newline="\n")
    (root / "tests" / "misconceptions" / f"test_{NAME}.py").write_text(
        'WRONG = {"shout": ["return text"]}\nRIGHT = {"shout": ["one way", "another"]}\n', encoding="utf-8"
    )
    return Checkout(root, lambda name: asks)
