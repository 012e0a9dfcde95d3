"""What four ways of saving a conversation lose. Run: python tests/bench/persistence.py

Two experiments, with real processes. *Killed*: a process adds turns to a conversation as fast as it can and is
killed at a random moment, many times. *Two workers*: two processes add turns to one conversation at once.
A turn is acknowledged when the call that saves it has returned; lost are the acknowledged turns that the
store does not give back, and all of them where it cannot be read. A turn whose call raises, since the file cannot be
read just then, is not acknowledged: its user has seen an error.

Prints counts; asserts nothing. The numbers of two runs differ, as luck does; which of them are 0 should not.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

#: Length of one message, in characters; a file of 100 turns has about 60 kB.
LENGTH = 250
#: Random seconds after which a writer is killed, from when it has saved its first turn.
SOON, LATE = 0.0, 0.15

Message = dict[str, str]


def turn(worker: str, number: int) -> list[Message]:
    """A question and its answer, each of which says which turn it belongs to."""
    return [{"role": role, "content": f"{worker} {number} {role}".ljust(LENGTH, ".")} for role in ("user", "assistant")]


# -- four ways of saving ---------------------------------------------------------------------------------


class JsonFile:
    """Read all, append, write all over the old file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "chat.json"

    def load(self) -> list[Message]:
        found: list[Message] = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else []
        return found

    def add(self, messages: list[Message]) -> None:
        self.save(self.load() + messages)

    def save(self, messages: list[Message]) -> None:
        self.path.write_text(json.dumps(messages), encoding="utf-8")


class AtomicJsonFile(JsonFile):
    """The same, but the new file takes the old one's place only when it is whole."""

    def save(self, messages: list[Message]) -> None:
        whole = self.path.with_suffix(f".{os.getpid()}.new")
        with whole.open("w", encoding="utf-8") as file:
            file.write(json.dumps(messages))
            file.flush()
            os.fsync(file.fileno())
        for _ in range(100):
            with suppress(PermissionError):  # Windows, while the other process has the file open
                whole.replace(self.path)
                return
            time.sleep(0.01)
        raise TimeoutError(f"{self.path} stays in use.")


class Blob:
    """The whole conversation as one JSON text in a database: SELECT, append, REPLACE."""

    schema = "CREATE TABLE IF NOT EXISTS chats (chat TEXT PRIMARY KEY, messages TEXT NOT NULL)"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "chat.db"
        with closing(self.connect()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(self.schema)

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=60, isolation_level=None)

    def load(self) -> list[Message]:
        with closing(self.connect()) as connection:
            row = connection.execute("SELECT messages FROM chats WHERE chat = 'demo'").fetchone()
        return json.loads(row[0]) if row else []

    def add(self, messages: list[Message]) -> None:
        text = json.dumps(self.load() + messages)
        with closing(self.connect()) as connection:
            connection.execute("REPLACE INTO chats VALUES ('demo', ?)", [text])


class Rows(Blob):
    """One row a message, its number checked: who comes second with a number loads again."""

    schema = (
        "CREATE TABLE IF NOT EXISTS messages"
        " (chat TEXT, number INTEGER, role TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (chat, number))"
    )

    def load(self) -> list[Message]:
        with closing(self.connect()) as connection:
            rows = connection.execute("SELECT role, content FROM messages WHERE chat = 'demo' ORDER BY number")
            return [{"role": role, "content": content} for role, content in rows]

    def add(self, messages: list[Message]) -> None:
        while True:
            version = len(self.load())  # what the model would be asked with
            rows = [("demo", number, m["role"], m["content"]) for number, m in enumerate(messages, start=version)]
            with closing(self.connect()) as connection, suppress(sqlite3.IntegrityError), connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", rows)
                return


Store = JsonFile | Blob
WAYS: dict[str, Callable[[Path], Store]] = {
    "JSON file, write_text": JsonFile,
    "JSON file, os.replace": AtomicJsonFile,
    "SQLite, one JSON text": Blob,
    "SQLite, rows and a version": Rows,
}


# -- the process that writes -----------------------------------------------------------------------------


def write(way: str, folder: str, worker: str, turns: int) -> None:
    """Add turns, and say the number of each one that is saved; waits for a line before it begins."""
    store = WAYS[way](Path(folder))
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(turns):
        with suppress(ValueError):  # the file cannot be read now: this turn is not acknowledged
            store.add(turn(worker, number))
            print(number, flush=True)


def start(way: str, folder: Path, worker: str, turns: int) -> subprocess.Popen[str]:
    """A process that is ready to write."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--write", way, str(folder), worker, str(turns)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


# -- the experiments -------------------------------------------------------------------------------------


@dataclass
class Count:
    """What became of the acknowledged turns.

    Args:
        stores: conversations that were looked at afterwards.
        unreadable: of them.
        acknowledged: turns in all.
        lost: of them.
        apart: turns in the store whose answer does not follow their question.
        shares: of the acknowledged turns that each conversation lost, in per cent.
    """

    stores: int = 0
    unreadable: int = 0
    acknowledged: int = 0
    lost: int = 0
    apart: int = 0
    shares: list[float] = field(default_factory=list)

    def look(self, store: Store, acknowledged: list[tuple[str, int]]) -> None:
        """Compare a store with what was acknowledged."""
        self.stores += 1
        self.acknowledged += len(acknowledged)
        try:
            messages = store.load()
        except ValueError:
            self.unreadable += 1
            messages = []
        names = [message["content"].rstrip(".").rpartition(" ") for message in messages]
        found = Counter((name, role) for name, _, role in names)
        kept = [(worker, number) for worker, number in acknowledged if found[f"{worker} {number}", "assistant"]]
        lost = len(acknowledged) - len(kept)
        self.lost += lost
        self.shares.append(100 * lost / max(1, len(acknowledged)))
        pairs = sum(
            (one[0], one[2], next_[2]) == (next_[0], "user", "assistant") for one, next_ in itertools.pairwise(names)
        )
        self.apart += sum(role == "user" for _, _, role in names) - pairs


def folders() -> Iterator[Path]:
    """New empty folders, each removed when the next is asked for."""
    while True:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            yield Path(name)


def killed(way: str, kills: int, turns: int, moments: random.Random) -> Count:
    """Kill a writer at a random moment, so many times.

    Args:
        way: of saving.
        kills: how often.
        turns: that are in the conversation before.
        moments: when.
    """
    count = Count()
    for folder in folders():
        if count.stores == kills:
            return count
        store = WAYS[way](folder)
        old = [message for number in range(turns) for message in turn("before", number)]
        store.add(old)
        with start(way, folder, "killed", 1_000_000) as process:
            begin(process)
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(moments.uniform(SOON, LATE))
            process.kill()
            numbers = [first, *process.stdout.read().splitlines(keepends=True)]
        whole = [int(number) for number in numbers if number.endswith("\n")]
        count.look(store, [*(("before", number) for number in range(turns)), *(("killed", n) for n in whole)])
    raise AssertionError("There are always more folders.")


def at_once(way: str, runs: int, turns: int) -> Count:
    """Let two processes add turns to one conversation at once, so many times.

    Args:
        way: of saving.
        runs: how often.
        turns: that each of the two adds.
    """
    count = Count()
    for folder in folders():
        if count.stores == runs:
            return count
        store = WAYS[way](folder)
        with start(way, folder, "one", turns) as one, start(way, folder, "other", turns) as other:
            for process in (one, other):
                begin(process)
            said = {"one": one.communicate()[0], "other": other.communicate()[0]}
        count.look(store, [(worker, int(line)) for worker, lines in said.items() for line in lines.splitlines()])
    raise AssertionError("There are always more folders.")


def main() -> None:
    parser = argparse.ArgumentParser(description="What four ways of saving a conversation lose.")
    parser.add_argument("--kills", type=int, default=20, help="how often a writer is killed (%(default)s)")
    parser.add_argument("--before", type=int, default=50, help="turns in the conversation before (%(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="how often two workers write at once (%(default)s)")
    parser.add_argument("--turns", type=int, default=100, help="turns that each of them adds (%(default)s)")
    parser.add_argument("--seed", type=int, default=6, help="for the moments of the kills (%(default)s)")
    parser.add_argument("--write", nargs=4, metavar=("WAY", "FOLDER", "WORKER", "TURNS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        way, folder, worker, turns = options.write
        write(way, folder, worker, int(turns))
        return
    moments = random.Random(options.seed)
    print(f"A writer killed {options.kills} times; two workers {options.runs} times, {options.turns} turns each")
    print(f"{'':<28}|{'killed':^30}|{'two workers':^44}")
    lost = f"{'unreadable':>12}{'turns lost':>17}"
    print(f"{'way of saving':<28}|{lost} |{lost}{'a run':>14}")
    for way in WAYS:
        begun = time.perf_counter()
        one = killed(way, options.kills, options.before, moments)
        two = at_once(way, options.runs, options.turns)
        shares = f"{min(two.shares):.0f} to {max(two.shares):.0f} %" if two.lost else "0 %"
        print(
            f"{way:<28}|{f'{one.unreadable} of {one.stores}':>12}{f'{one.lost} of {one.acknowledged}':>17} "
            f"|{f'{two.unreadable} of {two.stores}':>12}{f'{two.lost} of {two.acknowledged}':>17}{shares:>14}"
        )
        apart = one.apart + two.apart
        if apart:
            print(f"  {apart} of the questions that were kept are not followed by their answer")
        print(f"  ({time.perf_counter() - begun:.0f} s)", file=sys.stderr)


if __name__ == "__main__":
    main()
