"""What the messages of a request and the bodies of a reply say, as text, whatever they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

#: How much of a message is shown, in characters.
PREVIEW = 60
#: Control characters, what breaks a line, and halves of a character.
UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def content_text(message: Any) -> str:
    """What a message says, as text: its content, the texts among its parts, and the tools it calls.

    A part that is no text, an image, is told by its type in brackets.
    """
    if not isinstance(message, dict):
        return str(message)
    names = list(_tool_names(message.get("tool_calls")))
    if message.get("type") == "function_call":  # of the responses API, where a call is an item of its own
        names.append(str(message.get("name")))
    return " ".join(filter(None, [_content(message), _calls(names)]))


def role_of(message: Any) -> str:
    """The role of a message, or its type where it has none; "?" for what is no message."""
    return preview(str(message.get("role") or message.get("type", "?")), 20) if isinstance(message, dict) else "?"


def reply_text(bodies: list[Any]) -> str:
    """The text of a chat reply, a chat stream, a response or its stream, and the tools that it calls.

    Of several choices it is the first, as in `choices[0]`.
    """
    texts, names = list[str](), list[str]()
    for body in filter(_is_object, bodies):
        for message in _messages_of(body):
            texts.append(_content(message))
            names += _tool_names(message.get("tool_calls"))
        if body.get("type") in ("response.output_text.delta", "response.refusal.delta"):
            texts.append(str(body.get("delta", "")))
        done = [body.get("item")] if body.get("type") == "response.output_item.done" else body.get("output")
        for item in filter(_is_object, done if isinstance(done, list) else []):
            if item.get("type") == "function_call":
                names.append(str(item.get("name")))
            elif body.get("output") and item.get("type", "message") == "message":  # a stream brought it in pieces
                texts.append(_content(item))
    return " ".join(filter(None, ["".join(texts), _calls(names)]))


def error_text(bodies: list[Any]) -> str:
    """What an endpoint said when it refused, or when it broke a stream off."""
    for body in filter(_is_object, bodies):
        if body.get("type") == "error":  # an event of the responses API
            return str(body.get("message"))
        for place in filter(_is_object, [body, body.get("response")]):
            if error := place.get("error"):
                return str(error.get("message", error) if isinstance(error, dict) else error)
    return ""


def preview(text: str, limit: int = PREVIEW) -> str:
    """The beginning of a text on one line, at most `limit` characters, "…" where it was cut.

    What would move a terminal's cursor, or cannot be stored in a notebook (half a character), is escaped.
    """
    line = UNSHOWN.sub(lambda found: repr(found[0])[1:-1], text[: limit + 1].replace("\n", "⏎"))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _content(message: dict[str, Any]) -> str:
    """The content of a message, or why it has none; of a tool's result, what the tool gave."""
    content = message.get("content") or message.get("refusal") or message.get("output")
    return " ".join(map(_part, content)) if isinstance(content, list) else str(content or "")


def _part(part: Any) -> str:
    """A part of a message; what is no text, an image, is told by its type."""
    if not isinstance(part, dict):
        return str(part)
    text = part.get("text") or part.get("refusal")
    return str(text or "") if text or "text" in part else f"({part.get('type', part)})"


def _messages_of(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message of the first choice of a chat reply, or the piece of it that an event of a stream brings."""
    choices = body.get("choices")
    for place, choice in enumerate(choices if isinstance(choices, list) else []):
        if isinstance(choice, dict) and choice.get("index", place) == 0:
            message = choice.get("message") or choice.get("delta")
            if isinstance(message, dict):
                yield message


def _calls(names: list[str]) -> str:
    return f"(calls {', '.join(names)})" if names else ""


def _tool_names(calls: Any) -> Iterator[str]:
    """The names of the tools that a message calls; what a learner's code sends may be no list of calls.

    In a stream a call has its name in its first piece alone.
    """
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and function.get("name"):
            yield str(function["name"])


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
