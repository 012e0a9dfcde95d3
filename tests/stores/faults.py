"""What is done to a store in the tests and in the benchmark, with real processes and real kills.

A turn is acknowledged when the `append` that adds it has returned. Afterwards the store is asked what it has.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path

from places import RunningPlace

from memory_tutor import stores
from memory_tutor.stores import Conversation, Store

#: Seconds that a process may take; a failing store must not hang the tests.
PATIENCE = 120.0
#: Seconds at most between a writer's first turn and its end, or a server's.
LATEST_KILL = 0.1

# Each process is forked from one that has imported the stores and holds no connection: a start takes milliseconds.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload([f"memory_tutor.stores.{module}" for module in {*stores.ENGINES.values()}])


@dataclass(frozen=True)
class Found:
    """What a store has of the turns that were given to it.

    Args:
        acknowledged: how many turns were.
        lost: acknowledged turns that are not there.
        torn: messages that do not stand beside the other one of their turn.
        twice: turns that are there more than once.
    """

    acknowledged: int
    lost: int
    torn: int
    twice: int

    @property
    def sound(self) -> bool:
        return self.acknowledged > 0 and self.lost == self.torn == self.twice == 0


def turn(name: str) -> list[stores.Message]:
    """A question and its answer, long enough for a write that takes a while."""
    return [{"role": role, "content": f"{name} {role}".ljust(250, ".")} for role in ("user", "assistant")]


def examined(address: str, conversation: Conversation, acknowledged: Sequence[str]) -> Found:
    """Ask a store that was opened anew; what it cannot read is an error of its own."""
    with closing(stores.open(address)) as store:
        messages = store.load(conversation)[0]
    names = Counter[str]()
    place = 0
    while place < len(messages):
        name = str(messages[place]["content"]).partition(" ")[0]
        if messages[place : place + 2] == turn(name):
            names[name] += 1
        place += 2 if names[name] else 1
    lost = sum(name not in names for name in acknowledged)
    twice = sum(count > 1 for count in names.values())
    return Found(len(acknowledged), lost, len(messages) - 2 * names.total(), twice)


def add(store: Store, conversation: Conversation, name: str) -> None:
    """Add one turn, however often a rival is faster."""
    while True:
        try:
            store.append(conversation, turn(name), store.load(conversation, last=0)[2])
            return
        except stores.Conflict:
            continue


def write(
    address: str, conversation: Conversation, name: str, turns: int | None, log: Path, barrier: Barrier | None = None
) -> None:
    """Add turns, in a process of its own, and note each in a file when it is acknowledged.

    Args:
        turns: how many; for ever when None.
        barrier: waited at before the store is opened.
    """
    if barrier:
        barrier.wait(PATIENCE)
    noted = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with closing(stores.open(address)) as store:
        number = 0
        while turns is None or number < turns:
            add(store, conversation, f"{name}-{number}")
            os.write(noted, f"{name}-{number}\n".encode())
            number += 1


def _noted(log: Path) -> list[str]:
    return log.read_text(encoding="ascii").split() if log.exists() else []


def _run(jobs: Sequence[tuple[object, ...]]) -> None:
    """Let writers run to their end, at once."""
    running = [processes.Process(target=write, args=job) for job in jobs]
    for process in running:
        process.start()
    for process in running:
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
    if any(process.exitcode for process in running):
        raise RuntimeError(f"writers ended with {[process.exitcode for process in running]}")


def writers_at_once(address: str, conversation: Conversation, log: Path, *, writers: int, turns: int) -> Found:
    """Several processes add turns to one conversation, from the same moment on."""
    barrier = processes.Barrier(writers)
    _run([(address, conversation, f"w{number}", turns, log, barrier) for number in range(writers)])
    acknowledged = _noted(log)
    assert len(acknowledged) == writers * turns
    return examined(address, conversation, acknowledged)


def killed_writers(address: str, conversation: Conversation, log: Path, *, kills: int, seed: int = 0) -> Found:
    """A process that adds turns without end is killed at a random moment, and another goes on, many times."""
    moments = random.Random(seed)
    for kill in range(kills):
        before = len(_noted(log))
        writer = processes.Process(target=write, args=(address, conversation, f"k{kill}", None, log))
        writer.start()
        until = time.monotonic() + PATIENCE
        while len(_noted(log)) == before:
            if not writer.is_alive() or time.monotonic() > until:
                writer.kill()
                raise RuntimeError(f"writer {kill} ended with {writer.exitcode} before its first turn")
            time.sleep(0.002)
        time.sleep(moments.uniform(0, LATEST_KILL))
        writer.kill()
        writer.join(PATIENCE)
    return examined(address, conversation, _noted(log))


def killed_server(place: RunningPlace, conversation: Conversation, *, kills: int, seed: int = 0) -> Found:
    """A server is killed and started again, many times, while one store adds turns.

    The store object stays the same: it has to find the server again. A turn of which the server did not say
    whether it is written is not acknowledged, and is not tried again.
    """
    moments = random.Random(seed)
    acknowledged: list[str] = []
    wrong: list[BaseException] = []
    answered, ended = threading.Event(), threading.Event()

    def talk() -> None:
        number = 0
        with closing(stores.open(place.address)) as store:
            while not ended.is_set():
                number += 1
                try:
                    add(store, conversation, f"t{number}")
                    acknowledged.append(f"t{number}")
                    answered.set()
                except stores.StoreDown:
                    time.sleep(0.01)
                except BaseException as error:
                    wrong.append(error)
                    return

    def wait_for_an_answer() -> None:
        answered.clear()
        until = time.monotonic() + PATIENCE
        while not answered.wait(0.05):
            if wrong:
                raise wrong[0]
            if time.monotonic() > until:
                raise TimeoutError("the store has not found its server again")

    writer = threading.Thread(target=talk)
    writer.start()
    try:
        for _ in range(kills):
            wait_for_an_answer()
            time.sleep(moments.uniform(0, LATEST_KILL))
            place.kill()
            place.start()
        wait_for_an_answer()
    finally:
        ended.set()
        writer.join(PATIENCE)
    return examined(place.address, conversation, acknowledged)


#: The experiments on one place, as a table names them.
Experiment = Callable[[str, Conversation, Path], Found]
EXPERIMENTS: dict[str, Experiment] = {
    "2 writers x 200 turns": lambda *where: writers_at_once(*where, writers=2, turns=200),
    "25 writers killed": lambda *where: killed_writers(*where, kills=25),
    "8 writers, new store": lambda *where: writers_at_once(*where, writers=8, turns=5),
}
