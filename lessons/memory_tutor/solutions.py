"""The course's own answers, read from the solved notebooks where this installation carries them."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from memory_tutor import course
from memory_tutor.errors import TutorError
from memory_tutor.exercises import Exercise

MARKER = re.compile(r"^\s*### (BEGIN|END) SOLUTION\s*$\n?", re.MULTILINE)


class NoSolution(TutorError):
    """This installation carries no solutions."""


def solution_source(exercise: Exercise) -> str:
    """The solved answer cell of an exercise, without its markers.

    Raises:
        NoSolution: the package was built without solutions, as for a class.
    """
    notebook = course.path("solutions", exercise.lesson) if course.has("solutions") else None
    if notebook is None or not notebook.is_file():
        raise NoSolution(
            f"This installation of memory-tutor carries no solutions, so that of {exercise.name} cannot be shown.\n"
            "Ask your teacher, or install memory-tutor from its public release."
        )
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("grade_id") == exercise.name:
            return MARKER.sub("", "".join(cell["source"])).rstrip()
    raise NoSolution(f"The solutions of {exercise.lesson} hold no answer to {exercise.name}. Install again.")


def reference(exercise: Exercise, given: dict[str, Any]) -> Any:
    """The function of the solution, made anew.

    Args:
        exercise: whose answer it is.
        given: the notebook's names; `client` and `model` are taken from there.

    Raises:
        NoSolution: as for `solution_source`.
    """
    source = solution_source(exercise)
    names = {"__name__": f"reference.{exercise.lesson}"}
    names.update({name: given[name] for name in ("client", "model", "tutor") if name in given})
    tree = ast.parse(source)
    # Annotations of an answer may use names that its notebook imported in another cell.
    code = compile(tree, f"<solution of {exercise.name}>", "exec", flags=annotations_flag(), dont_inherit=True)
    exec(code, names)
    return names[exercise.name]


def annotations_flag() -> int:
    import __future__

    return __future__.annotations.compiler_flag
