"""What became of each submission, kept so that a batch can go on where it stopped, and so that old marks stay.

OUT/results/STUDENT/LESSON.json is the latest; when another notebook or another version of the grader gives a new one,
the old one goes to OUT/results/STUDENT/earlier/.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from memory_tutor import course, files
from memory_tutor.errors import TutorError
from memory_tutor.exercises import WORD, Result
from memory_tutor.grading import words

RESULTS, FEEDBACK = "results", "feedback"
#: Tells a folder of ours from others.
_README = "README.txt"
_MARK = "Made by `memory-tutor grade`."
_TEXT = f"""{_MARK}

STUDENT/LESSON.json is what became of a submission; STUDENT/earlier/ holds what became of it before, under another
version of the notebook or of the checks. Run the command again, and what is here already is not marked again, unless
an exercise in it could not be graded. To mark everything again, delete this folder.
"""
#: Who has handed in no notebook.
_EMPTY = "empty.json"
#: Modules of the grader that have no part in a mark.
_NOT_MARKING = {
    "batch",
    "class_page",
    "classroom",
    "feedback",
    "gradebook",
    "listing",
    "naming",
    "records",
    "roster",
    "submissions",
    "words",
}


class OutError(TutorError):
    """The folder for the results is something else, or in use."""


@dataclass(frozen=True)
class Mark:
    """What became of one submission.

    Args:
        student, lesson: whose, and of which lesson.
        file: its path below the place of the submissions.
        sha256: of the file; "" if it could not be read.
        fingerprint: of what it was marked with.
        of: points that the lesson can give.
        results: one for each exercise that was reached.
        problem: why the submission could not be marked as a whole, or what stopped; "" if nothing is.
        notes: for the teacher.
        isolation: what the student's code was not kept from; "" if it was kept from everything.
        seconds: that it took.
        intake: for the teacher, what there is to say of the file among the others.
        number: that the learning platform gives to the student or the submission; "" if none.
    """

    student: str
    lesson: str
    file: str
    sha256: str
    fingerprint: str
    of: int
    results: tuple[Result, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()
    isolation: str = ""
    seconds: float = 0.0
    intake: tuple[str, ...] = ()
    number: str = ""

    @property
    def points(self) -> int:
        return sum(result.points for result in self.results)

    @property
    def graded(self) -> bool:
        """Whether any exercise got its points, or none of them, for what it is."""
        return any(result.status != "not gradable" for result in self.results)

    @property
    def final(self) -> bool:
        """Whether marking it again would change nothing."""
        return bool(self.problem and not self.results) or all(
            result.status != "not gradable" for result in self.results
        )

    @property
    def outcome(self) -> list[tuple[str, str, int]]:
        """What counts when two marks are compared."""
        return [(result.exercise, result.status, result.points) for result in self.results]


@cache
def fingerprint(lesson: str, seed: int | None = None) -> str:
    """A short name of all that decides on a mark beside the notebook: code, recording, Python, the SDK, the seed."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {version('openai')} {seed}".encode())
    for file in sorted(course.PACKAGE.rglob("*.py")):
        path = file.relative_to(course.PACKAGE)
        if not (path.parts[0] == "grading" and file.stem in _NOT_MARKING):
            digest.update(f"{path.as_posix()}\0".encode() + file.read_bytes())
    recording = course.path("cassettes", lesson)
    if recording.is_file():
        digest.update(recording.read_bytes())
    return digest.hexdigest()[:12]


class Records:
    """The results in a folder.

    Args:
        out: the folder for everything that a batch makes.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self._folder = out / RESULTS

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder, and keep other batches from it meanwhile.

        Raises:
            OutError: the folder holds something else, or another batch writes to it.
            OSError: it cannot be made.
        """
        from filelock import FileLock, Timeout

        if not holds_results(self.out):
            if self.out.exists() and (not self.out.is_dir() or any(self.out.iterdir())):
                raise OutError(f"{self.out} already holds other things. Name a new folder: --out graded-2")
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / _README).write_text(_TEXT, encoding="utf-8", newline="\n")
        (self.out / FEEDBACK).mkdir(exist_ok=True)
        lock = FileLock(self._folder / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise OutError(f"Another batch is writing to {self.out}. Wait for it, or name another --out.") from None
        try:
            yield
        finally:
            lock.release()

    def load(self, student: str, lesson: str) -> Mark | None:
        """The latest mark; None if there is none that can be read."""
        return _read(self._file(student, lesson))

    def keep(self, mark: Mark) -> None:
        """Write a mark; the one before stays beside it, unless it is of the same notebook and grader.

        Raises:
            OSError: it cannot be written; the old one is as it was.
        """
        file = self._file(mark.student, mark.lesson)
        file.parent.mkdir(exist_ok=True)
        old = _read(file)
        if old and (old.sha256, old.fingerprint) != (mark.sha256, mark.fingerprint):
            earlier = file.parent / "earlier"
            earlier.mkdir(exist_ok=True)
            name = f"{mark.lesson}.{old.fingerprint[:12]}.{old.sha256[:12] or 'unread'}.json"
            files.replace(earlier / name, file.read_bytes(), earlier)
        files.replace(file, _written(mark), file.parent)

    def all(self) -> list[Mark]:
        """The latest mark of every submission that was ever marked here, by student and lesson."""
        found = [mark for file in self._folder.glob("*/*.json") if (mark := _read(file))]
        return sorted(found, key=lambda mark: (mark.student.casefold(), mark.student, mark.lesson))

    def note_empty(self, empty: Mapping[str, str]) -> dict[str, str]:
        """Keep who has handed in files but no notebook, and what one can say of it.

        Args:
            empty: of this batch, by student.

        Returns:
            Those of earlier batches, too.

        Raises:
            OSError: it cannot be written.
        """
        file = self._folder / _EMPTY
        try:
            known = {str(name): str(says) for name, says in json.loads(file.read_bytes()).items()}
        except (OSError, ValueError, AttributeError):
            known = {}
        if empty:
            text = json.dumps({**known, **empty}, indent=1, ensure_ascii=False) + "\n"
            files.replace(file, text.encode("utf-8", "backslashreplace"), self._folder)
        return {**known, **empty}

    def earlier(self, student: str, lesson: str) -> list[Mark]:
        """The marks of a submission before the latest, in the order in which they were made."""
        found = sorted((self._file(student, lesson).parent / "earlier").glob(f"{lesson}.*.json"), key=_age)
        return [mark for file in found if (mark := _read(file))]

    def _file(self, student: str, lesson: str) -> Path:
        return self._folder / words.stem(student) / f"{lesson}.json"


def holds_results(folder: Path) -> bool:
    """Whether a folder is one that a batch has made."""
    try:
        with (folder / RESULTS / _README).open("rb") as file:
            return file.read(len(_MARK)) == _MARK.encode()
    except OSError:
        return False


def _age(file: Path) -> tuple[int, str]:
    return file.stat().st_mtime_ns, file.name


def as_data(mark: Mark) -> dict[str, Any]:
    """A mark as JSON holds it."""
    return {**asdict(mark), "points": mark.points}


def _written(mark: Mark) -> bytes:
    text = json.dumps(as_data(mark), indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


def _read(file: Path) -> Mark | None:
    """A mark from its file; a file that was cut or edited counts as none."""
    try:
        data = json.loads(file.read_bytes())
        data.pop("points")
        data["results"] = tuple(Result(**result) for result in data["results"])
        data["notes"] = tuple(data["notes"])
        data["intake"] = tuple(data.get("intake", ()))
        mark = Mark(**data)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    sound = all(result.status in WORD and type(result.points) is int for result in mark.results)
    return mark if sound else None
