"""What a learner sees in a real JupyterLab."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lab import Lab

STUB = "def ask(text"
WRONG = """def ask(text: str) -> str:
    messages = [{"role": "user", "content": text}]
    return client.chat.completions.create(model=model, messages=messages)
"""
RIGHT = """def ask(text: str) -> str:
    messages = [{"role": "user", "content": text}]
    response = client.chat.completions.create(model=model, messages=messages)
    return response.choices[0].message.content or ""
"""


def test_a_learner_goes_through_the_first_exercise(learner: Lab, album: Path) -> None:
    import lab  # it needs Playwright, without which `learner` has skipped this test
    from playwright.sync_api import expect

    with learner.notebook("01_stateless_calls") as notebook:
        page = notebook.page
        assert page.locator(".jp-Dialog").count() == 0, "a dialog stands in the way"
        notebook.run_all()
        shown = page.locator(".jp-Notebook").inner_text()
        assert "Nothing is sent; no key is used." in shown
        assert "Request 2:" in shown
        assert "NOT ATTEMPTED ask" in shown
        assert "Traceback" not in shown
        notebook.picture(album / "transcript.png", "second = client.chat", "tutor.transcript[-2:]")

        notebook.write(STUB, WRONG)
        assert "NOT YET ask: " in (told := notebook.run('tutor.check("ask")'))
        assert "ChatCompletion" in told and 'tutor.hint("ask")' in told and "Traceback" not in told
        notebook.show_all()
        notebook.picture(album / "check.png", STUB, 'tutor.check("ask")')
        notebook.page.set_viewport_size(lab.SCREEN)

        notebook.write(STUB, RIGHT)
        assert "PASSED ask: 3 of 3 points" in notebook.run('tutor.check("ask")')
        assert "Another right way" in notebook.cell('tutor.check("ask")').inner_text()
        notebook.save()
        saved = (learner.folder / "01_stateless_calls.ipynb").read_text(encoding="utf-8")
        assert 'content or \\"\\"' in saved

        notebook.reload()
        notebook.show_all()
        # An editor fills in once it is in sight.
        expect(notebook.cell(STUB)).to_contain_text('content or ""', timeout=lab.MILLISECONDS)
        notebook.restart()
        assert "NOT ATTEMPTED" not in notebook.cell('tutor.check("ask")').inner_text()
        notebook.run_all()
        assert "PASSED ask: 3 of 3 points" in notebook.cell('tutor.check("ask")').inner_text()
    told = lab.run("progress", "1", "--folder", learner.folder)
    assert re.search(r"ask\b.*passed", told), told
    lab.run("progress", "--html", "--folder", learner.folder)
    learner.picture(learner.folder / "progress.html", album / "progress.png")
    assert learner.elsewhere == []


@pytest.mark.parametrize(
    ("lesson", "pictures"),
    [
        ("02_manual_history", ["turn 8: ", "A row for each request"]),
        ("04_sliding_windows", ["A row for each request", "a window of 5 ends at"]),
    ],
)
def test_pictures_are_there_and_no_output_has_a_serious_fault(
    learner: Lab, album: Path, lesson: str, pictures: list[str], serious_faults: Callable[[Any, str], list[str]]
) -> None:
    with learner.notebook(lesson) as notebook:
        notebook.run_all()
        for name in pictures:
            picture = notebook.page.locator(f'.jp-OutputArea svg[role=img][aria-label*="{name}"]').first
            box = picture.bounding_box()
            assert box is not None and box["width"] > 100 and box["height"] > 5, name
        notebook.picture(album / f"strip-{lesson[:2]}.png", ".strip()")
        serious = serious_faults(notebook.page, ".jp-OutputArea-output")
        assert serious == [], json.dumps(serious, indent=2)
    assert learner.elsewhere == []
