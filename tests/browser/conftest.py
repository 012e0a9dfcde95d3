"""One JupyterLab and one browser for the tests of a module, and a folder for the pictures that they take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import lab


@pytest.fixture(scope="module")
def learner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    """A learner who begins the course in a folder of their own."""
    import lab

    program = lab.program()
    assert program is not None
    with lab.opened(tmp_path_factory.mktemp("learner") / "my-lessons", program) as opened:
        yield opened


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Where pictures go: nowhere that lasts, unless `pictures.py` says where."""
    return Path(os.environ.get("MEMORY_TUTOR_PICTURES", tmp_path))
