"""Before a live mode starts: key, endpoint and model are looked at, and each problem is one clear line."""

from __future__ import annotations

import os
import socket
from types import SimpleNamespace

import pytest

import memory_tutor
from fake_endpoint import Endpoint
from memory_tutor import live, replay


@pytest.fixture
def lesson(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("memory_tutor.course.lesson_names", lambda: ["01_stateless_calls"])
    return "01_stateless_calls"


@pytest.mark.parametrize("mode", ["live", "record"])
def test_without_a_key_a_live_mode_refuses_before_the_first_call(lesson: str, mode: str) -> None:
    with pytest.raises(live.LiveError, match="OPENAI_API_KEY is not set: nothing was sent"):
        memory_tutor.start(lesson, mode=mode)
    tape = replay.current()
    assert tape is not None and tape.blocked


def test_this_machine_needs_no_key(
    lesson: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_MODEL", "fake-1")
        memory_tutor.start(lesson, mode="live")
    assert capsys.readouterr().out == f"Every request is sent to {endpoint.url}.\n"


def test_a_wrong_key_is_one_line(lesson: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Endpoint(key="right") as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "wrong")
        with pytest.raises(live.LiveError, match=r"does not accept the key in OPENAI_API_KEY \(401\)") as caught:
            memory_tutor.start(lesson, mode="live")
    assert "wrong" not in caught.value.message and len(caught.value.message.splitlines()) == 1


@pytest.mark.parametrize("key", ["sk-secret\n", " sk-secret", "\u201csk-secret\u201d", "sk-se\x00cret"])
def test_a_key_with_odd_characters_is_one_line_that_does_not_show_it(
    lesson: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setattr("os.environ", {**os.environ, "OPENAI_API_KEY": key})
        with pytest.raises(live.LiveError, match="Set the key again") as caught:
            memory_tutor.start(lesson, mode="live")
        assert not endpoint.requests
    assert "secret" not in caught.value.message and len(caught.value.message.splitlines()) == 1


def test_an_address_that_is_none_needs_a_key_first(lesson: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://[::1/v1")
    with pytest.raises(live.LiveError, match="OPENAI_API_KEY is not set"):
        memory_tutor.start(lesson, mode="live")


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/v1", "nonsense", "ftp://127.0.0.1:{port}", "http://[::1/v1"])
def test_a_wrong_base_url_is_one_line(lesson: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]  # free again, and nobody listens, when the block ends
    monkeypatch.setenv("OPENAI_BASE_URL", url.format(port=port))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(live.LiveError, match=r"Nothing answers at .* Check OPENAI_BASE_URL") as caught:
        memory_tutor.start(lesson, mode="live")
    assert len(caught.value.message.splitlines()) == 1


def test_an_endpoint_without_a_list_of_models_is_fine(lesson: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setattr("fake_endpoint._Handler.do_GET", lambda self: self._refuse(404, "no"))
        assert live.check_endpoint("live", "any") == []


MODELS = [SimpleNamespace(id=f"model-{number}", shutdown_date=None) for number in range(30)] + [
    SimpleNamespace(id="gpt-4o", shutdown_date="2027-01-14"),
    SimpleNamespace(id="gpt-6-luna", shutdown_date=None),
]


def test_an_unknown_model_gets_one_line_with_names() -> None:
    (line,) = live.model_lines("gpt-6-lunar", MODELS)
    assert "does not list a model 'gpt-6-lunar'" in line and "gpt-6-luna" in line and "more" in line
    (line,) = live.model_lines("zzz", MODELS)
    assert "model-0" in line and "gpt-4o," not in line


def test_a_model_with_a_date_of_its_end_gets_one_line() -> None:
    (line,) = live.model_lines("gpt-4o", MODELS)
    assert "shut down on 2027-01-14" in line and "gpt-6-luna" in line


def test_a_known_model_and_a_list_without_models_get_none() -> None:
    assert live.model_lines("gpt-6-luna", MODELS) == [] == live.model_lines("any", [])


def test_the_list_of_models_is_asked_outside_the_recording(
    lesson: str, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:  # type: ignore[no-untyped-def]
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("MEMORY_TUTOR_RECORD_TO", str(tmp_path))
        memory_tutor.start(lesson, mode="record")
    assert [path for path, _ in endpoint.requests] == ["/gateway/v1/models"]
    assert len(replay.current().transcript) == 0  # type: ignore[union-attr]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("http://localhost:11434/v1", True),
        ("http://[::1]:1234/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://127.0.0.1.example.com/v1", False),
        ("http://localhost.example.com/v1", False),
        ("http://10.0.0.1/v1", False),
        ("", False),
        ("127.0.0.1:8080", False),
    ],
)
def test_loopback(url: str, loopback: bool) -> None:
    assert live.is_loopback(url) is loopback
