"""Makes the tests of each module of answers; the processes that serve the answers end with their module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("answers", "harness")

import harness  # noqa: E402


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module
    for argument, values in harness.cases(module.RIGHT, module.WRONG).items():
        if argument in metafunc.fixturenames:
            metafunc.parametrize(argument, values)


@pytest.fixture(autouse=True, scope="module")
def _end_processes() -> Iterator[None]:
    yield
    harness.close_pipes()
