"""What a lesson's cells use of the tutor and that asks nobody: the log of requests, pictures, a store."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn

from memory_tutor import course, extras, replay
from memory_tutor.errors import TutorError
from memory_tutor.exercises import NotGradable
from memory_tutor.pictures import Chart, Lines, Row
from memory_tutor.tables import count
from memory_tutor.transcript import Transcript

if TYPE_CHECKING:
    from memory_tutor.stores import Store

#: The model that the code of the lessons asks for; a recording answers whatever is asked for.
MODEL = "gpt-6-luna"


class NoSuchTool(TutorError, AttributeError):
    """The tutor has no attribute of this name; the message names the nearest."""


class Toolbox:
    """The part of a tutor that is the same wherever a notebook runs.

    Args:
        lesson: full name, or None for all lessons.
        model: the name that the code asks for.
        tape: that answers.
    """

    def __init__(self, lesson: str | None, model: str, tape: replay.Tape) -> None:
        self.lesson = lesson
        self.model = model
        self._tape = tape
        self._folders: list[tempfile.TemporaryDirectory[str]] = []

    def __repr__(self) -> str:
        made = count(len(self.transcript), "request")
        return f"<tutor of {self.lesson or 'all lessons'}: mode {self._tape.mode}, {made} so far>"

    if not TYPE_CHECKING:  # a type checker would take any name for one that there is

        def __getattr__(self, name: str) -> NoReturn:
            # Python, IPython and copy ask for names with an underscore to see what an object can do.
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            tools = [tool for tool in dir(self) if not tool.startswith("_")]
            raise NoSuchTool(f"The tutor has no {course.shown(name)}. {course.suggest(name, tools)}")

    @property
    def transcript(self) -> Transcript:
        """Every request of this kernel since `start`, checks aside."""
        return self._tape.transcript

    def unplugged(self) -> AbstractContextManager[None]:
        """`with tutor.unplugged():` every request raises what the SDK raises when the network is gone."""
        return replay.unplugged()

    def chart(self, title: str, rows: Sequence[Row], unit: str = "") -> Chart:
        """Horizontal bars with a table of the numbers.

        Args:
            title: what there is to see.
            rows: (label, number) pairs.
            unit: of the numbers.
        """
        return Chart(title, rows, unit)

    def lines(self, title: str, series: Mapping[str, Sequence[float]], unit: str = "", step: str = "step") -> Lines:
        """Up to four lines over the same steps, with a table of the numbers.

        Args:
            title: what there is to see.
            series: the name of each line to its numbers, one a step.
            unit: of the numbers.
            step: what a step is, "request"; they count from 1.
        """
        return Lines(title, series, unit, step)

    def needs(self, extra: str) -> None:
        """Go on if an optional part can run here; else one line says how to install what it needs.

        Args:
            extra: "langchain", "redis", "postgres" or "mongo".

        Raises:
            MissingExtra: it is not installed.
        """
        extras.need(extra)

    def store(self, *, conflict: type[Exception]) -> Store:
        """A new, empty store like lesson 6's `SqliteStore`; it ends with this kernel, and needs no installation.

        Args:
            conflict: the exception that says that a version is out of date.
        """
        from memory_tutor import stores

        # On Windows a file that is still open cannot be removed.
        folder = tempfile.TemporaryDirectory(prefix="memory-tutor-", ignore_cleanup_errors=True)
        self._folders.append(folder)
        return stores.open(f"json:{folder.name}", conflict=conflict)


def notebook_globals() -> dict[str, Any]:
    """The names of the notebook, where the learner's functions are."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        found: dict[str, Any] = shell.user_ns
        return found
    main = sys.modules.get("__main__")
    if main is None:
        raise NotGradable("There is no notebook here whose functions could be checked.")
    return vars(main)
