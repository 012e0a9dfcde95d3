"""A class's submissions from intake to gradebook; what is done already is not done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from memory_tutor import checks
from memory_tutor.grading import class_page, feedback, gradebook, listing, marking, pool, submissions, words
from memory_tutor.grading.classroom import Classroom
from memory_tutor.grading.listing import Unreadable
from memory_tutor.grading.records import Mark, Records, fingerprint
from memory_tutor.grading.submissions import Intake, Submission


@dataclass(frozen=True)
class Options:
    """How a batch is made.

    Args:
        lesson: name of the only one to mark; "" for all.
        jobs: processes at a time.
        seconds: that a submission may take as a whole.
        require_sandbox: whether to refuse to run without one.
        roster: names of all students, in the teacher's order; none if they are not known.
        seed: of what the checks make up, the class's own; None for what they make up for everybody.
    """

    lesson: str = ""
    jobs: int = 1
    seconds: float = 120.0
    require_sandbox: bool = False
    roster: tuple[str, ...] = ()
    seed: int | None = None


@dataclass
class Summary:
    """What a batch came to.

    Args:
        classroom: all that is in the folder of results now.
        marked: submissions that were marked in this batch.
        kept: submissions that had been marked before.
        marks: of this batch's submissions.
    """

    classroom: Classroom
    marked: int = 0
    kept: int = 0
    marks: list[Mark] = field(default_factory=list)


#: Is told how many submissions there are, then the mark of each when it is there.
OnTotal = Callable[[int], None]
OnMark = Callable[[Mark], None]


def grade(
    place: Path, out: Path, options: Options, on_total: OnTotal = lambda _: None, on_mark: OnMark = lambda _: None
) -> Summary:
    """Mark what is in a place, and write everything that comes of it.

    Each mark is on the disk before `on_mark` is told of it: a batch that is ended in the middle goes on there.

    Args:
        place: a folder or a zip.
        out: the folder for records, gradebook, pages.

    Raises:
        PlaceError: the place is none.
        OutError: the folder for the results is something else, or in use.
        PoolError: nothing can be marked here.
        OSError: something cannot be read or written.
    """
    records = Records(out)
    with listing.opened(place, out) as opened, records.opened():
        intake = submissions.find(opened, options.lesson)
        on_total(len(intake.submissions))
        batch = _Batch(opened, records, intake, options.seed)
        for mark in batch.marks(options):
            on_mark(mark)
        classroom = Classroom(records, intake, options.roster, batch.done)
        write(out, classroom)
    return Summary(classroom, batch.marked, len(batch.done) - batch.marked, batch.done)


def write(out: Path, classroom: Classroom) -> None:
    """Write the gradebook and the pages."""
    gradebook.write(out, classroom)
    feedback.write(out, classroom)
    class_page.write(out, classroom)


class _Batch:
    """The submissions on their way through the workers."""

    def __init__(self, place: listing.Place, records: Records, intake: Intake, seed: int | None) -> None:
        self._place = place
        self._records = records
        self._seed = seed
        self._submissions = {str(number): each for number, each in enumerate(intake.submissions)}
        self._ready: list[Mark] = []
        self.done: list[Mark] = []
        self.marked = 0

    def marks(self, options: Options) -> Iterator[Mark]:
        """A mark for each submission, kept on the disk, in the order in which they are done."""
        told = pool.run(
            self._tasks(options),
            options.jobs,
            options.seconds,
            require_sandbox=options.require_sandbox,
            seed=options.seed,
        )
        for each in told:
            yield from self._given()
            self.marked += 1
            yield self._keep(self._mark(each))
        yield from self._given()

    def _given(self) -> Iterator[Mark]:
        while self._ready:
            yield self._keep(self._ready.pop(0))

    def _keep(self, mark: Mark) -> Mark:
        if mark != self._records.load(mark.student, mark.lesson):
            self._records.keep(mark)
        self.done.append(mark)
        return mark

    def _tasks(self, options: Options) -> Iterator[pool.Task]:
        """What has to be marked; what needs no worker is put aside on the way."""
        for key, submission in self._submissions.items():
            mark = self._blank(submission)
            try:
                if submission.problem:
                    raise Unreadable(submission.problem)
                data = self._place.read(submission.file)
            except Unreadable as error:
                self._ready.append(replace(mark, problem=error.message))
                self.marked += 1
                continue
            old = self._records.load(mark.student, mark.lesson)
            mark = replace(mark, sha256=marking.digest(data))
            same = old and (old.sha256, old.fingerprint) == (mark.sha256, mark.fingerprint)
            if old and same and old.final and not (options.require_sandbox and old.isolation):
                self._ready.append(replace(old, file=mark.file, intake=mark.intake, number=mark.number))
            else:
                yield pool.Task(key, data, submission.lesson)

    def _blank(self, submission: Submission) -> Mark:
        lesson = submission.lesson
        file = words.shown(submission.file.path)
        return Mark(
            submission.student,
            lesson,
            file,
            "",
            fingerprint(lesson, self._seed),
            checks.lesson(lesson).points,
            intake=submission.notes,
            number=submission.number,
        )

    def _mark(self, told: pool.Told) -> Mark:
        submission = self._submissions[told.task.key]
        asked = checks.lesson(submission.lesson)
        reached = {result.exercise for result in told.results}
        missing = [each for name, each in asked.exercises.items() if name not in reached] if told.ended else []
        return replace(
            self._blank(submission),
            sha256=marking.digest(told.task.data),
            results=(*told.results, *(marking.not_reached(each, told.ended) for each in missing)),
            problem="\n".join(filter(None, [told.problem, told.ended if missing else ""])),
            notes=tuple(told.notes),
            isolation=told.isolation,
            seconds=round(told.seconds, 2),
        )
