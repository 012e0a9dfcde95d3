"""The class that tests and the benchmark grade is what it says."""

from __future__ import annotations

from pathlib import Path

import class_of
import pytest
from test_02_manual_history import WRONG

from memory_tutor import cassette, checks
from memory_tutor.grading import batch, marking
from memory_tutor.grading.batch import Options
from memory_tutor.grading.sandbox import Sandbox

LESSON = "02_manual_history"


def test_three_hundred_with_one_of_each_and_the_rest_right() -> None:
    kinds = class_of.everyone(LESSON, 300)
    members = [member for group in kinds.values() for member in group]
    assert len(members) == len({member.path for member in members}) == 300
    full = checks.lesson(LESSON).points
    assert len(kinds["wrong"]) == sum(map(len, WRONG.values()))
    assert all(member.fragment and 0 in member.points.values() for member in kinds["wrong"])
    for kind, offered in (("changed", class_of.CHANGED), ("damaged", class_of.DAMAGED), ("hostile", class_of.HOSTILE)):
        assert len({member.data for member in kinds[kind]}) == len(offered) == len(kinds[kind])
    for kind in ("right", "changed"):
        assert {sum(member.points.values()) for member in kinds[kind]} == {full}
    assert len(kinds["right"]) > 150 and len(kinds["untouched"]) == 1


def test_a_class_that_is_too_small_for_one_of_each() -> None:
    needed = 300 - len(class_of.everyone(LESSON, 300)["right"])
    assert len(class_of.everyone(LESSON, needed + 1)["right"]) == 1
    with pytest.raises(ValueError, match=f"has more than {needed} students"):
        class_of.everyone(LESSON, needed)


def test_hostile_notebooks_cost_nobody_else_their_marks(tmp_path: Path, sandbox: Sandbox) -> None:
    hostile = list(class_of.hostile(LESSON))
    place = class_of.handed_in(tmp_path / "in", [*hostile, class_of.able(LESSON)])
    summary = batch.grade(place, tmp_path / "out", Options(jobs=2, require_sandbox=True))
    marks = {mark.student: mark for mark in summary.marks}
    assert set(marks) == {"able", *(member.student for member in hostile)}
    assert all(mark.isolation == "" and mark.results for mark in marks.values())
    assert marks["able"].points == checks.lesson(LESSON).points and marks["able"].problem == ""


def test_a_recording_is_read_once_for_a_class(monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox) -> None:
    read: list[str] = []
    load = cassette.load
    monkeypatch.setattr(cassette, "load", lambda path: (read.append(path.stem), load(path))[1])
    marking._recorded.cache_clear()
    for member in (class_of.able(LESSON), class_of.idle(LESSON)):
        told: list[str] = []
        marking.mark(member.data, LESSON, sandbox, 120, lambda what, _, told=told: told.append(what))
        assert told == ["result"] * 3
    assert read == [LESSON]
