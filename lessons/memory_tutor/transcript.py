"""What the model saw: every request of this kernel, what each held, and what changed from one to the next."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from html import escape
from threading import Lock
from typing import Any, overload

from memory_tutor.cassette import Request, Response, endpoint
from memory_tutor.errors import TutorError
from memory_tutor.strip import EMPTY, Row, Strip
from memory_tutor.tables import Table, count
from memory_tutor.texts import content_text, error_text, preview, reply_text, role_of

#: The columns of a request's table, and those that hold numbers.
HEAD, NUMBERS = ("", "role", "characters", "", "text"), (0, 2)
#: So many messages of a request are shown, the first of them and the newest; and so many requests, the newest.
FIRST, NEWEST, REQUESTS = 10, 30, 50
#: So many messages in a row are folded where they are as they were in the request before.
SAME = 3
#: Roles whose messages are instructions, not dialogue.
INSTRUCTIONS = ("system", "developer")
#: What a request of the responses API names instead of sending it again.
KEPT_ELSEWHERE = ("previous_response_id", "conversation")


@dataclass(eq=False)
class Call:
    """One request and what became of it.

    Args:
        number: 1 for the first request of this kernel.
        request: what was sent.
        response: what came back; None while it has not.
        error: why nothing came back.
        before: the call before this one.
        source: "recorded" or "live" where a kernel has both.
    """

    number: int
    request: Request
    response: Response | None = None
    error: str | None = None
    before: Call | None = field(default=None, repr=False)
    source: str = ""

    @property
    def messages(self) -> list[Any]:
        """The messages, in the order in which the model gets them.

        The `instructions` of the responses API come first: the provider makes a system message of them.
        """
        body = self.request.body
        instructions = body.get("instructions") if isinstance(body, dict) else None
        first = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
        return [*first, *self.request.messages]

    @property
    def new(self) -> list[bool]:
        """For each message, whether the request before did not hold it; one that was there once is there once."""
        return _unmatched(self._keys, self.before._keys if self.before else [])

    @property
    def dropped(self) -> list[Any]:
        """What the request before held and this one does not; nothing where this is another conversation.

        An old pad is replaced by the new one, not dropped.
        """
        if self.before is None or not self.goes_on:
            return []
        gone = zip(self.before.messages, _unmatched(self.before._keys, self._keys), strict=True)
        return [message for message, is_gone in gone if is_gone and not _is_pad(message)]

    @cached_property
    def goes_on(self) -> bool:
        """Whether this request is of the same conversation as the one before: they share more than instructions.

        A cell that is run again asks from the beginning, and that is another conversation: its request holds the
        beginning of the one before and nothing else, or opens on what that one had dropped.
        """
        if self.before is None:
            return False
        mine, theirs = self._dialogue, self.before._dialogue
        if set(mine).isdisjoint(theirs):
            return False
        is_beginning = len(mine) < len(theirs) and theirs[: len(mine)] == mine
        returns = mine[0] == self.before._opening and mine[0] not in theirs
        return not (is_beginning or returns)

    @cached_property
    def _opening(self) -> str | None:
        """The first message of the conversation that this request is of, as a key; None where there is none."""
        waiting, call = list[Call](), self.before
        while call is not None and "_opening" not in vars(call):
            waiting.append(call)
            call = call.before
        for call in reversed(waiting):  # each needs the one before: from the oldest on, nothing is ever deep
            _ = call._opening
        if self.before is not None and self.goes_on:
            return self.before._opening
        return next(iter(self._dialogue), None)

    @cached_property
    def _dialogue(self) -> list[str]:
        """The messages as keys, instructions left out."""
        pairs = zip(self.messages, self._keys, strict=True)
        return [key for message, key in pairs if role_of(message) not in INSTRUCTIONS]

    @cached_property
    def _keys(self) -> list[str]:
        return list(map(_key, self.messages))

    @property
    def _bodies(self) -> list[Any]:
        if self.response is None:
            return []
        bodies = []
        with suppress(ValueError):  # what came before the damage counts
            for body in self.response.events() if self.response.streamed else map(json.loads, [self.response.body]):
                bodies.append(body)
        return bodies

    @property
    def answered(self) -> bool:
        """Whether a reply came, rather than a refusal, a stream that the endpoint broke off, or nothing."""
        return self.response is not None and self.response.status < 400 and not error_text(self._bodies)

    @property
    def reply(self) -> str:
        """The text of the reply, of a stream too, and the tools that it calls; else what the endpoint said."""
        if self.response is None:
            return f"({self.error or 'no reply'})"
        text, error = reply_text(self._bodies), error_text(self._bodies)
        if self.response.status >= 400:
            return f"({self.response.status}: {error or self.response.body[:200]})"
        return f"{text} (broken off: {error})".strip() if error else text

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
                return {renamed.get(key, key): amount for key, amount in usage.items()}
        return {}

    def __repr__(self) -> str:
        return _table(self, _total(self)).plain()

    def _repr_html_(self) -> str:
        return _table(self, _total(self)).html()


class NoSuchRequest(TutorError, IndexError):
    """The transcript was asked for a request that has not been made."""


class Transcript:
    """The requests of this kernel, in order: `transcript[-1]`, `transcript[-2:]`, `len(transcript)`.

    A notebook shows them as tables, and from three on with a picture. Requests made by checks are not in it.
    """

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self._calls = list(calls)
        self._beginning = Lock()

    def begin(self, request: Request) -> Call:
        """Add a request that is about to be answered."""
        with self._beginning:  # threads of a learner's code may ask at once
            call = Call(len(self._calls) + 1, request, before=self._calls[-1] if self._calls else None)
            self._calls.append(call)
        return call

    def diff(self, first: int = -2, second: int = -1) -> Difference:
        """What changed between two requests.

        Args:
            first, second: their places, as in `transcript[first]`; the last two when omitted.

        Raises:
            NoSuchRequest: one has not been made.
        """
        return Difference(self[first], self[second])

    def strip(self) -> Strip:
        """A picture of these requests: a row for each, a block for each message."""
        return Strip(_strip_rows(self._calls))

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
        if not isinstance(which, int):
            raise NoSuchRequest(f"A request is asked for by its place, a whole number, not by {which!r}.")
        try:
            return self._calls[which]
        except IndexError:
            made = f"There are {len(self)} so far." if self._calls else EMPTY
            raise NoSuchRequest(f"There is no request [{which}]. {made}") from None

    def __repr__(self) -> str:
        if not self._calls:
            return EMPTY
        tables = [table.plain() for table in self._tables()]
        return "\n\n".join([*map(repr, self._pictures()), *tables, *self._left_out()])

    def _repr_html_(self) -> str:
        if not self._calls:
            return f"<p>{EMPTY}</p>"
        pictures = [each._repr_html_() for each in self._pictures()]
        tables = self._tables()
        opened = ' open=""'
        if pictures:  # the picture has said most of it
            shown = [
                f"<details{opened if table is tables[-1] else ''}><summary>{escape(table.title)}</summary>"
                f"{table.html(titled=False)}</details>"
                for table in tables
            ]
        else:
            shown = [table.html() for table in tables]
        return "\n".join([*pictures, *shown, *(f"<p>{line}</p>" for line in self._left_out())])

    def _pictures(self) -> list[Strip]:
        return [Transcript(self._calls[-REQUESTS:]).strip()] if len(self._calls) > 2 else []

    def _tables(self) -> list[Table]:
        shown = self._calls[-REQUESTS:]
        total = _total(shown[0].before) if shown[0].before else 0
        tables = []
        for call in shown:
            total += _tokens(call)
            tables.append(_table(call, total, fold=len(self._calls) > 1))
        return tables

    def _left_out(self) -> list[str]:
        if len(self._calls) <= REQUESTS:
            return []
        return [
            f"These are the newest {REQUESTS} of {len(self._calls):,} requests; tutor.transcript[:10] has the first."
        ]


class Difference:
    """What two requests have in common and what only one of them holds.

    Args:
        first, second: the calls.
    """

    def __init__(self, first: Call, second: Call) -> None:
        self.first, self.second = first, second

    def _table(self) -> Table:
        old, new = self.first.messages, self.second.messages
        only_first, only_second = (f"only in {call.number}" for call in (self.first, self.second))
        rows: list[tuple[str, str, str, str]] = []
        matcher = SequenceMatcher(None, self.first._keys, self.second._keys, autojunk=False)
        for what, begin, end, new_begin, new_end in matcher.get_opcodes():
            if what == "equal" and end - begin >= SAME:
                same = sum(len(content_text(message)) for message in old[begin:end])
                rows.append(("in both", "", f"{same:,}", f"({count(end - begin, 'message')})"))
            elif what == "equal":
                rows += [("in both", *_cells(message)) for message in old[begin:end]]
            else:
                rows += [(only_first, *_cells(message)) for message in old[begin:end]]
                rows += [(only_second, *_cells(message)) for message in new[new_begin:new_end]]
        title = f"From request {self.first.number} to request {self.second.number}"
        return Table(title, ("", "role", "characters", "text"), rows, self._foot(), (2,))

    def _foot(self) -> str:
        both = (self.first, self.second)
        tokens = [str(call.usage.get("prompt_tokens", "not counted")) for call in both]
        said = [f"tokens in the request (prompt): {tokens[0]}, then {tokens[1]}"]
        bodies = [
            call.request.body if isinstance(call.request.body, dict) else {} for call in (self.first, self.second)
        ]
        for name in dict.fromkeys([*bodies[0], *bodies[1]]):
            values = [preview(json.dumps(body[name])) if name in body else "not set" for body in bodies]
            if name not in ("messages", "input") and values[0] != values[1]:
                said.append(f"{name}: {values[0]}, then {values[1]}")
        return "; ".join(said)

    def __repr__(self) -> str:
        return self._table().plain()

    def _repr_html_(self) -> str:
        return self._table().html()


def _key(message: Any) -> str:
    return json.dumps(message, sort_keys=True, default=repr)


def _unmatched(keys: list[str], others: list[str]) -> list[bool]:
    """For each message, whether others do not hold it; one that they hold once is matched once."""
    left = Counter(others)
    found = []
    for key in keys:
        found.append(left[key] <= 0)
        left[key] -= 1
    return found


# -- the table of a request ------------------------------------------------------------------------------


def _table(call: Call, total: int, *, fold: bool = False) -> Table:
    """A request as a table.

    Args:
        total: tokens of this request and of all before it.
        fold: put messages that are as they were before into one row.
    """
    title = f"Request {call.number}: {count(len(call.messages), 'message')} to {endpoint(call.request.path)}"
    return Table(
        f"{title}, {call.source}" if call.source else title, HEAD, _rows(call, fold), _foot(call, total), NUMBERS
    )


def _rows(call: Call, fold: bool) -> list[tuple[str, ...]]:
    lines = [
        _line(str(index), message, ["new"] * new + ["pad"] * _is_pad(message))
        for index, (message, new) in enumerate(zip(call.messages, call.new, strict=True))
    ]
    rows: list[tuple[str, ...]] = []
    for run in _runs(lines, fold):
        rows += [_folded(run, call.messages)] if len(run) >= SAME else run
    dropped = [_line("", message, ["dropped"]) for message in call.dropped]
    if len(dropped) > SAME:
        dropped = [("", "", _characters(call.dropped), "dropped", f"({count(len(dropped), 'message')})")]
    reply = preview(call.reply)
    if call.answered:
        return [*rows, *dropped, ("→", "assistant", f"{len(call.reply):,}", "reply", reply)]
    return [*rows, *dropped, ("→", "error", "", "reply", reply)]


def _line(place: str, message: Any, marks: list[str]) -> tuple[str, ...]:
    role, characters, text = _cells(message)
    return (place, role, characters, ", ".join(marks), text)


def _cells(message: Any) -> tuple[str, str, str]:
    """Role, characters and text."""
    text = content_text(message)
    return role_of(message), f"{len(text):,}", preview(text)


def _runs(lines: list[tuple[str, ...]], fold: bool) -> Iterator[list[tuple[str, ...]]]:
    """The lines in pieces; a piece of several is to be folded."""
    middle = range(FIRST, len(lines) - NEWEST)
    run: list[tuple[str, ...]] = []
    for index, line in enumerate(lines):
        if (fold and not line[3]) or index in middle:
            run.append(line)
            continue
        yield run
        yield [line]
        run = []
    yield run


def _folded(run: list[tuple[str, ...]], messages: list[Any]) -> tuple[str, ...]:
    first, last = int(run[0][0]), int(run[-1][0])
    same = "as before" if not any(line[3] for line in run) else "not shown"
    folded = f"({count(len(run), 'message')} {same})"
    return (f"{first} to {last}", "", _characters(messages[first : last + 1]), "", folded)


def _characters(messages: list[Any]) -> str:
    return f"{sum(len(content_text(message)) for message in messages):,}"


def _is_pad(message: Any) -> bool:
    """Whether an instruction holds a JSON object, as the projection of a scratchpad does."""
    text = content_text(message)
    if role_of(message) not in INSTRUCTIONS or "{" not in text:
        return False
    try:
        found, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict)


def _foot(call: Call, total: int) -> str:
    """The tokens, and what the model gets that is not in the request."""
    body = call.request.body if isinstance(call.request.body, dict) else {}
    named = [body[name] for name in KEPT_ELSEWHERE if body.get(name)]
    kept = [preview(str(each.get("id") if isinstance(each, dict) else each)) for each in named]
    return "; ".join([_counted(call, total), *(f"goes on from {name}, which the provider keeps" for name in kept)])


def _counted(call: Call, total: int) -> str:
    usage = call.usage
    if "prompt_tokens" not in usage:
        return "tokens: not counted"
    completion = usage.get("completion_tokens", 0)
    said = f"tokens: {usage['prompt_tokens']} in the request (prompt), {completion} in the reply (completion)"
    return f"{said}; {total:,} in all requests so far" if call.before else said


def _tokens(call: Call) -> int:
    """Tokens of a request and its reply, as far as they were counted."""
    usage = call.usage
    return sum(int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))


def _total(call: Call | None) -> int:
    return sum(map(_tokens, _with_all_before(call)))


# -- the picture -----------------------------------------------------------------------------------------


def _strip_rows(calls: list[Call]) -> list[Row]:
    shown = {call.number for call in calls}
    rows: list[Row] = []
    total, left_out = 0, list[tuple[str, int]]()  # of each message, its key and its characters
    for call in _with_all_before(calls[-1]) if calls else []:
        total += _tokens(call)
        # What was left out stays left out as long as the conversation goes on.
        dropped = [(_key(message), len(content_text(message))) for message in call.dropped]
        known = [*left_out, *dropped] if call.goes_on else []
        gone = _unmatched([key for key, _ in known], call._keys)
        left_out = [message for message, is_gone in zip(known, gone, strict=True) if is_gone]
        if call.number not in shown:
            continue
        messages = [(role_of(message), len(content_text(message))) for message in call.messages]
        tokens = (call.usage.get("prompt_tokens"), call.usage.get("completion_tokens"))
        rows.append(Row(call.number, messages, [length for _, length in left_out], *tokens, total))
    return rows


def _with_all_before(call: Call | None) -> list[Call]:
    calls = []
    while call:
        calls.append(call)
        call = call.before
    return calls[::-1]
