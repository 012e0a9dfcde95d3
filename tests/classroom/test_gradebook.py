"""The gradebook opens in a spreadsheet, says what it knows, and does nothing."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import MakeClass, a_mark

from memory_tutor.grading import gradebook, roster
from memory_tutor.grading.roster import RosterError
from memory_tutor.grading.submissions import Intake

LESSON, OTHER = "02_manual_history", "03_per_user_isolation"
PASSED, WRONG = ("passed", "4 of 4 points"), ("wrong", "No.")
NOT_GRADABLE = ("not gradable", "It took more than 9 s as a whole.")


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_one_row_a_student_and_one_column_an_exercise(made: MakeClass) -> None:
    classroom = made(
        a_mark("ada", LESSON, PASSED, WRONG, PASSED),
        a_mark("ada", OTHER, PASSED, PASSED, PASSED),
        a_mark("bob", LESSON, PASSED, NOT_GRADABLE, ("raised", "x")),
        a_mark("cy", OTHER, problem="The file is empty."),
        intake=Intake(empty={"dee": "There is no notebook, but a.txt."}),
        roster=("eve", "bob"),
    )
    table = rows(gradebook.table(classroom))
    assert list(table[0]) == [
        "student", "02 say", "02 show_history", "02 say_safely", "02 total",
        "03 get_session", "03 forget_user", "03 test_isolation", "03 total", "total", "of", "remarks",
    ]  # fmt: skip
    assert [list(row.values()) for row in table] == [
        ["eve", "", "", "", "", "", "", "", "", "", "25", "Nothing was handed in."],
        ["bob", "4", "", "0", "4", "", "", "", "", "4", "25", "02: not gradable: show_history."],
        ["ada", "4", "0", "5", "9", "4", "4", "5", "13", "22", "25", ""],
        ["cy", "", "", "", "", "", "", "", "", "", "25", "03: The file is empty."],
        ["dee", "", "", "", "", "", "", "", "", "", "25", "There is no notebook, but a.txt."],
    ]
    assert "Not on the roster: ada, cy, dee." in classroom.notes


def test_the_files(made: MakeClass, tmp_path: Path) -> None:
    classroom = made(a_mark("Zoë 李", LESSON, PASSED, WRONG, PASSED), a_mark("=1+1", LESSON))
    gradebook.write(tmp_path, classroom)
    raw = (tmp_path / "grades.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf") and raw.count(b"\r\n") == raw.count(b"\n") == 3
    assert [row["student"] for row in rows(raw.decode("utf-8-sig"))] == ["'=1+1", "Zoë 李"]
    data = json.loads((tmp_path / "grades.json").read_text(encoding="utf-8"))
    formula, zoe = data["students"]
    assert (formula["student"], formula["points"]) == ("=1+1", None)
    (submission,) = zoe["submissions"]
    assert (zoe["points"], zoe["of"], submission["points"]) == (9, 12, 9)
    assert [result["status"] for result in submission["results"]] == ["passed", "wrong", "passed"]
    assert data["lessons"][0]["exercises"][0] == {"name": "say", "of": 4}
    documented = {"made_by", "scheme", "lessons", "students", "changes", "notes"}
    assert set(data) == documented and all(
        f'"{key}"' in (gradebook.__doc__ or "") for key in [*documented, *submission]
    )


DANGEROUS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\n\n=1", "\uff1d1", "\x00=1", "|x", "%x"]


@pytest.mark.parametrize("text", DANGEROUS)
def test_a_formula_is_text(text: str) -> None:
    assert gradebook.cell(text).startswith("'")


@given(st.text())
def test_a_cell_is_one_line_that_no_spreadsheet_runs(text: str) -> None:
    cell = gradebook.cell(text)
    assert not set(cell) & set("\r\n\t\x00") and cell.splitlines() in ([], [cell])
    assert not cell.lstrip().startswith(("=", "+", "-", "@"))
    assert gradebook.cell("Ada O'Neil-Ünal") == "Ada O'Neil-Ünal"


def test_a_row_is_a_row_whatever_the_name(made: MakeClass) -> None:
    names = ['quote " and, comma; semicolon', "new\nline", "<b>", "'", '"=1+1"', "a,=1+1"]
    table = rows(gradebook.table(made(*(a_mark(name, LESSON, PASSED, WRONG, PASSED) for name in names))))
    assert len(table) == len(names) and all(row["total"] == "9" for row in table)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("student\nada\nbob\nada\n", ("ada", "bob")),
        ("ada\nbob", ("ada", "bob")),
        ("\ufeffID,Name\r\n1,Zoë  B\r\n2,\r\n", ("Zoë B",)),
        ("Full name;Mail\nAda Lovelace;a@b\n", ("Ada Lovelace",)),
        ("First name,Last name,Email\nAda,Lovelace,a@b\nBob,,b@b\n", ("Ada Lovelace", "Bob")),
        ("Surname;First name\nStone;Bob\n", ("Bob Stone",)),
        ('Student,ID\n"    Points Possible",\n"Lovelace, Ada",7\n', ("Lovelace, Ada",)),
    ],
)
def test_a_roster(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    file = tmp_path / "class.csv"
    file.write_text(text, encoding="utf-8")
    assert roster.read(file) == names


@pytest.mark.parametrize("text", ["1\tx\n", "Participant,Mail\nAda,a@b\n", "Ada,Lovelace\nBob,Stone\n"])
def test_a_roster_that_does_not_say_where_its_names_are(tmp_path: Path, text: str) -> None:
    (tmp_path / "class.csv").write_text(text)
    with pytest.raises(RosterError, match='It needs a column "student" or "name", or the columns "First name"'):
        roster.read(tmp_path / "class.csv")
    with pytest.raises(RosterError, match=r"nowhere\.csv cannot be read: No such file"):
        roster.read(tmp_path / "nowhere.csv")


def test_names_are_found_whatever_platform_spelt_them(made: MakeClass) -> None:
    names = {"Ada Lovelace", "STONE, BOB", "lichen", "Kim Lee", "Lee Kim", "Zoë"}
    on_roster = ("Lovelace, Ada", "Bob Stone", "Chen Li", "Kim Lee", "Lee Kim", "Zoe", "Zoë")
    assert roster.find(names, on_roster) == {
        "Lovelace, Ada": "Ada Lovelace",
        "Bob Stone": "STONE, BOB",
        "Chen Li": "lichen",
        "Kim Lee": "Kim Lee",
        "Lee Kim": "Lee Kim",
        "Zoë": "Zoë",
    }
    classroom = made(a_mark("Ada Lovelace", LESSON, PASSED, WRONG, PASSED), roster=("Bob", "LOVELACE, Ada"))
    assert classroom.students == ["Bob", "Ada Lovelace"] and classroom.notes == []
    assert roster.find({"kim lee"}, ("Kim Lee", "Lee, Kim")) == {}


def test_the_platforms_number_has_a_column_where_there_is_one(made: MakeClass) -> None:
    ada, bob = (a_mark(name, LESSON, PASSED, PASSED, PASSED) for name in ("ada", "bob"))
    assert "id" not in rows(gradebook.table(made(ada)))[0]
    table = rows(gradebook.table(made(replace(ada, number="=4711"), bob)))
    assert [(row["student"], row["id"]) for row in table] == [("ada", "'=4711"), ("bob", "")]


@pytest.mark.parametrize("text", ["", "\n\n", "student\n"])
def test_a_roster_without_names(tmp_path: Path, text: str) -> None:
    (tmp_path / "class.csv").write_text(text)
    with pytest.raises(RosterError, match="has no names"):
        roster.read(tmp_path / "class.csv")
