"""A course's own answer, made anew from the cells of its solved notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory_tutor.names import LintSyntaxError, bound_names
from memory_tutor.restart import CARRIED, rerun


def remake(cells: Sequence[tuple[str | None, str]], answer: str, given: dict[str, Any]) -> Any:
    """The function or class of a solution.

    Args:
        cells: of the solved notebook: which exercise each answers, if any, and its source.
        answer: its name.
        given: the notebook's names; `client` and `model` are taken from there, and what the lesson gives to
            its learners where this notebook has it, so that both mean the same by `Conflict`.
    """
    defined = {name for answers, source in cells if answers is None for name in _defined(source)}
    made = rerun([source for _, source in cells], [answer], given, CARRIED | defined & given.keys())
    return made[answer]


def _defined(source: str) -> set[str]:
    try:
        return bound_names(source)
    except LintSyntaxError:
        return set()
