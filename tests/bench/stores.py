"""What the stores stand, and what they take. Run: python tests/bench/stores.py [ENGINE ...]

Prints two Markdown tables. The first has, for each engine and fault, how many turns were acknowledged and how many of
them are lost; messages torn from their turn and turns written twice are counted as lost. The second has medians and
their ratio to SQLite's in the same run: adding a turn of two messages to a conversation, when it is short and when it
has 10,000 messages, and loading the last 12 messages of 12 and of 10,000.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "stores"))

import faults
import places

from memory_tutor import stores

LONG, WINDOW = 10_000, 12
#: How often each thing is measured.
TIMES = 200


def faults_of(engine: str) -> dict[str, str]:
    found: dict[str, faults.Found] = {}
    with tempfile.TemporaryDirectory() as folder, places.opened(engine, Path(folder)) as place:
        for name, experiment in faults.EXPERIMENTS.items():
            found[name] = experiment(place.address, ("bench", "faults", name), Path(folder) / f"{len(found)}.log")
        if engine in places.KILLED:
            found["server killed 25 times"] = faults.killed_server(place, ("bench", "faults", "server"), kills=25)
    return {name: f"{each.lost + each.torn + each.twice} of {each.acknowledged:,}" for name, each in found.items()}


def seconds(work: Callable[[], object]) -> float:
    """The median of some runs."""
    taken = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return median(taken)


def times_of(engine: str) -> dict[str, float]:
    with (
        tempfile.TemporaryDirectory() as folder,
        places.opened(engine, Path(folder)) as place,
        closing(stores.open(place.address)) as store,
    ):

        def append(session: str) -> float:
            conversation = ("bench", "times", session)
            version = store.load(conversation, last=0)[2]

            def one() -> None:
                nonlocal version
                version = store.append(conversation, faults.turn("bench"), version)

            return seconds(one)

        def load(session: str) -> float:
            return seconds(lambda: store.load(("bench", "times", session), last=WINDOW))

        for session, length in (("short", WINDOW), ("long", LONG)):
            version = 0
            while length:
                turns = min(length // 2, 100)
                conversation = ("bench", "times", session)
                version = store.append(conversation, faults.turn("bench") * turns, version)
                length -= 2 * turns
        return {
            f"last {WINDOW} of {WINDOW}": load("short"),
            f"last {WINDOW} of {LONG:,}": load("long"),
            "append, short": append("short"),
            f"append at {LONG:,}": append("long"),
        }


def table(rows: dict[str, dict[str, str]]) -> str:
    columns = list(dict.fromkeys(column for cells in rows.values() for column in cells))
    lines = [["store", *columns], [":--", *["--:"] * len(columns)]]
    lines += [[places.title(engine), *(cells.get(column, "–") for column in columns)] for engine, cells in rows.items()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="*", default=places.ENGINES, metavar="ENGINE", help=", ".join(places.ENGINES))
    engines = parser.parse_args().engines
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}\n")
    print(table({engine: faults_of(engine) for engine in engines}), "\n")
    taken = {engine: times_of(engine) for engine in dict.fromkeys(["sqlite", *engines])}
    shown = {
        engine: {
            what: f"{value * 1000:.2f} ms ({value / taken['sqlite'][what]:.2g})"
            for what, value in taken[engine].items()
        }
        for engine in taken
    }
    print(table(shown))


if __name__ == "__main__":
    main()
