"""The page that a reader of the site sees first: the syllabus, each lesson a click away."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from memory_tutor import html_page
from memory_tutor.exercises import Lesson

MARK = "<!DOCTYPE html><!-- memory-tutor site -->"
#: The notebook reads it in the pages of all folders above its own; it is data, and empty.
CONFIG = '<script id="jupyter-config-data" type="application/json" data-jupyter-lite-root=".">{}</script>'
#: What can only be shown in a browser, by the lesson's name.
RECORDED = {
    "06_persistence": "second processes and servers are shown as they were recorded",
    "07_frameworks": "LangChain is shown as it was recorded",
}


def write(file: Path, lessons: Sequence[Lesson]) -> None:
    """Write the page.

    Args:
        file: to write.
        lessons: in their order.
    """
    file.write_text(html_page.page(MARK, "memory-tutor", _body(lessons)), encoding="utf-8", newline="\n")


def _body(lessons: Sequence[Lesson]) -> list[str]:
    rows = [
        [_link(lesson), str(lesson.level), str(lesson.minutes), str(lesson.points), RECORDED.get(lesson.name, "")]
        for lesson in lessons
    ]
    return [
        "<h1>Short-term memory of LLM applications</h1>",
        "<p>Eight notebooks that run in this browser: there is nothing to install, no key, and no bill. Every answer "
        "is a recording of a real model's, and every exercise marks itself.</p>",
        html_page.table("The lessons", ["Lesson", "Level", "Minutes", "Points", "Here"], rows),
        "<h2>Good to know</h2>",
        "<ul>",
        "<li>Python takes some seconds to start; the first cell waits for it.</li>",
        "<li>Your work stays in this browser, and nothing is sent anywhere. Save it with Ctrl+S; the menu File, "
        "Download gives you the notebook, to keep or to hand in.</li>",
        '<li><a href="tree/index.html">Your files</a> are all notebooks that you have. To start a lesson afresh, '
        "select it there and delete it: it comes back as it was.</li>",
        "<li>To see how far you are, type <code>tutor.progress</code> into an empty cell.</li>",
        '<li>To ask a model of your own, write <code>mode="live"</code> into the first cell, behind the lesson: it '
        "asks for an address and a key, and the key is stored nowhere. The endpoint has to let this page ask it "
        "(CORS).</li>",
        "<li>A check has no time limit here. If your code never returns: Kernel, Restart Kernel.</li>",
        "</ul>",
        CONFIG,
    ]


def _link(lesson: Lesson) -> str:
    address = f"notebooks/index.html?path={lesson.name}.ipynb"
    return f'<a href="{address}">{lesson.number} {escape(lesson.title)}</a>'
