"""The names of all students, as a learning platform exports them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from memory_tutor.errors import TutorError
from memory_tutor.grading import words

#: What a column of names is called. Where no column is called so, the first one has them and there is no head.
_HEADS = ("student", "name", "full name", "username", "login id", "identifier")


class RosterError(TutorError):
    """The file holds no names."""


def read(file: Path) -> tuple[str, ...]:
    """The names of a CSV file, in its order, each once. They must be spelt as in the submissions.

    Args:
        file: with a column "student", or "name", or with names alone; comma, semicolon or tab.

    Raises:
        RosterError: there are none.
        OSError: it cannot be read.
    """
    text = file.read_bytes().decode("utf-8-sig", "replace")
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        rows = [[words.person(cell) for cell in row] for row in csv.reader(io.StringIO(text), delimiter=separator)]
    except csv.Error as error:
        raise RosterError(f"{file} is no CSV file ({error}).") from error
    rows = [row for row in rows if any(row)]
    head = [cell.casefold() for cell in rows[0]] if rows else []
    column = next((head.index(name) for name in _HEADS if name in head), None)
    names = [row[column or 0] for row in rows[column is not None :] if len(row) > (column or 0)]
    names = [name for name in names if name]
    if not names:
        raise RosterError(f"{file} has no names. It needs a column called student, or names alone.")
    return tuple(dict.fromkeys(names))
