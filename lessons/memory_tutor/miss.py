"""Why a request is not in the recording: the nearest recorded request and how it differs, in a few lines."""

from __future__ import annotations

import difflib
import heapq
import json
import operator
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from memory_tutor.cassette import Recording, Request, endpoint
from memory_tutor.texts import content_text, preview
from memory_tutor.transcript import Call

#: What an explanation may take, in lines of a notebook's output.
MOST_LINES = 25
#: How many recorded requests are compared letter by letter.
CANDIDATES = 12
#: How many messages of each request are aligned one by one.
ALIGNED = 40

Message = Any
Pair = tuple[Message | None, Message | None]


#: Stands for what a message or a request does not have, which is not the same as null.
ABSENT = object()


def explain(request: Request, recording: Recording, name: str, before: str = "") -> str:
    """Say what was sent, what the nearest recorded request is, how they differ, and what can be done.

    Args:
        request: the one that has no recorded answer.
        recording: where it was looked for.
        name: of the recording, for the message.
        before: name of another lesson's recording that was open in this process; the request may be of its notebook.

    Returns:
        At most MOST_LINES lines.
    """
    where = f"{request.method} {endpoint(request.path)}"
    lines = [f"NOT RECORDED: {name} holds no answer to this request, and nothing was sent."]
    near = nearest(request, recording)
    if near is None:
        lines.append(f"It was {where}; the recording holds no request to that address.")
        return "\n".join(lines + _ways_on(name, before))
    lines.append(f"It was {where} with {_count(request.messages)}; the nearest recorded has {_count(near.messages)}.")
    room = MOST_LINES - len(lines) - len(_ways_on(name, before))
    details = [*_message_lines(request, near, recording), *_parameter_lines(request, near)]
    if len(details) > room:
        details = [*details[: room - 1], f"  … and {len(details) - room + 1} more lines like these."]
    return "\n".join([*lines, *details, *_ways_on(name, before)])


def _ways_on(name: str, before: str) -> list[str]:
    first = name if name != "all lessons" else ""
    start = f'memory_tutor.start("{first}", mode="explore")' if first else 'memory_tutor.start(mode="explore")'
    other = [f"  - if this is the notebook of {before}, run its first cell again;"] if before else []
    return [
        "Ways on:",
        *other,
        "  - change the request back, or try an edit that the lesson names: those are recorded",
        "    (Run All stops at this cell until then);",
        f"  - {start}",
        "    asks a real endpoint for what is not recorded (OPENAI_API_KEY, OPENAI_BASE_URL);",
        "    a model on this machine needs no key and costs nothing.",
    ]


def _count(messages: list[Message]) -> str:
    return "1 message" if len(messages) == 1 else f"{len(messages)} messages"


# -- the nearest request -------------------------------------------------------------------------------


def nearest(request: Request, recording: Recording) -> Request | None:
    """The recorded request to the same address that is most like this one.

    A cheap look at all of them (equal messages, the same roles, lengths) picks a few; the text decides.
    """
    same = [
        each.request
        for each in recording.interactions
        if request.path.endswith(each.request.path) and request.method == each.request.method
    ]
    if not same:
        return None
    messages, parameters = request.messages, _parameters(request)
    backwards, roles, last = messages[::-1], list(map(_role, messages)), _last_text(request)

    def likeness(other: Request) -> float:
        theirs = other.messages
        equal = max(_equal(messages, theirs), _equal(backwards, reversed(theirs)))
        return equal - 0.4 * abs(len(messages) - len(theirs))

    def shape(other: Request) -> tuple[float, bool, float]:
        return likeness(other), list(map(_role, other.messages)) == roles, _as_long(last, _last_text(other))

    def text_likeness(other: Request) -> float:
        theirs = _last_text(other)
        # Short texts may share no letter, and any of them some with a long one: "dog" is more like "cat".
        text = (_similar(last, theirs) + _as_long(last, theirs)) / 2
        alike = likeness(other) + (0.25 if list(map(_role, other.messages)) == roles else 0)
        return text + 2 * alike + (0.5 if _parameters(other) == parameters else 0)

    return max(heapq.nlargest(CANDIDATES, same, key=shape), key=text_likeness)


def _as_long(one: str, other: str) -> float:
    """1 for texts of the same length, less the more they differ in it."""
    return (1 + min(len(one), len(other))) / (1 + max(len(one), len(other)))


def _equal(messages: Iterable[Message], others: Iterable[Message]) -> int:
    return sum(map(operator.eq, messages, others))


def _last_text(request: Request) -> str:
    return content_text(request.messages[-1])[:400] if request.messages else ""


def _similar(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).quick_ratio()


# -- messages ------------------------------------------------------------------------------------------


def _message_lines(request: Request, near: Request, recording: Recording) -> Iterator[str]:
    position = 0
    said: Message | None = None  # what stands before, in the recorded request
    for mine, recorded in align(request.messages, near.messages):
        before, said = said, recorded or said
        if mine is None:
            assert recorded is not None
            yield f"  missing    {_role(recorded)}: {_quote(recorded)} is in the recorded request only"
            if _role(recorded) == "assistant" and _was_reply(recorded, before, recording):
                yield "             perhaps the reply was not appended to the history"
            continue
        label = f"message {position}"
        position += 1
        if recorded is None:
            yield f"  {label}  {_role(mine)}: {_quote(mine)} is not in the recorded request"
        elif mine == recorded:
            yield f"  {label}  {_role(mine)}: the same"
        else:
            yield f"  {label}  {_role(mine)}: differs"
            yield from (f"             {line}" for line in _difference(mine, recorded))


def _was_reply(message: Message, before: Message | None, recording: Recording) -> bool:
    """Whether the model said it, to the message before, so that the code is to append it; else somebody wrote it."""
    return any(
        each.request.messages[-1:] == [before] and Call(0, each.request, each.response).reply == content_text(message)
        for each in recording.interactions
    )


def align(sent: list[Message], recorded: list[Message]) -> list[Pair]:
    """Pair the messages of two requests, in order, so that as little as possible differs.

    Returns:
        (sent, recorded) pairs; None stands where one side has no counterpart.
    """
    start = 0
    while start < min(len(sent), len(recorded)) and sent[start] == recorded[start]:
        start += 1
    same: list[Pair] = list(zip(sent[:start], recorded[:start], strict=True))
    mine, theirs = sent[start : start + ALIGNED], recorded[start : start + ALIGNED]
    # Edit distance over messages: leaving one out costs 1, changing one at most as much as two of those.
    cost = [[float(i + j) for j in range(len(theirs) + 1)] for i in range(len(mine) + 1)]
    for i, one in enumerate(mine, start=1):
        for j, other in enumerate(theirs, start=1):
            cost[i][j] = min(cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + _distance(one, other))
    pairs: list[Pair] = []
    i, j = len(mine), len(theirs)
    while i or j:
        if i and j and cost[i][j] == cost[i - 1][j - 1] + _distance(mine[i - 1], theirs[j - 1]):
            i, j = i - 1, j - 1
            pairs.append((mine[i], theirs[j]))
        elif j and cost[i][j] == cost[i][j - 1] + 1:
            j -= 1
            pairs.append((None, theirs[j]))
        else:
            i -= 1
            pairs.append((mine[i], None))
    return same + pairs[::-1]


def _distance(one: Message, other: Message) -> float:
    if one == other:
        return 0
    penalty = 0 if _role(one) == _role(other) else 0.9
    return 0.1 + penalty + 0.9 * (1 - _similar(content_text(one)[:400], content_text(other)[:400]))


def _role(message: Message) -> str:
    return preview(str(message.get("role", "?")), 20) if isinstance(message, dict) else "?"


def _quote(message: Message) -> str:
    return repr(preview(content_text(message), 30))


def _difference(mine: Message, recorded: Message) -> Iterator[str]:
    """What differs between two messages that stand in the same place."""
    if not isinstance(mine, dict) or not isinstance(recorded, dict):
        yield f"you sent {preview(str(mine), 24)!r}, recorded is {preview(str(recorded), 24)!r}"
        return
    for key in sorted({*mine, *recorded} - {"content"}):
        one, other = mine.get(key, ABSENT), recorded.get(key, ABSENT)
        if one != other:
            yield f"{preview(key, 20)}: {_sides(one, other)}"
    one, other = mine.get("content", ABSENT), recorded.get("content", ABSENT)
    if one == other:
        return
    if not isinstance(one, str) or not isinstance(other, str):
        yield f"content: {_sides(one, other)}"
        return
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    yield f"you sent     {_around(one, at)}"
    yield f"recorded is  {_around(other, at)}"
    if reason := _reason(one, other):
        yield reason


def _around(text: str, at: int) -> str:
    """The text around the place where it differs, on one line."""
    begin = max(0, at - 20)
    piece = text[begin : at + 30]
    shown = "".join(each if each.isprintable() else repr(each)[1:-1] for each in piece)
    return ("…" if begin else "") + shown + ("…" if at + 30 < len(text) else "")


CURLY = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})  # noqa: RUF001


def _reason(one: str, other: str) -> str:
    """The likely cause of a small difference, in words."""
    if one.translate(CURLY) == other.translate(CURLY):
        return "only the quotation marks differ: curly (typographic) against straight"
    if "".join(one.split()) == "".join(other.split()):
        return "only spaces or line breaks differ"
    if one.casefold() == other.casefold():
        return "only capital letters differ"
    if unicodedata.normalize("NFKC", one) == unicodedata.normalize("NFKC", other):
        return "they look alike, but some characters are written in another way (Unicode)"
    if [c for c in one if c.isalnum()] == [c for c in other if c.isalnum()]:
        return "only punctuation differs"
    return ""


# -- everything but the messages -----------------------------------------------------------------------


def _parameters(request: Request) -> dict[str, Any]:
    """The body without messages and model; a body that is no object is one parameter named "body".

    Messages that are no list are told here: they cannot be told one by one.
    """
    if not isinstance(request.body, dict):
        return {} if request.body is None else {"body": request.body}
    told = {"model", "input"} | ({"messages"} if isinstance(request.body.get("messages"), list) else set())
    return {key: value for key, value in request.body.items() if key not in told}


def _parameter_lines(request: Request, near: Request) -> Iterator[str]:
    mine, theirs = _parameters(request), _parameters(near)
    for key in sorted({*mine, *theirs}):
        one, other = mine.get(key, ABSENT), theirs.get(key, ABSENT)
        if one != other:
            yield f"  parameter  {preview(key, 24)}: {_sides(one, other)}"


def _sides(one: Any, other: Any) -> str:
    """What was sent and what is recorded, where they differ."""
    sent = "you sent none" if one is ABSENT else f"you sent {_short(one)}"
    recorded = "the recorded request has none" if other is ABSENT else f"recorded is {_short(other)}"
    return f"{sent}, {recorded}"


def _short(value: Any) -> str:
    return preview(json.dumps(value, ensure_ascii=False), 28)
