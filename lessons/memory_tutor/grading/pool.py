"""Worker processes that mark submissions, one at a time each: what happens to one costs its one submission.

A worker tells each result when it has it. One that takes too long is ended, and one that dies is replaced; what it has
told until then counts. What a worker leaves behind when it is killed is ended and removed, at the
latest when the next batch begins.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection, resource_tracker
from typing import Any

from memory_tutor import leftovers, orphans
from memory_tutor.errors import TutorError
from memory_tutor.exercises import Result

#: Seconds that a worker has to start, and to end when it is told to.
START, END = 120.0, 5.0


class PoolError(TutorError):
    """No worker can be started."""


@dataclass(frozen=True)
class Task:
    """A submission to mark.

    Args:
        key: names it.
        data: the notebook.
        lesson: its name.
    """

    key: str
    data: bytes
    lesson: str


@dataclass
class Told:
    """What a worker has told of a submission.

    Args:
        task: it.
        results: of the exercises that were reached.
        problem: what stopped, or why it cannot be marked.
        notes: for the teacher.
        isolation: see `Learners`.
        ended: why it was not marked to the end, a sentence; "" if it was.
        seconds: that it took.
    """

    task: Task
    results: list[Result] = field(default_factory=list)
    problem: str = ""
    notes: list[str] = field(default_factory=list)
    isolation: str = ""
    ended: str = ""
    seconds: float = 0.0


def run(
    tasks: Iterable[Task], jobs: int, seconds: float, *, require_sandbox: bool = False, seed: int | None = None
) -> Iterator[Told]:
    """Mark submissions in several processes.

    Args:
        tasks: a task is asked for when a worker is free for it.
        jobs: how many processes there are.
        seconds: that a submission may take as a whole.
        require_sandbox: whether to refuse to run without one.
        seed: of what the checks make up; None for what they make up for everybody.

    Returns:
        What was told of each, in the order in which they are done.

    Raises:
        PoolError: no worker starts, or there is no sandbox and one is required.
    """
    leftovers.clear()
    queue = _Queue(tasks)
    workers: list[_Worker] = []
    if sys.platform == "linux":
        resource_tracker.ensure_running()  # the first worker's start would begin it, and it would look like an orphan
    children, lost = orphans.adopt(), False
    try:
        while True:
            for worker in workers:
                if worker.idle and (task := queue.next()):
                    worker.give(task)
            # A worker is started for a task, so that none is started for nothing.
            while len(workers) < jobs and (task := queue.next()):
                workers.append(_Worker(seconds, require_sandbox, seed))
                workers[-1].give(task)
            busy = [worker for worker in workers if not worker.idle]
            if not busy:
                return
            patience = min(worker.end for worker in busy) - time.monotonic()
            connection.wait([worker.pipe for worker in busy], timeout=max(patience, 0.01))
            for worker in busy:
                told = worker.hear()
                if worker.gone:
                    workers.remove(worker)
                    lost = True
                if told is not None and not (worker.gone and not worker.begun and queue.again(told.task)):
                    yield told
    finally:
        for worker in workers:
            worker.tell_to_end()
        for worker in workers:
            worker.wait()
        if lost:  # what it would have ended is ours now
            orphans.end(children)
        leftovers.clear()


class _Queue:
    """What is still to be marked."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks: Iterator[Task] = iter(tasks)
        self._back: list[Task] = []
        self._twice: set[str] = set()

    def next(self) -> Task | None:
        return self._back.pop() if self._back else next(self._tasks, None)

    def again(self, task: Task) -> bool:
        """Take back a task whose worker was gone before it began with it; once, as another may go as well."""
        if task.key in self._twice:
            return False
        self._twice.add(task.key)
        self._back.append(task)
        return True


class _Worker:
    """One process, from the side of the batch."""

    def __init__(self, seconds: float, require_sandbox: bool, seed: int | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._seconds = seconds
        self._process = context.Process(target=_serve, args=(theirs, seconds, require_sandbox, seed), daemon=True)
        self._process.start()
        theirs.close()
        self._isolation: str | None = None
        self._begun = time.monotonic()
        self.end = self._begun + START
        self.told: Told | None = None
        self._next: Task | None = None
        #: Whether it has begun with its task; whether it has ended.
        self.begun, self.gone = False, False

    @property
    def idle(self) -> bool:
        return self.told is None

    def give(self, task: Task) -> None:
        """Hand a task over, as soon as the process is ready for it."""
        self.told, self.begun = Told(task), False
        if self._isolation is None:
            self._next = task
        else:
            self._send(task)

    def _send(self, task: Task) -> None:
        assert self.told is not None and self._isolation is not None
        self.told.isolation = self._isolation
        self._begun = time.monotonic()
        self.end = self._begun + self._seconds
        with suppress(OSError):  # it has died: its end of the pipe says so next
            self.pipe.send(task)

    def hear(self) -> Told | None:
        """Take in what has been told; returns what was told of the submission when that is all."""
        assert self.told is not None
        told, ended = self.told, ""
        try:
            while not ended and self.pipe.poll():
                what, value = self.pipe.recv()
                if what == "done":
                    return self._finish(told, "")
                self._take(told, what, value)
        except (EOFError, OSError):
            if self._isolation is None:
                raise PoolError("The processes that mark do not start. `memory-tutor doctor` may say more.") from None
            ended = "The process that marked this submission has died."
        if not ended and time.monotonic() >= self.end:
            if self._isolation is None:
                raise PoolError(f"The processes that mark did not start in {START:g} s.")
            ended = f"It took more than {self._seconds:g} s as a whole."
        if not ended:
            return None
        self.gone = True
        self.tell_to_end()
        self.wait()
        return self._finish(told, ended)

    def _take(self, told: Told, what: str, value: Any) -> None:
        if what == "ready":
            self._isolation = value
            if self._next is not None:
                self._send(self._next)
        elif what == "begun":
            self.begun = True
        elif what == "refused":
            raise PoolError(value)
        elif what == "result":
            told.results.append(value)
        elif what == "note":
            told.notes.append(value)
        elif what == "problem":
            told.problem = value
        elif what == "fault":
            told.ended = value

    def _finish(self, told: Told, ended: str) -> Told:
        told.ended = told.ended or ended
        told.seconds = time.monotonic() - self._begun
        self.told = None
        return told

    def tell_to_end(self) -> None:
        self._process.terminate()

    def wait(self) -> None:
        """Wait for its end; it is told again, and then forced, when it does not come."""
        for insist in (self._process.terminate, self._process.kill):
            self._process.join(END)
            if self._process.exitcode is None:
                insist()
        self._process.join(END)
        self.pipe.close()


# -- in the process ------------------------------------------------------------------------------------


def _serve(pipe: Any, seconds: float, require_sandbox: bool, seed: int | None = None) -> None:
    """Mark what comes until the pipe ends."""
    # The batch decides what an interrupt means; when it ends us, learners' processes and folders go first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # The exit may come in a place that Python lets no exception out of: then it is told again, and nobody else is.
    sys.unraisablehook = lambda _: None
    from memory_tutor.grading import marking
    from memory_tutor.grading.sandbox import open_sandbox

    try:
        with open_sandbox(require=require_sandbox) as made:
            pipe.send(("ready", made.isolation))
            while True:
                task = pipe.recv()
                pipe.send(("begun", None))
                try:
                    marking.mark(task.data, task.lesson, made, seconds, lambda *told: pipe.send(told), seed)
                except Exception as error:  # a fault of ours: the batch goes on
                    pipe.send(("note", f"The grader failed with {type(error).__name__}: {error}"))
                    pipe.send(("fault", "The grader failed here; this says nothing about the answers."))
                pipe.send(("done", None))
    except TutorError as error:
        pipe.send(("refused", error.message))
    except (EOFError, OSError):
        pass
