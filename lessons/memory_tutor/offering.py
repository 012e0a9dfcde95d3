"""What a learner is asked and told about new versions of their lessons."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from memory_tutor import originals, updating
from memory_tutor.workspace import WorkspaceError

RELOAD = "If one of them is open in JupyterLab: File, Reload Notebook from Disk."


def offer(folder: Path) -> None:
    """Offer the new versions that there are: in a terminal by a question, elsewhere by a line that says how.

    A version that was not wanted is not asked about again.

    Raises:
        OSError: the folder cannot be written.
    """
    found = updating.look(folder)
    for problem in found.problems:
        print(problem)
    if found.refreshed:
        print(f"New versions of lessons that you had not begun: {', '.join(found.refreshed)}.")
    asked = [lesson for lesson in found.waiting if not originals.is_declined(folder, lesson)]
    if not found.waiting:
        return
    print(f"The course has a new version of {', '.join(found.waiting)}.")
    if not asked or not _is_a_terminal():
        print("To take it over, with your answers in it and the old notebook kept: memory-tutor update")
    elif typer.confirm("Take it over now? Your answers go with you, and the old notebook is kept.", default=False):
        take(folder, found.waiting)
    else:
        for lesson in asked:
            originals.decline(folder, lesson)
        print("Nothing was changed. To take it over later: memory-tutor update")


def take(folder: Path, lessons: list[str]) -> bool:
    """Update lessons, and tell what became of each; a notebook that cannot be read does not stop the others.

    Returns:
        Whether all went well.

    Raises:
        OSError: the folder cannot be written; the notebook that it was about is as it was.
    """
    problems = []
    changed = False
    for lesson in lessons:
        try:
            made = updating.update(folder, lesson)
        except WorkspaceError as error:
            problems.append(error.message)
            continue
        if made is not None:
            changed = True
            print("\n".join(made.lines()))
    if changed:
        print(RELOAD)
    elif not problems:
        print("Up to date.")
    for problem in problems:
        print(problem, file=sys.stderr)
    return not problems


def _is_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
