"""What a learner has done: a plain file in their folder, one JSON object a line, only ever appended to."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_tutor.events import Event, EventLog
from memory_tutor.exercises import Result
from memory_tutor.history import ExerciseHistory, History

#: A folder that holds a folder of this name is a learner's folder.
MARKER = ".memory-tutor"
FILE = "progress.jsonl"
#: Characters of a check's message that are kept: enough to read, little enough for one write.
KEPT = 2000


def find_folder(start: Path | None = None) -> Path | None:
    """The nearest learner's folder at or above a folder.

    Args:
        start: where to begin; the current folder when omitted.

    Returns:
        The marked folder, or None outside of one (in `solutions/`, in CI, in a scratch copy).
    """
    try:
        here = (start or Path.cwd()).resolve()
        return next((place for place in (here, *here.parents) if (place / MARKER).is_dir()), None)
    except OSError:  # the current folder is gone, or may not be looked into
        return None


@dataclass(frozen=True)
class LessonProgress:
    """How far a learner is in one lesson.

    Args:
        lesson: name of the lesson.
        title: for people.
        points: earned so far, `of` so many.
        passed: how many exercises passed, of `exercises`.
        predicted: how many predictions were made, of `predictions`.
        right: how many of them are right; what was chosen last counts.
        changed: how many were made anew with another choice.
    """

    lesson: str
    title: str
    points: int
    of: int
    passed: int
    exercises: int
    predicted: int
    predictions: int
    right: int = 0
    changed: int = 0

    @property
    def wrong(self) -> int:
        return self.predicted - self.right

    @property
    def complete(self) -> bool:
        return self.passed == self.exercises


class Progress:
    """The events of one learner.

    Every question reads what is new in the file, so that two kernels and the command see each other's events.
    What cannot be written is said once and remembered by this object: checks go on without the disk.

    Args:
        folder: a marked learner's folder; None keeps everything in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = folder / MARKER / FILE if folder else None
        self._log = EventLog(self._file) if self._file else None
        self._history = History()
        self._unsaved: list[Event] = []
        self._warned = False

    # -- what happened ---------------------------------------------------------------------------

    def record_check(self, result: Result) -> None:
        """A check was run, here or by `memory-tutor check`."""
        self._append(
            "check",
            exercise=result.exercise,
            status=result.status,
            points=result.points,
            of=result.of,
            message=result.message[:KEPT],
        )

    def record_prediction(self, name: str, choice: str) -> None:
        """A choice was made; the latest counts."""
        self._append("prediction", prediction=name, choice=choice)

    def record_hint(self, name: str) -> int:
        """One more hint was asked for.

        Returns:
            How many have been asked for by now; it may pass the number of hints that there are.
        """
        self._append("hint", exercise=name)
        return self.hints_seen(name)

    def record_solution(self, name: str, gave_up: bool) -> None:
        """The solution was shown; `gave_up` if before a pass and before it had been tried often enough."""
        self._append("solution", exercise=name, gave_up=gave_up)

    def record_lesson_opened(self, lesson: str) -> None:
        """The lesson's set-up cell ran, or `memory-tutor start` opened its notebook."""
        self._append("lesson", lesson=lesson)

    def record_reset(self, names: list[str]) -> None:
        """Exercises and predictions begin anew: what was recorded of them before no longer counts."""
        self._append("reset", names=list(names))

    # -- what it comes to ------------------------------------------------------------------------

    def hints_seen(self, name: str) -> int:
        """How many hints were asked for since the exercise was last reset."""
        return self.exercise(name).hints

    def choice(self, name: str) -> str | None:
        """The latest choice in a prediction, or None."""
        return next(reversed(self.choices(name)), None)

    def best(self, name: str) -> Result | None:
        """The result with the most points since the exercise was last reset; of equal ones the latest."""
        return self.exercise(name).best

    def failures(self, name: str) -> int:
        """How many checks said "wrong" or "raised" since the exercise was last reset."""
        return self.exercise(name).failures

    def last_lesson(self) -> str | None:
        """The lesson that was opened last, or None."""
        return self._up_to_date().last_lesson

    def exercise(self, name: str) -> ExerciseHistory:
        """All that happened with an exercise since it was last reset."""
        return self._up_to_date().exercises.get(name) or ExerciseHistory(name)

    def choices(self, name: str) -> list[str]:
        """The choices made in a prediction since it was last reset, each unlike the one before."""
        return list(self._up_to_date().predictions.get(name, ()))

    def latest(self) -> str | None:
        """When something happened last, in ISO 8601; None if nothing has, or nobody knows."""
        return self._up_to_date().latest

    def summary(self) -> list[LessonProgress]:
        """How far the learner is in each lesson of this installation, in order."""
        from memory_tutor import checks

        table = []
        for lesson in checks.lessons():
            results = [result for name in lesson.exercises if (result := self.best(name))]
            choices = {each: made for each in lesson.predictions if (made := self.choices(each))}
            table.append(
                LessonProgress(
                    lesson.name,
                    lesson.title,
                    points=sum(result.points for result in results),
                    of=lesson.points,
                    passed=sum(result.passed for result in results),
                    exercises=len(lesson.exercises),
                    predicted=len(choices),
                    predictions=len(lesson.predictions),
                    right=sum(made[-1] == lesson.predictions[name].right for name, made in choices.items()),
                    changed=sum(len(made) > 1 for made in choices.values()),
                )
            )
        return table

    def next_lesson(self) -> str | None:
        """Where to go on: the lesson opened last, or once it is complete the first that is not.

        Returns:
            None if the course has no lessons.
        """
        table = self.summary()
        last = self.last_lesson()
        stopped = next((row for row in table if row.lesson == last), None)
        if stopped and not stopped.complete:
            return stopped.lesson
        unfinished = next((row for row in table if not row.complete), stopped or (table[0] if table else None))
        return unfinished.lesson if unfinished else None

    # -- the file --------------------------------------------------------------------------------

    def _up_to_date(self) -> History:
        """The history, with what is new in the file."""
        if self._log is None:
            return self._history
        try:
            anew, events = self._log.read()
        except OSError as error:
            self._warn(f"Your progress cannot be read: {error.strerror} ({self._file}).")
            return self._history
        if anew:
            self._history = History()
            events = events + self._unsaved
        for event in events:
            self._history.add(event)
        return self._history

    def _remember(self, event: Event) -> None:
        """Keep an event that is on no disk."""
        self._up_to_date().add(event)
        self._unsaved.append(event)

    def _append(self, kind: str, **details: Any) -> None:
        event = {"event": kind, "at": datetime.now().astimezone().isoformat(timespec="seconds"), **details}
        if self._log is None:
            self._remember(event)
            return
        try:
            self._log.append(event)
        except OSError as error:
            self._remember(event)
            self._warn(
                f"Your progress is not being saved: {error.strerror} ({self._file}). "
                "Your answers are checked all the same."
            )

    def _warn(self, sentence: str) -> None:
        if not self._warned:
            self._warned = True
            print(sentence, file=sys.stderr)
