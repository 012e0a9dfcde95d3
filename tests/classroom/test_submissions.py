"""Submissions are found in every shape in which they come, and nothing but them is read."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path, PurePosixPath

import class_of
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_tutor import course
from memory_tutor.grading import listing, naming, submissions, words
from memory_tutor.grading.listing import PlaceError, Unreadable
from memory_tutor.grading.submissions import Intake

NAMES = {int(name[:2]): name for name in course.lesson_names()}
BOOK = class_of.data({"cells": []})
LESSON_2 = class_of.data({"cells": [class_of.code_cell('tutor = memory_tutor.start("02_manual_history")')]})


def found(place: Path, lesson: str = "") -> Intake:
    with listing.opened(place) as opened:
        return submissions.find(opened, lesson)


def laid_out(folder: Path, *paths: str, data: bytes = BOOK) -> Path:
    for path in paths:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder


def zipped(file: Path, *paths: str, data: bytes = BOOK) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            archive.writestr(path, data)
    return file


def whose(intake: Intake) -> list[tuple[str, int]]:
    return [(each.student, int(each.lesson[:2])) for each in intake.submissions]


SHAPES = {
    "a folder a student": (["ada/02_manual_history.ipynb", "bob/02_manual_history.ipynb"], [("ada", 2), ("bob", 2)]),
    "several lessons": (
        ["ada/02_manual_history.ipynb", "ada/03_per_user_isolation.ipynb", "bob/5.ipynb"],
        [("ada", 2), ("ada", 3), ("bob", 5)],
    ),
    "flat": (
        ["ada_02_manual_history.ipynb", "Bob 03_per_user_isolation.ipynb", "04-sliding-windows-cy.ipynb"],
        [("ada", 2), ("Bob", 3), ("cy", 4)],
    ),
    "nbgrader": (
        ["submitted/ada/02_manual_history/02_manual_history.ipynb", "submitted/bob/ps1/03_per_user_isolation.ipynb"],
        [("ada", 2), ("bob", 3)],
    ),
    "nbgrader, one student": (
        ["ada/02_manual_history/answers.ipynb", "ada/03_per_user_isolation/answers.ipynb"],
        [("ada", 2), ("ada", 3)],
    ),
    "nbgrader's exchange": (
        [
            "ada+02_manual_history+2026-12-03 08:30:00 UTC+x1/02_manual_history.ipynb",
            "bob+02_manual_history+2026-12-03 08:31:00 UTC/02_manual_history.ipynb",
        ],
        [("ada", 2), ("bob", 2)],
    ),
    "Moodle, folders": (
        [
            "Ada Lovelace_12345_assignsubmission_file/02_manual_history.ipynb",
            "Bob Ross_12346_assignsubmission_file_/mine/02_manual_history.ipynb",
            "Bob Ross_12346_assignsubmission_onlinetext/onlinetext.html",
        ],
        [("Ada Lovelace", 2), ("Bob Ross", 2)],
    ),
    "Moodle, flat": (
        [
            "Ada Lovelace_12345_assignsubmission_file_02_manual_history.ipynb",
            "Bob Ross_12346_assignsubmission_file_02 (1).ipynb",
        ],
        [("Ada Lovelace", 2), ("Bob Ross", 2)],
    ),
    "Canvas": (
        ["lovelaceada_12345_67890_02_manual_history-1.ipynb", "rossbob_LATE_12346_67891_lesson 3.ipynb"],
        [("lovelaceada", 2), ("rossbob", 3)],
    ),
    "GitHub Classroom": (
        ["week-2-submissions/week-2-ada-l/02_manual_history.ipynb", "week-2-submissions/week-2-bob/02.ipynb"],
        [("ada-l", 2), ("bob", 2)],
    ),
    "repositories named by the lesson": (
        ["lesson-2-ada/02_manual_history.ipynb", "02-manual-history-bob/answers.ipynb"],
        [("ada", 2), ("bob", 2)],
    ),
    "a folder around all": (["class/ada/02.ipynb", "class/bob/deep/02.ipynb"], [("ada", 2), ("bob", 2)]),
    "a learner's folder": (
        [
            "ada/.memory-tutor/progress.jsonl",
            "ada/02_manual_history.ipynb",
            "ada/backups/02_manual_history.2026-12-03-083000.ipynb",
            "ada/03_per_user_isolation.2026-12-03-083000-2.ipynb",
            "ada/.ipynb_checkpoints/02_manual_history-checkpoint.ipynb",
        ],
        [("ada", 2)],
    ),
    "what systems leave": (
        ["__MACOSX/ada/._02.ipynb", "ada/02.ipynb", "ada/.DS_Store", "ada/__pycache__/02.ipynb", "bob/.git/02.ipynb"],
        [("ada", 2)],
    ),
    "endings of browsers": (
        ["ada/02.IPYNB", "bob/02.ipynb.txt", "cy/02.ipynb.json"],
        [("ada", 2), ("bob", 2), ("cy", 2)],
    ),
    "a name like Canvas's, in a folder": (
        ["ada/report_1_2_02_manual_history.ipynb", "bob/02.ipynb"],
        [("ada", 2), ("bob", 2)],
    ),
    "numbers that are students'": (["s_02/lesson 3.ipynb", "02_jones/3.ipynb"], [("02_jones", 3), ("s_02", 3)]),
    "names in any script": (
        ["Зоя Ω/02.ipynb", "李 小龙/02.ipynb", "ada‍👩‍💻/02.ipynb", "עדה/02.ipynb"],
        [("ada‍👩‍💻", 2), ("Зоя Ω", 2), ("עדה", 2), ("李 小龙", 2)],
    ),
}


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(tmp_path: Path, shape: str, packed: bool) -> None:
    paths, wanted = SHAPES[shape]
    place = zipped(tmp_path / "in.zip", *paths) if packed else laid_out(tmp_path / "in", *paths)
    intake = found(place)
    assert whose(intake) == wanted
    assert not [note for note in intake.notes if "onlinetext" not in note]


def test_a_file_without_a_name_is_of_whom_the_folder_is_named_after(tmp_path: Path) -> None:
    paths = ["02_manual_history.ipynb", "03_per_user_isolation.ipynb", ".memory-tutor/progress.jsonl"]
    assert whose(found(laid_out(tmp_path / "Ada L", *paths))) == [("Ada L", 2), ("Ada L", 3)]


def test_the_lesson_is_read_where_no_name_tells_it(tmp_path: Path) -> None:
    definitions = class_of.data({"cells": [class_of.code_cell("def trim_turns(messages, max_turns): ...")]})
    folder = laid_out(tmp_path / "in", "ada/Untitled.ipynb", "bob.ipynb", "s_03.ipynb", data=LESSON_2)
    laid_out(folder, "cy/x.ipynb", data=definitions)
    laid_out(folder, "dee/x.ipynb")
    intake = found(folder)
    assert whose(intake) == [("ada", 2), ("bob", 2), ("cy", 4), ("s_03", 2)]
    assert intake.notes == ["dee/x.ipynb is of no lesson that one could tell. Name it, with --lesson."]


def test_one_lesson_alone(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "in", "ada/02.ipynb", "ada/03.ipynb", "bob/x.ipynb", "cy/x.ipynb", "cy/02.ipynb")
    intake = found(folder, NAMES[2])
    assert whose(intake) == [("ada", 2), ("bob", 2), ("cy", 2)]
    assert intake.submissions[1].notes == ("The notebook names no lesson: it was taken for this one.",)
    assert intake.submissions[2].file.path == PurePosixPath("cy/02.ipynb"), "what names the lesson goes before"


# -- several of one student ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "paths",
    [  # the last one counts
        ["a_1_99_02.ipynb", "a_1_100_02.ipynb"],
        ["a+02+2026-12-03 08:30:00 UTC/02.ipynb", "a+02+2026-12-03 09:30:00 UTC/02.ipynb"],
        ["a_02_manual_history.ipynb", "a_02_manual_history (1).ipynb", "a_02_manual_history (10).ipynb"],
        ["a_02_manual_history-9.ipynb", "a_02_manual_history-10.ipynb"],
        ["a/old/02.ipynb", "a/02.ipynb"],
        ["a/02_manual_history_final.ipynb", "a/02_manual_history_new.ipynb"],
    ],
)
def test_the_latest_counts_and_the_others_are_named(tmp_path: Path, paths: list[str]) -> None:
    folder = laid_out(tmp_path / "in", "b/02.ipynb", *paths)
    for file in folder.rglob("*.ipynb"):
        os.utime(file, (1, 1))
    (mine,) = [each for each in found(folder).submissions if each.student == "a"]
    assert str(mine.file.path) == paths[-1]
    assert sorted(mine.notes) == sorted(f"This notebook counts; not marked: {path}." for path in paths[:-1])


def test_a_copy_that_nobody_has_written_into_counts_only_alone(tmp_path: Path) -> None:
    """A repository holds the lesson as it was released, too, and git makes it as new as the other."""
    name = "02_manual_history"
    folder = laid_out(tmp_path / "in", f"ada/lessons/{name}.ipynb", data=class_of.idle(name).data)
    laid_out(folder, f"ada/my-lessons/{name}.ipynb", data=class_of.able(name).data)
    os.utime(folder / f"ada/my-lessons/{name}.ipynb", (1, 1))
    (mine,) = found(folder).submissions
    assert (mine.student, mine.file.path.parts[-2]) == ("ada", "my-lessons")
    assert mine.notes == (f"This notebook counts; not marked: ada/lessons/{name}.ipynb.",)
    (folder / f"ada/my-lessons/{name}.ipynb").unlink()
    (mine,) = found(folder).submissions
    assert (mine.student, mine.file.path.parts[-2], mine.notes) == ("ada", "lessons", ())


@pytest.mark.parametrize("around", ["", "c2/"])
def test_the_courses_own_folders_are_no_students(tmp_path: Path, around: str) -> None:
    folder = laid_out(tmp_path / "bob", f"{around}my-lessons/02.ipynb", f"{around}lessons/03.ipynb")
    assert {student for student, _ in whose(found(folder))} == {"c2" if around else "bob"}


def test_else_the_files_date_counts(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "in", "a/02_x.ipynb", "a/02_y.ipynb")
    os.utime(folder / "a/02_y.ipynb", (1, 1))
    (mine,) = found(folder).submissions
    assert str(mine.file.path) == "a/02_x.ipynb"


def test_the_platforms_number_is_kept(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "in", "Ada L_4711_assignsubmission_file/02.ipynb", "bob/02.ipynb")
    assert {each.student: each.number for each in found(folder).submissions} == {"Ada L": "4711", "bob": ""}


def test_two_students_of_one_name_are_two(tmp_path: Path) -> None:
    paths = [f"Kim Lee_{number}_assignsubmission_file/02.ipynb" for number in (11, 12)]
    intake = found(laid_out(tmp_path / "in", *paths))
    assert whose(intake) == [("Kim Lee (11)", 2), ("Kim Lee (12)", 2)]
    assert "several students called Kim Lee" in intake.notes[0]


def test_one_student_spelt_in_two_ways_is_one(tmp_path: Path) -> None:
    file = zipped(tmp_path / "in.zip", "Zo\u00eb/02.ipynb", "Zoe\u0308/03.ipynb")
    assert whose(found(file)) == [("Zo\u00eb", 2), ("Zo\u00eb", 3)]


# -- no notebooks --------------------------------------------------------------------------------------


def test_a_python_export_is_told(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "in", "ada/02_manual_history.py", "bob/02.ipynb", "bob/02.py", "cy/helpers.py")
    laid_out(folder, "dee/answers.py", data=b"def say_safely(history, text): ...")
    intake = found(folder)
    assert whose(intake) == [("ada", 2), ("bob", 2), ("dee", 2)]
    ada, bob, dee = intake.submissions
    assert "Python file. The notebook is needed" in ada.problem and "Python file" in dee.problem
    assert bob.problem == "" and "Beside the notebook lies bob/02.py" in bob.notes[0]
    assert intake.empty == {"cy": "There is no notebook, but helpers.py."}


def test_other_files_are_told(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "in", "ada/work.zip", "bob/02_manual_history.pdf", "cy/02.ipynb", "cy/notes.txt")
    intake = found(folder)
    assert whose(intake) == [("cy", 2)]
    assert any("ada/work.zip is an archive and was not opened" in note for note in intake.notes)
    assert any("bob/02_manual_history.pdf is no notebook" in note for note in intake.notes)
    assert set(intake.empty) == {"ada", "bob"}


@pytest.mark.parametrize("what", ["nothing there", "a text", "a damaged zip"])
def test_a_place_that_is_none(tmp_path: Path, what: str) -> None:
    place = tmp_path / "in.zip"
    if what != "nothing there":
        place.write_bytes(b"PK\x03\x04" if what == "a damaged zip" else b"hello")
    with pytest.raises(PlaceError, match="Name "):
        found(place)


# -- attacks -------------------------------------------------------------------------------------------


def test_links_pipes_and_what_lies_outside_are_not_read(tmp_path: Path) -> None:
    secret = laid_out(tmp_path, "secret/02_manual_history.ipynb") / "secret"
    folder = laid_out(tmp_path / "in", "ada/02.ipynb", "bob/readme.txt")
    (folder / "bob/02.ipynb").symlink_to(secret / "02_manual_history.ipynb")
    (folder / "cy").symlink_to(secret)
    (folder / "dee").mkdir()
    os.mkfifo(folder / "dee/02.ipynb")
    (folder / "round").symlink_to(folder)
    intake = found(folder)
    assert whose(intake) == [("ada", 2)]
    assert sorted(note for note in intake.notes if "not read" in note) == [
        "bob/02.ipynb is a link and was not read.",
        "cy is a link and was not read.",
        "dee/02.ipynb is no ordinary file and was not read.",
        "round is a link and was not read.",
    ]


def test_a_link_that_comes_between_listing_and_reading_is_not_followed(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "in", "ada/02.ipynb", "bob/02.ipynb")
    with listing.opened(folder) as place:
        ada, bob = submissions.find(place).submissions
        (folder / "ada/02.ipynb").unlink()
        (folder / "ada/02.ipynb").symlink_to(folder / "bob/02.ipynb")
        (folder / "bob/02.ipynb").unlink()
        os.mkfifo(folder / "bob/02.ipynb")
        for submission in (ada, bob):
            with pytest.raises(Unreadable):
                place.read(submission.file)


def test_what_may_not_be_opened_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = laid_out(tmp_path / "in", "ada/02.ipynb", "bob/02.ipynb")
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if path.name == "bob":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    intake = found(folder)
    assert whose(intake) == [("ada", 2)] and intake.notes == ["bob was not read: Permission denied."]


def test_names_that_lead_out_of_a_zip(tmp_path: Path) -> None:
    bad = ["../02.ipynb", "/etc/02.ipynb", "ada/../../02.ipynb", "C:/02.ipynb", "..\\up\\02.ipynb"]
    intake = found(zipped(tmp_path / "in.zip", "ada/02.ipynb", *bad))
    assert whose(intake) == [("ada", 2)]
    assert len([note for note in intake.notes if "leads out of the zip" in note]) == len(bad)
    assert list(tmp_path.iterdir()) == [tmp_path / "in.zip"]


def test_a_link_in_a_zip(tmp_path: Path) -> None:
    file = zipped(tmp_path / "in.zip", "ada/02.ipynb")
    with zipfile.ZipFile(file, "a") as archive:
        member = zipfile.ZipInfo("bob/02.ipynb")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, "/etc/passwd")
        member = zipfile.ZipInfo("cy/02.ipynb")
        member.external_attr = (stat.S_IFCHR | 0o777) << 16
        archive.writestr(member, "")
    intake = found(file)
    assert whose(intake) == [("ada", 2)]
    assert intake.notes == [
        "bob/02.ipynb is a link and was not read.",
        "cy/02.ipynb is no ordinary file and was not read.",
    ]


def test_a_zip_bomb_costs_one_line(tmp_path: Path) -> None:
    file = zipped(tmp_path / "in.zip", "ada/02.ipynb")
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("bob/02.ipynb", "w") as member:
        for _ in range(100):
            member.write(b" " * 2_000_000)
    assert file.stat().st_size < 1_000_000
    with listing.opened(file) as place:
        ada, bob = submissions.find(place).submissions
        assert place.read(ada.file) == BOOK
        with pytest.raises(Unreadable, match="more than 64 MB"):
            place.read(bob.file)


def test_a_damaged_member_costs_one_line(tmp_path: Path) -> None:
    file = tmp_path / "in.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("ada/02.ipynb", BOOK)
        archive.writestr("bob/02.ipynb", b"damage me")
    file.write_bytes(file.read_bytes().replace(b"damage me", b"DAMAGE me"))
    with listing.opened(file) as place:
        ada, bob = submissions.find(place).submissions
        assert place.read(ada.file) == BOOK
        with pytest.raises(Unreadable, match="damaged in the zip"):
            place.read(bob.file)


def test_a_zip_with_a_password_is_told(tmp_path: Path) -> None:
    file = zipped(tmp_path / "in.zip", "ada/02.ipynb")
    data = bytearray(file.read_bytes())
    for sign, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # of the member, of its place in the list
        data[data.index(sign) + flags] |= 1
    file.write_bytes(data)
    with listing.opened(file) as place:
        (ada,) = submissions.find(place).submissions
        with pytest.raises(Unreadable, match=r"has a password in the zip\. Unpack the zip with it"):
            place.read(ada.file)


def test_a_name_twice_in_a_zip(tmp_path: Path) -> None:
    file = zipped(tmp_path / "in.zip", "ada/02.ipynb")
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("ada/02.ipynb", LESSON_2)
    with listing.opened(file) as place:
        intake = submissions.find(place)
        assert intake.notes == ["ada/02.ipynb is in the zip twice; the later one was read."]
        assert place.read(intake.submissions[0].file) == LESSON_2


def test_a_macs_zip_without_the_flag_for_utf_8(tmp_path: Path) -> None:
    file = zipped(tmp_path / "in.zip", "Zo___/02.ipynb")
    file.write_bytes(file.read_bytes().replace(b"Zo___", "Zo\u00eb_".encode()))
    assert whose(found(file)) == [("Zo\u00eb_", 2)]


def test_too_many_files_and_too_deep_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = "/".join(["d"] * 25)
    paths = ["ada/02.ipynb", "bob/02.ipynb", f"ada/{deep}/03.ipynb"]
    for place in (laid_out(tmp_path / "in", *paths), zipped(tmp_path / "in.zip", *paths)):
        intake = found(place)
        assert whose(intake) == [("ada", 2), ("bob", 2)] and "lies too deep" in intake.notes[0]
    monkeypatch.setattr(listing, "MOST", 1)
    for name in ("in", "in.zip"):
        with pytest.raises(PlaceError, match="more than 1 files"):
            found(tmp_path / name)


def test_a_name_with_control_characters_and_of_no_encoding(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for name in (b"a\x1b[31mda\n", b"b\xff\xfeb", "c\u202eyc".encode()):
        (Path(os.fsdecode(bytes(folder) + b"/" + name))).mkdir(parents=True)
        Path(os.fsdecode(bytes(folder) + b"/" + name + b"/02.ipynb")).write_bytes(BOOK)
    intake = found(folder)
    assert [each.student for each in intake.submissions] == ["a\\x1b[31mda", "b\\udcff\\udcfeb", "c\\u202eyc"]
    with listing.opened(folder) as place:
        assert all(place.read(each.file) == BOOK for each in submissions.find(place).submissions)


@pytest.mark.parametrize("letter", "\u00ad\u061c\u200b\u200e\u200f\u202a\u2060\u2069\ufeff")
def test_a_letter_that_nobody_sees_makes_no_double_of_a_student(letter: str) -> None:
    assert words.person(f"ada{letter}") == f"ada{repr(letter)[1:-1]}"


# -- names ---------------------------------------------------------------------------------------------

PART = st.text(max_size=30).map(lambda text: text.replace("/", "").replace("\0", "") or "x")


@given(
    st.lists(PART, min_size=1, max_size=4),
    st.sampled_from(["", ".ipynb", "_02_manual_history (2).ipynb", " lesson 3.ipynb"]),
)
def test_any_path_is_read(parts: list[str], end: str) -> None:
    name = naming.read(PurePosixPath(*parts[:-1], parts[-1] + end))
    assert name.lesson in ("", *NAMES.values())
    shown = words.person(name.student)
    assert shown == words.person(shown) and len(shown) <= words.LONGEST + 1
    shown.encode("utf-8")
    assert not any(character in shown for character in "\n\r\t\x1b\u202e\u2028")


@given(st.text(max_size=90), st.text(max_size=90))
def test_a_students_files_are_theirs_alone_on_every_system(one: str, other: str) -> None:
    for name in (one, other, one.upper(), one.lower(), f"{one}."):
        stem = words.stem(name)
        assert 0 < len(stem) <= words.LONGEST_STEM + 9
        assert stem not in (".", "..") and stem == stem.strip(". ") and "/" not in stem and "\\" not in stem
        assert words.stem(name) == stem
        if name != other:
            assert stem.casefold() != words.stem(other).casefold()


@pytest.mark.parametrize(
    "name", ["con", "NUL", "com1.txt", "..", "", ".hidden", "a/b", "a\\b", "ada-12345678", "x" * 300]
)
def test_a_name_that_no_file_may_have_gets_another(name: str) -> None:
    stem = words.stem(name)
    assert stem != name and stem[-9] == "-"
    assert words.stem(stem) != stem, "nobody is called like another one's file"
