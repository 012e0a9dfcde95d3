"""The outcomes of a check are told apart, and an error of the check never counts against the learner."""

from __future__ import annotations

import errno
import os

import pytest

from memory_tutor.exercises import (
    WORD,
    CheckFailed,
    Exercise,
    LearnerRaised,
    Lesson,
    Misconception,
    NotAttempted,
    NotGradable,
    Result,
    run_check,
)
from memory_tutor.learner import KernelLearner, Learner


def checked(check: object) -> Result:
    exercise = Exercise("ask", "01_x", 3, ("?",), check)  # type: ignore[arg-type]
    return run_check(exercise, KernelLearner({}))


def raising(error: BaseException) -> object:
    def check(learner: Learner) -> None:
        raise error

    return check


def test_a_pass() -> None:
    result = checked(lambda learner: None)
    assert result == Result("ask", "passed", 3, 3, "PASSED ask: 3 of 3 points") and result.passed


@pytest.mark.parametrize(
    ("failed", "status"),
    [
        (NotAttempted("x"), "not attempted"),
        (Misconception("x"), "wrong"),
        (LearnerRaised("x"), "raised"),
        (NotGradable("x"), "not gradable"),
        (CheckFailed("x"), "wrong"),
    ],
)
def test_each_failure_has_its_status_and_its_word(failed: CheckFailed, status: str) -> None:
    result = checked(raising(failed))
    assert (result.status, result.points, result.of) == (status, 0, 3) and not result.passed
    assert result.message == f"{WORD[result.status]} ask: x"


def test_an_error_of_the_check_is_not_gradable() -> None:
    result = checked(raising(KeyError("absent")))
    assert result.status == "not gradable" and "fault of the course" in result.message
    assert "KeyError" in result.message


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE])
def test_a_machine_without_room_is_no_fault_of_the_learners(number: int) -> None:
    result = checked(raising(OSError(number, os.strerror(number), "/tmp/ours")))
    assert (result.status, result.points) == ("not gradable", 0)
    assert os.strerror(number) in result.message and "says nothing about your answer" in result.message
    assert "/tmp" not in result.message and "fault of the course" not in result.message


def test_an_error_of_the_check_names_no_path() -> None:
    result = checked(raising(PermissionError(errno.EACCES, "Permission denied", "/tmp/ours")))
    assert result.status == "not gradable" and "PermissionError: Permission denied\n" in result.message


def test_an_interrupt_is_no_outcome() -> None:
    with pytest.raises(KeyboardInterrupt):
        checked(raising(KeyboardInterrupt()))


def test_what_the_learners_code_does_becomes_an_outcome() -> None:
    def check(learner: Learner) -> None:
        _ = learner.call("ask").value

    exercise = Exercise("ask", "01_x", 3, ("?",), check)
    namespace: dict[str, object] = {}
    assert run_check(exercise, KernelLearner(namespace)).status == "not attempted"
    exec("def ask():\n    return 1 / 0", namespace)
    result = run_check(exercise, KernelLearner(namespace))
    assert result.status == "raised"
    assert result.message.startswith("STOPPED BY AN ERROR ask: `ask` raised ZeroDivisionError: division by zero")


def test_a_message_may_be_written_indented() -> None:
    failed = Misconception(
        """
        First line.
          Second line.
        """
    )
    assert failed.message == "First line.\n  Second line."
    assert failed._render_traceback_() == ["First line.", "  Second line."]


def test_a_lesson_collects_exercises_and_predictions() -> None:
    lesson = Lesson("03_x", "X", 1, 10)

    @lesson.exercise(points=4, hints=["a", "b"], another_way="  Another.")
    def ask(learner: Learner) -> None:
        """Send one question.

        More.
        """

    assert isinstance(ask, Exercise) and lesson.exercises == {"ask": ask}
    assert (lesson.number, lesson.points, ask.summary) == (3, 4, "Send one question.")
    assert ask.lesson == "03_x" and ask.hints == ("a", "b") and ask.another_way == "Another."
    with pytest.raises(ValueError, match="two exercises named 'ask'"):
        lesson.exercise(points=1, hints=[])(ask.check)

    lesson.predict("p", choices={"a": "A", "b": "B"}, right="a", why={"a": "yes", "b": "no"})
    with pytest.raises(ValueError, match="two predictions"):
        lesson.predict("p", choices={"a": "A"}, right="a", why={"a": "yes"})
    for right, why in (("c", {"a": "x", "b": "y"}), ("a", {"a": "x"})):
        with pytest.raises(ValueError, match="must speak of the choices"):
            lesson.predict("q", choices={"a": "A", "b": "B"}, right=right, why=why)
