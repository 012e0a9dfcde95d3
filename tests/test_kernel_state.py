"""What a check says of a kernel that is not what the notebook shows."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

from memory_tutor import kernel_state

NAMES = {"ask", "say"}


class Kernel:
    """Runs cells as IPython does: what was run is kept, whether it ended well or not."""

    def __init__(self, *cells: str) -> None:
        self.namespace: dict[str, Any] = {"__name__": "__main__", "In": [""]}
        for cell in cells:
            self.run(cell)

    def run(self, cell: str) -> None:
        self.namespace["In"].append(cell)
        name = f"<cell {len(self.namespace['In'])} of {id(self)}>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        try:
            exec(compile(cell, name, "exec"), self.namespace)
        except Exception:
            return

    def notes(self, answer: str = "ask", message: str = "NOT YET ask: it is wrong.") -> list[str]:
        return kernel_state.notes(answer, message, self.namespace, NAMES)


GOOD, OTHER = "def ask(text):\n    return text", "def ask(text):\n    return 2"
BROKEN = "def ask(text:\n    return text"
CLASS = "class ask:\n    def chat(self):\n        return 1"
DECORATOR = "def twice(f):\n    def inner(*a):\n        return f(*a)\n    return inner"
WRAPS = "import functools\n" + DECORATOR.replace("    def inner", "    @functools.wraps(f)\n    def inner")
DECORATED = f"@twice\n{GOOD}"
OLDER = "Checked was the `ask` that ran last; the newest cell that begins `{}` did not run to its end."


@pytest.mark.parametrize(
    ("cells", "begins"),
    [
        ([GOOD, BROKEN], "def ask"),
        ([GOOD, f"1 / 0\n{OTHER}"], "def ask"),
        ([GOOD, BROKEN, "1 + 1", "print("], "def ask"),
        ([GOOD, OTHER, f"async  {BROKEN}"], "async def ask"),
        ([CLASS, CLASS.replace("(self)", "(self")], "class ask"),
        ([WRAPS, DECORATED, BROKEN], "def ask"),
    ],
)
def test_a_newer_definition_that_did_not_run_is_told(cells: list[str], begins: str) -> None:
    assert Kernel(*cells).notes() == [OLDER.format(begins)]


@pytest.mark.parametrize(
    "cells",
    [
        [GOOD],
        [GOOD, BROKEN, OTHER],
        [GOOD, BROKEN, GOOD],
        [GOOD, f"{OTHER}\n1 / 0"],
        [GOOD, "text = '''\ndef ask():\n'''"],
        [GOOD, "if False:\n    def ask(): pass"],
        [GOOD, "ask = lambda text: text"],
        [BROKEN, "from operator import neg as ask"],
        [DECORATOR, DECORATED],
        [WRAPS, DECORATED],
        [CLASS, GOOD],
        [GOOD, "def ask_bob(): pass", "def say(): pass"],
        ["ask = 3", "ask = {'__code__': 1}"],
    ],
)
def test_where_nothing_is_known_to_be_older_nothing_is_said(cells: list[str]) -> None:
    assert Kernel(*cells).notes() == []


def test_a_name_that_is_not_defined() -> None:
    missing = "NOT ATTEMPTED ask: `ask` is not defined yet."
    assert Kernel("1 + 1").notes(message=missing) == ["Run the cell that defines it first."]
    assert Kernel("def bask(): pass").notes(message=missing) == ["Run the cell that defines it first."]
    (line,) = Kernel(BROKEN).notes(message=missing)
    assert line == "The newest cell that begins `def ask` did not run to its end."


def test_a_misspelt_name_is_told_where_it_was_defined_later() -> None:
    first, second = "def trim_turns(): pass", "def trimturns(): pass"
    told = "The name to define is `trim_turns`; a cell that ran later defines `trimturns`."
    assert Kernel(first, second).notes("trim_turns") == [told]
    assert Kernel(second, first).notes("trim_turns") == []
    missing = "NOT ATTEMPTED trim_turns: `trim_turns` is not defined yet."
    assert Kernel(second).notes("trim_turns", missing)[1:] == [told.replace(" that ran later", "")]
    assert Kernel("def Ask(): pass").notes() == ["The name to define is `ask`; a cell defines `Ask`."]
    assert Kernel("def task(): pass", "def as_(): pass").notes() == []


def test_a_missing_name_that_an_exercise_defines_is_told_once() -> None:
    message = "say raised NameError: name 'say' is not defined\nNameError: name 'say' is not defined"
    assert Kernel(GOOD).notes(message=message) == ["Run the cell that defines `say` first."]
    assert Kernel(GOOD).notes(message="NameError: name 'jsn' is not defined") == []


class Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError


@pytest.mark.parametrize("cells", [None, 3, [None, 3, "def as("], ["(" * 10_000 + "def"], ["def as\0"]])
@pytest.mark.parametrize("make", [Hostile, lambda: Hostile, lambda: print, lambda: None, lambda: 3])
def test_odd_kernels_cost_nobody_a_check(cells: Any, make: Any) -> None:
    assert kernel_state.notes("ask", "", {"In": cells, "ask": make()}, NAMES) == []
    assert kernel_state.notes("ask", "", {"In": cells}, NAMES) == []
    assert kernel_state.notes("ask", "", {}, NAMES) == []
