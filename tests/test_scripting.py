"""What a check answers is what an endpoint sends: the SDK reads it without noticing a difference."""

from __future__ import annotations

import json

import openai
import pytest
from openai import OpenAI

from memory_tutor import replay
from memory_tutor.cassette import Request, Response
from memory_tutor.scripting import Answer, Failure, Reply, Sent, respond

CHAT = "/v1/chat/completions"


def chat(*contents: str, **more: object) -> Request:
    messages = [{"role": "user", "content": content} for content in contents]
    return Request("POST", CHAT, {"model": "a-model", "messages": messages, **more})


def body(response: Response) -> dict:  # type: ignore[type-arg]
    found = json.loads(response.body)
    assert isinstance(found, dict)
    return found


def test_a_chat_completion() -> None:
    response = respond(chat("Hello"), Reply("Zoë 🦜", prompt_tokens=7, completion_tokens=0, finish_reason="length"))
    found = body(response)
    assert (response.status, response.content_type) == (200, "application/json")
    assert found["model"] == "a-model" and found["object"] == "chat.completion"
    (choice,) = found["choices"]
    assert choice["finish_reason"] == "length"
    assert choice["message"]["role"] == "assistant" and choice["message"]["content"] == "Zoë 🦜"
    assert found["usage"] == {"prompt_tokens": 7, "completion_tokens": 0, "total_tokens": 7}


@pytest.mark.parametrize(("answer", "content"), [("Hi.", "Hi."), (None, None), ("", ""), (Reply(None), None)])
def test_short_forms(answer: Answer, content: str | None) -> None:
    assert body(respond(chat("x"), answer))["choices"][0]["message"]["content"] == content


def test_without_usage() -> None:
    assert "usage" not in body(respond(chat("x"), Reply("x", usage=False)))
    streamed = chat("x", stream=True, stream_options={"include_usage": True})
    assert "usage" not in respond(streamed, Reply("x", usage=False)).body


def test_counts_are_made_of_the_request_and_are_the_same_each_time() -> None:
    def count(*contents: str) -> int:
        found = body(respond(chat(*contents), "x"))["usage"]["prompt_tokens"]
        assert isinstance(found, int)
        return found

    assert count("Hello") == count("Hello") < count("Hello, are you there?") < count("Hello, are you there?", "Yes")
    text = "w" * 400
    assert count(text) not in (len(text), len(text) // 4, len(text) // 3), "no wrong formula gives it"


def test_a_stream_has_the_pieces_and_the_end() -> None:
    response = respond(chat("x", stream=True), "One  two three")
    assert response.streamed and response.body.endswith("data: [DONE]\n\n")
    events = list(response.events())
    pieces = [event["choices"][0]["delta"].get("content") for event in events]
    assert len(pieces) > 4 and "".join(filter(None, pieces)) == "One  two three"
    assert [event["choices"][0]["finish_reason"] for event in events][-1] == "stop"
    assert all(event["choices"] for event in events), "no usage unless it was asked for"


@pytest.mark.parametrize(
    ("path", "request_body"),
    [(CHAT, None), (CHAT, "text"), (CHAT, []), ("/v1/responses", {"input": "x"}), ("/openai/v1/models?limit=3", None)],
)
def test_odd_requests_are_answered_too(path: str, request_body: object) -> None:
    assert respond(Request("POST", path, request_body), "x").status == 200


def test_an_unknown_path_is_a_404() -> None:
    response = respond(Request("POST", "/v1/embeddings", {}), "x")
    assert response.status == 404 and "/embeddings" in response.body


def test_sent_reads_every_form_of_request() -> None:
    sent = Sent.of(chat("Hello"))
    assert sent.path == "/chat/completions" and sent.messages == sent.body["messages"]
    assert Sent.of(Request("POST", "/v1/responses", {"input": "Hi"})).messages == [{"role": "user", "content": "Hi"}]
    assert Sent.of(Request("POST", "/v1/other", "text")) == Sent("/other", {}, [])


def test_the_sdk_reads_all_of_it() -> None:
    client = OpenAI(api_key="placeholder")
    answers: list[Answer] = [
        None,
        Reply("streamed text", finish_reason="length"),
        "From responses.",
        "In events.",
        None,
    ]
    with replay.scripted(lambda request: respond(request, answers.pop(0))):
        messages = [{"role": "user", "content": "x"}]
        reply = client.chat.completions.create(model="m", messages=messages)  # type: ignore[call-overload]
        assert reply.choices[0].message.content is None and reply.usage.total_tokens > 0
        chunks = list(client.chat.completions.create(model="m", messages=messages, stream=True))  # type: ignore[call-overload]
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "streamed text"
        assert chunks[-1].choices[0].finish_reason == "length"
        assert client.responses.create(model="m", input="x").output_text == "From responses."
        events = list(client.responses.create(model="m", input="x", stream=True))
        deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
        assert "".join(deltas) == "In events."
        last = events[-1]
        assert last.type == "response.completed" and last.response.output_text == "In events."
        assert client.responses.create(model="m", input="x").output_text == ""


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Failure("connection"), openai.APIConnectionError),
        (Failure("timeout"), openai.APITimeoutError),
        (Failure(400), openai.BadRequestError),
        (Failure(401), openai.AuthenticationError),
        (Failure(429), openai.RateLimitError),
        (Failure(503), openai.InternalServerError),
    ],
)
def test_a_failure_is_the_sdks_own_exception_at_once(failure: Failure, error: type[Exception]) -> None:
    client = OpenAI(api_key="placeholder")
    asked = []

    def answer(request: Request) -> Response:
        asked.append(request)
        return respond(request, failure)

    with replay.scripted(answer), pytest.raises(error) as caught:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    assert type(caught.value) is error and len(asked) == 1
