"""The learner's folder: what it may be, that nothing in it is ever lost, and resets."""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from memory_tutor import checks, course, files, originals, resetting, workspace
from memory_tutor.course import CourseError
from memory_tutor.notebooks import text_of
from memory_tutor.progress import MARKER
from memory_tutor.workspace import BACKUPS, WorkspaceError
from small_course import LESSONS, NAMES, STUB, notebook, small_course
from tiny_course import cell, code

pytestmark = pytest.mark.usefixtures("small_course")
__all__ = ["small_course"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A learner's folder with both lessons."""
    made = workspace.make(tmp_path / "mine")
    workspace.copy_lessons(made)
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def read(file: Path) -> Any:
    return nbformat.read(file, as_version=4)


def write(file: Path, book: Any) -> None:
    file.write_text(text_of(book), encoding="utf-8", newline="\n")


# -- making it -----------------------------------------------------------------------------------------


def test_a_new_folder_is_made_and_marked(tmp_path: Path) -> None:
    made = workspace.make(tmp_path / "a" / "mine")
    assert made == (tmp_path / "a" / "mine").resolve()
    assert (made / MARKER).is_dir()
    assert workspace.make(made) == made


def test_an_empty_folder_is_marked_and_its_litter_stays(tmp_path: Path) -> None:
    (tmp_path / "mine" / ".git").mkdir(parents=True)
    (tmp_path / "mine" / ".DS_Store").write_bytes(b"x")
    workspace.make(tmp_path / "mine")
    assert contents(tmp_path / "mine") == {".DS_Store": b"x"}


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("important", encoding="utf-8")
    with pytest.raises(WorkspaceError, match="is a file"):
        workspace.make(tmp_path / "mine")
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "important"


def test_a_file_in_the_markers_place_is_said(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text("x", encoding="utf-8")
    with pytest.raises(WorkspaceError, match="Move it away"):
        workspace.make(tmp_path)


@pytest.mark.parametrize("others", [["thesis.docx"], ["other.ipynb"], ["01_loud.ipynb", "other.ipynb"], ["src/x.py"]])
def test_a_folder_of_other_things_is_left_alone(tmp_path: Path, others: list[str]) -> None:
    place = tmp_path / "documents"
    for other in others:
        (place / other).parent.mkdir(parents=True, exist_ok=True)
        (place / other).write_text("x", encoding="utf-8")
    before = contents(place)
    with pytest.raises(WorkspaceError, match="Nothing was changed"):
        workspace.make(place)
    assert contents(place) == before
    assert not (place / MARKER).exists()


def test_a_folder_that_lost_its_mark_is_marked_again(folder: Path) -> None:
    (folder / "notes.txt").write_text("x", encoding="utf-8")
    shutil.rmtree(folder / MARKER)
    before = contents(folder)
    workspace.make(folder)
    assert (folder / MARKER).is_dir()
    assert contents(folder) == before


@pytest.mark.parametrize("part", ["lessons", "lessons/mine", "solutions", "cassettes"])
def test_the_courses_own_folders_are_refused(part: str) -> None:
    checkout = course.PACKAGE.parent.parent
    with pytest.raises(WorkspaceError, match="the course's own folder"):
        workspace.make(checkout / part)
    assert not (checkout / part / MARKER).exists()


def test_the_folders_of_another_checkout_and_of_the_package_are_refused(tmp_path: Path) -> None:
    (tmp_path / "lessons" / "memory_tutor").mkdir(parents=True)
    (tmp_path / "lessons" / "01_loud.ipynb").write_text("{}", encoding="utf-8")
    for place in (tmp_path / "lessons", course.PACKAGE / "course" / "lessons", course.PACKAGE):
        with pytest.raises(WorkspaceError, match="the course's own folder"):
            workspace.make(place)


def test_the_marker_itself_is_no_folder_for_lessons(folder: Path) -> None:
    with pytest.raises(WorkspaceError, match="Name another folder"):
        workspace.make(folder / MARKER / "deeper")


# -- finding it ----------------------------------------------------------------------------------------


def test_a_command_finds_the_folder_from_inside_from_above_and_by_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder / "deep")
    assert workspace.find() == folder
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WorkspaceError, match="There is no folder of lessons here"):
        workspace.find()
    assert workspace.find(folder) == folder
    with pytest.raises(WorkspaceError, match="is not a folder made by memory-tutor"):
        workspace.find(tmp_path)
    default = workspace.make(workspace.DEFAULT)
    assert workspace.find() == default


# -- copying -------------------------------------------------------------------------------------------


def test_lessons_are_copied_once_and_never_overwritten(folder: Path, small_course: Path) -> None:
    for name in NAMES:
        assert workspace.notebook(folder, name).read_bytes() == course.path("lessons", name).read_bytes()
    mine = workspace.notebook(folder, NAMES[0])
    mine.write_bytes(b"my answers")
    workspace.notebook(folder, NAMES[1]).unlink()
    assert workspace.copy_lessons(folder) == [NAMES[1]]
    assert workspace.copy_lessons(folder) == []
    assert mine.read_bytes() == b"my answers"
    assert not list((folder / MARKER).rglob("*.tmp"))
    assert originals.kept(folder, NAMES[0]) == course.path("lessons", NAMES[0]).read_bytes()


@pytest.mark.parametrize("kind", ["folder", "broken link"])
def test_whatever_has_a_lessons_name_stays(tmp_path: Path, kind: str) -> None:
    folder = workspace.make(tmp_path / "mine")
    mine = workspace.notebook(folder, NAMES[0])
    if kind == "folder":
        mine.mkdir()
    else:
        try:
            mine.symlink_to(tmp_path / "nowhere")
        except OSError:
            pytest.skip("this system makes no symbolic links")
    assert workspace.copy_lessons(folder) == [NAMES[1]]
    assert mine.is_dir() or mine.is_symlink()


def test_a_notebook_that_appears_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.ipynb"
    link = os.link

    def rival(source: Path, file: Path) -> None:
        target.write_bytes(b"theirs")
        link(source, file)

    monkeypatch.setattr(files.os, "link", rival)
    assert files.create(target, b"ours", tmp_path) is False
    assert target.read_bytes() == b"theirs"


def test_a_disk_without_hard_links_gets_its_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, file: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(files.os, "link", refuse)
    folder = workspace.make(tmp_path / "mine")
    assert workspace.copy_lessons(folder) == list(NAMES)
    assert workspace.notebook(folder, NAMES[0]).read_bytes() == course.path("lessons", NAMES[0]).read_bytes()


@pytest.mark.parametrize("links", [True, False])
def test_a_full_disk_leaves_no_half_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    folder = workspace.make(tmp_path / "mine")
    room = [] if links else [1]  # without links, the copy that stands in place is the second file

    def full(handle: int) -> None:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        room.pop()

    def refuse(source: Path, file: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(files.os, "fsync", full)
    if not links:
        monkeypatch.setattr(files.os, "link", refuse)
    with pytest.raises(OSError, match="No space left"):
        workspace.copy_lessons(folder)
    assert contents(folder) == {}


# -- resetting -----------------------------------------------------------------------------------------


def test_resetting_a_lesson_keeps_a_dated_copy(folder: Path) -> None:
    mine = workspace.notebook(folder, NAMES[0])
    mine.write_bytes(b"my answers")
    other = workspace.notebook(folder, NAMES[1]).read_bytes()
    copies = []
    for answer in (b"my answers", b"others", b"more"):  # in one second, too
        mine.write_bytes(answer)
        made = resetting.reset_lesson(folder, NAMES[0])
        assert made.backup is not None
        assert made.backup.parent == folder / BACKUPS
        assert made.names == ["shout", "call", "guess_loud"]
        copies.append(made.backup)
        assert mine.read_bytes() == course.path("lessons", NAMES[0]).read_bytes()
    assert [copy.read_bytes() for copy in copies] == [b"my answers", b"others", b"more"]
    assert all(copy.name.startswith("01_loud.2") for copy in copies)
    assert workspace.notebook(folder, NAMES[1]).read_bytes() == other


def test_resetting_a_lesson_that_is_not_there_copies_it(folder: Path) -> None:
    workspace.notebook(folder, NAMES[0]).unlink()
    made = resetting.reset_lesson(folder, NAMES[0])
    assert made.backup is None
    assert workspace.notebook(folder, NAMES[0]).exists()


@pytest.mark.parametrize("name", [None, "shout"])
def test_without_a_copy_nothing_is_reset(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    mine = workspace.notebook(folder, NAMES[0])
    before = mine.read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        if name:
            resetting.reset_exercise(folder, NAMES[0], name)
        else:
            resetting.reset_lesson(folder, NAMES[0])
    assert contents(folder)["01_loud.ipynb"] == before
    assert [name for name in contents(folder) if name.endswith(".tmp")] == []


def test_a_file_in_the_backups_place_stops_the_reset(folder: Path) -> None:
    (folder / BACKUPS).write_text("x", encoding="utf-8")
    before = contents(folder)
    with pytest.raises(FileExistsError):
        resetting.reset_lesson(folder, NAMES[0])
    assert contents(folder) == before


def answered() -> Any:
    """A notebook with both exercises answered, run, and something of the learner's own in it."""
    book = notebook(LESSONS[0])
    for name in ("shout", "call"):
        cell(book, f"{name}-answer").source = f"def {name}(text):\n    return '{name} ' + text"
        check = cell(book, f"{name}-check")
        check.execution_count = 7
        check.outputs = [nbformat.v4.new_output("stream", text="PASSED")]
    book.cells.append(code("mine", "print('Zoë 你好')"))
    return book


def duplicated(book: Any) -> None:
    copy = nbformat.from_dict(json.loads(json.dumps(cell(book, "shout-answer"))))
    copy.id = "copied"
    book.cells.append(copy)


def without_marks(book: Any) -> None:
    for each in book.cells:
        each.metadata = nbformat.from_dict({})


def moved(book: Any) -> None:
    book.cells.append(book.cells.pop(book.cells.index(cell(book, "shout-answer"))))


def renamed_and_copied_id(book: Any) -> None:
    cell(book, "shout-answer").id = "mine-now"
    cell(book, "mine").id = "shout-answer"


def to_markdown(book: Any) -> None:
    old = cell(book, "shout-answer")
    new = nbformat.v4.new_markdown_cell(old.source, id=old.id)
    new.metadata = old.metadata
    book.cells[book.cells.index(old)] = new


def broken_code(book: Any) -> None:
    without_marks(book)
    cell(book, "shout-answer").source = "def shout(text):\n    return (text"


def deleted(book: Any) -> None:
    book.cells.remove(cell(book, "shout-answer"))


def older(book: Any) -> None:
    book.nbformat_minor = 2
    for each in book.cells:
        del each["id"]


def test_an_answer_to_several_exercises_is_reset_by_any_of_their_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lesson = checks.lesson(NAMES[0])
    monkeypatch.setitem(lesson.exercises, "loud", replace(lesson.exercises["shout"], name="loud", answer="shout"))
    book = read(folder / f"{NAMES[0]}.ipynb")
    cell(book, "shout-answer").source = "def shout(text): return text"
    book.cells.append(code("loud-check", 'tutor.check("loud")'))
    book.cells[-1].outputs = [nbformat.v4.new_output("stream", text="PASSED")]
    for name in ("loud", "shout"):
        write(folder / f"{NAMES[0]}.ipynb", book)
        made = resetting.reset_exercise(folder, NAMES[0], name)
        after = read(made.notebook)
        assert sorted(made.names) == ["loud", "shout"]
        assert "NotImplementedError" in cell(after, "shout-answer").source
        assert cell(after, "loud-check").outputs == []


@pytest.mark.parametrize(
    "change",
    [
        lambda book: None,
        duplicated,
        without_marks,
        moved,
        renamed_and_copied_id,
        to_markdown,
        broken_code,
        deleted,
        older,
    ],
)
def test_one_exercise_is_reset_wherever_its_answer_is(folder: Path, change: Any) -> None:
    book = answered()
    change(book)
    mine = workspace.notebook(folder, NAMES[0])
    write(mine, book)
    before = mine.read_bytes()
    made = resetting.reset_exercise(folder, NAMES[0], "shout")
    assert made.backup is not None
    assert made.backup.read_bytes() == before
    assert made.names == ["shout"]
    after = read(mine)
    nbformat.validate(after)
    stubs = [each for each in after.cells if each.source == STUB.format(name="shout")]
    assert [each.cell_type for each in stubs] == ["code"]
    if change is duplicated:
        assert made.also_defined == [len(after.cells)]
    else:
        assert made.also_defined == []
        assert sum("shout(text" in each.source and each.cell_type == "code" for each in after.cells) == 1
    sources = [each.source for each in after.cells]
    assert "def call(text):\n    return 'call ' + text" in sources
    assert "print('Zoë 你好')" in sources
    outputs = {each.source: each.outputs for each in after.cells if each.cell_type == "code"}
    assert outputs['tutor.check("shout")'] == []
    assert outputs['tutor.check("call")'] != []
    if change is deleted:
        assert sources.index(stubs[0].source) == sources.index('tutor.check("shout")') - 1


@pytest.mark.parametrize(
    "damage", [b"", b"  \n", b'{"cells": [', b"[]", b"null", b'{"cells": 3, "nbformat": 4}', b"\xff\xfe\x00", b"PK\x03"]
)
def test_a_damaged_notebook_is_one_line_and_stays_as_it_is(folder: Path, damage: bytes) -> None:
    mine = workspace.notebook(folder, NAMES[0])
    mine.write_bytes(damage)
    with pytest.raises(WorkspaceError) as caught:
        resetting.reset_exercise(folder, NAMES[0], "shout")
    assert "01_loud.ipynb" in caught.value.message
    assert len(caught.value.message.splitlines()) == 1
    assert mine.read_bytes() == damage
    assert not (folder / BACKUPS).exists()


def test_an_older_notebook_is_read(folder: Path) -> None:
    mine = workspace.notebook(folder, NAMES[0])
    third = nbformat.convert(answered(), 3)
    mine.write_text(nbformat.writes(third, version=3), encoding="utf-8")
    book = workspace.read_notebook(mine)
    assert book.nbformat == 4
    assert any("def shout" in each.source for each in book.cells)


def test_a_name_that_is_none_suggests_the_nearest(folder: Path) -> None:
    with pytest.raises(CourseError, match="Did you mean 'shout'"):
        resetting.reset_exercise(folder, NAMES[0], "shuot")
    assert not (folder / BACKUPS).exists()


def test_an_exercise_of_a_lesson_that_is_not_copied(folder: Path) -> None:
    workspace.notebook(folder, NAMES[0]).unlink()
    with pytest.raises(WorkspaceError, match="To copy it: memory-tutor start"):
        resetting.reset_exercise(folder, NAMES[0], "shout")


def test_an_exercise_is_reset_beside_half_a_character(folder: Path) -> None:
    file = folder / f"{NAMES[0]}.ipynb"
    book = json.loads(file.read_text(encoding="utf-8"))
    book["cells"][0]["source"] = ["\ud800"]
    file.write_text(json.dumps(book), encoding="utf-8")
    resetting.reset_exercise(folder, NAMES[0], "shout")
    assert workspace.read_notebook(file).cells[0].source == "\ud800"


def test_a_name_that_stands_for_no_folder_is_told_in_a_sentence(tmp_path: Path) -> None:
    for call in (workspace.make, workspace.find):
        with pytest.raises(WorkspaceError, match="Name another one"):
            call(Path("~nobody_of_this_name/lessons"))
