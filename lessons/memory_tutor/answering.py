"""Where a learner's answers and choices are in their notebook."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memory_tutor.matching import Matches, same_text
from memory_tutor.names import LintSyntaxError, bound_names, parsed
from memory_tutor.notebooks import grading


class Answers:
    """Which of a learner's cells answers which exercise of a lesson.

    An answer is looked for by the name that it defines: in the cell that is for it; else, if only the stub is
    left there or the cell is gone, in the learner's own cells, of which the last counts.

    Args:
        theirs: the learner's cells.
        matches: which of them are the course's.
        original: the lesson's cells as the learner got them, by id.
        lesson: those of today.
    """

    def __init__(
        self, theirs: Sequence[Any], matches: Matches, original: Mapping[str, Any], lesson: Mapping[str, Any]
    ) -> None:
        self._theirs = theirs
        self._stubs = [cell for cell in (*original.values(), *lesson.values()) if grading(cell).get("solution")]
        self._known = bool(original)
        #: Id of an answer cell of the lesson to the number of the learner's cell that goes there.
        self.placed: dict[str, int] = {}
        self._elsewhere: set[str] = set()
        #: What was chosen in each prediction.
        self.choices = dict(_choices(theirs))
        self._by_name: dict[str, int] = {}
        wanted = {str(grading(cell)["grade_id"]): id_ for id_, cell in lesson.items() if grading(cell).get("solution")}
        for name, id_ in wanted.items():
            index = matches.index.get(id_)
            if index is not None and not self.is_stub(index, name):
                self._place(name, id_, index)
        own = [number for number in range(len(theirs)) if number not in matches.course_id]
        for name, id_ in wanted.items():
            if name in self._by_name:
                continue
            defining = [each for each in own if self._writes(each, name) and not self.is_stub(each, name)]
            if defining and defining[-1] not in self.taken:
                self._place(name, id_, defining[-1])
            elif defining or (id_ not in matches.index and any(self._binds(each, name) for each in range(len(theirs)))):
                self._elsewhere.add(name)

    @property
    def taken(self) -> set[int]:
        """The numbers of the cells that go to an answer's place."""
        return set(self.placed.values())

    def place(self, name: str) -> int | None:
        """The number of the cell that goes to an answer's place, or None."""
        return self._by_name.get(name)

    def is_elsewhere(self, name: str) -> bool:
        """Whether an answer stands in a cell that stays where it is or answers something else, too."""
        return name in self._elsewhere

    def is_stub(self, index: int, name: str) -> bool:
        """Whether nothing has been written into an answer cell."""
        mine = self._theirs[index]
        if not mine.source.strip() or any(same_text(mine, stub) for stub in self._stubs):
            return True
        return not self._known and _only_a_stub(mine.source, name, self._stubs)

    def _place(self, name: str, id_: str, index: int) -> None:
        self._by_name[name] = self.placed[id_] = index

    def _writes(self, index: int, name: str) -> bool:
        """Whether a cell holds a definition by `def` or `class`, even if the code does not parse."""
        cell = self._theirs[index]
        definition = rf"^(async\s+)?(def|class)\s+{re.escape(name)}\b"
        return cell.cell_type == "code" and bool(re.search(definition, cell.source, re.MULTILINE))

    def _binds(self, index: int, name: str) -> bool:
        cell = self._theirs[index]
        if cell.cell_type != "code" or self.is_stub(index, name):
            return False
        try:
            return name in bound_names(cell.source)
        except LintSyntaxError:
            return self._writes(index, name)


def loaded_names(source: str) -> set[str]:
    """The names that a cell's code reads; empty if it is not Python."""
    try:
        tree = parsed(source)
    except LintSyntaxError:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def with_choice(cell: Any, choices: Mapping[str, str]) -> tuple[str, list[str]]:
    """A cell's text with a learner's choices written into its predictions, and the names of those.

    Args:
        cell: of the course.
        choices: name of a prediction to the letter.
    """
    source, names = str(cell.source), []
    if cell.cell_type == "code":
        for name, literal in reversed(list(_predictions(source))):
            if name in choices and literal.end_col_offset is not None and literal.lineno == literal.end_lineno:
                lines = source.split("\n")
                line = lines[literal.lineno - 1].encode()  # ast counts bytes
                choice = ast.unparse(ast.Constant(choices[name])).replace("'", '"')
                lines[literal.lineno - 1] = (
                    line[: literal.col_offset] + choice.encode() + line[literal.end_col_offset :]
                ).decode()
                source = "\n".join(lines)
                names.append(name)
    return source, names[::-1]


def _choices(cells: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for cell in cells:
        if cell.cell_type == "code":
            for name, literal in _predictions(cell.source):
                if isinstance(literal.value, str) and re.fullmatch(r"\s*\(?\w\)?\s*", literal.value):
                    yield name, literal.value


def _predictions(source: str) -> Iterator[tuple[str, ast.Constant]]:
    """The name and the choice of each `tutor.predict("name", choice="…")`, in order."""
    if "predict" not in source:
        return
    try:
        tree = parsed(source)
    except LintSyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "predict":
            given = [*node.args[1:2], *(each.value for each in node.keywords if each.arg == "choice")]
            name = node.args[0] if node.args else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and given:
                choice = given[0]
                if isinstance(choice, ast.Constant):
                    yield name.value, choice


def _only_a_stub(source: str, name: str, stubs: Sequence[Any]) -> bool:
    """Whether a definition, of whichever version of the lesson, is still to be written, and all else is given."""
    given = {node for stub in stubs for node in _statements(stub.source)}
    try:
        tree = parsed(source)
    except LintSyntaxError:
        return False
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [node for node in tree.body if isinstance(node, kinds) and node.name == name]
    functions = [each for node in found for each in ast.walk(node) if isinstance(each, kinds[:2])]
    others = [node for node in tree.body if node not in found]
    comments = [line for line in source.splitlines() if "#" in line and not _raises(line)]
    known = "\n".join(stub.source for stub in stubs)
    return (
        bool(functions)
        and all(_raises_not_implemented(each.body) for each in functions)
        and all(ast.unparse(node) in given for node in others)
        and all(line.strip() in known for line in comments)
    )


def _statements(source: str) -> list[str]:
    """The statements of a cell, each in the form in which Python writes it; [] if it is not Python."""
    try:
        return [ast.unparse(node) for node in parsed(source).body]
    except LintSyntaxError:
        return []


def _raises(line: str) -> bool:
    return line.strip().startswith("raise NotImplementedError")


def _raises_not_implemented(body: list[ast.stmt]) -> bool:
    rest = body[1:] if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else body
    return len(rest) == 1 and isinstance(rest[0], ast.Raise) and "NotImplementedError" in ast.unparse(rest[0])
