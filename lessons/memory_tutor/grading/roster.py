"""The names of all students, as a learning platform exports them, and which of them a submission's name is."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from itertools import permutations
from pathlib import Path

from memory_tutor.errors import TutorError
from memory_tutor.grading import words

#: What a column of whole names is called, and what the columns of their two parts are called.
_WHOLE = ("student", "student name", "name", "full name", "username", "login id", "identifier")
_FIRST = ("first name", "firstname", "given name", "forename")
_LAST = ("last name", "lastname", "surname", "family name")
#: Names of more parts than so many are taken as they stand.
_PARTS = 4

FORMS = 'a column "student" or "name", or the columns "First name" and "Last name", or a single column of names'


class RosterError(TutorError):
    """The file holds no names."""


def read(file: Path) -> tuple[str, ...]:
    """The names of a CSV file, in its order, each once.

    Args:
        file: in one of FORMS; comma, semicolon or tab.

    Raises:
        RosterError: it cannot be read, has no names, or is not in one of these forms.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise RosterError(f"The roster {file} cannot be read: {error.strerror}.") from None
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        rows = [[words.person(cell) for cell in row] for row in csv.reader(io.StringIO(text), delimiter=separator)]
    except csv.Error as error:
        raise RosterError(f"{file} is no CSV file ({error}).") from error
    rows = [row for row in rows if any(row)]
    columns, head = _columns(rows, file)
    names = [" ".join(filter(None, (row[column] for column in columns if column < len(row)))) for row in rows[head:]]
    names = [name for name in names if name and name.casefold() != "points possible"]  # a line of Canvas's
    if not names:
        raise RosterError(f"{file} has no names. It needs {FORMS}.")
    return tuple(dict.fromkeys(names))


def _columns(rows: Sequence[Sequence[str]], file: Path) -> tuple[list[int], int]:
    """The columns that make a name, and how many rows are no names."""
    head = [cell.casefold() for cell in rows[0]] if rows else []
    parts = [next((head.index(name) for name in names if name in head), None) for names in (_FIRST, _LAST)]
    if None not in parts:
        return [part for part in parts if part is not None], 1
    for name in _WHOLE:
        if name in head:
            return [head.index(name)], 1
    if any(len(list(filter(None, row))) > 1 for row in rows):
        raise RosterError(f"The first line of {file} does not say which column has the names. It needs {FORMS}.")
    return [0], 0


def find(names: Iterable[str], roster: Sequence[str]) -> dict[str, str]:
    """Who of the roster a name in the submissions is: spelt in other letters, the last name first, or run together.

    Args:
        names: in the submissions.
        roster: as `read` gives it.

    Returns:
        The name in the submissions by that in the roster, for those that are sure.
    """
    known = sorted(names)
    found = {entry: entry for entry in roster if entry in known}
    keys = {name: _keys(name) for name in known if name not in found}
    for entry in roster:
        if entry in found:
            continue
        like = [name for name, forms in keys.items() if forms & _keys(entry)]
        twins = [other for other in roster if other != entry and _keys(other) & _keys(entry)]
        if len(like) == 1 and not twins:
            found[entry] = like[0]
    return found


def _keys(name: str) -> set[str]:
    """A name without what may differ: its letters alone, in every order of its parts."""
    parts = re.findall(r"[^\W_]+", name.casefold())
    if not 0 < len(parts) <= _PARTS:
        return {"".join(parts)}
    return {"".join(order) for order in permutations(parts)}
