"""The folders that a maintainer works in: a checkout, or a copy of its layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memory_tutor import checks, course
from memory_tutor.errors import TutorError
from memory_tutor.exercises import Lesson


class CheckoutError(TutorError):
    """A maintainer's command was used where there is no checkout, or for a lesson that it does not have."""


@dataclass(frozen=True)
class Checkout:
    """Where the parts of the course stand.

    Args:
        root: the folder that holds solutions/, lessons/, cassettes/ and tests/.
        lesson_of: gives the exercises of a lesson by its name; raises ImportError if it has none.
    """

    root: Path
    lesson_of: Callable[[str], Lesson] = checks.lesson

    @classmethod
    def here(cls) -> Checkout:
        """The checkout that this package runs from.

        Raises:
            CheckoutError: the package is installed as a wheel; its data is not for editing.
        """
        root = course.PACKAGE.parent.parent
        if course.PACKAGE.parent.name != "lessons" or not (root / "solutions").is_dir():
            raise CheckoutError(
                f"This command edits the course and needs a checkout; memory-tutor runs from {course.PACKAGE}.\n"
                "Clone the repository and install it there with: pip install -e '.[test]'"
            )
        return cls(root)

    @property
    def solutions(self) -> Path:
        return self.root / "solutions"

    @property
    def lessons(self) -> Path:
        return self.root / "lessons"

    @property
    def cassettes(self) -> Path:
        return self.root / "cassettes"

    def solution(self, name: str) -> Path:
        return self.solutions / f"{name}.ipynb"

    def lesson(self, name: str) -> Path:
        return self.lessons / f"{name}.ipynb"

    def cassette(self, name: str) -> Path:
        return self.cassettes / f"{name}.yaml"

    def misconceptions(self, name: str) -> Path:
        """The module that holds the wrong and right answers to a lesson's exercises."""
        return self.root / "tests" / "misconceptions" / f"test_{name}.py"

    def names(self) -> list[str]:
        """The names of the lessons that have a solution, in order."""
        return sorted(file.stem for file in self.solutions.glob("[0-9][0-9]_*.ipynb"))

    def find(self, text: str | int) -> str:
        """The full name of a lesson from a name, a number or a file name, as `course.find_lesson` does.

        Raises:
            CheckoutError: no solution has this name; the message suggests one.
        """
        wanted = str(text).strip().removesuffix(".ipynb")
        for name in self.names():
            number, _, title = name.partition("_")
            if wanted in (name, title) or (wanted.isascii() and wanted.isdigit() and int(wanted) == int(number)):
                return name
        raise CheckoutError(f"There is no solution for {text!r}. {course.suggest(wanted, self.names())}")

    def shown(self, path: Path) -> str:
        """A path for messages: from the root, with "/" on every system."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)
