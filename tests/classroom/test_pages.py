"""The pages: what they say, what they must not say, and that they open anywhere."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from marks import MakeClass, a_mark

from memory_tutor import checks
from memory_tutor.grading import class_page, feedback, words
from memory_tutor.grading.classroom import Classroom
from memory_tutor.grading.submissions import Intake

LESSON, OTHER = "02_manual_history", "03_per_user_isolation"
SEEN = "`say(history, 'Hi')` left 2 messages.\nThe reply was not appended.\nLook at the last line."
SEEN_TOO = "`say(history, 'Ho')` left 3 messages.\nThe reply was not appended.\nLook at the last line."
RAISED = "`show_history` raised KeyError: 'content'\nIt happened in line 3 of the cell: len(message['content'])"
FAULT = "The check itself failed with KeyError: 'secret expectation'\nThis is a fault of the course."


class Page(HTMLParser):
    """A page's tags, its text, and its tables' rows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
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
        if "style" not in self.open:
            self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def row(self, first: str) -> list[str]:
        (found,) = [row for row in self.rows if row and row[0] == first]
        return found


def shown(message: str) -> str:
    """What a message reads like on a page."""
    return message.replace("\n", "").replace("`", "")


def a_class(made: MakeClass) -> Classroom:
    passed = ("passed", "4 of 4 points")
    return made(
        a_mark(
            "ada", LESSON, ("wrong", SEEN), ("raised", RAISED), ("not attempted", "`say_safely` is still the stub.")
        ),
        a_mark("ada", OTHER, passed, passed, passed),
        a_mark("bob", LESSON, ("wrong", SEEN_TOO), passed, ("not gradable", FAULT), notes=("Cell 9 is no code cell.",)),
        a_mark("cy <b>", LESSON, problem="The file is damaged (cut). It is needed again."),
        intake=Intake(notes=["x.zip is an archive."], empty={"dee": "There is no notebook, but a.txt."}),
    )


def pages(made: MakeClass, tmp_path: Path) -> dict[str, str]:
    out, classroom = tmp_path / "out", a_class(made)
    feedback.write(out, classroom)
    class_page.write(out, classroom)
    return {file.name: file.read_text(encoding="utf-8") for file in out.rglob("*.html")}


def test_a_students_page(made: MakeClass, tmp_path: Path) -> None:
    text = pages(made, tmp_path)["ada.html"]
    page = Page(text)
    hints = {name: each.hints[0] for name, each in checks.lesson(LESSON).exercises.items()}
    assert page.row("say") == ["say", "Not yet", "0 of 4", shown(SEEN), shown(hints["say"])]
    assert "<code>say(history, &#x27;Hi&#x27;)</code>" in text
    assert page.row("show_history")[1:3] == ["Stopped by an error", "0 of 3"]
    assert "line 3 of the cell: len(message['content'])" in page.row("show_history")[3]
    assert page.row("say_safely")[1] == "Not attempted"
    assert page.row("get_session") == ["get_session", "Passed", "4 of 4", "", ""]
    assert "13 of 25 points" in page.text
    assert "points by exercise" in page.text


def test_a_students_page_says_nothing_of_others_or_of_what_is_expected(made: MakeClass, tmp_path: Path) -> None:
    made_pages = pages(made, tmp_path)
    for name, others in [("ada.html", ["bob", "cy", "dee"]), ("bob.html", ["ada", "cy", "dee"])]:
        assert not [other for other in others if re.search(rf"\b{other}\b", Page(made_pages[name]).text)]
    bob = Page(made_pages["bob.html"])
    assert bob.row("say_safely")[1:] == [
        "Cannot be checked here", "Not graded", "This says nothing about your answer. Your teacher can see why.", "",
    ]  # fmt: skip
    assert "secret" not in made_pages["bob.html"] and "archive" not in made_pages["bob.html"]


def test_a_student_whose_file_is_damaged_reads_why(made: MakeClass, tmp_path: Path) -> None:
    page = Page(pages(made, tmp_path)[feedback.name("cy <b>")])
    assert "The file is damaged (cut). It is needed again." in page.text and "Feedback for cy <b>" in page.text
    assert "Not graded" in page.text and "0 of" not in page.text


def test_the_classs_page(made: MakeClass, tmp_path: Path) -> None:
    text = pages(made, tmp_path)["class.html"]
    page = Page(text)
    assert "4 students, 4 submissions, 1 of them not marked." in page.text
    assert page.row("02 say") == ["02 say", "0", "2", "0", "0", "0"]
    assert page.row("02 say_safely") == ["02 say_safely", "0", "0", "0", "1", "1"]
    both = [row for row in page.rows if row[:2] == ["say", "2"]]
    assert both and "The reply was not appended." in both[0][2] and both[0][3] == "ada, bob"
    students = [row for row in page.rows if row[0] == "ada" and len(row) == 5]
    assert students == [
        ["ada", "0", "13", "13", "say (not yet), show_history (stopped by an error), say_safely (not attempted)"]
    ]
    looked_at = [row for row in page.rows if row[0] == "bob" and row[1] == LESSON]
    assert "secret expectation" in looked_at[0][3] and "Cell 9 is no code cell." in looked_at[0][3]
    assert "x.zip is an archive." in page.text and "dee: There is no notebook, but a.txt." in page.text
    assert "2; mean 1.5, median 1.5, of 12 points" in page.text
    hrefs = {attributes["href"] for tag, attributes in page.tags if tag == "a"}
    assert all((tmp_path / "out" / href).is_file() for href in hrefs) and len(hrefs) == 3


@pytest.mark.parametrize("of", [1, 2, 3, 4, 5, 7, 10, 12, 15])
def test_every_number_of_points_is_in_the_range_that_counts_it(of: int) -> None:
    for points in range(of + 1):
        step = min(points * class_page._RANGES // of, class_page._RANGES - 1)
        low, high = class_page._edges(step, of)
        assert low <= points <= high, (points, low, high)


def test_a_mark_that_the_checks_have_changed_is_told(made: MakeClass, tmp_path: Path) -> None:
    right, wrong = ("passed", ""), ("wrong", SEEN)
    classroom = made(
        a_mark("ada", LESSON, wrong, right, right, fingerprint="before"),
        a_mark("ada", LESSON, right, right, right),
        a_mark("bob", LESSON, right, right, right, fingerprint="before"),
        a_mark("bob", LESSON, right, right, right),
        a_mark("cy", LESSON, wrong, sha256="6" * 64),
        a_mark("cy", LESSON, right),
    )
    (change,) = classroom.changes
    assert (change.old.points, change.new.points) == (8, 12)
    assert ["ada", LESSON, "8", "12", "say: not yet, now passed"] in Page(class_page.page(classroom)).rows


def test_every_page_needs_nothing_from_elsewhere_and_can_be_read_aloud(made: MakeClass, tmp_path: Path) -> None:
    for name, text in pages(made, tmp_path).items():
        page = Page(text)
        assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "base", "b"}, name
        assert not re.search(r"https?:|url\(|@import|\bon\w+=", text), name
        assert all(attributes.get("scope") in ("col", "row") for tag, attributes in page.tags if tag == "th")
        assert text.count("<caption>") == text.count("<table>")
        levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels)), levels
        assert ("html", {"lang": "en-GB"}) in page.tags


EVIL = '"><script>alert(1)</script>\x1b[31m\ud800&amp;'


def test_what_students_bring_along_is_escaped(made: MakeClass, tmp_path: Path) -> None:
    name = words.person(EVIL)
    classroom = made(
        a_mark(
            name,
            LESSON,
            ("wrong", EVIL),
            ("raised", EVIL),
            ("not gradable", EVIL),
            file=words.shown(EVIL),
            problem=EVIL,
            notes=(EVIL,),
        ),
        intake=Intake(notes=[EVIL], empty={"dee": EVIL}),
    )
    out = tmp_path / "out"
    feedback.write(out, classroom)
    class_page.write(out, classroom)
    for file in out.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert "<script" not in text and "&lt;script&gt;" in text and "&amp;amp;" in text
        Page(text)


def test_the_pages_pass_an_accessibility_check(made: MakeClass, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no browser is installed (on Debian: apt-get install chromium)")
    pages(made, tmp_path)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for scheme in ("light", "dark"):
            context = browser.new_context(color_scheme=scheme, offline=True)
            for file in (tmp_path / "out").rglob("*.html"):
                page = context.new_page()
                page.goto(file.as_uri())
                assert axe.Axe().run(page).response["violations"] == [], (file.name, scheme)
                page.close()
        browser.close()
