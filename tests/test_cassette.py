"""The cassette file: round trip, scrubbing, matching, and every way in which a file can be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_tutor import cassette
from memory_tutor.cassette import CassetteError, Interaction, Recording, Request, Response

NAME = "01_stateless_calls"


def chat(text: str = "Hello", model: str = "gpt-6-luna", **parameters: Any) -> Request:
    body = {"model": model, "messages": [{"role": "user", "content": text}], **parameters}
    return Request("POST", "/v1/chat/completions", body)


def reply(text: str = "Hi", **more: Any) -> Response:
    body = {"model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}], **more}
    return Response(200, "application/json; charset=utf-8", json.dumps(body))


def saved(folder: Path, *interactions: Interaction) -> Path:
    path = folder / f"{NAME}.yaml"
    cassette.save(path, Recording(interactions, {"model": "m"}))
    return path


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@settings(max_examples=150, deadline=None)
@given(
    sent=st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
                      lambda part: st.lists(part, max_size=3) | st.dictionaries(texts, part, max_size=3), max_leaves=8),
    came=texts,
)  # fmt: skip
def test_what_is_saved_is_what_is_loaded(sent: Any, came: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("cassette")
    request = chat(came, extra=sent)
    path = saved(folder, Interaction(request, reply(came)))
    loaded = cassette.load(path)
    assert loaded.interactions[0].request.body == request.body
    assert json.loads(loaded.interactions[0].response.body)["choices"][0]["message"]["content"] == came
    assert loaded.find(request) == 0


def test_a_stream_round_trips_as_a_literal_block(tmp_path: Path) -> None:
    events = 'data: {"id": "chatcmpl-1", "choices": [{"delta": {"content": "Zoë\\n你好 🦜"}}]}\n\ndata: [DONE]\n\n'
    path = saved(tmp_path, Interaction(chat(stream=True), Response(200, "text/event-stream", events)))
    text = path.read_text(encoding="utf-8")
    assert "string: |" in text and "Zoë" in text and "你好 🦜" in text
    response = cassette.load(path).interactions[0].response
    assert [event["choices"][0]["delta"]["content"] for event in response.events()] == ["Zoë\n你好 🦜"]
    assert response.body.endswith("data: [DONE]\n\n")


def test_saving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    path = saved(tmp_path, Interaction(chat("Grüße"), reply("Hallo\nWelt")))
    first = path.read_bytes()
    cassette.save(path, cassette.load(path))
    assert path.read_bytes() == first
    assert b"\r" not in first


def test_only_content_type_and_lasting_keys_are_kept(tmp_path: Path) -> None:
    response = reply(
        id="chatcmpl-77", created=1796081188, system_fingerprint="fp_9", timings={"ms": 1}, organization="org-1",
        usage={"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4, "cost": 0.1,
               "prompt_tokens_details": {"cached_tokens": 2}},
    )  # fmt: skip
    path = saved(tmp_path, Interaction(chat(), response))
    text = path.read_text(encoding="utf-8")
    for gone in ("chatcmpl", "created", "fp_9", "timings", "org-1", "cost", "cached", "charset"):
        assert gone not in text
    assert "prompt_tokens: 3" in text


def test_an_id_that_a_later_request_sends_back_is_numbered(tmp_path: Path) -> None:
    first = Response(200, "application/json", json.dumps({"id": "resp_abc", "output": [{"id": "msg_zzz"}]}))
    second = Request("POST", "/v1/responses", {"input": "And?", "previous_response_id": "resp_abc"})
    path = saved(
        tmp_path,
        Interaction(Request("POST", "/v1/responses", {"input": "One"}), first),
        Interaction(second, Response(200, "application/json", json.dumps({"id": "resp_def", "output": []}))),
    )
    text = path.read_text(encoding="utf-8")
    assert text.count("resp_1") == 2
    assert not any(gone in text for gone in ("resp_abc", "resp_def", "msg_zzz"))


def test_ids_written_by_hand_in_a_request_stay() -> None:
    calls = [{"role": "assistant", "tool_calls": [{"id": "call_77", "function": {"name": "f"}}]}]
    request = Request("POST", "/v1/chat/completions", {"messages": calls})
    (scrubbed,) = cassette.scrub([Interaction(request, reply())])
    assert scrubbed.request.body == {"messages": calls}


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/chat/completions", "/api/v1/chat/completions", "/openai/v1beta/chat/completions"]
)
def test_any_gateway_prefix_and_any_model_match(path: str) -> None:
    recording = Recording(cassette.scrub([Interaction(chat(), reply())]))
    assert recording.find(Request("POST", path, chat(model="other").body)) == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"temperature": 0}, {"temperature": 0.0}, True),
        ({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2}]}, True),
        ({}, {"stop": None}, False),
        ({"n": 1}, {"n": True}, False),
        ({"n": 1}, {"n": "1"}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    ],
)
def test_requests_are_compared_as_data(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    recording = Recording(cassette.scrub([Interaction(chat(**one), reply())]))
    assert (recording.find(chat(**other)) == 0) is same


def test_other_methods_and_other_addresses_do_not_match() -> None:
    recording = Recording(cassette.scrub([Interaction(chat(), reply())]))
    assert recording.find(Request("GET", "/v1/chat/completions", chat().body)) is None
    assert recording.find(Request("POST", "/v1/completions", chat().body)) is None


def damage(path: Path, how: str) -> None:
    text = path.read_text(encoding="utf-8")
    if how == "cut in half":
        path.write_text(text[: len(text) // 2], encoding="utf-8")
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "not utf-8":
        path.write_bytes(text.encode("utf-16"))
    elif how == "not yaml":
        path.write_text("{[", encoding="utf-8")
    elif how == "a list":
        path.write_text("- 1\n", encoding="utf-8")
    elif how == "one interaction lost":
        path.write_text(text[: text.rindex("  - request:")], encoding="utf-8")
    elif how == "code":
        path.write_text("!!python/object/apply:os.system ['exit 3']\n", encoding="utf-8")


@pytest.mark.parametrize(
    "how", ["cut in half", "empty", "not utf-8", "not yaml", "a list", "one interaction lost", "code"]
)
def test_a_damaged_cassette_is_an_error_that_names_the_file(tmp_path: Path, how: str) -> None:
    path = saved(tmp_path, Interaction(chat("One"), reply()), Interaction(chat("Two"), reply()))
    damage(path, how)
    with pytest.raises(CassetteError) as caught:
        cassette.load(path)
    assert str(path) in caught.value.message and len(caught.value.message.splitlines()) == 2


def test_a_missing_cassette_and_that_of_another_lesson(tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match="is missing"):
        cassette.load(tmp_path / f"{NAME}.yaml")
    path = saved(tmp_path, Interaction(chat(), reply()))
    other = path.rename(tmp_path / "02_manual_history.yaml")
    with pytest.raises(CassetteError, match="is that of lesson '01_stateless_calls'"):
        cassette.load(other)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, Interaction(chat(), reply()))
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        cassette.save(path, Recording([]))
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
