"""The tutor of a notebook that is being marked: in its process there are no checks, no solutions and no recordings.

Whatever speaks to a learner says and does nothing, for nobody is here to read it. What a lesson builds on an earlier
one's answer is asked of the check's side, which knows what this notebook may have.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from memory_tutor import live, replay
from memory_tutor.errors import TutorError
from memory_tutor.remaking import remake
from memory_tutor.toolbox import MODEL, Toolbox, notebook_globals

if TYPE_CHECKING:
    from memory_tutor.stores import Store

#: Sends a question to the check's side and returns the answer; `process` sets it.
ask: Callable[[dict[str, Any]], dict[str, Any]] | None = None


class NotLent(TutorError):
    """The course's own answer is not to be had here; the next cell can be run all the same."""


def start(lesson: str | int | None = None, mode: str | None = None) -> QuietTutor:
    """The tutor; what answers is open already. See `memory_tutor.start`."""
    if not os.environ.get("OPENAI_API_KEY"):
        os.environ["OPENAI_API_KEY"] = live.PLACEHOLDER
    tape = replay.current()
    if tape is None:  # an empty tape is false
        tape = replay.open_empty()
    return QuietTutor(None if lesson is None else str(lesson), os.environ.get("OPENAI_MODEL") or MODEL, tape)


class QuietTutor(Toolbox):
    """What `tutor.Tutor` is for a learner, for a process that is checked."""

    def stores(self, *engines: str, conflict: type[Exception]) -> Iterator[tuple[str, Store]]:
        """None: a process that is checked may be killed, and would leave its servers behind."""
        print("Servers are left out where answers are checked.")
        return iter(())

    def answer(self, name: str) -> Any:
        """The notebook's own answer to an exercise if there is one, else the course's own."""
        yours = notebook_globals().get(name) if isinstance(name, str) else None
        return self.reference(name) if yours is None else yours

    def reference(self, name: str) -> Any:
        """The course's own answer to an exercise, working with this notebook's `client` and `model`.

        Raises:
            NotLent: this notebook may not have it.
        """
        if ask is None:
            raise NotLent(f"The course's own {name} is not to be had here.")
        answer = ask({"ask": "reference", "name": str(name)})
        if "refused" in answer:
            raise NotLent(answer["refused"])
        return remake([(answers, source) for answers, source in answer["cells"]], str(name), notebook_globals())

    @property
    def progress(self) -> None:
        """Nothing."""

    def check(self, name: str = "") -> None:
        """Nothing."""

    def hint(self, name: str = "") -> None:
        """Nothing."""

    def solution(self, name: str = "", give_up: bool = False) -> None:
        """Nothing."""

    def predict(self, name: str, choice: str = "") -> None:
        """Nothing."""

    def reveal(self, name: str) -> None:
        """Nothing."""
