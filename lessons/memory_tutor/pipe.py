"""The check's end of the pipe to a learner's process: what it says is believed only as far as it is read.

The process is given the notebook's cells. Whatever it does (end, hang, write nonsense), the check's side
gets a report with a sentence, and the next call finds a new process with the same cells.
"""

from __future__ import annotations

import json
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count

from memory_tutor.channel import Channel
from memory_tutor.codec import CodecError, printable, shorten
from memory_tutor.exercises import NotGradable
from memory_tutor.hosts import Host, Running
from memory_tutor.raised import LINE, Raised
from memory_tutor.worker import Ask, Message, over_time

#: Seconds for a new process until it says hello, for one cell, and beyond a limit until it is killed.
START, CELL, GRACE = 60.0, 20.0, 2.0
#: Cells that may end or hang the process; each costs a new one, which leaves that cell out.
DEADLY = 3
#: What reading a message raises that is not what it should be, and what is said of it.
UNREADABLE = (AttributeError, LookupError, TypeError, ValueError)
NO_PROCESS = "The process for the code of this notebook does not work.\n`memory-tutor doctor` says more."
NONSENSE = "What the process of this notebook sends cannot be read."
ENDED = "It ended the whole Python process."
FLOODED = "It sent more than can be looked at, and was stopped."
#: Bytes of messages that wait to be read, and parts of one message: the bounds of `codec` leave room below.
WAITING, PARTS = 32 << 20, 1_000_000


class Gone(Exception):
    """The process gives no more answers.

    Args:
        name: "TimeLimit" or "ProcessEnded", like the class of an exception.
        message: a sentence.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.raised = Raised((name,), message)


class Talk:
    """The state of the talk with one process.

    Args:
        process: that runs.
        serve: answers its questions.
        allowance: how much may still be said.
    """

    def __init__(self, process: Running, serve: Ask, allowance: Allowance) -> None:
        self._process = process
        self._serve = serve
        self._allowance = allowance
        self._ended = False
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0  # bytes in the queue
        self._room = threading.Condition()
        self._channel = Channel(process.incoming, process.outgoing, self._arrived)
        self._numbers = count(1)
        self._asking: list[int] = []
        self._awaited: dict[int, Message | None] = {}

    def tell(self, message: Message) -> None:
        """Send a message that gets no report."""
        self._channel.send(message)

    def request(self, message: Message, seconds: float) -> Message:
        """Send a message and wait for its report, answering questions meanwhile.

        Args:
            message: see `worker`.
            seconds: that its work may take.

        Raises:
            Gone: there will be no report.
            CodecError: what came is no message.
        """
        number = next(self._numbers)
        self._awaited[number] = None
        within = {"within": self._asking[-1]} if self._asking else {}
        self._channel.send({**message, **within, "id": number})
        self.listen(lambda: self._awaited[number] is not None, seconds)
        report = self._awaited.pop(number)
        assert report is not None
        return report

    def listen(self, done: Callable[[], bool], seconds: float, other: Callable[[Message], None] | None = None) -> None:
        """Answer questions and keep reports until something is so.

        Args:
            done: whether it is.
            seconds: to wait, not counting the time that our own answers take.
            other: gets the messages that are neither question nor report.
        """
        end = time.monotonic() + seconds + GRACE
        while not done():
            message = self._receive(end - time.monotonic(), seconds)
            if "ask" in message:
                begun = time.monotonic()
                self._answer(message)
                end += time.monotonic() - begun
            elif message.get("result") in self._awaited:
                self._awaited[message["result"]] = message
            elif other is not None:
                other(message)
            else:
                raise CodecError("This is no answer to anything.")

    def _answer(self, question: Message) -> None:
        self._asking.append(question["id"])
        try:
            answer = self._serve(question)
        finally:
            self._asking.pop()
        self._channel.send({**answer, "answer": question["id"]})

    def _arrived(self, line: bytes | None) -> None:
        size = 0 if line is None else len(line)
        with self._room:
            # A process that floods us has to wait; the reading thread must not, once nobody listens.
            self._room.wait_for(lambda: self._ended or not self._waiting or self._waiting + size <= WAITING)
            self._waiting += size
        self._lines.put(line)

    def _receive(self, wait: float, seconds: float) -> Message:
        if self._ended:
            raise Gone("ProcessEnded", ENDED)
        try:
            line = self._lines.get(timeout=max(min(wait, self._allowance.left), 0.001))
        except queue.Empty:
            raise Gone("TimeLimit", over_time(seconds)) from None
        if line is None:
            raise Gone("ProcessEnded", self._process.stopped or ENDED)
        with self._room:
            self._waiting -= len(line)
            self._room.notify()
        if not self._allowance.take(len(line)):
            raise Gone("ProcessEnded", FLOODED)
        # Before it is read: a text of brackets takes a hundred times its size as a value.
        if sum(map(line.count, (b"[", b"{", b","))) > PARTS:
            raise CodecError("This is no message.")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CodecError("This is no message.") from error
        if not isinstance(message, dict):
            raise CodecError("This is no message.")
        return message

    def end(self) -> None:
        """End the process; harmless when it has ended."""
        with self._room:
            self._ended = True
            self._room.notify()
        self._process.end()
        self._channel.close()


class Allowance:
    """What a notebook may take of the check's side, over all its processes.

    Args:
        seconds: from now on, as a clock on the wall counts them; None for no end.
        sent: bytes that its processes may send; None for no end.
    """

    def __init__(self, seconds: float | None = None, sent: int | None = None) -> None:
        self.seconds = seconds
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._sent = math.inf if sent is None else sent

    @property
    def left(self) -> float:
        """Seconds."""
        return self._end - time.monotonic()

    def take(self, size: int) -> bool:
        """Take a message into account, at least a few hundred bytes for each; False if it is too much."""
        self._sent -= max(size, 256)
        return self._sent >= 0

    def check(self) -> None:
        """Go on while there is time.

        Raises:
            NotGradable: there is none.
        """
        if self.left <= 0:
            raise NotGradable(f"The {self.seconds:g} seconds that a notebook may take to be marked are used up.")


@dataclass(frozen=True)
class CellResult:
    """What became of a cell.

    Args:
        number: of the cell, from 0.
        exception: that ended it, or None.
        refused: the shell commands in it, which were not run.
    """

    number: int
    exception: Raised | None
    refused: Sequence[str] = ()

    @property
    def error(self) -> str:
        """Name and message of the exception, "" where the cell ran to its end."""
        return "" if self.exception is None else f"{self.exception.name}: {self.exception.message}"


@dataclass
class Pipe:
    """A learner's process that is always there: started anew, with the same cells, when it has gone.

    Args:
        cells: sources of the notebook's code cells.
        serve: answers the questions of calls.
        serve_cells: answers the questions that the cells ask when they are run.
        host: starts the processes.
        allowance: what they may take, all together.
    """

    cells: Sequence[str]
    serve: Ask
    serve_cells: Ask
    host: Host
    allowance: Allowance = field(default_factory=Allowance)
    #: How many processes there have been; what was kept in one is lost with it.
    generation: int = 0
    results: list[CellResult] = field(default_factory=list)
    _talk: Talk | None = None
    _deadly: dict[int, CellResult] = field(default_factory=dict)
    _running_cells: bool = False

    def ready(self) -> None:
        """See that there is a process that has run the cells.

        Raises:
            NotGradable: it does not start, or too many cells end it.
        """
        while self._talk is None:
            self.allowance.check()
            if len(self._deadly) > DEADLY:
                raise NotGradable(f"More than {DEADLY} cells end or block the process that runs the notebook.")
            self._start()

    def exchange(self, message: Message) -> Message:
        """Send a message and get its report; where none comes, one that says why."""
        talk = self._talk
        assert talk is not None, "ready() comes first"
        try:
            return talk.request(message, message["seconds"])
        except Gone as gone:
            self._end(talk)
            self.allowance.check()
            return {"exception": asdict(gone.raised)}
        except UNREADABLE as error:
            self._end(talk)
            raise NotGradable(NONSENSE) from error
        except BaseException:
            self._end(talk)
            raise

    def close(self) -> None:
        """End the process."""
        if self._talk is not None:
            self._end(self._talk)

    def _end(self, talk: Talk) -> None:
        talk.end()
        if self._talk is talk:
            self._talk = None

    def _start(self) -> None:
        try:
            process = self.host.start()
        except OSError as error:
            raise NotGradable(NO_PROCESS) from error
        talk = self._talk = Talk(process, self._answer, self.allowance)
        self.generation += 1
        self.results = []
        self._running_cells = True
        try:
            self._hear_hello(talk)
            talk.tell({"cells": list(self.cells), "skip": list(self._deadly), "seconds": CELL})
            for number in range(len(self.cells)):
                try:
                    self.results.append(self._deadly.get(number) or _hear_cell(talk, number))
                except Gone as gone:
                    self._deadly[number] = CellResult(number, gone.raised)
                    self._end(talk)
                    return
            _hear(talk, "ready", CELL)
        except (Gone, *UNREADABLE) as error:
            self._end(talk)
            raise NotGradable(NONSENSE) from error
        except BaseException:
            self._end(talk)
            raise
        finally:
            self._running_cells = False

    def _hear_hello(self, talk: Talk) -> None:
        """Wait until the process is there; nothing of the learner's has run yet."""
        try:
            _hear(talk, "hello", START)
        except (Gone, *UNREADABLE) as error:
            self._end(talk)
            raise NotGradable(NO_PROCESS) from error

    def _answer(self, question: Message) -> Message:
        return (self.serve_cells if self._running_cells else self.serve)(question)


def _hear(talk: Talk, key: str, seconds: float) -> Message:
    """The next message of a process that is neither question nor report."""
    heard: list[Message] = []
    talk.listen(lambda: bool(heard), seconds, heard.append)
    if key not in heard[0]:
        raise CodecError(str(heard[0].get("failed", "This is not what comes next.")))
    return heard[0]


def _hear_cell(talk: Talk, number: int) -> CellResult:
    message = _hear(talk, "cell", CELL)
    if message["cell"] != number:
        raise CodecError("This is not what comes next.")
    raised = message["exception"]
    return CellResult(
        number,
        None if raised is None else Raised.read(raised),
        tuple(printable(shorten(str(each), LINE)) for each in message["refused"][:9]),
    )
