"""The teachers' commands: lessons to a class; a class's notebooks to marks, feedback and a gradebook."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_tutor import course
from memory_tutor.errors import TutorError
from memory_tutor.tables import count

if TYPE_CHECKING:
    from memory_tutor.grading.batch import Summary

PANEL = "For teachers"
#: How many problems the summary tells; the class page has them all.
_TOLD = 20


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line, in a group of their own."""
    for command in (release, grade):
        app.command(rich_help_panel=PANEL)(command)


def release(
    folder: Annotated[Path, typer.Argument(help="To make: what your students get, or nbgrader's course folder.")],
    lesson: Annotated[
        list[str] | None,
        typer.Option(help="Number or name of a lesson; may be repeated. All by default.", show_default=False),
    ] = None,
    wheelhouse: Annotated[
        bool,
        typer.Option("--wheelhouse", help="Add all that must be installed, for a room without internet (about 60 MB)."),
    ] = False,
    nbgrader: Annotated[
        bool, typer.Option("--nbgrader", help="Make the source folder of an nbgrader course instead.")
    ] = False,
) -> None:
    """Make what your students get: notebooks, the course without solutions, and how to begin."""
    from memory_tutor import releasing

    if nbgrader:
        if wheelhouse:
            raise TutorError("--wheelhouse is for what students get; --nbgrader makes what you get. Use one of them.")
        names = releasing.nbgrader_course(folder, lesson or ())
        print(
            f"{folder / releasing.SOURCE} holds {count(len(names), 'assignment')}, with solutions: it is yours alone."
        )
        print(f"Go on there: nbgrader generate_assignment {names[0]}")
        return
    made = releasing.release(folder, lesson or (), wheelhouse=wheelhouse)
    print(
        f"{made.folder} holds {count(len(made.lessons), 'notebook')}, {made.wheel}, and a README.md for your students."
    )
    print(f"None of the {made.solutions} solutions of the course is in any of its {made.texts} texts.")


def grade(
    submissions: Annotated[
        Path,
        typer.Argument(help="A folder or a zip, as Moodle, Canvas, GitHub Classroom or nbgrader give it to you."),
    ],
    lesson: Annotated[
        str | None,
        typer.Option(
            help="Number or name of the only lesson to grade. By default all that are there.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for everything that is made. By default NAME-graded, here.", show_default=False),
    ] = None,
    roster: Annotated[
        Path | None,
        typer.Option(help="CSV file with a column of names, for those who handed in nothing.", show_default=False),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Submissions at a time. By default one a processor.", show_default=False)
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=1, max=86_400, help="Seconds that one submission may take as a whole.")
    ] = 120,
    seed: Annotated[
        int | None,
        typer.Option(
            help="A number of this class's own: other names and limits in the checks than anybody has seen.",
            show_default=False,
        ),
    ] = None,
    require_sandbox: Annotated[
        bool, typer.Option("--require-sandbox", help="Refuse to run where students' code cannot be isolated.")
    ] = False,
) -> None:
    """Grade a class: marks, feedback, a gradebook, and a page on the class.

    Functions are found by name, whatever happened to the cells. Nothing is
    sent, and your students' files are only read. Stopped with Ctrl-C, the same
    command goes on where it was. What is graded is not graded again unless the
    notebook or the checks have changed; the old marks stay beside the new.

    \b
    Whose a notebook is, the first that applies:
      1. what Moodle, Canvas and nbgrader write into file and folder names
      2. the first folder: ada/02_manual_history.ipynb
      3. the file's name without the lesson: ada_02_manual_history.ipynb
    Of several of one student and lesson the latest counts; you are told.

    \b
    In the folder that it makes:
      class.html   how the class did; begin here
      grades.csv   one row a student, one column an exercise
      grades.json  the same and more, for tools
      feedback/    one page a student, to be given back
      results/     the record of each submission
    """
    from memory_tutor.grading import batch
    from memory_tutor.grading import roster as rosters

    place = out or Path(f"{submissions.resolve().stem if submissions.is_file() else submissions.resolve().name}-graded")
    options = batch.Options(
        lesson=course.find_lesson(lesson) if lesson else "",
        jobs=jobs or _processors(),
        seconds=timeout,
        require_sandbox=require_sandbox,
        roster=rosters.read(roster) if roster else (),
        seed=seed,
    )
    try:
        with _progress() as (on_total, on_one):
            summary = batch.grade(submissions, place, options, on_total, lambda _: on_one())
    except KeyboardInterrupt:
        print(f"Stopped. What is graded is kept in {place}. To go on, run the same command again.", file=sys.stderr)
        raise typer.Exit(130) from None
    _tell(summary, place)
    raise typer.Exit(0 if summary.marks else 1)


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def _progress() -> Iterator[tuple[Callable[[int], None], Callable[[], None]]]:
    """A bar in a terminal, a line now and then elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if console.is_terminal:
        columns = (TextColumn("Grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda total: bar.update(task, total=total), lambda: bar.advance(task)
        return
    done, total = 0, 0

    def begin(number: int) -> None:
        nonlocal total
        total = number

    def advance() -> None:
        nonlocal done
        done += 1
        if done == total or done % max(total // 10, 1) == 0:
            print(f"{done} of {total} graded", file=sys.stderr, flush=True)

    yield begin, advance


def _tell(summary: Summary, place: Path) -> None:
    classroom = summary.classroom
    told = [
        f"{mark.student}, {mark.lesson}: {' '.join(mark.problem.split())}" for mark in summary.marks if mark.problem
    ]
    told += [f"{mark.student}, {mark.lesson}: {note}" for mark in summary.marks for note in mark.intake]
    told += [f"{student}: {says}" for student, says in classroom.empty.items()]
    told += classroom.notes
    for line in told[:_TOLD]:
        print(line)
    if len(told) > _TOLD:
        print(f"And {len(told) - _TOLD} more lines, in {place / 'class.html'}.")
    for line in classroom.isolation:
        print(line)
    if classroom.changes:
        names = ", ".join(sorted({change.new.student for change in classroom.changes})[:10])
        print(f"Other marks than with an earlier version of the checks: {len(classroom.changes)} ({names}).")
    if classroom.renewed:
        renewed = [f"{change.new.student} {change.old.points} to {change.new.points}" for change in classroom.renewed]
        print(f"Other marks with another notebook than before: {', '.join(renewed[:10])}.")
    if not summary.marks:
        print("There is no notebook of a lesson among the submissions.")
        return
    kept = f", {summary.kept} graded before" if summary.kept else ""
    not_graded = sum(not mark.graded for mark in summary.marks)
    failed = f"; of all of them {not_graded} cannot be graded" if not_graded else ""
    print(f"{count(len(summary.marks), 'submission')}: {summary.marked} looked at now{kept}{failed}.")
    print(f"Everything is in {place}. Begin with {place / 'class.html'}; the gradebook is {place / 'grades.csv'}.")
