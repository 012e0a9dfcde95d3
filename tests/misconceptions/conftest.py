"""The processes that serve the answers end with the module that has used them."""

from __future__ import annotations

from collections.abc import Iterator

import harness
import pytest


@pytest.fixture(autouse=True, scope="module")
def _end_processes() -> Iterator[None]:
    yield
    harness.close_pipes()
