"""An exception of a learner's code, as a check sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory_tutor.codec import printable, shorten

#: Characters of an exception's message, of a line of code, of the name of a class, and how many such names; lines of
#: a cell, of which no notebook that is read has more.
MESSAGE, LINE, NAME, NAMES, LINES = 2_000, 80, 100, 20, 10_000_000


@dataclass(frozen=True)
class Raised:
    """An exception that came out of a learner's code.

    Args:
        names: of its class and those that this extends, ("APIConnectionError", "APIError", …);
            ("TimeLimit",) where the code did not return, ("ProcessEnded",) where it ended the process.
        message: its text.
        line_number: of the last line in a cell of theirs that it came through, counted in that cell.
        line: text of that line.
    """

    names: tuple[str, ...]
    message: str
    line_number: int | None = None
    line: str = ""

    @classmethod
    def read(cls, wire: Mapping[str, Any]) -> Raised:
        """From what a report says; what is too long for any report of ours is cut, and what no file can hold escaped.

        Raises:
            KeyError, TypeError: it says something else.
        """
        names = tuple(_text(name, NAME) for name in wire["names"][:NAMES]) or ("BaseException",)
        number = wire["line_number"]
        if number is not None and (type(number) is not int or not 0 <= number <= LINES):
            raise TypeError("A line has a number.")
        return cls(names, _text(wire["message"], MESSAGE), number, _text(wire["line"], LINE))

    @property
    def name(self) -> str:
        """The name of its class."""
        return self.names[0]

    def tell(self, what: str) -> str:
        """The sentences for a learner.

        Args:
            what: was called.
        """
        if self.name == "TimeLimit":
            said = f"{what} was stopped. {self.message}"
        elif self.name == "ProcessEnded":
            said = f"{what} cannot be checked. {self.message}"
        else:
            said = f"{what} raised {self.name}: {self.message}" if self.message else f"{what} raised {self.name}."
        if self.line_number is None:
            return said
        line = f": {self.line}" if self.line else "."
        return f"{said}\nIt happened in line {self.line_number} of the cell{line}"


def _text(said: object, most: int) -> str:
    return printable(shorten(str(said), most))
