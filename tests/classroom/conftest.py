"""A class with made-up marks, for tests of what is written about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from marks import MakeClass

from memory_tutor.grading.classroom import Classroom
from memory_tutor.grading.records import Mark, Records
from memory_tutor.grading.submissions import Intake


@pytest.fixture
def made(tmp_path: Path) -> MakeClass:
    """Keeps marks in a folder of results, and gives the class that is in it."""

    def make(*marks: Mark, intake: Intake | None = None, roster: tuple[str, ...] = ()) -> Classroom:
        records = Records(tmp_path / "out")
        with records.opened():
            for mark in marks:
                records.keep(mark)
        return Classroom(records, intake or Intake(), roster, marks)

    return make
