"""A store of many conversations that a check serves, and talks to put into it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from memory_tutor.checks.common import assistant, user
from memory_tutor.checks.turns import TOO_MANY, Conflict
from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import Misconception

Conversation = tuple[str, str, str]
IDS = ("tenant", "user", "session")


class Shelf:
    """A store like lesson 6's, in the check's memory; it knows whose turn it is, and asks for no other conversation.

    Only `load` and `append` can be called from the learner's code.

    Args:
        rng: makes the versions, which only this store understands.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._kept: dict[Conversation, tuple[list[Any], dict[str, Any], int]] = {}
        self._expected: tuple[Any, ...] = ()
        self._call = ""
        #: Since `_expect`: messages, version and pad of each append, and how many messages each load asked for.
        self._appends: list[tuple[Any, Any, Any]] = []
        self._loads: list[Any] = []
        #: What comes first at each of the next appends, if anything; and what each call of a method raises.
        self._rivals: list[Callable[[], None] | None] = []
        self._broken: dict[str, Exception] = {}

    def load(self, conversation: Any, last: Any = None) -> tuple[list[Any], dict[str, Any], int]:
        key = self._key(conversation, "load")
        self._loads.append(last)
        if "load" in self._broken:
            raise self._broken["load"]
        if last is not None and (not isinstance(last, int) or isinstance(last, bool)):
            raise TypeError(f"last must be an int or None, not {type(last).__name__}")
        if last is not None and last < 0:
            raise ValueError(f"last counts messages: 0 or more, not {last}")
        messages, pad, version = self._now(key)
        newest = messages if last is None else messages[max(0, len(messages) - last) :]
        return newest, pad, version

    def append(self, conversation: Any, messages: Any, version: Any, pad: Any = None) -> int:
        key = self._key(conversation, "append")
        self._appends.append((messages, version, pad))
        if len(self._appends) > TOO_MANY:
            raise Misconception(
                f"""{self._call} called `append` more than {TOO_MANY} times, with a rival who is always faster.
                Each attempt costs time, and in `chat` money; the rule says three in all.
                Look at what ends your loop."""
            )
        if self._rivals and (rival := self._rivals.pop(0)) is not None:
            rival()
        if "append" in self._broken:
            raise self._broken["append"]
        old, old_pad, newest = self._now(key)
        if type(version) is not int or version != newest:
            raise Conflict(f"version {shorten(repr(version), 20)} was loaded, and it is not the newest any more")
        new = list(messages) if isinstance(messages, list | tuple) else [messages]
        return self._put(key, [*old, *new], old_pad if pad is None else pad)

    # -- the check's side --------------------------------------------------------------------------------

    def _expect(self, call: str, *ids: Any) -> None:
        """Begin a call: these ids alone may be asked for."""
        self._expected, self._call = ids, call
        self._appends, self._loads = [], []

    def _now(self, key: Any) -> tuple[list[Any], dict[str, Any], int]:
        """A copy of what is kept."""
        return copy.deepcopy(self._kept.get(key, ([], {}, 0)))

    def _put(self, key: Conversation, messages: Sequence[Any], pad: Any) -> int:
        # A version says nothing of what comes after it, and none comes twice.
        version = self._rng.randrange(1, 2**40)
        self._kept[key] = (list(messages), pad if _is_pad(pad) else {}, version)
        return version

    def _add(self, key: Conversation, *messages: Any, **pad: Any) -> None:
        """What another worker writes."""
        old, old_pad, _ = self._now(key)
        self._put(key, [*old, *messages], {**old_pad, **pad})

    def _key(self, conversation: Any, method: str) -> Any:
        """The conversation that is asked for, if it is the expected one.

        Raises:
            Misconception: it is another one, which ends the check.
            TypeError, ValueError: it is, and its ids are none, as every store says.
        """
        given = tuple(conversation) if isinstance(conversation, tuple | list) else conversation
        if not isinstance(given, tuple) or not _same(given, self._expected):
            raise Misconception(_stranger(given, self._expected, method, self._call))
        for name, each in zip(IDS, given, strict=True):
            if not isinstance(each, str):
                raise TypeError(f"an id must be a str, not {type(each).__name__} ({name})")
            if not each:
                raise ValueError(f"an id must not be empty ({name})")
        return given


def _is_pad(pad: Any) -> bool:
    """Whether something is a dict that JSON can write; the check says elsewhere what else was given."""
    try:
        json.dumps(pad)
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(pad, dict)


def _same(given: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    """Equal, and of the same types: 7 is no "7", and 1 is not True."""
    return [type(each) for each in given] == [type(each) for each in expected] and given == expected


def _stranger(given: Any, expected: tuple[Any, ...], method: str, call: str) -> str:
    shown = shorten(repr(given), 60)
    if isinstance(given, str):
        return f"""{call} asked `{method}` for {shown}: one text. A conversation is (tenant, user, session).
            Ids that are joined can give the same text for two conversations, whatever stands between them.
            Look at what you give to the store as the conversation."""
    if not isinstance(given, tuple):
        kind = given.type_name if isinstance(given, Opaque) else type(given).__name__
        return f"""{call} asked `{method}` for a {kind}; a conversation is a tuple of three texts.
            Look at what you give to the store as the conversation."""
    if len(given) != len(expected):
        return f"""{call} asked `{method}` for a conversation of {len(given)}: {shown}
            The store knows a conversation by three ids: (tenant, user, session).
            Look at which ids you give to it."""
    if sorted(map(repr, given)) == sorted(map(repr, expected)):
        return f"""{call} asked `{method}` for {shown}: the right ids in another order.
            Another worker, whose order is (tenant, user, session), would not find the conversation.
            Look at the tuple that you give to the store."""
    at = next(place for place, pair in enumerate(zip(given, expected, strict=True)) if not _same(pair[:1], pair[1:]))
    own = shorten(repr(expected[at]), 30)
    return f"""{call} asked `{method}` for the {IDS[at]} {shorten(repr(given[at]), 30)}; it was given {own}.
            Two ids that differ are two ids, in every letter and every space; and the store says what is none.
            Look at what your code does with an id on its way to the store."""


# -- talks ---------------------------------------------------------------------------------------------

NAMES = ["Ada", "Zoë", "Grace", "Łukasz", "Mei", "José", "Noor", "Søren"]
CITIES = ["Oslo", "Łódź", "Lima", "Bern", "Kyōto", "Cork", "Graz", "Porto"]
THINGS = ["rye loaves", "blue lamps", "pears", "umbrellas", "cellos", "red chairs", "maps"]


def fact(rng: random.Random) -> str:
    """Something that a user says; the number makes each one different."""
    number = rng.randrange(10_000, 100_000)
    said = [
        f"I am {rng.choice(NAMES)}, and my number is {number}.",
        f"We need {number} {rng.choice(THINGS)} in {rng.choice(CITIES)}.",
        f"Write to {rng.choice(NAMES)} in {rng.choice(CITIES)}, box {number}.",
    ]
    return rng.choice(said)


def story(rng: random.Random, turns: int) -> list[dict[str, Any]]:
    """A conversation of so many turns, of one to five messages each, as tools and failures leave them."""
    told: list[dict[str, Any]] = []
    sizes = [(4, 2, 1, 5, 2)[number % 5] for number in range(turns)]
    rng.shuffle(sizes)
    for size in sizes:
        told.append(user(fact(rng)))
        calls = [f"call_{rng.randrange(10_000, 100_000)}" for _ in range(size - 3)]
        if calls:
            asked = [{"id": id_, "type": "function", "function": {"name": "clock", "arguments": "{}"}} for id_ in calls]
            told.append({"role": "assistant", "content": None, "tool_calls": asked})
            told += [{"role": "tool", "tool_call_id": id_, "content": fact(rng)} for id_ in calls]
        if size > 1:
            told.append(assistant(f"Noted: {fact(rng)}"))
    return told


def goal(rng: random.Random) -> str:
    """Something that a user wants, with a letter outside ASCII in it."""
    return f"Plan a day in {rng.choice(CITIES)} for Zoë and {rng.randrange(10_000, 100_000)} others"
