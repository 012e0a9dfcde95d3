"""All that is known of a class when a batch is done: what every report is made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from memory_tutor import checks, course
from memory_tutor.exercises import Lesson
from memory_tutor.grading import roster as rosters
from memory_tutor.grading.records import Mark, Records
from memory_tutor.grading.submissions import Intake


@dataclass(frozen=True)
class Change:
    """A mark that is another one than before.

    Args:
        old: made with an earlier version of the checks, or of another notebook.
        new: the latest.
    """

    old: Mark
    new: Mark


class Classroom:
    """The latest mark of every submission in a folder of results, of this batch or an earlier one.

    Args:
        records: of that folder.
        intake: of this batch.
        roster: names of all students, none if they are not known.
        batch: the marks of this batch.
    """

    def __init__(self, records: Records, intake: Intake, roster: Sequence[str], batch: Sequence[Mark]) -> None:
        marks = records.all()
        self.by_student: dict[str, dict[str, Mark]] = defaultdict(dict)
        for mark in marks:
            self.by_student[mark.student][mark.lesson] = mark
        there = {mark.lesson for mark in marks}
        #: Those of which something was handed in, in order.
        self.lessons: list[Lesson] = [checks.lesson(name) for name in course.lesson_names() if name in there]
        #: Students that handed in files, but no notebook, and what one can say of it.
        empty = records.note_empty(intake.empty)
        self.empty = {name: says for name, says in empty.items() if name not in self.by_student}
        known = {*self.by_student, *self.empty}
        #: Every student, with a notebook or without: the roster's first, in its order.
        on_roster = rosters.find(known, roster)
        placed = [on_roster.get(name, name) for name in roster]
        self.students = [*placed, *sorted(known - {*placed}, key=lambda name: (name.casefold(), name))]
        self.notes = [*intake.notes, *_not_in(batch, marks)]
        if roster and (strangers := [name for name in self.students if name not in set(placed)]):
            self.notes.append(f"Not on the roster: {', '.join(strangers)}.")
        changed = [
            Change(old, mark)
            for mark in marks
            for old in records.earlier(mark.student, mark.lesson)[-1:]
            if old.outcome != mark.outcome
        ]
        self.changes = [each for each in changed if each.old.sha256 == each.new.sha256]
        #: Marks that are others than before because another notebook was handed in.
        self.renewed = [each for each in changed if each.old.sha256 != each.new.sha256]
        self.isolation = sorted({mark.isolation for mark in marks if mark.isolation})

    def marks(self) -> list[Mark]:
        """The marks, by student and lesson."""
        return [mark for student in self.students for _, mark in sorted(self.by_student.get(student, {}).items())]

    def points(self, student: str) -> int | None:
        """The points of a student in all lessons; None if none of them was graded."""
        graded = [mark.points for mark in self.by_student.get(student, {}).values() if mark.graded]
        return sum(graded) if graded else None

    @property
    def of(self) -> int:
        """The points that all lessons of which something was handed in can give."""
        return sum(lesson.points for lesson in self.lessons)

    def number(self, student: str) -> str:
        """What the learning platform calls a student, or their submission; "" where it is not known."""
        return next((mark.number for _, mark in sorted(self.by_student.get(student, {}).items()) if mark.number), "")

    def notes_on(self, mark: Mark) -> list[str]:
        """For the teacher, of a submission: what was found on the way in and in the notebook."""
        return [*mark.intake, *mark.notes]

    def remarks(self, student: str) -> str:
        """What keeps a student's row from being the whole truth; "" if nothing does."""
        marks = self.by_student.get(student, {})
        said = [f"{mark.lesson[:2]}: {mark.problem or _not_graded(mark)}" for _, mark in sorted(marks.items())]
        said = [text for text in said if not text.endswith(": ")]
        said += [f"{mark.lesson[:2]}: {note}" for _, mark in sorted(marks.items()) for note in mark.intake]
        if student in self.empty:
            said.append(self.empty[student])
        elif not marks:
            said.append("Nothing was handed in.")
        return " ".join(" ".join(said).split())


def _not_graded(mark: Mark) -> str:
    names = [result.exercise for result in mark.results if result.status == "not gradable"]
    return f"not gradable: {', '.join(names)}." if names else ""


def _not_in(batch: Sequence[Mark], marks: Sequence[Mark]) -> list[str]:
    """A line for each mark of this batch's lessons whose submission was not in this batch."""
    lessons = {mark.lesson for mark in batch}
    now = {(mark.student, mark.lesson) for mark in batch}
    return [
        f"{mark.student}, {mark.lesson}: from an earlier batch; it was not among the submissions this time."
        for mark in marks
        if mark.lesson in lessons and (mark.student, mark.lesson) not in now
    ]
