"""Where the kernel is not what the notebook shows: a cell that did not run to its end, or was not run at all."""

from __future__ import annotations

import linecache
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any

from memory_tutor.names import DEFINITION, definitions, spelt_like

#: What a check says of a name that the kernel does not know, and what Python says of one.
_NOT_DEFINED = re.compile(r"`\w+` is not defined yet\.")
_NAME_ERROR = re.compile(r"NameError: name '(\w+)' is not defined")


def notes(answer: str, message: str, namespace: Mapping[str, Any], names: Collection[str]) -> list[str]:
    """What a learner has to know of the kernel to make sense of a check.

    Args:
        answer: the name of the function or class that was checked.
        message: what the check said.
        namespace: the notebook's globals; IPython keeps the sources of the cells that were run in "In" there.
        names: of all that the lesson's exercises ask for.

    Returns:
        Lines; none where there is nothing to say, or nothing can be known.
    """
    found = list[str]()
    with suppress(Exception):  # it speaks of a learner's objects, and must never cost them a check
        found.extend(_notes(answer, message, namespace, names))
    return found


def _notes(answer: str, message: str, namespace: Mapping[str, Any], names: Collection[str]) -> Iterator[str]:
    kept = namespace.get("In")
    cells = [str(cell) for cell in kept] if isinstance(kept, list) else []
    newest = _newest(cells, answer)
    if _NOT_DEFINED.search(message):
        if newest is None or answer in namespace:
            yield "Run the cell that defines it first."
        else:
            yield f"The newest cell that begins `{_begins(cells[newest], answer)}` did not run to its end."
    for missing in dict.fromkeys(_NAME_ERROR.findall(message)):
        if missing in names:
            yield f"Run the cell that defines `{missing}` first."
    origin = _origin(namespace[answer], answer, cells) if answer in namespace else -1
    if origin is None:
        return
    if newest is not None and 0 <= origin < newest:
        begins = f"the newest cell that begins `{_begins(cells[newest], answer)}`"
        yield f"Checked was the `{answer}` that ran last; {begins} did not run to its end."
        return
    others = {name for cell in cells[origin + 1 :] for name in definitions(cell)} - {*names, answer}
    if name := spelt_like(answer, others):
        yield f"The name to define is `{answer}`; a cell{' that ran later' if origin >= 0 else ''} defines `{name}`."


def _newest(cells: Sequence[str], name: str) -> int | None:
    """The place of the last cell that defines a name, whether it could be run or not."""
    return next((place for place in reversed(range(len(cells))) if name in definitions(cells[place])), None)


def _begins(cell: str, name: str) -> str:
    """How the definition in a cell begins: "def ask"."""
    found = next((each[0] for each in DEFINITION.finditer(cell) if each[1] == name), f"def {name}")
    return " ".join(found.split())


def _origin(thing: object, name: str, cells: Sequence[str]) -> int | None:
    """The place of the cell from which a function or class is; None where that cannot be known."""
    while type(thing) is FunctionType and "__wrapped__" in vars(thing):
        thing = vars(thing)["__wrapped__"]
    parts = list(vars(thing).values()) if type(thing) is type else [thing]
    codes = [part.__code__ for part in parts if type(part) is FunctionType]
    # A function that a decorator has put in its place is of the decorator's cell, and says nothing.
    files = {code.co_filename for code in codes if code.co_qualname.partition(".")[0] == name}
    sources = {"".join(linecache.getlines(file)).strip() for file in files}
    return next((place for place in reversed(range(len(cells))) if cells[place].strip() in sources), None)
