"""What a learner has done: a plain file in their folder, one JSON object a line, only ever appended to."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_tutor.exercises import WORD, Result, Status

#: A folder that holds a folder of this name is a learner's folder.
MARKER = ".memory-tutor"
FILE = "progress.jsonl"
#: Characters of a check's message that are kept: enough to read, little enough for one write.
KEPT = 2000

Event = dict[str, Any]


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
    """

    lesson: str
    title: str
    points: int
    of: int
    passed: int
    exercises: int
    predicted: int
    predictions: int

    @property
    def complete(self) -> bool:
        return self.passed == self.exercises


class Progress:
    """The events of one learner.

    Every question reads the file again, so that two kernels and the command see each other's events.
    What cannot be written is said once and remembered by this object: checks go on without the disk.

    Args:
        folder: a marked learner's folder; None keeps everything in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = folder / MARKER / FILE if folder else None
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
        """The solution was shown; `gave_up` if before the exercise was passed."""
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
        return sum(event["event"] == "hint" for event in self._of("exercise", name))

    def choice(self, name: str) -> str | None:
        """The latest choice in a prediction, or None."""
        choices = [event.get("choice") for event in self._of("prediction", name)]
        return next((choice for choice in reversed(choices) if isinstance(choice, str)), None)

    def best(self, name: str) -> Result | None:
        """The result with the most points since the exercise was last reset; of equal ones the latest."""
        best: Result | None = None
        for result in self._results(name):
            if best is None or (result.passed, result.points) >= (best.passed, best.points):
                best = result
        return best

    def failures(self, name: str) -> int:
        """How many checks said "wrong" or "raised" since the exercise was last reset."""
        return sum(result.status in ("wrong", "raised") for result in self._results(name))

    def last_lesson(self) -> str | None:
        """The lesson that was opened last, or None."""
        opened = [event.get("lesson") for event in self._events() if event["event"] == "lesson"]
        return next((lesson for lesson in reversed(opened) if isinstance(lesson, str)), None)

    def summary(self) -> list[LessonProgress]:
        """How far the learner is in each lesson of this installation, in order."""
        from memory_tutor import checks

        table = []
        for lesson in checks.lessons():
            results = [result for name in lesson.exercises if (result := self.best(name))]
            table.append(
                LessonProgress(
                    lesson.name,
                    lesson.title,
                    points=sum(result.points for result in results),
                    of=lesson.points,
                    passed=sum(result.passed for result in results),
                    exercises=len(lesson.exercises),
                    predicted=sum(self.choice(name) is not None for name in lesson.predictions),
                    predictions=len(lesson.predictions),
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

    def _of(self, key: str, name: str) -> list[Event]:
        """The events of one exercise or prediction since it was last reset."""
        found: list[Event] = []
        for event in self._events():
            names = event.get("names")
            if event["event"] == "reset" and isinstance(names, list) and name in names:
                found.clear()
            elif event.get(key) == name:
                found.append(event)
        return found

    def _results(self, name: str) -> Iterator[Result]:
        for event in self._of("exercise", name):
            points, of, message = event.get("points"), event.get("of"), event.get("message")
            status: Status | None = next((word for word in WORD if word == event.get("status")), None)
            if event["event"] == "check" and status and isinstance(points, int) and isinstance(of, int):
                yield Result(name, status, points, of, str(message))

    def _events(self) -> list[Event]:
        """All events that can be read; a line torn by a crash or edited by hand is passed over."""
        events = []
        for line in self._read().split(b"\n"):
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):  # a UnicodeDecodeError is a ValueError
                continue
            if isinstance(event, dict) and isinstance(event.get("event"), str):
                events.append(event)
        return events + self._unsaved

    def _read(self) -> bytes:
        if self._file is None:
            return b""
        try:
            return self._file.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            self._warn(f"Your progress cannot be read: {error.strerror} ({self._file}).")
            return b""

    def _append(self, kind: str, **details: Any) -> None:
        event = {"event": kind, "at": datetime.now().astimezone().isoformat(timespec="seconds"), **details}
        if self._file is None:
            self._unsaved.append(event)
            return
        try:
            _append_line(self._file, json.dumps(event).encode("ascii"))
        except OSError as error:
            self._unsaved.append(event)
            self._warn(
                f"Your progress is not being saved: {error.strerror} ({self._file}). "
                "Your answers are checked all the same."
            )

    def _warn(self, sentence: str) -> None:
        if not self._warned:
            self._warned = True
            print(sentence, file=sys.stderr)


def _append_line(file: Path, line: bytes) -> None:
    """Add a line in one write, so that several processes never tear or lose each other's.

    Raises:
        OSError: it was not written, or only a part of it; the next line starts on a line of its own.
    """
    handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        _lock_where_appending_is_not_atomic(handle)
        size = os.lseek(handle, 0, os.SEEK_END)
        torn = size > 0 and _last_byte(handle, size) != b"\n"
        data = (b"\n" if torn else b"") + line + b"\n"
        if os.write(handle, data) != len(data):
            raise OSError(errno.ENOSPC, "No space left on device")
    finally:
        os.close(handle)


def _last_byte(handle: int, size: int) -> bytes:
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1)


def _lock_where_appending_is_not_atomic(handle: int) -> None:
    """On Windows an append is a seek and a write: hold a byte far behind the end until the file is closed."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, 2**30, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
