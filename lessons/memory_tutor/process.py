"""A learner's process: `python -m memory_tutor.process` runs a notebook's cells, then serves checks.

It speaks the messages of `worker` over its standard input and output, as JSON lines:

- first it says {"hello"} and gets {"cells": sources, "skip": numbers, "seconds": for each}; after each cell
  it says {"cell": number, "exception": … or null, "refused": commands that were not run}, then {"ready"};
- a message has an "id", its report {"result": id, …}; a question has an "id", its answer {"answer": id, …};
- a message that is sent while a question waits names it in "within", and is done before the answer.

It ends when its input does, whatever the learner's code is doing.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
from dataclasses import dataclass, field
from itertools import count
from json import loads
from typing import IO, Any, NoReturn

from memory_tutor import inside, replay
from memory_tutor.channel import Channel
from memory_tutor.limits import Limits
from memory_tutor.timelimit import TimeLimitReached, within
from memory_tutor.worker import Message, Worker

Box = queue.SimpleQueue[Message]


class Office:
    """Sorts what arrives: a new message to the main thread, an answer to the thread that has asked."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._channel = Channel(incoming, outgoing, self._arrived)
        self._numbers = count(1)
        self._main: Box = queue.SimpleQueue()
        self._asking: dict[int, Box] = {}
        self.worker: Worker

    def get(self) -> Message:
        """Wait for a message that belongs to no question."""
        return self._main.get()

    def send(self, message: Message) -> None:
        self._channel.send(message)

    def serve(self, message: Message) -> None:
        """Do what a message says and send the report."""
        try:
            report = self.worker.handle(message)
        except KeyboardInterrupt as error:  # no user is here: the code has sent itself the signal
            report = {"exception": self.worker.describe(error, message["seconds"])}
        self.send({**report, "result": message["id"]})

    def ask(self, question: Message) -> Message:
        """Send a question and wait for the answer, doing meanwhile what the check's side says."""
        number = next(self._numbers)
        box = self._asking[number] = queue.SimpleQueue()
        try:
            self.send({**question, "id": number})
            while "answer" not in (message := box.get()):
                self.serve(message)
            return message
        finally:
            del self._asking[number]

    def _arrived(self, line: bytes | None) -> None:
        if line is None:
            os._exit(0)
        message: Message = loads(line)
        if "answer" in message:
            # The thread that has asked may have been interrupted; nobody misses the answer then.
            if (box := self._asking.get(message["answer"])) is not None:
                box.put(message)
        else:
            self._asking.get(message.get("within", 0), self._main).put(message)


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Keep standard input and output for the messages, and leave the learner's code with nothing there."""
    pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    return pipes


def _make_shell(refused: list[str]) -> Any:
    """The shell of a notebook, without colours, history file, or a way to run other programs.

    Args:
        refused: gets each `!` or `%pip` command in place of the system; the cell goes on.
    """
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell: Any = InteractiveShell.instance(config=config)
    shell.showtraceback = shell.showsyntaxerror = lambda *_, **__: None
    shell.system = shell.getoutput = lambda command, **_: refused.append(str(command))
    for name in ("script", "bash", "sh", "python", "python3", "perl", "ruby", "javascript", "system", "!"):
        shell.register_magic_function(lambda _, cell: refused.append(str(cell)), "cell", name)
    return shell


@dataclass(frozen=True)
class Ready:
    """What can be made before the cells are known: see `prepare`.

    Args:
        shell: in which they will run.
        tape: that answers what they send.
        refused: gets the shell commands in them.
    """

    shell: Any
    tape: replay.Tape
    refused: list[str] = field(default_factory=list)


def prepare() -> Ready:
    """Make a shell and close the way to the network."""
    refused: list[str] = []
    return Ready(_make_shell(refused), replay.open_empty(), refused)


def serve(ready: Ready, incoming: IO[bytes], outgoing: IO[bytes]) -> NoReturn:
    """Run the cells, then do what the check's side says until it goes.

    Args:
        ready: made by `prepare`, for this notebook alone.
        incoming: what to read messages from.
        outgoing: what to write them to.
    """
    # Outside a call, nothing may interrupt this process; it ends with its input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path.insert(0, "")
    shell, refused = ready.shell, ready.refused
    office = Office(incoming, outgoing)
    office.worker = Worker(shell.user_ns, shell.user_ns["In"], office.ask)
    inside.ask = office.ask
    ready.tape.answer = office.worker.forward
    office.send({"hello": True})
    start = office.get()
    for number, cell in enumerate(start["cells"]):
        if number not in start["skip"]:
            error = _run(shell, cell, start["seconds"])
            told = error and office.worker.describe(error, start["seconds"])
            office.send({"cell": number, "exception": told, "refused": refused[:9]})
            refused.clear()
    office.send({"ready": True})
    with replay.scripted(office.worker.forward):
        while True:
            office.serve(office.get())


def _run(shell: Any, cell: str, seconds: float) -> BaseException | None:
    """Run a cell as a notebook does; one that fails does not keep the next from running."""
    try:
        result = within(seconds, lambda: shell.run_cell(cell, store_history=True))
    except (TimeLimitReached, KeyboardInterrupt) as error:
        return error
    failed: BaseException | None = result.error_before_exec or result.error_in_exec
    return failed


def main() -> NoReturn:
    """Serve over standard input and output, within the limits that are given as an argument, if any."""
    limits = [Limits(**loads(text)) for text in sys.argv[1:]]
    sys.argv[1:] = []
    ends = _take_pipes()
    ready = prepare()
    for each in limits:
        each.apply()
    serve(ready, *ends)


if __name__ == "__main__":
    main()
