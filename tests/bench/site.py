"""What a reader waits for on the site: from opening lesson 1 to its first reply. Run: python tests/bench/site.py

Prints Markdown tables: seconds and bytes in a browser that has never seen the site, and what it fetched, the largest
first. The site is served from this machine, compressed as GitHub Pages does it.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Response

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "browser"))
import lab
import tab

from memory_tutor import site as sites

MB = 1_000_000
#: The cell of lesson 1 with its first requests, and what it prints.
FIRST, REPLY = "first = client", "first:  Hello, Ada!"


class Visit:
    """The way of a new reader from an address to the first reply."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.fetched: Counter[str] = Counter()
        context.on("response", self._count)
        page = context.new_page()
        begun = time.perf_counter()
        page.goto(f"{address}/notebooks/index.html?path=01_stateless_calls.ipynb")
        notebook = tab.Notebook(page)
        self.shown = time.perf_counter() - begun
        notebook.run("memory_tutor.start")
        assert REPLY in notebook.run(FIRST)
        self.replied = time.perf_counter() - begun

    def _count(self, response: Response) -> None:
        if not response.from_service_worker and response.status == 200:
            size = int(response.headers.get("content-length", 0))
            self.fetched[urlsplit(response.url).path] += size

    @property
    def size(self) -> int:
        return sum(self.fetched.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyodide", type=Path, help="folder of Pyodide's npm package; fetched by default")
    parser.add_argument("--most", type=int, default=12, help="files to name (%(default)s)")
    options = parser.parse_args()
    if (program := lab.program()) is None:
        sys.exit("No browser is installed (on Debian: apt-get install chromium).")
    with tempfile.TemporaryDirectory() as scratch, lab.running(program) as browser:
        built = sites.build(Path(scratch) / "site", options.pyodide)
        with tab.served(built.folder) as address:
            _tell(browser, address, options.most, built.size)


def _tell(browser: Browser, address: str, most: int, size: int) -> None:
    visit = Visit(browser.new_context(viewport=lab.WHOLE), address)
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}; load {_load()}")
    print(f"{len(visit.fetched)} files of {visit.size / MB:.1f} MB fetched; the site has {size / MB:.1f} MB")
    print(f"notebook shown after {visit.shown:.1f} s, first reply after {visit.replied:.1f} s")
    print("\n| fetched | MB |\n| :-- | --: |")
    for path, bytes_ in visit.fetched.most_common(most):
        print(f"| {path.rpartition('/')[2]} | {bytes_ / MB:.2f} |")
    print(f"| {len(visit.fetched) - most} others | {sum(n for _, n in visit.fetched.most_common()[most:]) / MB:.2f} |")


def _load() -> str:
    """How busy this machine is."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


if __name__ == "__main__":
    main()
