"""The page and the table of a learner's progress: what happened, escaped, quick, and over no other file."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from memory_tutor import cli, progress_page, workspace
from memory_tutor.exercises import Result, Status
from memory_tutor.history import ExerciseHistory
from memory_tutor.progress import FILE, MARKER, Progress
from small_course import small_course

__all__ = ["small_course"]


@pytest.fixture
def folder(tmp_path: Path, small_course: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = workspace.make(tmp_path / "mine")
    monkeypatch.chdir(made)
    monkeypatch.setenv("COLUMNS", "200")
    return made


def check(done: Progress, name: str, status: Status, message: str = "") -> None:
    points = 3 if status == "passed" else 0
    done.record_check(Result(name, status, points, 3, message or f"{status} {name}"))


def a_history(done: Progress) -> None:
    check(done, "shout", "not attempted")
    check(done, "shout", "wrong", "NOT YET shout: It was <b>not</b> said & [red]heard[/red].\nLook at it.")
    check(done, "shout", "raised")
    done.record_hint("shout")
    done.record_solution("shout", gave_up=True)
    check(done, "shout", "passed")
    check(done, "call", "passed")
    done.record_solution("call", gave_up=False)
    check(done, "whisper", "wrong", "NOT YET whisper: Too loud.")
    done.record_prediction("guess_loud", "b")
    done.record_prediction("guess_loud", "a")


class Page(HTMLParser):
    """A page's tags, and the text of its cells row by row."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def test_what_an_exercise_comes_to() -> None:
    done = Progress()
    a_history(done)
    shout, call = done.exercise("shout"), done.exercise("call")
    assert (shout.tries, shout.failures, shout.hints, shout.solution, shout.passed) == (3, 2, 1, "gave up", True)
    assert shout.misconceptions == {"It was <b>not</b> said & [red]heard[/red].": True}
    assert (call.tries, call.solution) == (1, "seen")
    assert done.exercise("whisper").misconceptions == {"Too loud.": False}
    assert done.choices("guess_loud") == ["b", "a"]
    row = done.summary()[0] if done.summary() else None
    assert row is not None
    done.record_solution("shout", gave_up=False)
    assert done.exercise("shout").solution == "gave up"
    done.record_reset(["shout"])
    assert done.exercise("shout") == ExerciseHistory("shout")


def test_a_misconception_that_comes_back_is_not_overcome() -> None:
    done = Progress()
    for status in ("wrong", "passed", "wrong"):
        check(done, "shout", status, "NOT YET shout: No." if status == "wrong" else "")  # type: ignore[arg-type]
    assert done.exercise("shout").misconceptions == {"No.": False}


def test_the_page_tells_what_happened(folder: Path) -> None:
    a_history(Progress(folder))
    page = Page(progress_page.page(Progress(folder)))
    assert ["01 Loud", "6 of 6", "2 of 2", "1 right, 0 wrong, of 1; 1 changed"] in page.rows
    assert ["02 Quiet", "0 of 3", "0 of 1", "0 right, 0 wrong, of 1"] in page.rows
    assert ["Total", "6 of 9", "", ""] in page.rows
    (shout,) = [row for row in page.rows if row[0] == "shout"]
    assert shout[1:6] == ["passed", "3 of 3", "3", "1 of 3", "gave up: seen before a pass"]
    assert shout[6] == "It was <b>not</b> said & [red]heard[/red]. (overcome)"
    (whisper,) = [row for row in page.rows if row[0] == "whisper"]
    assert whisper[1:] == ["not yet", "0 of 3", "1", "0 of 3", "no", "Too loud. (not overcome yet)"]
    (call,) = [row for row in page.rows if row[0] == "call"]
    assert call[5:] == ["seen after a pass", "none"]
    assert ["guess_loud", "right, changed", "(b), then (a) yes"] in page.rows
    assert ["guess_quiet", "not made", ""] in page.rows


def test_the_page_needs_nothing_from_elsewhere_and_can_be_read_aloud(folder: Path) -> None:
    a_history(Progress(folder))
    text = progress_page.page(Progress(folder))
    page = Page(text)
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "base", "b"}
    assert not re.search(r"https?:|url\(|@import|\bon\w+=|\d+px;? *(font|width)", text)
    hrefs = {attributes["href"] for tag, attributes in page.tags if tag == "a"}
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert hrefs == {f"#{each}" for each in ids}
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in page.tags if tag == "th")
    assert all(attributes.get("aria-hidden") == "true" for tag, attributes in page.tags if tag == "svg")
    assert ("html", {"lang": "en-GB"}) in page.tags
    assert "prefers-color-scheme: dark" in text
    assert text.count("<caption>") == text.count("<table>")


def test_everything_that_was_recorded_is_escaped(folder: Path) -> None:
    evil = '"><script>alert(1)</script>\ud800'
    done = Progress(folder)
    check(done, "shout", "wrong", f"NOT YET shout: {evil}")
    done.record_prediction("guess_loud", evil)
    with (folder / MARKER / FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"event": "hint", "exercise": evil, "at": evil}) + "\n")
    written = progress_page.write(folder / "page.html", done)
    assert "<script>" not in written.read_text(encoding="utf-8")
    Page(written.read_text(encoding="utf-8"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Any, str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(["progress", *arguments])
    captured = capsys.readouterr()
    return ended.value.code, captured.out + captured.err


def test_the_command_writes_the_page_and_says_where(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--html") == (0, f"Your progress is in {folder / 'progress.html'}. Open it in a browser.\n")
    a_history(Progress(folder))
    assert run(capsys, "--html")[0] == 0  # over its own page
    assert "6 of 9 points" in (folder / "progress.html").read_text(encoding="utf-8")
    assert run(capsys, "--html", "other.html")[0] == 0 and (folder / "other.html").exists()
    assert not list(folder.glob("*.tmp"))


@pytest.mark.parametrize("kind", ["file", "folder", "no folder"])
def test_the_page_is_never_written_over_something_else(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    file = folder / "thesis.html"
    if kind == "file":
        file.write_text("<!DOCTYPE html><p>mine", encoding="utf-8")
    elif kind == "folder":
        file.mkdir()
    else:
        file = folder / "nowhere" / "page.html"
    code, told = run(capsys, "--html", str(file))
    assert code == 1 and "Name a" in told
    assert kind != "file" or file.read_text(encoding="utf-8") == "<!DOCTYPE html><p>mine"


def test_the_table_of_a_lesson(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_history(Progress(folder))
    code, told = run(capsys, "1")
    words = [" ".join(line.replace("│", " ").split()) for line in told.splitlines()]
    assert code == 0
    assert (
        "shout passed 3 1 of 3 gave up: seen before a pass It was <b>not</b> said & [red]heard[/red]. (overcome)"
        in words
    )
    assert run(capsys, "9")[0] == 1


def test_a_long_history_is_read_once(folder: Path) -> None:
    event = {"event": "check", "exercise": "shout", "status": "wrong", "points": 0, "of": 3, "message": "NOT YET"}
    line = json.dumps(event) + "\n"
    (folder / MARKER / FILE).write_text(line * 100_000, encoding="utf-8")
    done = Progress(folder)
    before = time.process_time()
    progress_page.page(done)
    once = time.process_time() - before
    before = time.process_time()
    for _ in range(20):
        done.record_hint("shout")
    progress_page.page(done)
    assert done.failures("shout") == 100_000 and done.hints_seen("shout") == 20
    assert time.process_time() - before < once


def test_a_file_that_is_replaced_cut_or_edited_is_read_anew(folder: Path) -> None:
    file = folder / MARKER / FILE
    done = Progress(folder)
    for _ in range(3):
        done.record_hint("shout")
    assert done.hints_seen("shout") == 3
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0])
    assert done.hints_seen("shout") == 1
    other = folder / "other"
    other.write_bytes(b"".join(lines).replace(b"shout", b"callx"))
    other.replace(file)
    assert (done.hints_seen("shout"), done.hints_seen("callx")) == (0, 3)
    file.unlink()
    assert done.hints_seen("callx") == 0
    assert done.record_hint("callx") == 1
