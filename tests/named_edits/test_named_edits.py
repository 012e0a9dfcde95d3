"""The edits that the lessons name, made as a learner makes them, are all recorded.

A module of edits has EDITS: the id of a cell to try, and the edits that are made in it together, each a list
of (old, new) replacements; and NEEDS where a cell needs others than the set-up: its id to theirs.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from importlib import import_module
from typing import Any

import pytest

from memory_tutor import course, notebooks

Edit = list[tuple[str, str]]

MODULES = {name: import_module(f"edits_{name}") for name in course.lesson_names()}
EDITS: list[tuple[str, str, list[Edit]]] = [
    (lesson, cell, edits) for lesson, module in MODULES.items() for cell, edits in module.EDITS
]


def cells_of(lesson: str) -> dict[str, str]:
    """The sources of a lesson's cells by their ids."""
    return {each.id: each.source for each in notebooks.read(course.path("lessons", lesson)).cells}


def edited(source: str, edits: list[Edit]) -> str:
    for old, new in (replacement for edit in edits for replacement in edit):
        assert source.count(old) == 1, f"the lesson has changed: {old!r} stands {source.count(old)} times in it"
        source = source.replace(old, new)
    return source


def run(source: str, names: dict[str, Any]) -> None:
    """Run a cell; it may await at its top, as in a notebook."""
    code = compile(source, "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(code, names))
    else:
        exec(code, names)


@pytest.mark.parametrize(("lesson", "cell", "edits"), EDITS)
def test_a_named_edit_is_recorded(lesson: str, cell: str, edits: list[Edit]) -> None:
    cells = cells_of(lesson)
    names: dict[str, Any] = {"__name__": "__main__"}
    for needed in ["set-up-run", *getattr(MODULES[lesson], "NEEDS", {}).get(cell, [])]:
        run(cells[needed], names)
    run(edited(cells[cell], edits), names)  # a request that is not recorded raises


@pytest.mark.parametrize(("lesson", "cell"), sorted({(lesson, cell) for lesson, cell, _ in EDITS}))
def test_what_a_learner_is_told_to_write_is_what_is_recorded(lesson: str, cell: str) -> None:
    cells = cells_of(lesson)
    told = " ".join(cells[cell.replace("-try", "-modify")].split())
    results = [edited(cells[cell], edits) for where, name, edits in EDITS if (where, name) == (lesson, cell)]
    spans = [span for span in re.findall("`([^`]+)`", told) if '"' in span]
    assert spans or "Delete" in told
    for span in spans:
        assert any(span in result for result in results), span


@pytest.mark.parametrize("lesson", MODULES)
def test_every_cell_to_try_has_its_edits_here(lesson: str) -> None:
    tries = {cell for cell in cells_of(lesson) if cell.endswith("-try")}
    assert tries == {cell for where, cell, _ in EDITS if where == lesson}
