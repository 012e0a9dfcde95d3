"""What a worker tells the batch, and what becomes of a task whose worker has gone."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

from memory_tutor.exercises import Result
from memory_tutor.grading import marking, pool, sandbox
from memory_tutor.grading.pool import PoolError, Task, Told


class Pipe:
    """The worker's end: gives tasks, then ends; keeps what is sent."""

    def __init__(self, *tasks: Task) -> None:
        self.tasks = list(tasks)
        self.sent: list[tuple[str, object]] = []

    def recv(self) -> Task:
        if not self.tasks:
            raise EOFError
        return self.tasks.pop(0)

    def send(self, message: tuple[str, object]) -> None:
        self.sent.append(message)


@pytest.fixture(autouse=True)
def no_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker sets its own in its own process."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)


def test_a_fault_of_ours_costs_one_submission_and_is_told_to_the_teacher_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    result = Result("say", "passed", 4, 4, "PASSED")

    def mark(
        data: bytes, lesson: str, made: object, seconds: float, tell: Callable[[str, object], None], seed: object
    ) -> None:
        tell("result", result)
        if data == b"1":
            raise KeyError("a secret path")

    monkeypatch.setattr(marking, "mark", mark)
    pipe = Pipe(Task("1", b"1", "02"), Task("2", b"2", "02"))
    pool._serve(pipe, 9, False)
    assert [what for what, _ in pipe.sent] == [
        *("ready", "begun", "result", "note", "fault", "done"),
        *("begun", "result", "done"),
    ]
    told = dict(pipe.sent[:5])
    assert "a secret path" in str(told["note"]) and "secret" not in str(told["fault"])


def test_a_sandbox_that_is_required_and_missing_ends_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox.seccomp, "is_possible", lambda: False)
    pipe = Pipe(Task("1", b"", "02"))
    pool._serve(pipe, 9, True)
    ((what, why),) = pipe.sent
    assert what == "refused" and "this is no Linux" in str(why)
    worker: Any = object.__new__(pool._Worker)
    with pytest.raises(PoolError, match="Install bubblewrap on a Linux system"):
        worker._take(Told(Task("1", b"", "02")), *pipe.sent[0])


def test_a_task_is_taken_back_once() -> None:
    one, two = Task("1", b"", "02"), Task("2", b"", "02")
    queue = pool._Queue([one, two])
    assert queue.next() is one and queue.again(one)
    assert queue.next() is one and not queue.again(one)
    assert queue.next() is two and queue.next() is None and queue.again(two)


def test_no_worker_is_started_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_Worker", None)
    assert list(pool.run([], 4, 9)) == []
