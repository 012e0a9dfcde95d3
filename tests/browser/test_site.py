"""The course as a site, in a real browser: its lessons run to the end, and nobody else is asked for anything."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memory_tutor import course, notebooks
from memory_tutor.grading import batch
from memory_tutor.grading.batch import Options

if TYPE_CHECKING:
    from tab import Site

#: What stands before the recorded output of a cell that a browser cannot run.
STAND_IN = re.compile(
    r"A browser (cannot|could not|has no) [^.:\n]+\.( Where the course was recorded, this cell showed:)?\n"
)


@pytest.fixture(scope="session")
def pyodide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pyodide's npm package, fetched once."""
    pytest.importorskip("jupyterlite_core", reason="JupyterLite is not installed: pip install 'memory-tutor[site]'")
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed (on Debian: apt-get install npm)")
    from memory_tutor.site import pyodide

    return pyodide.fetch(tmp_path_factory.mktemp("npm") / "pyodide")


@pytest.fixture(scope="session")
def built(pyodide: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a site."""
    from memory_tutor import site

    return site.build(tmp_path_factory.mktemp("site") / "built", pyodide).folder


@pytest.fixture(scope="session")
def site(browser: Any, built: Path) -> Iterator[Site]:
    """A site that is served, and asked nobody else for anything in the end."""
    import tab

    with tab.served(built) as address:
        yield tab.Site(address, browser)


def test_built_again_it_is_the_same_bytes(pyodide: Path, built: Path, tmp_path: Path) -> None:
    from memory_tutor import site

    again = site.build(tmp_path / "again", pyodide).folder
    files = {file.relative_to(built) for file in built.rglob("*") if file.is_file()}
    assert [each.name for each in (built / "extensions").glob("*/*")] == ["pyodide-kernel-extension"]
    assert files == {file.relative_to(again) for file in again.rglob("*") if file.is_file()}
    assert [file for file in files if (built / file).read_bytes() != (again / file).read_bytes()] == []


def test_a_reader_goes_from_the_syllabus_through_lesson_1(
    site: Site, album: Path, serious_faults: Callable[[Any, str], list[str]]
) -> None:
    import tab

    with site.opened() as page:
        assert serious_faults(page, "main") == []
        page.screenshot(path=album / "site.png", clip={"x": 0, "y": 0, "width": 1280, "height": 800})
        page.get_by_role("link", name="1 Stateless calls").click()
        notebook = tab.Notebook(page)
        assert page.locator(".jp-Dialog").count() == 0, "a dialog stands in the way"
        notebook.run_all()
        page.screenshot(path=album / "site-lesson-1.png")
        notebook.shows("memory_tutor.start", "Nothing is sent; no key is used.")
        notebook.shows("first = client", "first:  Hello, Ada!")
        notebook.shows("tutor.transcript[-2:]", "Request 2:")
        # The last check is reached, although those above it have failed.
        notebook.shows('tutor.check("count_context")', "NOT ATTEMPTED count_context")
        assert "Traceback" not in page.locator(".jp-Notebook").inner_text()
    assert site.hosts == {site.address.removeprefix("http://")}
    # The notebook also asks the site for folders that are in the browser's storage alone.
    assert [url for url in site.missing if "/api/contents/" not in url] == []


STUB = "def ask("
WRONG = "def ask(text: str) -> str:\n    return client.chat.completions.create(model=model, messages=[])"
RIGHT = '''def ask(text: str) -> str:
    messages = [{"role": "user", "content": text}]
    response = client.chat.completions.create(model=model, messages=messages)
    return response.choices[0].message.content or ""'''


def test_work_is_kept_through_a_reload_marked_after_a_download_and_begun_afresh(site: Site, tmp_path: Path) -> None:
    import tab

    lesson, check = "01_stateless_calls", 'tutor.check("ask")'
    with site.opened(f"notebooks/index.html?path={lesson}.ipynb") as page:
        notebook = tab.Notebook(page)
        notebook.run("memory_tutor.start")
        assert "You chose (a)" in notebook.run("tutor.predict", 'tutor.predict("second_call", choice="a")')
        notebook.run(STUB, WRONG)
        assert "NOT YET ask:" in notebook.run(check)
        assert "Hint 1 of 3" in notebook.run("tutor.reveal", 'tutor.hint("ask")')
        notebook.run(STUB, RIGHT)
        assert "PASSED ask: 3 of 3 points" in notebook.run(check)
        notebook.save()
        notebook.reload()
        notebook.run("memory_tutor.start")
        assert "return response.choices[0]" in notebook.cell(STUB).inner_text()
        told = notebook.run("tutor.hint", "tutor.progress")
        assert "3 of 100 points" in told and "0 right, 1 wrong, of 3" in told
        assert "progress.html" in notebook.run("tutor.progress", "tutor.progress.page()")
        file = notebook.download(tmp_path)
        notebook.save()
        page.goto(site.address)
        page.get_by_role("link", name="Your files").click()
        page.get_by_text("progress.html").wait_for()
        row = page.locator(".jp-DirListing-item", has_text=lesson)
        row.click()
        page.get_by_role("button", name="Delete", exact=True).click()
        page.locator(".jp-Dialog .jp-mod-accept").click()
        row.get_by_text("years ago").wait_for()
        page.goto(f"{site.address}/notebooks/index.html?path={lesson}.ipynb")
        afresh = tab.Notebook(page).cell(STUB)
        afresh.wait_for()
        assert "raise NotImplementedError" in afresh.inner_text()
    (mark,) = batch.grade(file.parent, tmp_path / "graded", Options(lesson=lesson)).marks
    assert {result.exercise: result.points for result in mark.results}["ask"] == 3
    assert site.hosts == {site.address.removeprefix("http://")}


def test_a_live_endpoint_is_typed_into_the_page_and_its_key_is_kept_nowhere(site: Site, tmp_path: Path) -> None:
    import tab

    lesson = "01_stateless_calls"
    live = f'tutor = memory_tutor.start("{lesson}", mode="live")'
    ask = 'client.chat.completions.create(model=model, messages=[{"role": "user", "content": "Hi"}])'
    code = f"{live}\nfrom openai import OpenAI\nclient, model = OpenAI(), tutor.model\n{ask}.choices[0].message.content"
    asking = tab.Site(site.address, site.browser)  # whose pages ask another host
    with asking.opened(f"notebooks/index.html?path={lesson}.ipynb") as page, tab.endpoint() as address:
        notebook = tab.Notebook(page)
        nobody = notebook.run(
            "memory_tutor.start", f"import memory_tutor\n{live}", ["http://127.0.0.1:9/v1", "", "tiny"]
        )
        assert "http://127.0.0.1:9/v1 does not answer, or does not let this page ask it (CORS): " in nobody
        assert "Traceback" not in nobody and "Warning" not in nobody
        assert "'tiny, asked with Bearer sesame'" in notebook.run(live, code, [address, "sesame", "tiny"])
        notebook.save()
        saved = notebook.download(tmp_path).read_text(encoding="utf-8")
        assert address in saved and saved.count("sesame") == 1, "the reply of the endpoint alone names the key"
        notebook.reload()
        notebook.run(live, f"import memory_tutor\n{live}", ["http://127.0.0.1:9/v1", "", ""])


#: How many cells of each lesson a browser cannot run.
STOOD_IN = {name: {"06_persistence": 6, "07_frameworks": 34}.get(name, 0) for name in course.lesson_names()}


@pytest.mark.parametrize("lesson", STOOD_IN)
def test_a_solved_lesson_shows_what_is_stored_of_it(site: Site, lesson: str) -> None:
    """Cell by cell; what a browser cannot do is said in a line, above what is stored."""
    import tab

    stood_in = []
    with site.kernel() as kernel:
        for cell in notebooks.read(course.path("solutions", lesson)).cells:
            if cell.cell_type != "code":
                continue
            came, want = kernel.run(cell.source), tab.stored(cell)
            if came != want and came and (told := STAND_IN.match(came[0][1])):
                stood_in.append(cell.id)
                came = [(came[0][0], came[0][1][told.end() :]), *came[1:]]
                came = [each for each in came if each[1]]
            if cell.id == "same-window-check":  # nor is a right answer marked where LangChain is not
                assert "no browser can run" in came[0][1]
                continue
            assert came == want, cell.id
    assert len(stood_in) == STOOD_IN[lesson], stood_in
    assert site.hosts == {site.address.removeprefix("http://")}
