"""The way to a student's code: in a sandbox where there is one, else in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from memory_tutor.cassette import Request, Response
from memory_tutor.errors import TutorError
from memory_tutor.learner import PipeLearner

Answer = Callable[[Request], Response]


class SandboxMissing(TutorError):
    """A sandbox was required and cannot be had."""


class Learners(Protocol):
    """Makes a learner of each submission's cells."""

    #: What their code is not kept from, in one line; "" if it is kept from everything.
    isolation: str

    def learner(self, cells: Sequence[str], answer: Answer, *, seconds: float, lesson: str) -> PipeLearner:
        """Run the cells of a notebook.

        Args:
            cells: their sources.
            answer: gives the recorded responses to what the cells send.
            seconds: that the submission may take as a whole.
            lesson: name of the one that is marked.

        Raises:
            NotGradable: they cannot be run at all.
        """


class _Processes:
    """Each submission in a process of its own, which is the user's own as far as the system can tell."""

    isolation = (
        "No sandbox: this code ran in a process without keys, but with the files and the network "
        "of the machine that graded it."
    )

    def learner(self, cells: Sequence[str], answer: Answer, *, seconds: float, lesson: str) -> PipeLearner:
        return PipeLearner(cells, answer)


@contextmanager
def opened(*, require_sandbox: bool) -> Iterator[Learners]:
    """What a worker uses for all its submissions.

    Raises:
        SandboxMissing: it is required, and there is none.
    """
    if require_sandbox:
        raise SandboxMissing("There is no sandbox on this system. Grade without --require-sandbox, or on Linux.")
    yield _Processes()
