"""The teachers' commands: give the lessons to a class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PANEL = "For teachers, in a checkout"

LessonOption = Annotated[
    list[str] | None,
    typer.Option("--lesson", help="Number or name of a lesson; may be repeated. All by default.", show_default=False),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line, in a group of their own."""
    app.command(rich_help_panel=PANEL)(release)


def release(
    folder: Annotated[Path, typer.Argument(help="To make: what your students get, or nbgrader's course folder.")],
    lesson: LessonOption = None,
    wheelhouse: Annotated[
        bool,
        typer.Option("--wheelhouse", help="Add all that must be installed, for a room without internet (330 MB)."),
    ] = False,
    nbgrader: Annotated[
        bool, typer.Option("--nbgrader", help="Make the source folder of an nbgrader course instead.")
    ] = False,
) -> None:
    """Make what your students get: notebooks, the course without solutions, and how to begin."""
    from memory_tutor import releasing
    from memory_tutor.errors import TutorError

    if nbgrader:
        if wheelhouse:
            raise TutorError("--wheelhouse is for what students get; --nbgrader makes what you get. Use one of them.")
        names = releasing.nbgrader_course(folder, lesson or ())
        print(f"{folder / releasing.SOURCE} holds {len(names)} assignments, with solutions: it is yours alone.")
        print(f"Go on there: nbgrader generate_assignment {names[0]}")
        return
    made = releasing.release(folder, lesson or (), wheelhouse=wheelhouse)
    print(f"{made.folder} holds {len(made.lessons)} notebooks, {made.wheel}, and a README.md for your students.")
    print(f"None of the {made.solutions} solutions of the course is in any of its {made.texts} texts.")
