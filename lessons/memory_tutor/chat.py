"""A talk with an `Assistant` in the terminal: the learner's from lesson 8, or the course's own."""

from __future__ import annotations

import io
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai

import memory_tutor
from memory_tutor import checks, replay, sample, stores
from memory_tutor.errors import TutorError
from memory_tutor.notebooks import checked_name
from memory_tutor.resetting import defines
from memory_tutor.restart import rerun
from memory_tutor.solutions import NoSolution, reference
from memory_tutor.tutor import Tutor
from memory_tutor.workspace import notebook, read_notebook

LESSON = "08_capstone"
#: Who answers: the recording, the recording where it can and else the endpoint, or the endpoint.
MODES = ("replay", "explore", "live")
#: Where live talks are kept, in the learner's folder.
KEPT_IN = "chat.db"

#: How to say other things than the recorded ones.
LIVE = "To say what you like: memory-tutor chat --mode live, with a key or a model on this machine."

HELP = """\
  /goal TEXT   set the goal, which goes into the pad
  /sent        show the last request
  /help        show these lines
  /quit        end (Ctrl-D does it too)"""


class ChatError(TutorError):
    """There is nobody to talk to; the message says why."""


@dataclass
class Chat:
    """One talk.

    Args:
        assistant: made by the learner's class or by the course's.
        tutor: whose transcript has what was sent.
        ids: tenant, user and session.
        read: asks for a line; raises EOFError when there are no more.
        write: shows a text.
        offline: whether nothing but a recorded talk is answered.
        script: its lines, of which an empty line stands for the next.
    """

    assistant: Any
    tutor: Tutor
    ids: tuple[str, str, str]
    read: Callable[[str], str]
    write: Callable[[str], None]
    offline: bool = False
    script: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Talk until there are no more lines."""
        while True:
            try:
                line = self.read("you> ").strip()
            except (EOFError, KeyboardInterrupt):
                self.write("")
                return
            if not line and self.script:
                line = self.script[0]
                self.write(f"you> {line}")
            elif not line and self.offline:
                self.write(f"The recorded talk is over; /quit ends. {LIVE}")
            if line in ("/quit", "/exit"):
                return
            if line:
                self._answer(line)

    def _answer(self, line: str) -> None:
        command, _, rest = line.partition(" ")
        if command == "/help":
            self.write(HELP)
        elif command == "/sent":
            sent = self.tutor.transcript
            self.write(repr(sent[-1]) if len(sent) else "Nothing has been sent yet.")
        elif command == "/goal" and not rest.strip():
            self.write(f"Write the goal behind the command: /goal {sample.GOAL}")
        elif command == "/goal" and self.offline and line not in self.script[:1]:
            self.write(self._only_recorded())  # with another goal, no later line would be recorded
        elif command == "/goal":
            if self._try(lambda: self.assistant.set_goal(*self.ids, rest.strip()), line):
                self.write("     The goal is kept.")
        elif command.startswith("/"):
            self.write(f"There is no command {command}.\n{HELP}")
        else:
            replies: list[object] = []
            if self._try(lambda: replies.append(self.assistant.chat(*self.ids, line)), line):
                self.write(f"assistant> {replies[0]}")

    def _try(self, turn: Callable[[], object], line: str) -> bool:
        """Whether a turn has succeeded; else the reason is shown, and the talk can go on."""
        try:
            turn()
        except KeyboardInterrupt:
            self.write("Stopped. This message was not answered.")
        except replay.NotRecorded as error:
            self.write(self._not_recorded(line, error))
        except (TutorError, openai.OpenAIError) as error:
            self.write(f"This message was not answered. {type(error).__name__}: {error}")
        except (Exception, SystemExit) as error:
            self.write(_where(error))
        else:
            if self.script and line == self.script[0]:
                del self.script[0]
            return True
        return False

    def _not_recorded(self, line: str, error: replay.NotRecorded) -> str:
        if line in self.script[:1]:
            return (
                f"{error.message}\n"
                "The course's own Assistant sends the request that is recorded: memory-tutor chat --reference"
            )
        return self._only_recorded()

    def _only_recorded(self) -> str:
        following = f'The next line that is recorded: "{self.script[0]}" (press Enter).\n' if self.script else ""
        return f"Offline, only the recorded talk is answered. {following}{LIVE}"


def _where(error: BaseException) -> str:
    """What a learner's class raised, with the line of the notebook that did."""
    said = f"Assistant raised {type(error).__name__}: {error}".rstrip(": ")
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith("<cell "):
            return f"{said}\nIt happened in line {frame.lineno} of its cell: {frame.line}"
    return said


# -- who answers -----------------------------------------------------------------------------------------


def learners_cells(folder: Path | None) -> list[str] | None:
    """The code of the learner's capstone, if an `Assistant` has been written there.

    Args:
        folder: of the learner; None for nobody's.
    """
    if folder is None or not notebook(folder, LESSON).exists():
        return None
    cells = [
        cell.source
        for cell in read_notebook(notebook(folder, LESSON)).cells
        if cell.cell_type == "code" and checked_name(cell) is None
    ]
    answers = [source for source in cells if defines(source, "Assistant")]
    return cells if answers and "raise NotImplementedError" not in answers[-1] else None


@contextmanager
def opened(
    folder: Path | None,
    *,
    mode: str = "replay",
    session: str = "",
    course_own: bool = False,
    read: Callable[[str], str] = input,
    write: Callable[[str], None] = print,
) -> Iterator[Chat]:
    """Make a talk ready, and say with whom and how.

    Offline each talk begins anew, since the recording knows one talk from its beginning; live, it is kept in
    the learner's folder and goes on where it stopped.

    Args:
        folder: of the learner, if there is one.
        mode: "replay", "explore" or "live".
        session: of the conversation; the sample's by default.
        course_own: talk to the course's Assistant, whatever the learner has written.
        read, write: as in `Chat`.

    Raises:
        ChatError: there is no Assistant here, or no such mode.
        LiveError: the mode cannot start.
    """
    if mode not in MODES:
        raise ChatError(f"There is no mode {mode!r} for a talk. There are: {', '.join(MODES)}.")
    cells = None if course_own else learners_cells(folder)
    with ExitStack() as stack:
        tutor = memory_tutor.start(LESSON, mode=mode)
        stack.callback(replay.close)
        client = stack.enter_context(openai.OpenAI())
        given = {"client": client, "model": tutor.model, "tutor": tutor}
        if cells is None:
            made = _course_own(given)
            yours = "" if course_own or folder is None else " Yours, of lesson 8, is not finished yet."
            write(f"You talk to the course's own Assistant.{yours}")
        else:
            with redirect_stdout(io.StringIO()):  # what the cells print, they have printed in the notebook
                made = rerun(cells, ["Assistant", "Conflict"], given)
            write(f"You talk to your Assistant, as saved in {LESSON}.ipynb.")
        if not callable(made.get("Assistant")):
            raise ChatError(f"The cell with Assistant in {LESSON}.ipynb does not run. Run it in JupyterLab to see why.")
        offline = mode == "replay"
        store, told = _store(stack, None if offline else folder, made.get("Conflict"))
        if offline:
            told = "One talk is recorded. Press Enter for its next line, /help for commands."
        write(told)
        try:
            assistant = made["Assistant"](store, client, tutor.model, sample.WINDOW)
        except Exception as error:
            raise ChatError(_where(error)) from None
        ids = (sample.TENANT, sample.USER, session or sample.SESSION)
        yield Chat(assistant, tutor, ids, read, write, offline, list(sample.LINES) if offline else [])


def _course_own(given: dict[str, Any]) -> dict[str, Any]:
    try:
        conflict = {"Conflict": stores.Conflict}
        return {**conflict, "Assistant": reference(checks.find_answer("Assistant"), given | conflict)}
    except NoSolution:
        raise ChatError(
            f"There is no Assistant to talk to yet: write yours in {LESSON}.ipynb (memory-tutor start --lesson 8).\n"
            "This installation carries no solutions, so the course's own cannot answer in its place."
        ) from None


def _store(stack: ExitStack, folder: Path | None, conflict: object) -> tuple[stores.Store, str]:
    """The store of a talk, and a line that says where it is: in the learner's folder, or gone with the talk."""
    known = conflict if isinstance(conflict, type) and issubclass(conflict, Exception) else stores.Conflict
    if folder is None:
        temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        store = stores.open(f"json:{stack.enter_context(temporary)}", conflict=known)
        told = "The talk is not kept: there is no folder of lessons here. /help shows the commands."
    else:
        place = folder / KEPT_IN
        try:
            store = stores.open(f"sqlite:{place}", conflict=known)
        except stores.StoreError:  # a class's installation has no SqliteStore
            place = folder / "chat"
            store = stores.open(f"json:{place}", conflict=known)
        told = f"The talk is kept in {place}. /help shows the commands."
    stack.callback(store.close)
    return store, told
