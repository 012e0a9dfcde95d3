"""Every test starts with no tape open and none of the settings that a developer's shell may hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory_tutor.grading.sandbox import Sandbox, SandboxMissing, open_sandbox

SETTINGS = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "OPENAI_ORG_ID",
    "MEMORY_TUTOR_MODE",
    "MEMORY_TUTOR_RECORD_TO",
    "MEMORY_TUTOR_CASSETTES",
    "MEMORY_TUTOR_AUDIT",
    "MEMORY_TUTOR_LEARNER",
)


@pytest.fixture(autouse=True)
def clean_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in SETTINGS:
        # Set first, so that what the test sets itself is undone as well.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    yield
    from memory_tutor import replay

    replay.close()


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """The sandbox for notebooks of others: to start one takes a second."""
    try:
        with open_sandbox(require=True) as opened:
            yield opened
    except SandboxMissing as missing:
        pytest.skip(missing.message.splitlines()[0])
