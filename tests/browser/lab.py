"""A learner's JupyterLab in a real browser: `memory-tutor start` and Debian's chromium, driven by Playwright."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

#: The command of this Python's memory-tutor.
COMMAND = [sys.executable, "-m", "memory_tutor"]
#: Seconds that JupyterLab, a notebook or a cell may take; a busy machine takes its time.
PATIENCE = 60
MILLISECONDS = PATIENCE * 1000
#: A laptop's screen, and one that is high enough for a whole lesson: JupyterLab leaves out of the page what is not in
#: sight. It runs all cells on the first alone.
SCREEN, WHOLE = {"width": 1280, "height": 1000}, {"width": 1280, "height": 14_000}
#: What a browser would otherwise ask the network for, and what a container does not have.
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
OPTIONS += ["--disable-sync", "--no-first-run"]


def program() -> str | None:
    """The browser of this system."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def run(*arguments: str | Path) -> str:
    """What a command of memory-tutor prints."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout


@contextmanager
def started(folder: Path) -> Iterator[str]:
    """JupyterLab as `memory-tutor start` starts it; gives its address with the token."""
    command = [*COMMAND, "start", "--no-browser", str(folder)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "MEMORY_"))}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+/\S+token=\w+", line):
                yield found[0]
                break
        else:
            raise RuntimeError(f"JupyterLab did not start: {''.join(said)}")
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@contextmanager
def running(program: str) -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(folder: Path, browser: Browser) -> Iterator[Lab]:
    """A learner who begins the course in a folder."""
    with started(folder) as address:
        yield Lab(folder, address, browser)


@dataclass
class Lab:
    """One learner's folder, JupyterLab and browser.

    Args:
        elsewhere: addresses beyond this machine that a page has asked for.
    """

    folder: Path
    address: str
    browser: Browser
    elsewhere: list[str] = field(default_factory=list)

    @contextmanager
    def notebook(self, name: str) -> Iterator[Notebook]:
        """A lesson in a page of its own, without the tabs of the others."""
        page = self.browser.new_page(viewport=SCREEN)
        page.set_default_timeout(MILLISECONDS)
        page.on("request", lambda request: self._note(request.url))
        parts = urlsplit(self.address)
        page.goto(f"{parts.scheme}://{parts.netloc}/lab/workspaces/{name}/tree/{name}.ipynb?{parts.query}")
        try:
            yield Notebook(page)
        finally:
            page.close()

    def picture(self, document: Path, file: Path) -> None:
        """Keep a picture of the top of an HTML file.

        Args:
            file: the PNG to write.
        """
        page = self.browser.new_page(viewport=SCREEN)
        page.goto(document.as_uri())
        page.screenshot(path=file)
        page.close()

    def _note(self, url: str) -> None:
        if urlsplit(url).scheme in ("http", "https", "ws", "wss") and urlsplit(url).hostname != "127.0.0.1":
            self.elsewhere.append(url)


@dataclass
class Notebook:
    """A notebook that is open in a page."""

    page: Page

    def __post_init__(self) -> None:
        self.ready()

    def reload(self) -> None:
        self.page.set_viewport_size(SCREEN)
        self.page.reload()
        self.ready()

    def ready(self) -> None:
        """Wait until its kernel waits for work."""
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell", state="attached")
        self._idle()

    def _idle(self) -> None:
        # The status bar knows of a kernel only when it answers; the toolbar says "idle" before.
        expect(self.page.get_by_text("| Idle")).to_be_visible(timeout=MILLISECONDS)

    def menu(self, *names: str) -> None:
        for name in names:
            self.page.get_by_role("menuitem", name=name, exact=True).click()

    def run_all(self) -> None:
        """Run all cells, wait for the last of them, and show all."""
        self.page.set_viewport_size(SCREEN)
        prompts = self.page.locator(".jp-CodeCell .jp-InputPrompt")
        before = prompts.first.inner_text()
        until = time.monotonic() + PATIENCE
        while prompts.first.inner_text() == before:  # a click on a menu that is still being made does nothing
            assert time.monotonic() < until, "Run All Cells does nothing"
            self.menu("Run", "Run All Cells")
            time.sleep(2)
        self._idle()
        self.show_all()

    def show_all(self) -> None:
        self.page.set_viewport_size(WHOLE)
        self.page.locator(".jp-WindowedPanel-outer").first.evaluate("panel => { panel.scrollTop = 0 }")
        expect(self.page.locator(".jp-Cell h1").first).to_be_in_viewport(timeout=MILLISECONDS)

    def restart(self) -> None:
        """Restart the kernel, as the keys 0 0 do."""
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("0")
        self.page.keyboard.press("0")
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        time.sleep(2)  # the status bar tells of the old kernel for a moment
        self._idle()

    def cell(self, code: str) -> Locator:
        """The code cell that holds a piece of code."""
        return self.page.locator(".jp-CodeCell").filter(has=self.page.locator(".cm-content", has_text=code)).first

    def write(self, code: str, new: str) -> None:
        """Replace the text of the cell that holds a piece of code, and run it."""
        self.cell(code).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(new)
        self.page.keyboard.press("Shift+Enter")
        self._idle()

    def run(self, code: str) -> str:
        """Run the cell that holds a piece of code; what it then shows."""
        cell = self.cell(code)
        cell.locator(".cm-content").click()
        before = cell.locator(".jp-InputPrompt").inner_text()
        self.page.keyboard.press("Shift+Enter")
        expect(cell.locator(".jp-InputPrompt")).not_to_have_text(before, timeout=MILLISECONDS)
        self._idle()
        return cell.locator(".jp-OutputArea").first.inner_text()

    def picture(self, file: Path, *codes: str) -> None:
        """Keep a picture of the cells that hold these pieces of code, and of all that is between them.

        Args:
            file: the PNG to write.
        """
        self.page.mouse.move(0, 0)  # or JupyterLab shows its buttons on a cell
        boxes = [box for box in (self.cell(code).bounding_box() for code in codes) if box is not None]
        assert len(boxes) == len(codes), "a cell is not in the page"
        top, left = (min(box[side] for box in boxes) for side in ("y", "x"))
        bottom, right = max(box["y"] + box["height"] for box in boxes), max(box["x"] + box["width"] for box in boxes)
        clip = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        self.page.screenshot(path=file, clip=clip)

    def save(self) -> None:
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Control+s")
        expect(self.page.locator(".jp-mod-dirty")).to_have_count(0, timeout=MILLISECONDS)
