"""After an upgrade of the package: lessons are offered, never overwritten, and nothing is half done."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from memory_tutor import cli, course, files, launch, offering, originals, resetting, updating, workspace
from memory_tutor.notebooks import text_of
from memory_tutor.progress import MARKER
from memory_tutor.workspace import BACKUPS, WorkspaceError
from small_course import NAMES, small_course
from tiny_course import cell, code

__all__ = ["small_course"]
ONE, TWO = NAMES
ANSWER = "def shout(text):\n    return 'shout ' + text"


@pytest.fixture
def folder(tmp_path: Path, small_course: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's folder with both lessons, and the current one."""
    made = workspace.make(tmp_path / "mine")
    workspace.copy_lessons(made)
    monkeypatch.chdir(made)
    monkeypatch.setattr(launch, "open_lab", lambda *_, **__: 0)
    return made


def change(file: Path, id_: str, source: str) -> None:
    book = workspace.read_notebook(file)
    cell(book, id_).source = source
    file.write_text(text_of(book), encoding="utf-8", newline="\n")


def upgrade(*lessons: str, text: str = "# Another title") -> None:
    """What an upgrade of the package does to lessons."""
    for lesson in lessons:
        change(course.path("lessons", lesson), "title", text)


def answer(folder: Path) -> bytes:
    """Write an answer into the first lesson; returns the notebook as it is then."""
    change(workspace.notebook(folder, ONE), "shout-answer", ANSWER)
    return workspace.notebook(folder, ONE).read_bytes()


def backups(folder: Path) -> list[bytes]:
    return [file.read_bytes() for file in sorted((folder / BACKUPS).glob("*"))]


def read(folder: Path, lesson: str = ONE) -> Any:
    return workspace.read_notebook(workspace.notebook(folder, lesson))


def is_new(folder: Path, lesson: str = ONE) -> bool:
    return bool(cell(read(folder, lesson), "title").source == "# Another title")


def forget_originals(folder: Path) -> None:
    """Make it a folder of the version that kept none."""
    for file in (folder / MARKER / originals.FOLDER).iterdir():
        file.unlink()


# -- looking -------------------------------------------------------------------------------------------


def test_without_a_new_version_there_is_nothing(folder: Path) -> None:
    answer(folder)
    assert updating.look(folder) == updating.Found()
    assert updating.update(folder, ONE) is None
    assert not (folder / BACKUPS).exists()


def test_a_lesson_that_was_not_begun_is_the_new_one_at_once(folder: Path) -> None:
    mine = answer(folder)
    upgrade(ONE, TWO)
    found = updating.look(folder)
    assert (found.waiting, found.refreshed) == ([ONE], [TWO])
    assert workspace.notebook(folder, TWO).read_bytes() == course.path("lessons", TWO).read_bytes()
    assert workspace.notebook(folder, ONE).read_bytes() == mine
    assert updating.look(folder).refreshed == []
    assert not (folder / BACKUPS).exists()


@pytest.mark.parametrize("kept", [True, False])
def test_an_update_keeps_answers_and_the_old_notebook(folder: Path, kept: bool) -> None:
    mine = answer(folder)
    if not kept:
        forget_originals(folder)
    upgrade(ONE)
    made = updating.update(folder, ONE)
    assert made is not None and made.backup.read_bytes() == mine
    assert made.backup.parent == folder / BACKUPS and made.backup.name.startswith(f"{ONE}.2")
    assert is_new(folder) and cell(read(folder), "shout-answer").source == ANSWER
    assert "Carried over: shout." in made.lines()[0]
    assert updating.look(folder) == updating.Found()
    assert updating.update(folder, ONE) is None


def test_a_folder_without_originals_is_told_from_a_changed_lesson(folder: Path) -> None:
    answer(folder)
    forget_originals(folder)
    assert updating.look(folder) == updating.Found()
    assert originals.kept(folder, ONE) == course.path("lessons", ONE).read_bytes()
    forget_originals(folder)
    upgrade(ONE)
    assert updating.look(folder).waiting == [ONE]
    assert originals.kept(folder, ONE) is None


def test_an_original_that_is_damaged_is_done_without(folder: Path) -> None:
    answer(folder)
    upgrade(ONE)
    originals.keep(folder, ONE, b"\xff{")
    assert updating.look(folder).waiting == [ONE]
    assert updating.update(folder, ONE) is not None
    assert is_new(folder) and cell(read(folder), "shout-answer").source == ANSWER


def test_a_reset_begins_with_the_version_of_today(folder: Path) -> None:
    answer(folder)
    upgrade(ONE)
    resetting.reset_lesson(folder, ONE)
    assert updating.look(folder) == updating.Found()
    assert updating.update(folder, ONE) is None


@pytest.mark.parametrize("damage", [b"", b'{"cells": [', b"[]", b"\xff\xfe\x00"])
def test_a_damaged_notebook_is_one_line_and_stays(folder: Path, damage: bytes) -> None:
    workspace.notebook(folder, ONE).write_bytes(damage)
    change(workspace.notebook(folder, TWO), "whisper-answer", "def whisper(text): return text")
    upgrade(ONE, TWO)
    found = updating.look(folder)
    assert found.waiting == [TWO]
    (problem,) = found.problems
    assert ONE in problem and "\n" not in problem
    with pytest.raises(WorkspaceError):
        updating.update(folder, ONE)
    assert workspace.notebook(folder, ONE).read_bytes() == damage
    assert not (folder / BACKUPS).exists()


def test_a_folder_in_a_notebooks_place_and_a_lesson_that_is_not_there(folder: Path) -> None:
    upgrade(ONE, TWO)
    workspace.notebook(folder, ONE).unlink()
    workspace.notebook(folder, ONE).mkdir()
    workspace.notebook(folder, TWO).unlink()
    assert updating.look(folder) == updating.Found()
    with pytest.raises(WorkspaceError, match="To copy it"):
        updating.update(folder, TWO)


def test_any_text_survives(folder: Path) -> None:
    file = workspace.notebook(folder, ONE)
    data = file.read_bytes().replace(b"put your code in place of this line", rb"Zo\u00eb \ud83e\udd9c \ud800")
    file.write_bytes(data)
    upgrade(ONE)
    assert updating.update(folder, ONE) is not None
    assert "\ud800" in cell(read(folder), "shout-answer").source


# -- whole or not at all -------------------------------------------------------------------------------


@pytest.mark.parametrize("room", range(4))
def test_a_full_disk_leaves_the_old_notebook_or_the_new_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    mine = answer(folder)
    upgrade(ONE)
    left = [None] * room

    def full(handle: int) -> None:
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left.pop()

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        if room < 3:
            with pytest.raises(OSError, match="No space left"):
                updating.update(folder, ONE)
        else:
            updating.update(folder, ONE)
    assert is_new(folder) == (room >= 2)
    assert cell(read(folder), "shout-answer").source == ANSWER
    assert is_new(folder) or workspace.notebook(folder, ONE).read_bytes() == mine
    assert not list(folder.rglob("*.tmp"))
    # What is left to do is done by the next one.
    updating.update(folder, ONE)
    assert is_new(folder) and updating.look(folder) == updating.Found()
    assert mine in backups(folder)


def test_a_notebook_that_is_saved_meanwhile_is_not_overwritten(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(folder)
    upgrade(ONE)
    file = workspace.notebook(folder, ONE)

    def save_and_back_up(folder: Path, notebook: Path) -> Path:
        made = workspace.back_up(folder, notebook)
        change(file, "shout-answer", "def shout(text): return 'saved just now'")
        return made

    monkeypatch.setattr(updating, "back_up", save_and_back_up)
    with pytest.raises(WorkspaceError, match="saved meanwhile"):
        updating.update(folder, ONE)
    assert "saved just now" in file.read_text(encoding="utf-8") and not is_new(folder)


def test_two_updates_at_once_make_one(folder: Path) -> None:
    mine = answer(folder)
    upgrade(ONE)
    made: list[Any] = []
    both = threading.Barrier(2)

    def run() -> None:
        both.wait()
        made.append(updating.update(folder, ONE))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each is None for each in made].count(True) == 1
    assert backups(folder) == [mine] and is_new(folder)


KILLED = """
import os, sys
from pathlib import Path
from memory_tutor import course, files, updating

course.folder = lambda part, root=Path(sys.argv[2]): root / part
course.lesson_names = lambda: ["01_loud", "02_quiet"]
left, replace = [int(sys.argv[3])], os.fsync

def dies(handle):
    replace(handle)
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), 9)

files.os.fsync = dies
updating.update(Path(sys.argv[1]), "01_loud")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no signal that kills at once")
@pytest.mark.parametrize("writes", range(3))
def test_killed_in_the_middle_it_is_whole(folder: Path, small_course: Path, writes: int) -> None:
    mine = answer(folder)
    upgrade(ONE)
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(small_course), str(writes)])
    assert done.returncode == -9
    assert is_new(folder) == (writes == 2)
    assert cell(read(folder), "shout-answer").source == ANSWER
    assert is_new(folder) or workspace.notebook(folder, ONE).read_bytes() == mine
    updating.update(folder, ONE)  # the lock of the dead does not hold it up
    assert is_new(folder) and mine in backups(folder)
    assert updating.look(folder) == updating.Found()


# -- what is said --------------------------------------------------------------------------------------


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> tuple[Any, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments))
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return run


def test_start_without_a_terminal_says_how_and_changes_nothing(folder: Path, run: Any) -> None:
    mine = answer(folder)
    upgrade(ONE)
    code_, out, _ = run("start")
    assert code_ == 0
    assert f"The course has a new version of {ONE}." in out and "memory-tutor update" in out
    assert workspace.notebook(folder, ONE).read_bytes() == mine and not (folder / BACKUPS).exists()


def test_start_in_a_terminal_asks_and_no_is_remembered(folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = answer(folder)
    upgrade(ONE)
    asked = []
    monkeypatch.setattr(offering, "_is_a_terminal", lambda: True)
    monkeypatch.setattr(offering.typer, "confirm", lambda text, default: asked.append(default) or False)
    for _ in range(2):
        _, out, _ = run("start")
        assert "memory-tutor update" in out
    assert asked == [False]
    assert workspace.notebook(folder, ONE).read_bytes() == mine
    upgrade(ONE, text="# A third title")  # a later version is offered again
    monkeypatch.setattr(offering.typer, "confirm", lambda text, default: True)
    _, out, _ = run("start")
    assert "Carried over: shout." in out and "Reload Notebook" in out
    assert backups(folder) == [mine] and cell(read(folder), "title").source == "# A third title"


def test_update_takes_all_or_those_that_are_named(folder: Path, run: Any) -> None:
    answer(folder)
    change(workspace.notebook(folder, TWO), "whisper-answer", "def whisper(text): return text")
    upgrade(ONE, TWO)
    code_, out, _ = run("update", "2")
    assert (code_, is_new(folder, ONE), is_new(folder, TWO)) == (0, False, True)
    assert "whisper" in out and ONE not in out
    assert run("update")[0] == 0 and is_new(folder, ONE)
    assert run("update") == (0, "Up to date.\n", "")
    assert run("update", "9")[0] == 1


def test_a_damaged_notebook_does_not_stop_the_others(folder: Path, run: Any) -> None:
    workspace.notebook(folder, ONE).write_bytes(b"{")
    change(workspace.notebook(folder, TWO), "whisper-answer", "def whisper(text): return text")
    upgrade(ONE, TWO)
    code_, out, err = run("update")
    assert code_ == 1 and is_new(folder, TWO)
    assert len(err.splitlines()) == 1 and "memory-tutor reset 01_loud" in err
    code_, out, _ = run("start")
    assert code_ == 0 and "memory-tutor reset 01_loud" in out


def test_what_is_told_names_everything(folder: Path) -> None:
    file = workspace.notebook(folder, ONE)
    answer(folder)
    book = workspace.read_notebook(file)
    book.cells.append(code("0a1b2c3d", "mine = 1"))
    cell(book, "title").source = "# My title"
    cell(book, "call-answer").source = "def call(text): return text"
    file.write_text(text_of(book), encoding="utf-8", newline="\n")
    upgrade(ONE)
    change(course.path("lessons", ONE), "shout-task", "Write `shout(text)` well.")
    new = workspace.read_notebook(course.path("lessons", ONE))
    new.cells = [each for each in new.cells if not each.id.startswith("call")]
    course.path("lessons", ONE).write_text(text_of(new), encoding="utf-8", newline="\n")
    made = updating.update(folder, ONE)
    assert made is not None
    told = "\n".join(made.lines())
    for piece in ("shout, 1 cell of your own", "read it again: shout", "end of the notebook: call", "1 cell; your"):
        assert piece in told
    assert str(made.backup) in told
