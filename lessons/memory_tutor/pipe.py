"""The check's end of the pipe to a learner's process: what it says is believed only as far as it is read.

The process is given the notebook's cells. Whatever it does (end, hang, write nonsense), the check's side
gets a report with a sentence, and the next call finds a new process with the same cells.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

from memory_tutor.channel import Channel
from memory_tutor.codec import CodecError
from memory_tutor.exercises import NotGradable
from memory_tutor.raised import Raised
from memory_tutor.worker import Ask, Message, over_time

#: Seconds for a new process until it says hello, for one cell, and beyond a limit until it is killed.
START, CELL, GRACE = 60.0, 20.0, 2.0
#: Cells that may end or hang the process; each costs a new one, which leaves that cell out.
DEADLY = 3
#: What reading a message raises that is not what it should be, and what is said of it.
UNREADABLE = (AttributeError, LookupError, TypeError, ValueError)
NONSENSE = "What the process of this notebook sends cannot be read."
#: Variables that a learner's code has no business with.
SECRET = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY")


class Gone(Exception):
    """The process gives no more answers.

    Args:
        name: "TimeLimit" or "ProcessEnded", like the class of an exception.
        message: a sentence.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.raised = Raised((name,), message)


class Process:
    """One process and the state of the talk with it.

    Args:
        serve: answers its questions.
        directory: in which it runs; None for one of its own.
    """

    def __init__(self, serve: Ask, directory: Path | None) -> None:
        self._serve = serve
        self._folder = tempfile.TemporaryDirectory(prefix="memory-tutor-", ignore_cleanup_errors=True)
        environment = {name: value for name, value in os.environ.items() if name not in SECRET}
        # IPython keeps a profile somewhere: not in the user's own folder.
        environment |= {"MEMORY_TUTOR_LEARNER": "1", "IPYTHONDIR": self._folder.name}
        # It is killed in the end and cannot tidy up: what its code puts into temporary folders goes with it.
        environment |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder.name)
        self._popen = subprocess.Popen(
            # -P: a file of the learner's folder must not stand for a module of ours.
            [sys.executable, "-P", "-m", "memory_tutor.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=directory or self._folder.name,
            start_new_session=True,
        )
        assert self._popen.stdin is not None and self._popen.stdout is not None
        self._ended = False
        self._lines: queue.Queue[bytes | None] = queue.Queue(maxsize=64)
        self._channel = Channel(self._popen.stdout, self._popen.stdin, self._arrived)
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
        # A process that floods us has to wait; the reading thread must not, once nobody listens.
        while not self._ended:
            with suppress(queue.Full):
                self._lines.put(line, timeout=1)
                return

    def _receive(self, wait: float, seconds: float) -> Message:
        try:
            line = None if self._ended else self._lines.get(timeout=max(wait, 0.001))
        except queue.Empty:
            raise Gone("TimeLimit", over_time(seconds)) from None
        if line is None:
            raise Gone("ProcessEnded", "It ended the whole Python process.")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CodecError("This is no message.") from error
        if not isinstance(message, dict):
            raise CodecError("This is no message.")
        return message

    def end(self) -> None:
        """Kill the process and all that it has started in its group; harmless when it has ended."""
        self._ended = True
        if self._popen.returncode is not None:
            return
        if sys.platform == "win32":
            self._popen.kill()
        else:
            # Before anyone has waited for it: until then its number, and so its group's, is its own.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        self._channel.close()
        self._folder.cleanup()


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
        directory: in which the cells run; None for one of their own.
    """

    cells: Sequence[str]
    serve: Ask
    serve_cells: Ask
    directory: Path | None = None
    #: How many processes there have been; what was kept in one is lost with it.
    generation: int = 0
    results: list[CellResult] = field(default_factory=list)
    _process: Process | None = None
    _deadly: dict[int, CellResult] = field(default_factory=dict)
    _running_cells: bool = False

    def ready(self) -> None:
        """See that there is a process that has run the cells.

        Raises:
            NotGradable: it does not start, or too many cells end it.
        """
        while self._process is None:
            if len(self._deadly) > DEADLY:
                raise NotGradable(f"More than {DEADLY} cells end or block the process that runs the notebook.")
            self._start()

    def exchange(self, message: Message) -> Message:
        """Send a message and get its report; where none comes, one that says why."""
        process = self._process
        assert process is not None, "ready() comes first"
        try:
            return process.request(message, message["seconds"])
        except Gone as gone:
            self._end(process)
            return {"exception": asdict(gone.raised)}
        except UNREADABLE as error:
            self._end(process)
            raise NotGradable(NONSENSE) from error
        except BaseException:
            self._end(process)
            raise

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._end(self._process)

    def _end(self, process: Process) -> None:
        process.end()
        if self._process is process:
            self._process = None

    def _start(self) -> None:
        process = self._process = Process(self._answer, self.directory)
        self.generation += 1
        self.results = []
        self._running_cells = True
        try:
            _hear(process, "hello", START)
            process.tell({"cells": list(self.cells), "skip": list(self._deadly), "seconds": CELL})
            for number in range(len(self.cells)):
                try:
                    self.results.append(self._deadly.get(number) or _hear_cell(process, number))
                except Gone as gone:
                    self._deadly[number] = CellResult(number, gone.raised)
                    self._end(process)
                    return
            _hear(process, "ready", CELL)
        except (Gone, *UNREADABLE) as error:
            self._end(process)
            raise NotGradable(
                "The process for the code of this notebook does not work.\n`memory-tutor doctor` says more."
            ) from error
        except BaseException:
            self._end(process)
            raise
        finally:
            self._running_cells = False

    def _answer(self, question: Message) -> Message:
        return (self.serve_cells if self._running_cells else self.serve)(question)


def _hear(process: Process, key: str, seconds: float) -> Message:
    """The next message of a process that is neither question nor report."""
    heard: list[Message] = []
    process.listen(lambda: bool(heard), seconds, heard.append)
    if key not in heard[0]:
        raise CodecError("This is not what comes next.")
    return heard[0]


def _hear_cell(process: Process, number: int) -> CellResult:
    message = _hear(process, "cell", CELL)
    if message["cell"] != number:
        raise CodecError("This is not what comes next.")
    raised = message["exception"]
    return CellResult(number, None if raised is None else Raised.read(raised), tuple(map(str, message["refused"])))
