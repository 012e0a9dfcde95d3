"""The site in a real browser: served from loopback, opened in a tab; its kernel with and without the notebook."""

from __future__ import annotations

import gzip
import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lab import MILLISECONDS, WHOLE
from playwright.sync_api import Browser, Locator, Page, expect

from memory_tutor.site.jupyterlite import PRELOADED, RUNTIME

#: Milliseconds that Python and its packages may take to start in a tab, and all cells of a lesson to run.
STARTING = 4 * MILLISECONDS
#: What GitHub Pages compresses, of what a site holds.
COMPRESSED = {".css", ".html", ".ipynb", ".js", ".json", ".mjs", ".svg", ".wasm"}
_ANY, _NUMBER = re.compile(r"\S"), re.compile(r"^\[\d+\]:$")
#: The kernel of the site without the notebook: gives a function that runs a cell and tells what it showed.
KERNEL = """
import json
import pyodide_kernel as made

shown = []
made.kernel_instance._parent_header = {"metadata": {}}
for stream in (made.stdout_stream, made.stderr_stream):
    stream.publish_stream_callback = lambda name, text: shown.append({"name": name, "text": text})
show = lambda data, *_: shown.append({"text": dict(data)["text/plain"]})
made.ipython_shell.display_pub.display_data_callback = show
made.ipython_shell.display_pub.clear_output_callback = lambda wait: shown.clear()
made.ipython_shell.displayhook.publish_execution_result = lambda number, *rest: show(*rest)

async def run(cell):
    shown.clear()
    came = await made.kernel_instance.run(cell)
    told = list(came["traceback"]) if came["status"] == "error" else []
    return json.dumps([*shown, *({"name": "error", "text": line} for line in told)])
run
"""


class _Quiet(SimpleHTTPRequestHandler):
    """Sends files as the hosts of static sites do: texts and programs are compressed, what is compressed is not."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        file = Path(self.translate_path(self.path))
        if file.suffix not in COMPRESSED or not file.is_file():
            super().do_GET()
            return
        data = _compressed(file)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(file)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def copyfile(self, source: Any, outputfile: Any) -> None:
        with suppress(ConnectionError):  # the page was closed meanwhile
            super().copyfile(source, outputfile)


@cache
def _compressed(file: Path) -> bytes:
    return gzip.compress(file.read_bytes(), 6)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of static files, on this machine alone."""
    with _running(partial(_Quiet, directory=str(folder))) as address:
        yield address


@contextmanager
def _running(handler: Any) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Endpoint(BaseHTTPRequestHandler):
    """An endpoint that lets every page ask it: one model, one answer, which says whose key it got."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_OPTIONS(self) -> None:
        self._send({})

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "tiny", "object": "model", "created": 0, "owned_by": "me"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = f"{asked['model']}, asked with {self.headers['authorization']}"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        self._send({"id": "1", "object": "chat.completion", "created": 1, "model": "tiny", "choices": [choice]})

    def _send(self, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "*, authorization")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def endpoint() -> Iterator[str]:
    """The address of an endpoint on this machine that pages may ask."""
    with _running(_Endpoint) as address:
        yield f"{address}/v1"


@dataclass
class Site:
    """A site that is served, and all that its pages ask for.

    Args:
        asked: addresses that pages have asked for, workers included.
        missing: those of them that the site does not have.
    """

    address: str
    browser: Browser
    asked: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def hosts(self) -> set[str]:
        """Hosts that pages have asked for something."""
        return {urlsplit(url).netloc for url in self.asked if urlsplit(url).scheme in ("http", "https", "ws", "wss")}

    @contextmanager
    def opened(self, path: str = "index.html") -> Iterator[Page]:
        """A page of the site in a browser that has never seen it."""
        context = self.browser.new_context(viewport=WHOLE)
        context.set_default_timeout(MILLISECONDS)
        context.on("request", lambda request: self.asked.append(request.url))
        context.on("response", lambda came: came.status >= 400 and self.missing.append(came.url))
        page = context.new_page()
        page.goto(f"{self.address}/{path}")
        try:
            yield page
        finally:
            context.close()

    @contextmanager
    def kernel(self) -> Iterator[Kernel]:
        """The site's Python without a notebook around it."""
        with self.opened() as page:
            page.evaluate(
                """async ([folder, packages, code]) => {
                    const { loadPyodide } = await import(`/${folder}/pyodide.mjs`);
                    const python = await loadPyodide({ indexURL: `/${folder}/`, packages });
                    window.run = await python.runPythonAsync(code);
                }""",
                [RUNTIME, PRELOADED, KERNEL],
            )
            yield Kernel(page)


@dataclass
class Kernel:
    """Runs cells in a tab."""

    page: Page

    def run(self, cell: str) -> list[tuple[str, str]]:
        """What a cell shows: (name of the stream, "error" or "", text), neighbours of one stream as one."""
        came = json.loads(self.page.evaluate("cell => window.run(cell)", cell))
        return joined((each.get("name", ""), each["text"]) for each in came)


def joined(outputs: Any) -> list[tuple[str, str]]:
    """Outputs of which neighbours in one stream are one, as they are in a notebook's file."""
    whole: list[tuple[str, str]] = []
    for name, text in outputs:
        if name and whole and whole[-1][0] == name:
            whole[-1] = (name, whole[-1][1] + text)
        else:
            whole.append((name, text))
    return whole


def stored(cell: Any) -> list[tuple[str, str]]:
    """The outputs of a cell in a notebook's file, as `Kernel.run` gives them."""
    outputs = cell.outputs
    return joined((each.name, each.text) if "name" in each else ("", each.data["text/plain"]) for each in outputs)


class Notebook:
    """A lesson that is open in the site's notebook."""

    def __init__(self, page: Page) -> None:
        self.page = page
        expect(page.locator(".jp-Notebook .jp-CodeCell").first).to_be_visible(timeout=MILLISECONDS)

    def run_all(self) -> None:
        """Run all cells, to the last one."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        # While a cell waits or runs, its number is a star; one that was never asked for has none.
        for cell in self.cells.all():
            expect(cell.locator(".jp-InputArea-prompt")).to_have_text(_NUMBER, timeout=STARTING)

    @property
    def cells(self) -> Locator:
        """Its code cells, but for an empty one at the end."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").filter(has=self.page.locator(".cm-line", has_text=_ANY))

    def cell(self, code: str) -> Locator:
        """The first code cell that holds this text."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").filter(has_text=code).first

    def run(self, code: str, new: str = "", typed: Sequence[str] = ()) -> str:
        """Run the first cell that holds this text; what it then shows.

        Args:
            new: its text from now on; "" for the one that it has.
            typed: lines that it asks for.
        """
        expect(self.cell(code)).to_be_visible()
        cells = self.page.locator(".jp-Notebook .jp-CodeCell")
        texts = [cell.locator(".cm-content").inner_text() for cell in cells.all()]
        cell = cells.nth(next(place for place, text in enumerate(texts) if code in text))
        prompt = cell.locator(".jp-InputArea-prompt")
        before = prompt.inner_text()
        cell.locator(".cm-content").click()
        if new:
            self.page.keyboard.press("ControlOrMeta+a")
            self.page.keyboard.insert_text(new)
        self.page.keyboard.press("Shift+Enter")
        for text in typed:
            field = self.page.wait_for_selector("input.jp-Stdin-input")
            field.fill(text)
            field.press("Enter")
            field.wait_for_element_state("hidden")  # or the next line would go there as well
        expect(prompt).not_to_have_text(before)
        expect(prompt).to_have_text(_NUMBER, timeout=STARTING)
        return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts())

    def save(self) -> None:
        """Keep the notebook in the browser's storage."""
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("ControlOrMeta+s")
        expect(self.page.locator(".jp-NotebookCheckpoint")).to_have_text("Last Checkpoint: now")

    def reload(self) -> None:
        self.page.reload()
        expect(self.page.locator(".jp-Notebook .jp-CodeCell").first).to_be_visible()

    def download(self, folder: Path) -> Path:
        """Take the notebook out of the browser, as its menu does; the file."""
        with self.page.expect_download() as told:
            self.page.get_by_role("menuitem", name="File", exact=True).click()
            self.page.get_by_role("menuitem", name="Download", exact=True).click()
        file = folder / told.value.suggested_filename
        told.value.save_as(file)
        return file

    def shows(self, code: str, text: str) -> None:
        """Wait until the output of a cell holds a text: the cell's number may stand there before."""
        expect(self.cell(code).locator(".jp-OutputArea").first).to_contain_text(text)
