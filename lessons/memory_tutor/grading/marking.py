"""One submission, from its bytes to its results.

THE MARKING SCHEME, "points by exercise": a passed check gives the points of its exercise, every other outcome none, and
the points add up. A class that is checked from several sides (lesson 8) is several exercises, so that what is right in
it counts without the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from memory_tutor import checks, headless
from memory_tutor.cassette import Request, Response
from memory_tutor.exercises import Exercise, NotGradable, Result, run_check
from memory_tutor.grading import reading, submissions, words
from memory_tutor.grading.listing import Unreadable
from memory_tutor.grading.sandbox import Sandbox
from memory_tutor.variation import Variation

#: How points are given, for reports.
SCHEME = "points by exercise: a passed check gives the points of its exercise, any other outcome none"
#: Characters of a line about a cell that stopped.
LONGEST = 500


def digest(data: bytes) -> str:
    """What tells one version of a notebook from another."""
    return hashlib.sha256(data).hexdigest()


def mark(
    data: bytes,
    lesson: str,
    sandbox: Sandbox,
    seconds: float,
    tell: Callable[[str, object], None],
    seed: int | None = None,
) -> None:
    """Run a notebook's cells, then the checks of its lesson, and tell each thing as soon as it is known.

    Whoever ends this in the middle has what was told until then.

    Args:
        data: the notebook.
        lesson: its name.
        sandbox: runs the cells.
        seconds: that all of it may take.
        tell: is called with ("note", a line for the teacher), ("problem", why it cannot be marked, or what stopped)
            and ("result", a Result). Problems and results are the student's to read.
        seed: of what the checks make up; None for what they make up for everybody.

    Raises:
        CassetteError: the lesson's recording is missing or damaged.
    """
    asked = checks.lesson(lesson)
    try:
        notebook = reading.read(data, asked.answers)
    except Unreadable as error:
        tell("problem", error.message)
        return
    answer = _recorded(lesson)
    variation = None if seed is None else Variation(seed)
    for note in notebook.notes:
        tell("note", note)
    started = submissions.lesson_of(data)
    if started not in ("", lesson):
        tell("note", f"It is named as {lesson}, but looks like {started}.")
    try:
        sources = [source for _, source in notebook.cells]
        with sandbox.learner(sources, answer, lesson=lesson, seconds=seconds, seed=seed) as learner:
            if stopped := list(headless.stopped(notebook.cells, learner.cell_results, asked.answers)):
                tell("problem", "\n".join(map(_one_line, stopped)))
            for exercise in asked.exercises.values():
                varied = None if exercise.by_files else variation
                learner.vary(varied)
                result = run_check(exercise, learner)
                result = headless.never_defined(result, exercise, notebook.cells, learner.cell_results)
                if varied is not None:  # the student's code was told the names of their class
                    result = replace(result, message=varied.theirs(result.message))
                tell("result", result)
    except NotGradable as error:  # the cells end or block every process that runs them
        tell("problem", error.message)
        for exercise in asked.exercises.values():
            tell("result", not_reached(exercise, error.message))


def _one_line(said: str) -> str:
    """What an exception of the student's says, so that it cannot pass for a line of ours, nor steer a terminal."""
    return words.shown(" ".join(said.split()), LONGEST)


@cache
def _recorded(lesson: str) -> Callable[[Request], Response]:
    """Answers from the lesson's recording, read once for a class: that takes longer than the checks of a notebook."""
    return headless.recorded(lesson)


def not_reached(exercise: Exercise, why: str) -> Result:
    """The result of an exercise that was not reached.

    Args:
        why: a sentence.
    """
    message = f"CANNOT BE CHECKED HERE {exercise.name}: {why}"
    return Result(exercise.name, "not gradable", 0, exercise.points, message)
