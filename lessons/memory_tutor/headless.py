"""Check a notebook as it is saved, in a process of its own, without opening it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memory_tutor import cassette, checks, course, lending, miss, replay
from memory_tutor.codec import printable, shorten
from memory_tutor.errors import TutorError
from memory_tutor.exercises import WORD, Exercise, Result, run_check
from memory_tutor.learner import CellResult, PipeLearner
from memory_tutor.names import definitions, spelt_like
from memory_tutor.notebooks import checked_name
from memory_tutor.resetting import defines
from memory_tutor.workspace import read_notebook

#: Characters that are told of what a cell says when it stops.
SAID = 300
#: How IPython names a cell in a SyntaxError.
_INPUT = re.compile(r"<ipython-input-[^>]*>, ")


@dataclass
class Report:
    """What became of one notebook.

    Args:
        lesson: its name.
        of: points that it can give.
        results: one for each exercise; none if the notebook cannot be read.
        problem: what is wrong with the notebook as a whole, or with an answer's cell; "" if nothing is.
    """

    lesson: str
    of: int
    results: list[Result] = field(default_factory=list)
    problem: str = ""

    @property
    def points(self) -> int:
        return sum(result.points for result in self.results)


#: Gives a learner whose cells, by their sources, have run; requests in them are answered by the function.
Open = Callable[[Sequence[str], Callable[[cassette.Request], cassette.Response]], PipeLearner]


def check(file: Path, lesson: str, on_exercise: Callable[[], None] = lambda: None) -> Report:
    """Run a notebook's cells, then the checks of its lesson.

    Requests in the cells are answered by the lesson's recording, those in checks by the checks' scripts;
    nothing is sent. A notebook that cannot be read or run gets a report that says so.

    Args:
        file: the learner's notebook.
        lesson: its name.
        on_exercise: is called after each exercise.
    """
    lend = lending.for_lesson(lesson)
    try:
        cells = code_cells(read_notebook(file))
    except FileNotFoundError:
        problem = f"There is no {file.name}. To copy it: memory-tutor start {file.parent}"
    except TutorError as error:
        problem = error.message
    else:
        return mark(
            cells, lesson, lambda sources, answer: PipeLearner(sources, answer, file.parent, lend=lend), on_exercise
        )
    return Report(lesson, checks.lesson(lesson).points, problem=problem)


def code_cells(book: Any) -> list[tuple[int, str]]:
    """The numbers, from 1, and the sources of a notebook's code cells that are to be run, check cells left out."""
    return [
        (number, cell.source)
        for number, cell in enumerate(book.cells, start=1)
        if cell.cell_type == "code" and checked_name(cell) is None
    ]


def mark(
    cells: Sequence[tuple[int, str]],
    lesson: str,
    open_learner: Open,
    on_exercise: Callable[[], None] = lambda: None,
) -> Report:
    """Run cells, then the checks of a lesson.

    Args:
        cells: the number of each code cell in its notebook, for messages, and its source.
        lesson: its name.
        open_learner: runs them, in whatever sandbox.
        on_exercise: is called after each exercise.

    Returns:
        The report; one with a problem in place of results if the cells cannot be run at all.
    """
    asked = checks.lesson(lesson)
    report = Report(lesson, asked.points)
    try:
        with open_learner([source for _, source in cells], recorded(lesson)) as learner:
            for exercise in asked.exercises.values():
                result = run_check(exercise, learner)
                report.results.append(never_defined(result, exercise, cells, learner.cell_results))
                on_exercise()
            report.problem = "\n".join(stopped(cells, learner.cell_results, asked.answers))
    except TutorError as error:
        report.problem = error.message
    return report


def recorded(lesson: str) -> Callable[[cassette.Request], cassette.Response]:
    """Answers from a lesson's recording, which refuse what is not in it as replay does.

    Raises:
        CassetteError: the recording is missing or damaged.
    """
    recording = cassette.load(course.path("cassettes", lesson))

    def answer(request: cassette.Request) -> cassette.Response:
        number = recording.find(request)
        if number is None:
            raise replay.NotRecorded(miss.explain(request, recording, lesson))
        return recording.interactions[number].response

    return answer


def never_defined(
    result: Result, exercise: Exercise, cells: Sequence[tuple[int, str]], ran: Sequence[CellResult]
) -> Result:
    """The result of a check that found no function, with the reason.

    The cell that defines it stopped, which is an error and no idleness; or the function has a name that is like it.
    """
    if result.status != "not attempted":
        return result
    why = list(stopped(cells, ran, [exercise.answer]))
    if not why:
        others = {name for _, source in cells for name in definitions(source)} - {
            *checks.lesson(exercise.lesson).answers
        }
        like = spelt_like(exercise.answer, others)
        hint = f"\nThe name to define is `{exercise.answer}`; a cell defines `{like}`." if like else ""
        return replace(result, message=result.message + hint)
    message = f"{WORD['raised']} {exercise.name}: {shorten(' '.join(why[-1].split()), SAID)}"
    return replace(result, status="raised", message=printable(message))


def stopped(cells: Sequence[tuple[int, str]], ran: Sequence[CellResult], names: Iterable[str]) -> Iterator[str]:
    """A line for each cell with an answer that did not run: its check only sees that there is no function."""
    for (number, source), result in zip(cells, ran, strict=False):
        if result.error and any(defines(source, name) for name in names):
            yield f"Cell {number} stopped: {_INPUT.sub('', result.error)}"
