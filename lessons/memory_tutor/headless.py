"""Check a notebook as it is saved, in a process of its own, without opening it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memory_tutor import cassette, checks, course, miss, replay
from memory_tutor.errors import TutorError
from memory_tutor.exercises import Result, run_check
from memory_tutor.learner import CellResult, PipeLearner
from memory_tutor.notebooks import checked_name
from memory_tutor.resetting import defines
from memory_tutor.workspace import read_notebook

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


def check(file: Path, lesson: str, on_exercise: Callable[[], None] = lambda: None) -> Report:
    """Run a notebook's cells, then the checks of its lesson.

    Requests in the cells are answered by the lesson's recording, those in checks by the checks' scripts;
    nothing is sent. A notebook that cannot be read or run gets a report that says so.

    Args:
        file: the learner's notebook.
        lesson: its name.
        on_exercise: is called after each exercise.
    """
    asked = checks.lesson(lesson)
    report = Report(lesson, asked.points)
    try:
        cells = [
            (number, cell.source)
            for number, cell in enumerate(read_notebook(file).cells, start=1)
            if cell.cell_type == "code" and checked_name(cell) is None
        ]
        answer = _recorded(lesson)
        with PipeLearner([source for _, source in cells], answer, file.parent) as learner:
            for exercise in asked.exercises.values():
                report.results.append(run_check(exercise, learner))
                on_exercise()
            report.problem = "\n".join(_stopped(cells, learner.cell_results, asked.answers))
    except FileNotFoundError:
        report.problem = f"There is no {file.name}. To copy it: memory-tutor start {file.parent}"
    except TutorError as error:
        report.problem = error.message
    return report


def _recorded(lesson: str) -> Callable[[cassette.Request], cassette.Response]:
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


def _stopped(cells: list[tuple[int, str]], ran: list[CellResult], names: Iterable[str]) -> Iterator[str]:
    """A line for each cell with an answer that did not run: its check only sees that there is no function."""
    for (number, source), result in zip(cells, ran, strict=False):
        if result.error and any(defines(source, name) for name in names):
            yield f"Cell {number} stopped: {_INPUT.sub('', result.error)}"
