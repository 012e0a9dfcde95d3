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
    """What a message says, as text: its content, the texts among its parts, or the tools it calls."""
    if not isinstance(message, dict):
        return str(message)
    content = message.get("content")
    if isinstance(content, list):
        content = " ".join(str(part.get("text", part)) if isinstance(part, dict) else str(part) for part in content)
    names = ", ".join(_tool_names(message.get("tool_calls")))
    return str(content) if content else f"(calls {names})" if names else ""


def role_of(message: Any) -> str:
    """The role of a message, or its type where it has none; "?" for what is no message."""
    return preview(str(message.get("role") or message.get("type", "?")), 20) if isinstance(message, dict) else "?"


def reply_texts(bodies: list[Any]) -> Iterator[str]:
    """The pieces of text in the bodies of a chat reply, a chat stream, a response or its stream."""
    for body in bodies:
        if not isinstance(body, dict):
            continue
        for choice in (body.get("choices") or [])[:1]:
            message = choice.get("message") or choice.get("delta") or {}
            yield content_text(message)
        if body.get("type") == "response.output_text.delta":
            yield str(body.get("delta", ""))
        for item in body.get("output") or []:
            for part in item.get("content") or []:
                yield str(part.get("text", ""))


def error_text(bodies: list[Any]) -> str:
    """What an endpoint said when it refused."""
    for body in bodies:
        error = body.get("error") if isinstance(body, dict) else None
        if error:
            return str(error.get("message", error) if isinstance(error, dict) else error)
    return ""


def preview(text: str, limit: int = PREVIEW) -> str:
    """The beginning of a text on one line, at most `limit` characters, "…" where it was cut.

    What would move a terminal's cursor, or cannot be stored in a notebook (half a character), is escaped.
    """
    line = UNSHOWN.sub(lambda found: repr(found[0])[1:-1], text[: limit + 1].replace("\n", "⏎"))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _tool_names(calls: Any) -> Iterator[str]:
    """The names of the tools that a message calls; what a learner's code sends may be no list of calls."""
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield str(function.get("name"))
