"""What an exercise is: its points, hints and check, and how the outcomes of a check are told apart."""

from __future__ import annotations

import errno
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from memory_tutor.errors import TutorError

if TYPE_CHECKING:
    from memory_tutor.learner import Learner

Status = Literal["passed", "not attempted", "wrong", "raised", "not gradable"]


class CheckFailed(TutorError):
    """A check ended without a pass. Its first word tells which of the four ways it was."""

    status: Status = "wrong"

    def __init__(self, message: str) -> None:
        super().__init__(inspect.cleandoc(message))


class NotAttempted(CheckFailed):
    """The stub is still there, or the function has not been defined."""

    status: Status = "not attempted"


class Misconception(CheckFailed):
    """A wrong answer, with what was seen, what it means, and where to look."""

    status: Status = "wrong"


class LearnerRaised(CheckFailed):
    """The learner's code raised an exception that the contract does not ask for."""

    status: Status = "raised"


class NotGradable(CheckFailed):
    """The check cannot be made here; it says nothing about the answer."""

    status: Status = "not gradable"


Check = Callable[["Learner"], None]


@dataclass(frozen=True)
class Exercise:
    """One thing to get right in what a learner writes: a function, or one side of a class.

    Args:
        name: of the exercise.
        lesson: name of the lesson that it belongs to.
        points: for a pass.
        hints: from a question, to the place, to the shape of the answer.
        check: raises a CheckFailed unless the learner's function keeps its contract.
        another_way: Markdown, shown folded after a pass: another right way, and when it is better.
        answer: what the learner defines. Mostly the exercise is named like it; a class that is checked from
            several sides is the answer to several exercises.
        by_files: its check looks into the files that the code writes, so that no names may be exchanged on the way.
    """

    name: str
    lesson: str
    points: int
    hints: tuple[str, ...]
    check: Check
    another_way: str = ""
    answer: str = ""
    by_files: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "answer", self.answer or self.name)

    @property
    def summary(self) -> str:
        """The first paragraph of the check's docstring: what the function is for."""
        return (inspect.getdoc(self.check) or "").partition("\n\n")[0]


@dataclass(frozen=True)
class Prediction:
    """A question asked before a cell is run, with choices that someone really believes.

    Args:
        name: as in `tutor.predict(name, choice)`.
        choices: letter to text.
        right: letter of the right choice.
        why: letter to the sentence that the reveal says of this choice.
    """

    name: str
    choices: Mapping[str, str]
    right: str
    why: Mapping[str, str]


@dataclass
class Lesson:
    """One lesson: what the title cell and the syllabus say of it, and what it asks.

    Args:
        name: of the notebook without its ending, "01_stateless_calls".
        title: for people, "Stateless calls".
        level: 1 to 3.
        minutes: that a learner needs.
    """

    name: str
    title: str
    level: int
    minutes: int
    exercises: dict[str, Exercise] = field(default_factory=dict)
    predictions: dict[str, Prediction] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return int(self.name[:2])

    @property
    def points(self) -> int:
        return sum(exercise.points for exercise in self.exercises.values())

    @property
    def answers(self) -> set[str]:
        """The names of what a learner defines."""
        return {exercise.answer for exercise in self.exercises.values()}

    def answered_by(self, answer: str) -> list[Exercise]:
        """The exercises that a function or class is the answer to."""
        return [exercise for exercise in self.exercises.values() if exercise.answer == answer]

    def exercise(
        self, *, points: int, hints: Sequence[str], another_way: str = "", answer: str = "", by_files: bool = False
    ) -> Callable[[Check], Exercise]:
        """Make the decorated check an exercise of this lesson, under the check's name.

        Args:
            answer: what the learner defines, where that is not the check's name.
            by_files: as in `Exercise`.
        """

        def register(check: Check) -> Exercise:
            name = check.__name__
            made = Exercise(
                name, self.name, points, tuple(hints), check, inspect.cleandoc(another_way), answer, by_files
            )
            if name in self.exercises:
                raise ValueError(f"{self.name} has two exercises named {name!r}.")
            self.exercises[name] = made
            return made

        return register

    def predict(self, name: str, *, choices: Mapping[str, str], right: str, why: Mapping[str, str]) -> None:
        """Add a prediction to this lesson."""
        if right not in choices or set(why) != set(choices):
            raise ValueError(f"Prediction {name!r}: `right` and `why` must speak of the choices {list(choices)}.")
        if name in self.predictions:
            raise ValueError(f"{self.name} has two predictions named {name!r}.")
        self.predictions[name] = Prediction(name, choices, right, why)


@dataclass(frozen=True)
class Result:
    """What became of one check.

    Args:
        exercise: name of the exercise.
        status: which of the five outcomes it was.
        points: that it gave.
        of: the most that it can give.
        message: what the learner reads.
    """

    exercise: str
    status: Status
    points: int
    of: int
    message: str

    @property
    def passed(self) -> bool:
        return self.status == "passed"


#: The word that each outcome's message begins with: a word, not a colour.
WORD: dict[Status, str] = {
    "passed": "PASSED",
    "not attempted": "NOT ATTEMPTED",
    "wrong": "NOT YET",
    "raised": "STOPPED BY AN ERROR",
    "not gradable": "CANNOT BE CHECKED HERE",
}


#: What the system says when a disk, or the table of open files, is full.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)


def run_check(exercise: Exercise, learner: Learner) -> Result:
    """Check a learner's answer.

    Returns:
        The outcome; a CheckFailed of the check becomes a result. An error in the check itself is
        "not gradable": it must never count against the learner. It is "raised" where the learner's code has left
        the check no room for its files.
    """
    try:
        exercise.check(learner)
    except NotAttempted as failed:
        return _result(exercise, failed.status, 0, failed.message)
    except CheckFailed as failed:
        if not (why := learner.no_room()):
            return _result(exercise, failed.status, 0, failed.message)
        status: Status = "wrong" if failed.status == "wrong" else "raised"
        return _result(exercise, status, 0, f"{failed.message}\n{why}")
    except OSError as error:
        if why := learner.no_room():
            return _result(exercise, "raised", 0, why)
        return _result(exercise, "not gradable", 0, _failed(error))
    except Exception as error:
        return _result(exercise, "not gradable", 0, _failed(error))
    return _result(exercise, "passed", exercise.points, f"{exercise.points} of {exercise.points} points")


def _failed(error: Exception) -> str:
    """What is said of an error that is not the learner's; no path of the machine that checks is in it."""
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return (
            f"The machine that checks has no room left ({error.strerror}).\n"
            "This says nothing about your answer. It can be checked when there is room again."
        )
    said = (error.strerror if isinstance(error, OSError) else None) or error
    return (
        f"The check itself failed with {type(error).__name__}: {said}\n"
        "This is a fault of the course, not of your answer. Please report it."
    )


def _result(exercise: Exercise, status: Status, points: int, message: str) -> Result:
    return Result(exercise.name, status, points, exercise.points, f"{WORD[status]} {exercise.name}: {message}")
