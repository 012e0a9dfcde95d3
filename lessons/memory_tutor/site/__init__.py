"""The course as static files: lessons that run in a browser tab, with nothing to install and nobody to ask.

JupyterLite is the notebook, Pyodide the Python. Everything is fetched when the site is built, and the built site asks
no other host for anything. Built twice from the same course and the same versions, it is the same bytes.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from memory_tutor import checks, course
from memory_tutor.site import jupyterlite, pyodide, start_page, wheels
from memory_tutor.site.errors import SiteError

__all__ = ["Site", "SiteError", "build"]


@dataclass(frozen=True)
class Site:
    """A site that was built.

    Args:
        folder: in which it is.
        lessons: how many it holds.
        size: of all its files, bytes; a reader's browser fetches about half.
    """

    folder: Path
    lessons: int
    size: int


def build(folder: Path, pyodide_folder: Path | None = None) -> Site:
    """Build the site: all of it, or nothing.

    Args:
        folder: to make; it may exist, but be empty.
        pyodide_folder: with the files of Pyodide's npm package; None to fetch that with npm.

    Raises:
        SiteError: the folder is in use, a tool is missing, or something cannot be fetched.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SiteError(f"{folder} is there already, and not empty. Name a new folder: nothing was changed.")
    jupyterlite.need()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        place, made = Path(scratch), Path(scratch) / "site"
        runtime = pyodide_folder or pyodide.fetch(place / "npm")
        lock = pyodide.read_lock(runtime)
        packages = [*wheels.fetch(lock, place / "wheels"), *jupyterlite.own_wheels()]
        packages.append(wheels.of_course(place / "wheels"))
        names = course.lesson_names()
        notebooks = [course.path("lessons", name) for name in names]
        jupyterlite.build(made, notebooks, place / "lite")
        pyodide.lay(made / jupyterlite.RUNTIME, runtime, lock, packages)
        start_page.write(made / "index.html", [checks.lesson(name) for name in names])
        if folder.exists():
            folder.rmdir()
        made.rename(folder)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return Site(folder, len(names), size)
