"""What all stores ask of their callers, and how they name what they keep."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from typing import Any


def checked(*ids: object) -> tuple[str, ...]:
    """The ids, if each is a text that is not empty.

    Raises:
        TypeError: one is no `str`, or there are not as many as a conversation has.
        ValueError: one is empty.
    """
    for each in ids:
        if not isinstance(each, str):
            raise TypeError(f"an id must be a str, not {type(each).__name__}")
        if not each:
            raise ValueError("an id must not be empty")
    return ids  # type: ignore[return-value]


def conversation_ids(conversation: object) -> tuple[str, str, str]:
    """The three ids of a conversation, checked as `checked` does."""
    if not isinstance(conversation, tuple | list) or len(conversation) != 3:
        raise TypeError(f"a conversation is (tenant, user, session), not {conversation!r}")
    tenant, user, session = checked(*conversation)
    return tenant, user, session


def hashed(*ids: str) -> str:
    """A name of 64 letters and digits for some ids: another one for other ids, whatever stands in them.

    Joined ids would collide, and a database may refuse some (NUL), fold others (case) or cut the long ones.
    A lone surrogate, which UTF-8 cannot write, is written as JSON escapes it.
    """
    return hashlib.sha256(json.dumps(ids).encode("ascii")).hexdigest()


def new_version() -> int:
    """A version that no conversation has had: below 2**53, so that every client keeps it exactly, and never 0.

    A counter would begin anew with a conversation that was deleted, and an old version could fit the new one.
    """
    return 1 + secrets.randbelow(2**53 - 1)


def known_version(version: object) -> bool:
    """Whether a value can be a version of a store at all: a number that databases hold."""
    return type(version) is int and 0 <= version < 2**53


def as_json(value: Any) -> str:
    """A message or a pad as JSON in ASCII, so that no encoding and no database changes it.

    Raises:
        TypeError, ValueError: it is no JSON.
    """
    return json.dumps(value, allow_nan=False)


def checked_turn(messages: object, pad: object) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """What is to be appended, if it is messages, and a pad or None.

    Raises:
        TypeError: a message or the pad is no dict; what holds the messages may be any iterable.
    """
    if isinstance(messages, str | bytes | dict) or not isinstance(messages, Iterable):
        raise TypeError(f"messages must be a list of dicts, not a {type(messages).__name__}")
    rows = list(messages)
    for each in rows:
        if not isinstance(each, dict):
            raise TypeError(f"a message must be a dict, not a {type(each).__name__}")
    if pad is not None and not isinstance(pad, dict):
        raise TypeError(f"a pad must be a dict, not a {type(pad).__name__}")
    return rows, pad


#: A thousand years, in seconds: every engine has dates for that.
LONGEST = 1000 * 365 * 24 * 3600


def checked_lifetime(lifetime: object) -> float | None:
    """Seconds after which a conversation expires, or None.

    Raises:
        TypeError: it is no number.
        ValueError: it is not above 0, or beyond what dates can say.
    """
    if lifetime is None:
        return None
    if isinstance(lifetime, bool) or not isinstance(lifetime, int | float):
        raise TypeError(f"a lifetime is a number of seconds, not a {type(lifetime).__name__}")
    if not 0 < lifetime <= LONGEST:
        raise ValueError(f"a lifetime is a number of seconds above 0, and at most {LONGEST}, not {lifetime!r}")
    return float(lifetime)


#: More messages than any conversation has, and a number that every engine takes.
ALL = 2**31 - 1


def checked_last(last: int | None) -> int | None:
    """How many messages are asked for, at most `ALL`; TypeError or ValueError for what is no count."""
    if last is None:
        return None
    if type(last) is not int:
        raise TypeError(f"last counts messages: an int or None, not a {type(last).__name__}")
    if last < 0:
        raise ValueError(f"last counts messages: 0 or more, not {last}")
    return min(last, ALL)
