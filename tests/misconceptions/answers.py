"""The tests of a lesson's answers, in the kernel and over the pipe: each must get what its module says of it.

Every module of answers imports them all, so that each lesson is tested by a process of its own.
"""

from __future__ import annotations

import harness
import pytest

from memory_tutor.grading.sandbox import Sandbox

__all__ = [
    "test_a_right_answer_passes",
    "test_a_right_answer_passes_in_the_sandbox",
    "test_a_wrong_answer_is_told_what_is_wrong",
    "test_an_answer_without_end_is_stopped",
    "test_an_odd_answer_neither_passes_nor_breaks_the_check",
    "test_no_two_wrong_answers_are_told_the_same",
    "test_the_stub_is_not_attempted",
]


def test_the_stub_is_not_attempted(stub: tuple[str, str], transport: str) -> None:
    assert harness.outcome(*stub, transport).status == "not attempted"


def test_a_right_answer_passes(right: tuple[str, str], transport: str) -> None:
    result = harness.outcome(*right, transport)
    assert result.passed, result.message


def test_a_right_answer_passes_in_the_sandbox(right: tuple[str, str], sandbox: Sandbox) -> None:
    result = harness.outcome_in(sandbox, *right)
    assert result.passed, result.message


def test_a_wrong_answer_is_told_what_is_wrong(wrong: tuple[str, str, str], transport: str) -> None:
    name, code, fragment = wrong
    harness.says(harness.outcome(name, code, transport), fragment)


def test_no_two_wrong_answers_are_told_the_same(request: pytest.FixtureRequest) -> None:
    assert list(harness.distinct(request.module.WRONG)) == []


def test_an_odd_answer_neither_passes_nor_breaks_the_check(odd: tuple[str, str], transport: str) -> None:
    result = harness.outcome(*odd, transport, impatient=True)
    assert result.status in ("wrong", "raised"), result.message


def test_an_answer_without_end_is_stopped(endless: tuple[str, str], transport: str) -> None:
    result = harness.outcome(*endless, transport, impatient=True)
    assert result.status == "raised", result.message
