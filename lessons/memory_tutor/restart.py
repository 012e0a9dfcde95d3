"""A learner's definitions, run again with clean globals: what a restart of the kernel leaves of them."""

from __future__ import annotations
import __future__

import ast
import linecache
import symtable
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from types import CodeType
from typing import Any

#: What a notebook's set-up cell makes: it is taken over as it is, never run again.
CARRIED = frozenset({"client", "model", "tutor"})


@dataclass(frozen=True)
class _Statement:
    """One statement at the top of a cell.

    Args:
        code: compiled, with the lines of its cell.
        binds: the global names that it sets.
        uses: the global names that it, or a function in it, reads.
    """

    code: CodeType
    binds: frozenset[str]
    uses: frozenset[str]


def rerun(
    cells: Sequence[str], names: Iterable[str], live: dict[str, Any], carried: Set[str] = CARRIED
) -> dict[str, Any]:
    """Run the definitions of some names, and all that they need, in a new namespace.

    Only statements that set a name are run, in the order of the cells; the latest definition wins. Calls
    and prints are not repeated. A statement that fails is left out, as it was in the notebook.

    Args:
        cells: sources, in the order in which they were run.
        names: of functions and classes.
        live: the namespace in which the cells were run; it gives what is carried over, and needed names
            that no statement sets.
        carried: names that are taken over as they are: their statements are not run again.

    Returns:
        The new namespace.
    """
    statements = list(_statements(cells, carried))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    namespace.update({name: live[name] for name in carried if name in live})
    chosen: set[int] = set()
    wanted = [(name, len(statements)) for name in names]
    while wanted:
        name, before = wanted.pop()
        places = [place for place, statement in enumerate(statements) if name in statement.binds]
        if not places and name in live:
            namespace[name] = live[name]
        # A statement sees what was set before it; a function called later sees what was set last.
        for place in {*places[-1:], *[place for place in places if place < before][-1:]} - chosen:
            chosen.add(place)
            wanted += [(used, place) for used in statements[place].uses]
    for place in sorted(chosen):
        try:
            exec(statements[place].code, namespace)
        except (Exception, SystemExit):
            continue  # a name that is missing shows when the function is called
    return namespace


def _statements(cells: Sequence[str], carried: Set[str]) -> Iterator[_Statement]:
    """The statements that set global names, in order; what does not compile has set none."""
    flags = 0
    for cell in cells:
        name = f"<cell {hash(cell) & 0xFFFFFFFF:08x}>"
        try:
            body = ast.parse(cell).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        for node in body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                flags |= sum(getattr(__future__, alias.name).compiler_flag for alias in node.names)
            with suppress(SyntaxError, ValueError, RecursionError):
                table = symtable.symtable(ast.unparse(node), name, "exec")
                binds = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
                if not binds <= carried:
                    code = compile(ast.Module([node], []), name, "exec", flags, dont_inherit=True)
                    uses = _uses(node, table)
                    yield _Statement(code, frozenset(binds - carried), frozenset(uses - carried))


def _uses(node: ast.stmt, table: symtable.SymbolTable) -> set[str]:
    """The global names that a statement, and the functions and classes in it, read."""
    used = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    scopes = table.get_children()
    while scopes:
        scope = scopes.pop()
        used |= {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global()}
        scopes += scope.get_children()
    # `total += 1` reads what it sets, which the symbol table does not count as reading. Within a function it
    # is a name of its own, or one that is declared global, and counted above.
    parts: list[ast.AST] = [node]
    while parts:
        part = parts.pop()
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            used.add(part.target.id)
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            parts += ast.iter_child_nodes(part)
    return used
