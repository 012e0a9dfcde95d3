"""One browser and one JupyterLab for all tests of a process, without which they are skipped; and where pictures go."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import lab

WANTED = "Playwright and axe-core are not installed: pip install playwright axe-playwright-python"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's chromium, or another."""
    pytest.importorskip("playwright", reason=WANTED)
    import lab

    if (program := lab.program()) is None:
        pytest.skip("no browser is installed (on Debian: apt-get install chromium)")
    with lab.running(program) as started:
        yield started


@pytest.fixture(scope="session")
def learner(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    """A learner who has begun the course and has JupyterLab open."""
    import lab

    with lab.opened(tmp_path_factory.mktemp("learner") / "my-lessons", browser) as opened:
        yield opened


@pytest.fixture(scope="session")
def serious_faults() -> Callable[[Any, str], list[str]]:
    """Ask axe-core for the serious faults of what a selector finds in a page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=WANTED)

    def ask(page: Any, selector: str) -> list[str]:
        found = axe.Axe().run(
            page,
            context={"include": [[selector]]},
            options={"resultTypes": ["violations"], "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]},
        )
        return [
            f"{each['id']}: {node['html'][:200]}"
            for each in found.response["violations"]
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]

    return ask


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Where pictures go: nowhere that lasts, unless `pictures.py` says where."""
    return Path(os.environ.get("MEMORY_TUTOR_PICTURES", tmp_path))
