"""What all stores ask of their callers, and how they name what they keep."""

from __future__ import annotations

import hashlib
import json
import secrets
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


#: More messages than any conversation has, and a number that every engine takes.
ALL = 2**31 - 1


def checked_last(last: int | None) -> int | None:
    """How many messages are asked for, at most `ALL`; ValueError for a negative number."""
    if last is None:
        return None
    if last < 0:
        raise ValueError(f"last counts messages: 0 or more, not {last}")
    return min(last, ALL)
