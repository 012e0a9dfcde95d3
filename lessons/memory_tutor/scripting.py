"""The answers that a check gives in place of a model, in the forms in which an endpoint sends them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from memory_tutor.cassette import JSON_TYPE, Request, Response, endpoint

STREAM_TYPE = "text/event-stream"
#: What a request gets that the check has prepared nothing for.
FALLBACK = "OK."


@dataclass(frozen=True)
class Sent:
    """One request of the learner's code.

    Args:
        path: behind the endpoint's version, "/chat/completions".
        body: of the request, {} where it was no JSON object.
        messages: of a chat request, or the input of a response request, as messages.
    """

    path: str
    body: dict[str, Any]
    messages: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, request: Request) -> Sent:
        return cls(endpoint(request.path), _body(request), request.messages)


@dataclass(frozen=True)
class Reply:
    """A model's reply.

    Args:
        content: its text; None as when a model answers with nothing, or a filter has stepped in.
        prompt_tokens: that the endpoint counted; None for a plausible count of the request.
        completion_tokens: likewise, of the reply.
        usage: whether the endpoint says what it counted.
        finish_reason: "stop"; "length" for a reply that was cut.
    """

    content: str | None = FALLBACK
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    usage: bool = True
    finish_reason: str = "stop"


@dataclass(frozen=True, init=False)
class Failure:
    """A request that fails, at once and without another try of the SDK.

    Args:
        kind: "connection" or "timeout" for no answer at all; "bug" for a ValueError, which no `except` for the
            SDK's errors catches; or the HTTP status of the answer.
        message: that the endpoint gives with a status.
    """

    kind: Literal["connection", "timeout", "bug"] | int
    message: str

    def __init__(self, kind: Literal["connection", "timeout", "bug"] | int, message: str = "") -> None:
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "message", message or f"The endpoint failed ({kind}).")


class ScriptedError(ValueError):
    """A failure that was scripted and is none of the SDK's: for the learner's code, not the check's own."""


Answer = Reply | Failure | str | None
#: What a check may queue: an answer, or a function that makes one when the request has come.
Scripted = Answer | Callable[[Sent], Answer]


def respond(request: Request, answer: Answer) -> Response:
    """The HTTP response that carries an answer.

    Raises:
        openai.APIConnectionError: the answer is a failed connection; APITimeoutError for a timeout.
        ScriptedError: the answer is a bug.
    """
    if isinstance(answer, Failure):
        return _fail(request, answer)
    path = endpoint(request.path).partition("?")[0]
    if path == "/models":
        model = {"id": _model(request), "object": "model", "created": 0, "owned_by": "check"}
        return _json({"object": "list", "data": [model]})
    reply = answer if isinstance(answer, Reply) else Reply(answer)
    if path == "/chat/completions":
        return _chat(request, reply)
    if path == "/responses":
        return _responses(request, reply)
    return _fail(request, Failure(404, f"A check has no answer to {path}."))


def asks_model(request: Request) -> bool:
    """Whether a request asks for a reply of the model, so that it takes the next scripted one."""
    return request.method.upper() == "POST"


def _fail(request: Request, failure: Failure) -> Response:
    if isinstance(failure.kind, int):
        kind = "invalid_request_error" if failure.kind < 500 else "server_error"
        error = {"message": failure.message, "type": kind, "param": None, "code": None}
        return _json({"error": error}, failure.kind)
    if failure.kind == "bug":
        raise ScriptedError(failure.message)
    import openai

    sent = openai_request(request.path)
    if failure.kind == "timeout":
        raise openai.APITimeoutError(request=sent)
    raise openai.APIConnectionError(request=sent)


def openai_request(path: str) -> Any:
    """A request object as the SDK's errors carry it."""
    import httpx2

    return httpx2.Request("POST", f"https://api.openai.com{path}")


def _json(body: Any, status: int = 200) -> Response:
    return Response(status, JSON_TYPE, json.dumps(body))


def _events(events: Iterator[dict[str, Any]], *, named: bool) -> Response:
    """A stream of server-sent events; the responses API names each, chat ends with a mark."""
    lines = []
    for event in events:
        if named:
            lines.append(f"event: {event['type']}\n")
        lines.append(f"data: {json.dumps(event)}\n\n")
    if not named:
        lines.append("data: [DONE]\n\n")
    return Response(200, STREAM_TYPE, "".join(lines))


def _body(request: Request) -> dict[str, Any]:
    return request.body if isinstance(request.body, dict) else {}


def _model(request: Request) -> str:
    return str(_body(request).get("model", "gpt-6-luna"))


def _count(text: object) -> int:
    """A plausible number of tokens, which no exercise's wrong formula gives by accident."""
    return 2 + len(str(text)) * 3 // 11


def _counts(request: Request, reply: Reply) -> tuple[int, int]:
    prompt, completion = reply.prompt_tokens, reply.completion_tokens
    if prompt is None:
        prompt = 3 + sum(2 + _count(m.get("content") if isinstance(m, dict) else m) for m in request.messages)
    return prompt, _count(reply.content or "") if completion is None else completion


def _chat(request: Request, reply: Reply) -> Response:
    prompt, completion = _counts(request, reply)
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    top = {"id": "chatcmpl-1", "created": 0, "model": _model(request)}
    if _body(request).get("stream"):
        options = _body(request).get("stream_options") or {}
        shown = usage if reply.usage and options.get("include_usage") else None
        return _events(_chat_chunks(top, reply, shown), named=False)
    message = {"role": "assistant", "content": reply.content, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason, "logprobs": None}
    body = {**top, "object": "chat.completion", "choices": [choice]}
    return _json({**body, "usage": usage} if reply.usage else body)


def _chat_chunks(top: dict[str, Any], reply: Reply, usage: dict[str, int] | None) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**top, "object": "chat.completion.chunk", "choices": [choice]}

    yield chunk({"role": "assistant", "content": None if reply.content is None else ""})
    for piece in _pieces(reply.content):
        yield chunk({"content": piece})
    yield chunk({}, reply.finish_reason)
    if usage is not None:
        yield {**top, "object": "chat.completion.chunk", "choices": [], "usage": usage}


def _pieces(text: str | None) -> list[str]:
    """The text in pieces, as a stream brings it: a word and the space behind it."""
    return [piece for piece in (text or "").replace(" ", " \0").split("\0") if piece]


def _responses(request: Request, reply: Reply) -> Response:
    prompt, completion = _counts(request, reply)
    cut = reply.finish_reason == "length"
    content = [] if reply.content is None else [{"type": "output_text", "text": reply.content, "annotations": []}]
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}
    body: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": _model(request),
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [item],
    }
    if reply.usage:
        body["usage"] = {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": completion,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + completion,
        }
    if _body(request).get("stream"):
        return _events(_response_events(body, reply), named=True)
    return _json(body)


def _response_events(body: dict[str, Any], reply: Reply) -> Iterator[dict[str, Any]]:
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    item = {**body["output"][0], "status": "in_progress", "content": []}
    events.append({"type": "response.output_item.added", "output_index": 0, "item": item})
    if reply.content is not None:
        part = {"type": "output_text", "text": "", "annotations": []}
        events.append({"type": "response.content_part.added", **place, "part": part})
        events += [
            {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
            for piece in _pieces(reply.content)
        ]
        events.append({"type": "response.output_text.done", **place, "text": reply.content, "logprobs": []})
    events.append({"type": "response.output_item.done", "output_index": 0, "item": body["output"][0]})
    events.append({"type": f"response.{body['status']}", "response": body})
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}
