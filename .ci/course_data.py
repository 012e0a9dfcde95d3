"""Carry the course in the wheel: every lesson that there is, so that a new one needs no entry anywhere.

With MEMORY_TUTOR_WITHOUT_SOLUTIONS=1 in the environment the wheel holds no solutions: for classes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PARTS = {"lessons": ".ipynb", "solutions": ".ipynb", "cassettes": ".yaml"}


class CourseData(BuildHookInterface[Any]):
    """Hatchling finds and runs it; pyproject.toml names this file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the course's files to a wheel; an editable install uses the checkout's own.

        Args:
            version: "standard" or "editable".
            build_data: what hatchling is about to build.

        Raises:
            FileNotFoundError: there are no lessons to carry, or one lacks its recording.
        """
        if version == "editable":
            return
        root = Path(self.root)
        lessons = sorted(file.stem for file in (root / "lessons").glob("[0-9][0-9]_*.ipynb"))
        if not lessons:
            raise FileNotFoundError(f"No lessons in {root / 'lessons'}. Make them first: memory-tutor build")
        without = {"solutions"} if os.environ.get("MEMORY_TUTOR_WITHOUT_SOLUTIONS", "0") not in ("", "0") else set()
        for part in PARTS.keys() - without:
            files = [root / part / (lesson + PARTS[part]) for lesson in lessons]
            readme = root / part / "README.md"
            for file in [*files, *([readme] if readme.is_file() else [])]:
                if not file.is_file():
                    raise FileNotFoundError(f"{file} is missing; lesson {file.stem} needs it.")
                build_data["force_include"][str(file)] = f"memory_tutor/course/{part}/{file.name}"
