"""Every test here runs on every engine, each with a tenant of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import places
import pytest

from memory_tutor import stores
from memory_tutor.stores import Store


@pytest.fixture(scope="session")
def servers_of_this_run() -> Iterator[Callable[[str], places.Place]]:
    """Each server is started once, when it is needed first, and ended with the tests."""
    started: dict[str, places.Place] = {}
    with ExitStack() as stack:

        def get(engine: str) -> places.Place:
            if engine not in started:
                started[engine] = stack.enter_context(places.opened(engine, Path()))
            return started[engine]

        yield get


@pytest.fixture(params=places.ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(engine: str, tmp_path: Path, servers_of_this_run: Callable[[str], places.Place]) -> places.Place:
    return places.Files(engine, tmp_path) if engine in ("json", "sqlite") else servers_of_this_run(engine)


@pytest.fixture
def tenant() -> str:
    """No other test's, since the servers are shared."""
    return f"tenant-{secrets.token_hex(8)}"


@pytest.fixture
def conversation(tenant: str) -> tuple[str, str, str]:
    return (tenant, "ada", "s1")


@pytest.fixture
def open_store(place: places.Place, tenant: str) -> Iterator[Callable[..., Store]]:
    """Opens the place's store, as often as is asked, and leaves nothing of the user "ada" there."""
    with ExitStack() as stack:

        def open_(**options: Any) -> Store:
            store = stores.open(place.address, **options)
            stack.callback(store.close)
            return store

        yield open_
        open_().delete_user(tenant, "ada")


@pytest.fixture
def store(open_store: Callable[..., Store]) -> Store:
    return open_store()
