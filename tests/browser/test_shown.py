"""What the tutor shows, on pages that trust it and on those that do not: every fact is there and can be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import nbformat
import pytest

from memory_tutor import course, notebooks

if TYPE_CHECKING:
    from lab import Lab

OUTPUT = ".jp-OutputArea-output"
RICH = f"{OUTPUT}[data-mime-type='text/html']"
#: One cell for each kind of thing that is shown; the requests are those of lesson 2.
CELLS = [
    'from openai import OpenAI\nimport memory_tutor\n\ntutor = memory_tutor.start("02_manual_history")\n'
    "client, model = OpenAI(), tutor.model",
    "from memory_tutor import replay\n\nfor each in replay.current().recording.interactions[:9]:\n"
    "    client.post(each.request.path, body=each.request.body, cast_to=object)",
    "tutor.transcript",
    "tutor.transcript[-1]",
    "tutor.transcript.diff(0, -1)",
    'tutor.chart("Prompt tokens of each request", [("turn 1", 20), ("a turn with a name", 1040.5)], "tokens")',
    'tutor.lines("Prompt tokens, added up", {"all": [20, 60, 1200.5], "a window of 5": [20, 60, 90]}, "tokens")',
    "def ask(text):\n    messages = [{'role': 'user', 'content': text}]\n"
    "    return client.chat.completions.create(model=model, messages=messages).choices[0].message.content or ''",
    'tutor.check("ask")',
    'tutor.check("say")',
]


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A notebook with everything that the tutor shows among its outputs."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    made.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"}}
    done = notebooks.run_notebook(made, tmp_path_factory.mktemp("shown"), notebooks.environment(), timeout=60)
    rich = [output.data for cell in done.cells for output in cell.outputs if "data" in output]
    assert [sorted(data)[0] for data in rich] == ["text/html"] * 5 + ["text/markdown"]
    return done


def tables(notebook: Any) -> list[list[str]]:
    """The cells of each table in a notebook's outputs, as text."""
    found = []
    for cell in notebook.cells:
        for output in cell.outputs:
            page = ElementTree.fromstring(f"<div>{output.get('data', {}).get('text/html', '')}</div>")
            for table in page.iter("table"):
                cells = [cell for cell in table.iter() if cell.tag in ("th", "td", "caption")]
                found.append(["".join(cell.itertext()) for cell in cells])
    return found


TABLES = "tables => tables.map(t => [...t.querySelectorAll('th, td, caption')].map(each => each.textContent))"


# -- JupyterLab, in a notebook that it does not trust --------------------------------------------------


def test_a_notebook_that_is_not_trusted_keeps_every_fact(learner: Lab, shown: Any) -> None:
    nbformat.write(shown, learner.folder / "shown.ipynb")
    with learner.notebook("shown") as notebook:
        notebook.page.set_viewport_size({"width": 1280, "height": 4000})
        rich = notebook.page.locator(RICH)
        rich.nth(4).wait_for()
        assert rich.locator("svg").count() == 0, "JupyterLab strips pictures where it does not trust a notebook"
        assert rich.locator("table").evaluate_all(TABLES) == tables(shown)
        # The words of a picture that was stripped: nobody is to see them.
        left = rich.locator("[style*=font-size]")
        assert left.count() == 2 and [each.bounding_box()["height"] for each in left.all()] == [0, 0]  # type: ignore[index]

        requests = rich.first.locator("details")
        assert requests.count() == 9
        first, last = requests.first.locator("table"), requests.last.locator("table")
        assert not first.is_visible() and last.is_visible()
        requests.first.locator("summary").focus()
        notebook.page.keyboard.press("Enter")
        assert first.is_visible()

        passed = notebook.page.locator(f"{OUTPUT}[data-mime-type='text/markdown']")
        assert "PASSED ask: 3 of 3 points" in passed.inner_text()
        passed.locator("summary").click()
        assert passed.locator("details pre").is_visible()
    assert learner.elsewhere == []


# -- a static page -------------------------------------------------------------------------------------


@contextmanager
def static(browser: Any, folder: Path, notebook: Any, width: int = 1280, theme: str = "light") -> Iterator[Any]:
    """A notebook as nbconvert makes a page of it, opened without a network; `page.asked` is what it asked for."""
    from nbconvert import HTMLExporter

    file = folder / "page.html"
    file.write_text(HTMLExporter(theme=theme).from_notebook_node(notebook)[0], encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    asked: list[str] = []

    def answer(route: Any) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    page.route("**/*", answer)
    page.asked = asked
    page.goto(file.as_uri())
    try:
        yield page
    finally:
        page.close()


def test_a_static_page_asks_for_nothing_but_nbconverts_own(browser: Any, tmp_path: Path, shown: Any) -> None:
    with static(browser, tmp_path, nbformat.v4.new_notebook()) as page:
        nbconverts = set(page.asked)  # MathJax and require.js
    files = sorted(course.folder("solutions").glob("*.ipynb"))
    assert len(files) == 8
    for notebook in [shown, *map(notebooks.read, files)]:
        with static(browser, tmp_path, notebook) as page:
            assert set(page.asked) <= nbconverts


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_static_page_can_be_read_in_light_and_in_dark(
    browser: Any, tmp_path: Path, shown: Any, theme: str, serious_faults: Callable[[Any, str], list[str]]
) -> None:
    with static(browser, tmp_path, shown, theme=theme) as page:
        assert page.locator(f"{OUTPUT} table").evaluate_all(TABLES) == tables(shown)
        serious = serious_faults(page, OUTPUT)
        assert serious == [], json.dumps(serious, indent=2)
        # axe does not look into pictures: their words have the colour of the text around them.
        colours = page.locator(f"{OUTPUT} svg").evaluate_all(
            "all => all.map(each => [getComputedStyle(each).fill, getComputedStyle(each.parentElement).color])"
        )
        assert len(colours) == 4 and all(fill == colour for fill, colour in colours)
        luminance = page.evaluate("getComputedStyle(document.body).color.match(/[0-9.]+/g).map(Number)")
        assert (sum(luminance[:3]) > 3 * 128) == (theme == "dark"), (
            "nbconvert's theme is not the one that was asked for"
        )


@pytest.mark.parametrize("width", [640, 575, 400])
def test_at_twice_the_size_nothing_is_cut_off_and_nothing_overlaps(
    browser: Any, tmp_path: Path, shown: Any, width: int
) -> None:
    """A page at 200 % is as wide as one with half of the pixels."""
    with static(browser, tmp_path, shown, width) as page:
        page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "the whole page scrolls sideways"
        cut = page.locator(OUTPUT).evaluate_all(
            "all => all.filter(o => o.scrollWidth > o.clientWidth"
            " && !['auto', 'scroll'].includes(getComputedStyle(o).overflowX)).map(o => o.innerText)"
        )
        assert cut == []
        parts = page.locator(f"{OUTPUT}, {OUTPUT} *:not(svg, svg *)")
        overlapping = parts.evaluate_all("""all => all.flatMap(parent => {
            const boxes = [...parent.children].map(each => each.getBoundingClientRect()).filter(box => box.height);
            return boxes.slice(1).filter((box, i) => box.top < boxes[i].bottom - 1 && box.left < boxes[i].right - 1)
                .map(box => parent.outerHTML.slice(0, 200));
        })""")
        assert overlapping == []
        sizes = page.locator(f"{OUTPUT} svg text").evaluate_all(
            "all => all.map(each => 12 * each.closest('svg').getBoundingClientRect().width"
            " / each.closest('svg').viewBox.baseVal.width)"
        )
        assert sizes and min(sizes) > 8, "words in a picture, in pixels of which the reader sees two for each"
        bars = page.locator(f"{OUTPUT} td svg").all()
        assert [round(bar.bounding_box()["height"]) for bar in bars] == [14, 14]
        assert all(bar.bounding_box()["width"] >= 120 for bar in bars)
