"""A notebook in a browser tab (Pyodide): what cannot be done there, and what is shown in its place.

A tab has no processes, no threads, no servers and no LangChain. A cell that needs one of them says so in a line, and
shows what it showed where the course was recorded; the notebook runs on.
"""

from __future__ import annotations

import functools
import getpass
import json
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from memory_tutor import course
from memory_tutor.errors import TutorError, wrapped
from memory_tutor.exercises import CheckFailed
from memory_tutor.names import LintSyntaxError, bound_names
from memory_tutor.notebooks import MAY_FAIL
from memory_tutor.progress import MARKER

IN_BROWSER = sys.platform == "emscripten"


class NoRequest(TutorError):
    """The requests of a cell that a browser cannot run were asked for."""


#: Why a cell that uses what another one defines cannot run either.
ABOVE = "could not run a cell above"
#: What is raised where something cannot be had in a browser, a piece of its text, and what a browser thus does.
LIMITS: tuple[tuple[type[Exception], str, str], ...] = (
    (OSError, "does not support processes", "cannot start a second process"),
    (RuntimeError, "can't start new thread", "has no threads"),
    (NotImplementedError, "hardlink_to", "cannot give a file a second name"),
    (ModuleNotFoundError, "'psutil'", "cannot run a server"),
    (ModuleNotFoundError, "'lang", "cannot run LangChain"),
    (TutorError, "This part needs LangChain", "cannot run LangChain"),
    (NoRequest, "", ABOVE),
)
#: What libraries say at their import or first use, which is true of every browser and helps nobody.
WARNINGS = ("The following transport option", "only soft file lock is available")


def prepare(lesson: str | None) -> None:
    """Make this kernel ready for a lesson; elsewhere than in a browser, do nothing.

    Args:
        lesson: its full name, for what was recorded of its cells; None for none.
    """
    global _stand_in
    if not IN_BROWSER:
        return
    with suppress(OSError):  # the browser may keep no files: progress is then kept until the kernel ends
        Path(MARKER).mkdir(exist_ok=True)
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        _stand_in = StandIn(lesson)
        shell.set_custom_exc((*{kind for kind, _, _ in LIMITS}, NameError), _stand_in.handle)
        shell._showtraceback = functools.partial(_report, shell, type(shell)._showtraceback)


def ask_for_endpoint() -> None:
    """Ask whom a live mode shall ask, in the page; elsewhere, or where it is known, do nothing.

    What is typed lives as long as this kernel, and is written nowhere but the address and the model, which a notebook
    shows like all that is typed into it.
    """
    if not IN_BROWSER or os.environ.get("OPENAI_BASE_URL"):
        return
    typed = {
        "OPENAI_BASE_URL": input("Address of an endpoint that lets this page ask it, such as https://…/v1: "),
        "OPENAI_API_KEY": getpass.getpass("Its key, for this tab alone (Enter for none): "),
        "OPENAI_MODEL": input("Model: "),
    }
    os.environ.update({name: text.strip() for name, text in typed.items() if text.strip()})


def forget_endpoint() -> None:
    """Ask again at the next start, since what was typed does not work."""
    if IN_BROWSER:
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"):
            os.environ.pop(name, None)


def _report(shell: Any, report: Callable[..., None], kind: Any, error: Any, lines: list[str]) -> None:
    """Tell of an exception; where a cell may raise one, as a check does, so that the cells below it run all the same.

    JupyterLite drops the cells that wait whenever one reports an error, also where it is tagged as one that may.
    """
    tags = shell.kernel.get_parent().get("metadata", {}).get("tags", ())
    if MAY_FAIL in tags:
        print("\n".join(lines), file=sys.stderr)
    else:
        report(shell, kind, error, lines)


def need_requests() -> None:
    """Go on where the transcript is empty because nothing was sent, and not because a browser could not send it.

    Raises:
        NoRequest: a cell that sends may have been one that a browser cannot run.
    """
    if _stand_in is not None and _stand_in.missing:
        raise NoRequest("There is no request: a browser could not run the cells above this one.")


class StandIn:
    """Shows what was recorded of the cells that a browser cannot run, for one lesson.

    Args:
        lesson: its full name; None for no recorded outputs.
    """

    def __init__(self, lesson: str | None) -> None:
        self._cells = _recorded(lesson)
        self._shown = -1
        #: The names that the cells so far would have defined.
        self.missing: set[str] = set()

    def handle(
        self, shell: Any, kind: type[Exception], error: Exception, trace: TracebackType, tb_offset: int | None = None
    ) -> None:
        """Take the place of IPython's report of an exception; see `InteractiveShell.set_custom_exc`."""
        limit = self._limit(error)
        if limit is None:
            shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)
            return
        source = shell.user_ns["In"][-1]
        with suppress(LintSyntaxError):  # it ran, so it is IPython's own language and defines nothing for others
            self.missing |= bound_names(source)
        self._show(limit, source)

    def _limit(self, error: Exception) -> str | None:
        """What a browser does not do, if that is why a cell failed; a check's result is its own, and never recorded."""
        if isinstance(error, CheckFailed):
            return None
        if isinstance(error, NameError):
            return ABOVE if error.name in self.missing else None
        text = str(error)
        return next((limit for kind, words, limit in LIMITS if isinstance(error, kind) and words in text), None)

    def _show(self, limit: str, source: str) -> None:
        from IPython.display import clear_output, display

        outputs = self.recorded(source)
        clear_output()  # type: ignore[no-untyped-call]
        if outputs is None:
            told = f"A browser {limit}: this cell needs the installed course."
        elif outputs:
            told = f"A browser {limit}. Where the course was recorded, this cell showed:"
        else:
            told = f"A browser {limit}."
        print("\n".join(wrapped(told)))
        for output in outputs or ():
            if output["output_type"] == "stream":
                print("".join(output["text"]), end="")
            elif output["output_type"] == "error":
                print("\n".join(output["traceback"]))
            else:
                data = {kind: "".join(part) for kind, part in output["data"].items()}
                display(data, raw=True)  # type: ignore[no-untyped-call]

    def recorded(self, source: str) -> list[dict[str, Any]] | None:
        """What a cell showed where its solution was recorded, as nbformat's outputs.

        Of several cells with one text, it is the next one after that which was shown last.

        Returns:
            None where the lesson has no such cell, as when it was edited.
        """
        places = [place for place, (text, _) in enumerate(self._cells) if text == source.strip()]
        if not places:
            return None
        self._shown = next((place for place in places if place > self._shown), places[0])
        return self._cells[self._shown][1]


def _recorded(lesson: str | None) -> list[tuple[str, list[dict[str, Any]]]]:
    """The code cells of a lesson's solution with their outputs; none where this installation carries no solutions."""
    if lesson is None or not course.has("solutions"):
        return []
    cells = json.loads(course.path("solutions", lesson).read_text(encoding="utf-8"))["cells"]
    return [("".join(cell["source"]).strip(), cell["outputs"]) for cell in cells if cell["cell_type"] == "code"]


_stand_in: StandIn | None = None
if IN_BROWSER:
    for _words in WARNINGS:
        warnings.filterwarnings("ignore", _words, UserWarning)
