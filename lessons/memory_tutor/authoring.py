"""From solutions/ to lessons/: each lesson is what its solution makes, byte for byte.

A lesson is made by a chain of small steps, each of which takes a notebook and changes it. nbgrader's own
preprocessors do what nbgrader knows; its checksums are left out, since they change with nbgrader's way of
computing them, nbgrader's `generate_assignment` adds them anyway, and our grader goes by function names.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from memory_tutor import lint, notebooks
from memory_tutor.checkout import Checkout
from memory_tutor.errors import TutorError
from memory_tutor.notebooks import SOLUTION_ONLY, normalise, read, tags, text_of, where

#: What stands in place of a solution. Called, it raises what a check takes for "not attempted".
STUB = "raise NotImplementedError  # put your code in place of this line"

Step = Callable[[Any], Any]


class AuthoringError(TutorError):
    """A lesson cannot be made from its solution."""


class Drift(AuthoringError):
    """A lesson is not what its solution makes; the message names the lesson and the first cell that differs."""


def build(check: bool = False, *, checkout: Checkout | None = None, run_answers: bool = True) -> list[str]:
    """Make all lessons from their solutions, after the lint has found nothing wrong with either.

    Everything is made before anything is written: either every lesson is up to date afterwards, or none
    was touched.

    Args:
        check: write nothing; fail where a lesson is not what its solution makes.
        checkout: where the course is; by default the checkout that this package runs from.
        run_answers: also check that each stub is "not attempted" and each solution passes; this runs the
            notebooks, a few seconds each.

    Returns:
        The names of the lessons that were written, because they were not up to date.

    Raises:
        CheckoutError: there is no checkout.
        AuthoringError: nbgrader is missing, or refuses a solution.
        NotebookError: a solution is damaged, or a lesson cannot be written.
        LintError: the lint found something; one line for each.
        Drift: with `check`, one line for each lesson that differs.
    """
    checkout = checkout or Checkout.here()
    solutions = {name: read(checkout.solution(name)) for name in checkout.names()}
    lint.check(checkout, solutions)
    lessons = {name: make_lesson(solution, name) for name, solution in solutions.items()}
    if run_answers:
        lint.check_answers(checkout, solutions, lessons)
    stale = [name for name, lesson in lessons.items() if _on_disk(checkout, name) != text_of(lesson).encode()]
    if check and stale:
        raise Drift("\n".join(_drift(checkout, name, lessons[name]) for name in stale))
    notebooks.replace_all({checkout.lesson(name): text_of(lessons[name]) for name in stale})
    return stale


def make_lesson(solution: Any, name: str) -> Any:
    """The lesson that a solution makes; the solution is left as it is.

    Args:
        solution: as `notebooks.read` gives it.
        name: for messages.

    Raises:
        AuthoringError: nbgrader is missing, or refuses the solution.
    """
    return _made(solution, name, _steps())


def make_assignment(solution: Any, name: str) -> Any:
    """What nbgrader's own `generate_assignment` makes the same lesson from: solutions are still in it.

    Args:
        solution: as `notebooks.read` gives it.
        name: for messages.

    Raises:
        AuthoringError: nbgrader is missing, or refuses the solution.
    """
    steps = [without_solution_only_cells, _nbgrader("ClearOutput"), without_attachments_of_the_run, normalise]
    return _made(solution, name, steps)


def _made(solution: Any, name: str, steps: list[Step]) -> Any:
    notebook = copy.deepcopy(solution)
    for step in steps:
        try:
            notebook = step(notebook)
        except AuthoringError:
            raise
        except Exception as error:  # nbgrader raises RuntimeError, ValidationError and others
            raise AuthoringError(f"solutions/{name}.ipynb: nbgrader refuses it: {error}") from error
    return notebook


def _steps() -> list[Step]:
    """The chain, in order: what is only the solution's goes first, the normal form comes last."""
    return [
        without_solution_only_cells,
        *map(_nbgrader, ("ClearSolutions", "ClearHiddenTests", "ClearMarkScheme")),
        *map(_nbgrader, ("LockCells", "ClearOutput", "CheckCellMetadata")),
        without_attachments_of_the_run,
        normalise,
    ]


def without_solution_only_cells(notebook: Any) -> Any:
    """Drop the cells that send what the learner is asked to try, so that it is recorded."""
    notebook.cells = [cell for cell in notebook.cells if SOLUTION_ONLY not in tags(cell)]
    return notebook


def without_attachments_of_the_run(notebook: Any) -> Any:
    """Empty tag lists say nothing; an editor adds and drops them as it likes."""
    for cell in notebook.cells:
        if not tags(cell):
            cell.metadata.pop("tags", None)
    return notebook


def _nbgrader(preprocessor: str) -> Step:
    """One of nbgrader's preprocessors as a step."""
    try:
        from nbgrader import preprocessors
    except ImportError:
        raise AuthoringError(
            "build needs nbgrader, which memory-tutor installs on request: pip install 'memory-tutor[classroom]'"
        ) from None
    made = getattr(preprocessors, preprocessor)()
    made.log = _quiet()
    if preprocessor == "ClearSolutions":
        made.code_stub = {"python": STUB}

    def step(notebook: Any) -> Any:
        return made.preprocess(notebook, {})[0]

    return step


def _quiet() -> logging.Logger:
    """A logger for nbgrader, which prints a cell's whole text before it raises what we report in a line."""
    logger = logging.getLogger("memory_tutor.nbgrader")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    return logger


# -- drift ---------------------------------------------------------------------------------------------


def _on_disk(checkout: Checkout, name: str) -> bytes | None:
    path = checkout.lesson(name)
    return path.read_bytes() if path.exists() else None


def _drift(checkout: Checkout, name: str, made: Any) -> str:
    file = checkout.shown(checkout.lesson(name))
    mend = "Run `memory-tutor build`."
    if not checkout.lesson(name).exists():
        return f"{file} does not exist, but its solution does. {mend}"
    try:
        found = read(checkout.lesson(name))
    except TutorError as error:
        return f"{error.message} {mend}"
    return f"{file} is not what its solution makes: {_first_difference(file, found, made)}. {mend}"


def _first_difference(file: str, found: Any, made: Any) -> str:
    for index, (old, new) in enumerate(zip_longest(found.cells, made.cells)):
        if old is None:
            return f"{where(file, index, new)} is missing"
        if new is None:
            return f"{where(file, index, old)} is not in the solution"
        for part in ("id", "cell_type", "source", "metadata", "outputs", "execution_count"):
            if old.get(part) != new.get(part):
                return f"{where(file, index, new)} differs in its {part}{_lines(old.get(part), new.get(part))}"
    if found.metadata != made.metadata:
        return "its metadata differs"
    return "it is written in another form (line endings, order or spacing)"


def _lines(old: Any, new: Any) -> str:
    if not (isinstance(old, str) and isinstance(new, str)):
        return ""
    pairs: Iterator[tuple[str | None, str | None]] = zip_longest(old.splitlines(), new.splitlines())
    for number, (found, made) in enumerate(pairs, start=1):
        if found != made:
            return f", line {number}: {_short(found)} stands for {_short(made)}"
    return ""


def _short(line: str | None) -> str:
    return "nothing" if line is None else repr(line if len(line) <= 60 else line[:59] + "…")
