"""nbgrader's own pipeline, as its users run it, in a course folder that nobody else has."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from class_of import Member

from memory_tutor import releasing

#: Of `class_of.CHANGED`, what it marks as well. For lost metadata or check cells it gives nothing, and what has a cell
#: twice it does not mark at all.
TAKES = ("check cells as prose", "version 3", "a failing cell first")


def command(*arguments: str) -> list[str]:
    """The command line of nbgrader in this Python."""
    return [sys.executable, "-m", "nbgrader", *arguments]


def environment(course: Path) -> dict[str, str]:
    """What it needs: kernels and databases in the course's folder, and a way to alembic, which it runs by name."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "MEMORY_"))}
    programs = os.pathsep.join([str(Path(sys.executable).parent), known.get("PATH", os.defpath)])
    return known | {"PATH": programs, "HOME": str(course), "JUPYTER_CONFIG_DIR": str(course / "config")}


def run(course: Path, *arguments: str) -> None:
    """Run one of its commands to a good end."""
    done = subprocess.run(
        command(*arguments), cwd=course, env=environment(course), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def release(course: Path, lesson: str) -> None:
    """Make a course with one assignment."""
    assert releasing.nbgrader_course(course, [lesson]) == [lesson]
    run(course, "generate_assignment", lesson)


def hand_in(course: Path, members: Iterable[Member]) -> Path:
    """Put notebooks where it looks for them; the folder."""
    for member in members:
        folder = course / "submitted" / member.student / member.lesson
        folder.mkdir(parents=True)
        (folder / f"{member.lesson}.ipynb").write_bytes(member.data)
    return course / "submitted"


def points(course: Path) -> dict[str, float]:
    """What it gives, by student, once it has graded."""
    run(course, "export")
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
