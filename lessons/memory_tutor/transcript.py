"""What the model saw: every request of this kernel, as a table in HTML and the same in plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, overload

from memory_tutor.cassette import Request, Response, endpoint
from memory_tutor.errors import TutorError

#: How much of a message a table shows, in characters.
PREVIEW = 60
#: What a table of no requests says.
EMPTY = "No requests have been made yet."
#: Control characters, what breaks a line, and halves of a character.
UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass
class Call:
    """One request and what became of it.

    Args:
        number: 1 for the first request of this kernel.
        request: what was sent.
        response: what came back; None while it has not.
        error: why nothing came back.
        new: for each message, whether the request before did not hold it.
    """

    number: int
    request: Request
    response: Response | None = None
    error: str | None = None
    new: Sequence[bool] = ()

    @property
    def messages(self) -> list[Any]:
        """The messages, in the order in which they were sent."""
        return self.request.messages

    @property
    def _bodies(self) -> list[Any]:
        if self.response is None:
            return []
        try:
            return list(self.response.events()) if self.response.streamed else [json.loads(self.response.body)]
        except ValueError:
            return []

    @property
    def reply(self) -> str:
        """The text of the reply, of a stream too; for a refusal, what the endpoint said."""
        if self.response is None:
            return f"({self.error or 'no reply'})"
        if self.response.status >= 400:
            return f"({self.response.status}: {_error_text(self._bodies) or self.response.body[:200]})"
        return "".join(_texts(self._bodies))

    @property
    def model(self) -> str:
        """The model that answered, by its own account."""
        return next((body["model"] for body in self._bodies if isinstance(body, dict) and "model" in body), "")

    @property
    def usage(self) -> dict[str, Any]:
        """prompt_tokens and completion_tokens as the API counted them; empty where it did not."""
        for body in reversed(self._bodies):
            whole = body.get("response") if isinstance(body, dict) and "response" in body else body
            usage = whole.get("usage") if isinstance(whole, dict) else None
            if usage:
                renamed = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
                return {renamed.get(key, key): count for key, count in usage.items()}
        return {}

    def __repr__(self) -> str:
        return _plain([self])

    def _repr_html_(self) -> str:
        return _html([self])


class NoSuchRequest(TutorError, IndexError):
    """The transcript was asked for a request that has not been made."""


class Transcript:
    """The requests of this kernel, in order: `transcript[-1]`, `transcript[-2:]`, `len(transcript)`.

    A notebook shows it as a table. Requests made by checks are not in it.
    """

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self._calls = list(calls)

    def begin(self, request: Request) -> Call:
        """Add a request that is about to be answered."""
        before = self._calls[-1].messages if self._calls else []
        call = Call(len(self._calls) + 1, request, new=_not_in(before, request.messages))
        self._calls.append(call)
        return call

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    @overload
    def __getitem__(self, which: int) -> Call: ...
    @overload
    def __getitem__(self, which: slice) -> Transcript: ...
    def __getitem__(self, which: int | slice) -> Call | Transcript:
        if isinstance(which, slice):
            return Transcript(self._calls[which])
        try:
            return self._calls[which]
        except IndexError:
            made = f"There are {len(self)} so far." if self._calls else EMPTY
            raise NoSuchRequest(f"There is no request [{which}]. {made}") from None

    def __repr__(self) -> str:
        return _plain(self._calls)

    def _repr_html_(self) -> str:
        return _html(self._calls)


def _not_in(before: list[Any], now: list[Any]) -> list[bool]:
    """Which messages of a request were not in the one before; one that was there once is there once."""
    left, new = list(before), []
    for message in now:
        new.append(message not in left)
        if not new[-1]:
            left.remove(message)
    return new


def _error_text(bodies: list[Any]) -> str:
    for body in bodies:
        error = body.get("error") if isinstance(body, dict) else None
        if error:
            return str(error.get("message", error) if isinstance(error, dict) else error)
    return ""


def _texts(bodies: list[Any]) -> Iterator[str]:
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


def content_text(message: Any) -> str:
    """What a message says, as text: its content, the texts among its parts, or the tools it calls."""
    if not isinstance(message, dict):
        return str(message)
    content = message.get("content")
    if isinstance(content, list):
        content = " ".join(str(part.get("text", part)) if isinstance(part, dict) else str(part) for part in content)
    names = ", ".join(_tool_names(message.get("tool_calls")))
    return str(content) if content else f"(calls {names})" if names else ""


def _tool_names(calls: Any) -> Iterator[str]:
    """The names of the tools that a message calls; what a learner's code sends may be no list of calls."""
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield str(function.get("name"))


def preview(text: str, limit: int = PREVIEW) -> str:
    """The beginning of a text on one line, at most `limit` characters, "…" where it was cut.

    What would move a terminal's cursor, or cannot be stored in a notebook (half a character), is escaped.
    """
    line = UNSHOWN.sub(lambda found: repr(found[0])[1:-1], text[: limit + 1].replace("\n", "⏎"))
    return line if len(line) <= limit else line[: limit - 1] + "…"


# -- the two forms: the same rows, the same words ------------------------------------------------------

HEAD = ("", "role", "characters", "", "text")


def _title(call: Call) -> str:
    return f"Request {call.number}: {_count(len(call.messages), 'message')} to {endpoint(call.request.path)}"


def _rows(call: Call) -> list[tuple[str, str, str, str, str]]:
    rows = []
    for index, message in enumerate(call.messages):
        text = content_text(message)
        role = preview(str(message.get("role") or message.get("type", "?")), 20) if isinstance(message, dict) else "?"
        new = "new" if index >= len(call.new) or call.new[index] else ""
        rows.append((str(index), role, str(len(text)), new, preview(text)))
    reply = call.reply
    who = "assistant" if call.response is not None and call.response.status < 400 else "error"
    rows.append(("→", who, str(len(reply)) if who == "assistant" else "", "reply", preview(reply)))
    return rows


def _foot(call: Call) -> str:
    usage = call.usage
    if "prompt_tokens" not in usage:
        return "tokens: not counted"
    completion = usage.get("completion_tokens", 0)
    return f"tokens: {usage['prompt_tokens']} in the request (prompt), {completion} in the reply (completion)"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _plain(calls: list[Call]) -> str:
    blocks = []
    for call in calls:
        rows = [HEAD, *_rows(call)]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = [
            f"  {number:>{widths[0]}} {role:<{widths[1]}} {chars:>{widths[2]}} {new:<{widths[3]}} {text}".rstrip()
            for number, role, chars, new, text in rows
        ]
        blocks.append("\n".join([_title(call), *lines, f"  {_foot(call)}"]))
    return "\n\n".join(blocks) or EMPTY


def _html(calls: list[Call]) -> str:
    if not calls:
        return f"<p>{EMPTY}</p>"
    left = ' style="text-align:left"'
    right = ' style="text-align:right"'
    align = [right, left, right, left, left]
    parts = []
    for call in calls:
        head = "".join(f'<th scope="col"{side}>{name}</th>' for name, side in zip(HEAD, align, strict=True))
        body = "".join(
            "<tr>" + "".join(f"<td{side}>{escape(cell)}</td>" for cell, side in zip(row, align, strict=True)) + "</tr>"
            for row in _rows(call)
        )
        parts.append(
            f"<table><caption{left}><b>{escape(_title(call))}</b><br>{escape(_foot(call))}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )
    return "\n".join(parts)
