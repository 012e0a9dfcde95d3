"""Where the course's files are: in the installed package's data, else in the checkout around it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from memory_tutor.errors import TutorError

PACKAGE = Path(__file__).resolve().parent
Part = Literal["lessons", "solutions", "cassettes"]
SUFFIX: dict[Part, str] = {"lessons": ".ipynb", "solutions": ".ipynb", "cassettes": ".yaml"}


class CourseError(TutorError):
    """A part of the course is not where it should be, or was asked for by a wrong name."""


def places(part: Part) -> list[Path]:
    """The two folders in which a part of the course may stand, in the order in which they are tried."""
    checkout = PACKAGE.parent if part == "lessons" else PACKAGE.parent.parent / part
    return [PACKAGE / "course" / part, checkout]


@cache
def folder(part: Part) -> Path:
    """The folder that holds a part of the course.

    Returns:
        The package's own data in an installed wheel, else the checkout's folder.

    Raises:
        CourseError: neither exists; the message names both.
    """
    for place in places(part):
        if place.is_dir():
            return place
    tried = " nor at ".join(map(str, places(part)))
    raise CourseError(f"The {part} of the course are neither at {tried}.\nInstall memory-tutor again.")


def has(part: Part) -> bool:
    """Whether this installation carries a part of the course (a wheel may be built without solutions)."""
    return any(place.is_dir() for place in places(part))


def path(part: Part, lesson: str) -> Path:
    """The file of a lesson in one part of the course; it may not exist yet."""
    return folder(part) / (lesson + SUFFIX[part])


def lesson_names() -> list[str]:
    """The names of the lessons, in order: "01_stateless_calls", "02_manual_history", …"""
    # A lesson that is being written has a solution first; the lesson is built from it.
    folders = [folder("lessons"), *([folder("solutions")] if has("solutions") else [])]
    return sorted({file.stem for place in folders for file in place.glob("[0-9][0-9]_*.ipynb")})


def find_lesson(text: str | int) -> str:
    """The full name of a lesson from a name, a number, or a file name.

    Args:
        text: 2, "2", "02", "02_manual_history", "manual_history" or "02_manual_history.ipynb".

    Raises:
        CourseError: there is no such lesson; the message names the nearest, or all of them.
    """
    wanted = str(text).strip().removesuffix(".ipynb")
    names = lesson_names()
    for name in names:
        number, _, title = name.partition("_")
        if wanted in (name, title) or (wanted.isascii() and wanted.isdigit() and int(wanted) == int(number)):
            return name
    raise CourseError(f"There is no lesson {text!r}. {suggest(wanted, names)}")


def unknown(kind: str, wanted: object, names: Iterable[str], here: Iterable[str] = ()) -> CourseError:
    """The error for a name that there is not; it suggests what was probably meant.

    Args:
        kind: of the thing, "exercise".
        wanted: what stands for the name, "" for none; a learner may have passed the function itself, or anything.
        names: that there are.
        here: those of them that this lesson has.
    """
    here = list(here)
    if wanted == "":
        return CourseError(f"Name the {kind}, in quotes. {_listed(list(names), here)}")
    if isinstance(wanted, str):
        return CourseError(f"There is no {kind} {shown(wanted)}. {suggest(wanted, list(names), here)}")
    name = getattr(wanted, "__name__", None)
    meant = name if isinstance(name, str) and name in names else next(iter([*here, *names]), "")
    return CourseError(f'The {kind} is named by a text in quotes, for example "{meant}".')


def shown(text: str) -> str:
    """A name in quotes, shortened."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


def suggest(wanted: str, names: list[str], here: Sequence[str] = ()) -> str:
    """A sentence that names what was probably meant, or all that there is.

    Args:
        wanted: the name that there is not.
        names: that there are.
        here: those of them that this lesson has: of two that are about as near, one of these was meant.
    """
    for cutoff in (0.8, 0.5):
        for among in (here, names):
            if near := difflib.get_close_matches(wanted.lower(), among, n=1, cutoff=cutoff):
                return f"Did you mean {near[0]!r}?"
    return _listed(names, here)


def _listed(names: Sequence[str], here: Sequence[str]) -> str:
    return f"This lesson has: {', '.join(here)}." if here else f"There are: {', '.join(names)}."
