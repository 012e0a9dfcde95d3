"""What must hold of solutions, exercises and lessons before they go to learners; each fault names its cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_tutor.checkout import Checkout
from memory_tutor.errors import TutorError
from memory_tutor.exercises import Exercise, Lesson, Result, run_check
from memory_tutor.names import LintSyntaxError, answers, bound_names, tutor_calls
from memory_tutor.notebooks import MAY_FAIL, SOLUTION_ONLY, checked_name, grading, tags, where

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
HINTS = 3
SCHEMA = 3

#: What git ignores, and may stand beside the course's files.
IGNORED = {"__pycache__", "my-lessons"}


class LintError(TutorError):
    """The course breaks its own rules.

    Args:
        problems: one line each, beginning with the file and, where there is one, the cell.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Source:
    """A solution as the rules see it.

    Args:
        name: of the lesson.
        file: for messages, "solutions/01_x.ipynb".
        notebook: as `notebooks.read` gives it.
        lesson: its exercises and predictions.
    """

    name: str
    file: str
    notebook: Any
    lesson: Lesson

    def cells(self) -> Iterator[tuple[str, Any]]:
        """Each cell with its place for messages."""
        for index, cell in enumerate(self.notebook.cells):
            yield where(self.file, index, cell), cell


def check(checkout: Checkout, solutions: Mapping[str, Any]) -> None:
    """Apply every rule that needs no kernel.

    Args:
        checkout: where the course is.
        solutions: the name of each lesson, to its solution as `notebooks.read` gives it.

    Raises:
        LintError: a rule is broken; all faults are in it.
    """
    problems = list(_stray_files(checkout, solutions))
    if not solutions:
        problems.append("solutions/: there is no solution to make a lesson from.")
    sources = []
    for name, notebook in solutions.items():
        file = checkout.shown(checkout.solution(name))
        try:
            sources.append(Source(name, file, notebook, checkout.lesson_of(name)))
        except ImportError as error:
            problems.append(f"{file}: it has no exercises, the module is missing or broken: {error}.")
    problems += _names_of_two_lessons(sources)
    for source in sources:
        problems += [problem for rule in RULES for problem in rule(source)]
        problems += _misconceptions(checkout, source)
    if problems:
        raise LintError(problems)


def check_answers(checkout: Checkout, solutions: Mapping[str, Any], lessons: Mapping[str, Any]) -> None:
    """Run each lesson and each solution, and check every exercise in both.

    Raises:
        LintError: a stub is anything but "not attempted", or a solution does not pass.
    """
    problems = []
    for name in solutions:
        exercises = list(checkout.lesson_of(name).exercises.values())
        for notebook, path in ((lessons[name], checkout.lesson(name)), (solutions[name], checkout.solution(name))):
            wanted = "not attempted" if notebook is lessons[name] else "passed"
            for exercise, result in zip(exercises, _results(notebook, checkout.cassette(name), exercises), strict=True):
                if result.status != wanted:
                    place = _answer_place(notebook, checkout.shown(path), exercise.answer)
                    said = " / ".join(result.message.splitlines())
                    problems.append(f"{place}: its check should say {wanted!r}, and says: {said}.")
    if problems:
        raise LintError(problems)


def _results(notebook: Any, cassette_file: Path, exercises: list[Exercise]) -> list[Result]:
    """What the checks say of a notebook that runs in a process of its own, from the lesson's recording."""
    from memory_tutor import cassette
    from memory_tutor.learner import PipeLearner

    recording = cassette.load(cassette_file) if cassette_file.exists() else cassette.Recording()

    def answer(request: cassette.Request) -> cassette.Response:
        number = recording.find(request)
        if number is None:  # nothing that a check looks at; the audit reports it with its cell
            return cassette.Response(404, cassette.JSON_TYPE, '{"error": {"message": "This is not recorded."}}')
        return recording.interactions[number].response

    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    with PipeLearner(cells, answer) as learner:
        return [run_check(exercise, learner) for exercise in exercises]


def _answer_place(notebook: Any, file: str, name: str) -> str:
    for index, cell in enumerate(notebook.cells):
        if _is_answer(cell) and grading(cell).get("grade_id") == name:
            return where(file, index, cell)
    return f"{file}, exercise {name}"


# -- the folders ---------------------------------------------------------------------------------------


def _stray_files(checkout: Checkout, solutions: Mapping[str, Any]) -> Iterator[str]:
    may = {
        checkout.solutions: {"README.md"} | {f"{name}.ipynb" for name in solutions},
        checkout.lessons: {"README.md", "memory_tutor"} | {f"{name}.ipynb" for name in solutions},
        checkout.cassettes: {"README.md"} | {f"{name}.yaml" for name in solutions},
    }
    for folder, names in may.items():
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            hidden_folder = path.is_dir() and path.name.startswith(".")  # caches of tools
            if path.name not in names | IGNORED and not hidden_folder:
                yield f"{checkout.shown(path)}: a stray file, no lesson has this name. Delete or rename it."


def _misconceptions(checkout: Checkout, source: Source) -> Iterator[str]:
    """A check that catches no wrong answer, or knows one right answer alone, does not exist."""
    path = checkout.misconceptions(source.name)
    shown = checkout.shown(path)
    try:
        held = answers(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        yield f"{source.file}: {shown}, with answers to its exercises, cannot be read: {error}."
        return
    for name in source.lesson.exercises:
        for kind, least in (("WRONG", 1), ("RIGHT", 2)):
            if held[kind].get(name, 0) < least:
                yield f"{source.file}, exercise {name}: {shown} needs {least} {kind.lower()} answer(s) to it in {kind}."


def _names_of_two_lessons(sources: list[Source]) -> Iterator[str]:
    owner: dict[str, str] = {}
    for source in sources:
        for name in source.lesson.exercises:
            if name in owner:
                yield f"{source.file}, exercise {name}: {owner[name]} has an exercise of this name too."
            owner.setdefault(name, source.file)


# -- rules: each takes a solution and yields what is wrong with it -------------------------------------


def _is_answer(cell: Any) -> bool:
    return bool(grading(cell).get("solution"))


def _is_check(cell: Any) -> bool:
    return bool(grading(cell).get("grade")) or checked_name(cell) is not None


def _is_task(cell: Any) -> bool:
    marks = grading(cell)
    return bool(marks) and cell.cell_type == "markdown" and bool(marks.get("locked"))


def rule_grading_metadata(source: Source) -> Iterator[str]:
    """nbgrader's metadata is complete, and each grade_id stands once."""
    seen: dict[str, str] = {}
    for place, cell in source.cells():
        marks = grading(cell)
        if not marks:
            continue
        lacking = {"schema_version", "grade_id", "grade", "solution", "locked", "task"} - set(marks)
        if lacking:
            yield f"{place}: its nbgrader metadata lacks {', '.join(sorted(lacking))}."
        if marks.get("schema_version", SCHEMA) != SCHEMA:
            yield f"{place}: its nbgrader schema is {marks['schema_version']}, not {SCHEMA}."
        id_ = str(marks.get("grade_id"))
        if id_ in seen:
            yield f"{place}: its grade_id {id_!r} is also that of {seen[id_]}."
        seen.setdefault(id_, place)


def rule_answer_cells(source: Source) -> Iterator[str]:
    """An answer cell is code, marks what is to be cut out, and defines its exercise."""
    for place, cell in source.cells():
        lines = [line.strip() for line in cell.source.splitlines()]
        marks = [line for line in lines if "BEGIN SOLUTION" in line or "END SOLUTION" in line]
        if not _is_answer(cell):
            if marks:
                yield f"{place}: a solution marker in a cell that is not an answer cell."
            continue
        name = str(grading(cell).get("grade_id"))
        if not marks or marks != [BEGIN, END] * (len(marks) // 2):
            yield f"{place}: a marker is missing, {BEGIN!r} and {END!r} must each stand on a line, in turn."
        if name not in source.lesson.answers:
            yield f"{place}: an answer to {name!r}, which is no exercise of {source.name}."
        if cell.cell_type != "code":
            yield f"{place}: an answer cell must be code."
        elif grading(cell).get("grade"):
            yield f"{place}: an answer cell must not be graded itself; its check cell is."
        elif name not in _bound(cell):
            yield f"{place}: it does not define {name!r}."


def rule_check_cells(source: Source) -> Iterator[str]:
    """A check cell is one line, may fail in Run All, and gives the points that the check gives."""
    seen: dict[str, str] = {}
    for place, cell in source.cells():
        if not _is_check(cell) or _is_answer(cell):
            continue
        name, marks = checked_name(cell), grading(cell)
        if name is None:
            yield f'{place}: a check cell must be exactly one line, tutor.check("name").'
            continue
        if not marks.get("grade") or not marks.get("locked"):
            yield f"{place}: a check cell must be graded and locked in its nbgrader metadata."
        if MAY_FAIL not in tags(cell):
            yield f"{place}: it lacks the tag {MAY_FAIL}: Run All would stop here."
        if name in seen:
            yield f"{place}: {name!r} is checked in {seen[name]} already."
        seen.setdefault(name, place)
        exercise = source.lesson.exercises.get(name)
        if exercise is None:
            yield f"{place}: it checks {name!r}, which is no exercise of {source.name}."
        elif marks.get("points") != exercise.points:
            yield f"{place}: its metadata gives {marks.get('points')} points, its check {exercise.points}."


def rule_exercises(source: Source) -> Iterator[str]:
    """Each exercise has points, three hints, and in the notebook a task, an answer and a check, in order."""
    cells = list(source.cells())
    answers = {grading(cell).get("grade_id"): index for index, (_, cell) in enumerate(cells) if _is_answer(cell)}
    checked = {checked_name(cell): index for index, (_, cell) in enumerate(cells)}
    for name, exercise in source.lesson.exercises.items():
        place = f"{source.file}, exercise {name}"
        if exercise.points < 1:
            yield f"{place}: it gives no points."
        if len(exercise.hints) != HINTS or not all(hint.strip() for hint in exercise.hints):
            given = sum(bool(hint.strip()) for hint in exercise.hints)
            yield f"{place}: it needs {HINTS} hints and has {given}."
        if exercise.answer not in answers:
            yield f"{place}: no answer cell has this grade_id."
            continue
        answered = answers[exercise.answer]
        where_answered, _ = cells[answered]
        if answered == 0 or not _is_task(cells[answered - 1][1]):
            yield f"{where_answered}: exercise {name} has no task cell just before its answer cell."
        if name not in checked:
            yield f"{where_answered}: exercise {name} has no check cell."
        elif checked[name] < answered:
            yield f"{cells[checked[name]][0]}: the check of {name} stands before the answer."


def rule_demonstrations(source: Source) -> Iterator[str]:
    """Only its answer cell defines an exercise's name; elsewhere it would pass for the learner's."""
    for place, cell in source.cells():
        if cell.cell_type != "code":
            continue
        own = grading(cell).get("grade_id") if _is_answer(cell) else None
        try:
            bound = bound_names(cell.source)
        except LintSyntaxError as error:
            if MAY_FAIL not in tags(cell):
                yield f"{place}: it is not valid Python: {error}."
            continue
        for name in sorted(bound & source.lesson.answers - {own}):
            yield f"{place}: it defines {name!r}, the name of an exercise."


def rule_predictions(source: Source) -> Iterator[str]:
    """Each prediction is asked once, and revealed once, afterwards."""
    asked: dict[str, str] = {}
    revealed: set[str] = set()
    for place, method, name in _tutor_calls(source):
        if method not in ("predict", "reveal"):
            continue
        if name not in source.lesson.predictions:
            yield f"{place}: {name!r} is no prediction of {source.name}."
        elif method == "predict":
            if name in asked:
                yield f"{place}: {name!r} is asked in {asked[name]} already."
            asked.setdefault(name, place)
        elif name not in asked:
            yield f"{place}: it reveals {name!r} before it is asked."
        elif name in revealed:
            yield f"{place}: it reveals {name!r} a second time."
        else:
            revealed.add(name)
    for name, place in asked.items():
        if name not in revealed:
            yield f"{place}: the prediction {name!r} has no reveal after it."
    for name in sorted(source.lesson.predictions.keys() - asked.keys()):
        yield f"{source.file}: the prediction {name!r} is not asked."


def rule_tutor_calls(source: Source) -> Iterator[str]:
    """Hints and solutions are of known exercises, and checks stand in cells of their own."""
    for place, method, name in _tutor_calls(source):
        if method in ("hint", "solution") and name not in source.lesson.exercises:
            yield f"{place}: tutor.{method}({name!r}) names no exercise of {source.name}."
    for place, cell in source.cells():
        calls = tutor_calls(cell.source) if cell.cell_type == "code" else []
        if not _is_check(cell) and any(method == "check" for method, _ in calls):
            yield f"{place}: a check must be alone in its cell."


def rule_solution_only(source: Source) -> Iterator[str]:
    """What is stripped from the lesson is code that no learner needs."""
    for place, cell in source.cells():
        if SOLUTION_ONLY in tags(cell) and (grading(cell) or cell.cell_type != "code"):
            yield f"{place}: a {SOLUTION_ONLY} cell must be code, and no part of an exercise."


Rule = Callable[[Source], Iterator[str]]
RULES: tuple[Rule, ...] = (
    rule_grading_metadata,
    rule_answer_cells,
    rule_check_cells,
    rule_exercises,
    rule_demonstrations,
    rule_predictions,
    rule_tutor_calls,
    rule_solution_only,
)


def _bound(cell: Any) -> set[str]:
    try:
        return bound_names(cell.source)
    except LintSyntaxError:
        return set()


def _tutor_calls(source: Source) -> Iterator[tuple[str, str, str]]:
    for place, cell in source.cells():
        for method, name in tutor_calls(cell.source) if cell.cell_type == "code" else ():
            yield place, method, name
