"""What a cell's code defines and calls, read from its syntax tree without running it."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any

#: The head of a function or class at the top of a cell; group 1 is its name.
DEFINITION = re.compile(r"^(?:async\s+)?(?:def|class)\s+(\w+)", re.MULTILINE)
#: From which likeness on, 0 to 1, a name is taken for another one, misspelt.
_ALIKE = 0.9


class LintSyntaxError(ValueError):
    """A cell is not Python, IPython's magics apart."""


def bound_names(source: str) -> set[str]:
    """The global names that a cell defines, changes or deletes.

    Args:
        source: a cell's text; IPython's magics may stand in it.

    Raises:
        LintSyntaxError: it is not valid Python.
    """
    found = _Names()
    found.visit(parsed(source))
    return found.names


def definitions(cell: str) -> list[str]:
    """The functions and classes that a cell defines at its top; what is no Python is read line by line."""
    if "def" not in cell and "class" not in cell:
        return []
    try:
        body = ast.parse(cell).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return DEFINITION.findall(cell)
    return [node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]


def spelt_like(name: str, others: Iterable[str]) -> str:
    """Which of some other names is a name misspelt, be it in case or underscores alone; "" if none is."""
    written = {_letters(other): other for other in sorted(others)}
    alike = difflib.get_close_matches(_letters(name), written, n=1, cutoff=_ALIKE)
    return written[alike[0]] if alike else ""


def _letters(name: str) -> str:
    return name.replace("_", "").casefold()


def tutor_calls(source: str) -> list[tuple[str, str]]:
    """The calls `tutor.method("name", …)` in a cell, as (method, name), in order; [] if it is not Python."""
    try:
        tree = parsed(source)
    except LintSyntaxError:
        return []
    calls = [
        (node.lineno, node.col_offset, node.func.attr, node.args[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "tutor"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ]
    return [(method, name) for _, _, method, name in sorted(calls)]


def answers(source: str) -> dict[str, dict[str, int]]:
    """How many answers a module of misconceptions holds, as {"WRONG": {exercise: number}, "RIGHT": {…}}.

    Args:
        source: of a module that assigns a literal dict, from exercises to lists, to each of the two names.

    Raises:
        SyntaxError: it is not valid Python.
    """
    found: dict[str, dict[str, int]] = {"WRONG": {}, "RIGHT": {}}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Dict):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and target.id in found:
                found[target.id] = dict(_lengths(node.value))
    return found


def _lengths(node: ast.Dict) -> Iterator[tuple[str, int]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.List | ast.Tuple):
            yield key.value, len(value.elts)


def parsed(source: str) -> ast.Module:
    """The syntax tree of a cell.

    Raises:
        LintSyntaxError: it is not valid Python, IPython's magics apart.
    """
    from IPython.core import inputtransformer2

    magics: Any = inputtransformer2.TransformerManager  # without types
    try:
        return ast.parse(str(magics().transform_cell(source)))
    except (SyntaxError, ValueError) as error:
        raise LintSyntaxError(f"{error.__class__.__name__}, {error}") from None


class _Names(ast.NodeVisitor):
    """Collects what is bound in the global scope: the inside of functions and classes is their own."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._inside = 0  # how many scopes of functions and classes we are in

    def _bind(self, name: str | None) -> None:
        if name and not self._inside:
            self.names.add(name)

    def _visit_scope(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._bind(node.name)
        self._inside += 1
        self.generic_visit(node)
        self._inside -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_scope

    def visit_Global(self, node: ast.Global) -> None:
        self.names.update(node.names)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.visit(node.iter)  # the target is the comprehension's own; a := in it is not
        for condition in node.ifs:
            self.visit(condition)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id)

    def visit_alias(self, node: ast.alias) -> None:
        self._bind(node.asname or node.name.partition(".")[0])

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        self._bind(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._bind(node.rest)
        self.generic_visit(node)
