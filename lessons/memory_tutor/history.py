"""What a learner's events come to: each is looked at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from memory_tutor.events import Event
from memory_tutor.exercises import WORD, Result, Status


@dataclass
class ExerciseHistory:
    """What happened with one exercise since it was last reset.

    Args:
        name: of the exercise.
        best: the result with the most points; of equal ones the latest.
        last: the latest result.
        tries: checks of something that was written: passed, wrong or raised.
        failures: those of them that did not pass.
        hints: how many were asked for; it may pass the number of hints that there are.
        solution: "", "seen" if it was seen after the first pass alone, "tried" if before it and after enough failed
            checks, "gave up" if before those.
        misconceptions: the first line of what each wrong answer was told, in the order in which they were met,
            to whether the exercise was passed later.
    """

    name: str
    best: Result | None = None
    last: Result | None = None
    tries: int = 0
    failures: int = 0
    hints: int = 0
    solution: Literal["", "seen", "tried", "gave up"] = ""
    misconceptions: dict[str, bool] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.best is not None and self.best.passed

    def add(self, result: Result) -> None:
        """Take a result in."""
        self.last = result
        if self.best is None or (result.passed, result.points) >= (self.best.passed, self.best.points):
            self.best = result
        self.tries += result.status in ("passed", "wrong", "raised")
        self.failures += result.status in ("wrong", "raised")
        if result.status == "wrong":
            self.misconceptions[_first_line(result)] = False
        elif result.passed:
            self.misconceptions = dict.fromkeys(self.misconceptions, True)


class History:
    """All events of a learner, as far as they still count."""

    def __init__(self) -> None:
        self.exercises: dict[str, ExerciseHistory] = {}
        #: Name of a prediction to the choices, each unlike the one before.
        self.predictions: dict[str, list[str]] = {}
        self.last_lesson: str | None = None
        self.latest: str | None = None

    def add(self, event: Event) -> None:
        """Take an event in; one of a kind or form that is not known changes nothing."""
        kind = event["event"]
        at, name = event.get("at"), event.get("exercise")
        if isinstance(at, str):
            self.latest = at
        if kind == "reset":
            self._reset(event.get("names"))
        elif kind == "lesson":
            lesson = event.get("lesson")
            self.last_lesson = lesson if isinstance(lesson, str) else self.last_lesson
        elif kind == "prediction":
            self._choose(event.get("prediction"), event.get("choice"))
        elif isinstance(name, str):
            exercise = self.exercises.setdefault(name, ExerciseHistory(name))
            if kind == "hint":
                exercise.hints += 1
            elif kind == "solution":
                later: Literal["seen", "tried"] = "seen" if exercise.passed else "tried"
                exercise.solution = "gave up" if event.get("gave_up") else exercise.solution or later
            elif kind == "check" and (result := _result(name, event)):
                exercise.add(result)

    def _reset(self, names: object) -> None:
        for name in names if isinstance(names, list) else []:
            if isinstance(name, str):
                self.exercises.pop(name, None)
                self.predictions.pop(name, None)

    def _choose(self, name: object, choice: object) -> None:
        if isinstance(name, str) and isinstance(choice, str):
            made = self.predictions.setdefault(name, [])
            if made[-1:] != [choice]:
                made.append(choice)


def _result(name: str, event: Event) -> Result | None:
    points, of, message = event.get("points"), event.get("of"), event.get("message")
    status: Status | None = next((word for word in WORD if word == event.get("status")), None)
    if status and isinstance(points, int) and isinstance(of, int):
        return Result(name, status, points, of, str(message))
    return None


def _first_line(result: Result) -> str:
    """What a wrong answer was told first, without the words that every such message begins with."""
    line = result.message.partition("\n")[0].strip()
    return line.removeprefix(f"{WORD['wrong']} {result.exercise}:").strip() or "(no message)"
