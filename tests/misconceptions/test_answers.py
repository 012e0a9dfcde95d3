"""Every lesson's answers, in the kernel and over the pipe: each must get what its module says of it."""

from __future__ import annotations

from importlib import import_module

import harness
import pytest

from memory_tutor import course

ANSWERS = [import_module(f"test_{name}") for name in course.lesson_names()]
RIGHT = {name: group for module in ANSWERS for name, group in module.RIGHT.items()}
WRONG = {name: group for module in ANSWERS for name, group in module.WRONG.items()}
#: Loops take their half second each: one exercise of each lesson stands for the others.
LAST = [list(module.RIGHT)[-1] for module in ANSWERS]

both_transports = pytest.mark.parametrize("transport", harness.TRANSPORTS)


@both_transports
@pytest.mark.parametrize("name", RIGHT)
def test_the_stub_is_not_attempted(name: str, transport: str) -> None:
    assert harness.outcome(name, harness.stub(name), transport).status == "not attempted"


@both_transports
@pytest.mark.parametrize(("name", "code"), harness.cases(RIGHT))
def test_a_right_answer_passes(name: str, code: str, transport: str) -> None:
    result = harness.outcome(name, code, transport)
    assert result.passed, result.message


@both_transports
@pytest.mark.parametrize(("name", "code", "fragment"), harness.cases(WRONG))
def test_a_wrong_answer_is_told_what_is_wrong(name: str, code: str, fragment: str, transport: str) -> None:
    harness.says(harness.outcome(name, code, transport), fragment)


def test_no_two_wrong_answers_are_told_the_same() -> None:
    assert list(harness.distinct(WRONG)) == []


@both_transports
@pytest.mark.parametrize(("name", "code"), harness.odd_cases(list(RIGHT)))
def test_an_odd_answer_neither_passes_nor_breaks_the_check(name: str, code: str, transport: str) -> None:
    result = harness.outcome(name, code, transport, impatient=True)
    assert result.status in ("wrong", "raised"), result.message


@both_transports
@pytest.mark.parametrize("name", LAST)
@pytest.mark.parametrize("code", harness.LOOPS.values(), ids=list(harness.LOOPS))
def test_an_answer_without_end_is_stopped(name: str, code: str, transport: str) -> None:
    result = harness.outcome(name, code.format(name=name), transport, impatient=True)
    assert result.status == "raised", result.message
