"""The JSON that stands in a text, such as a projection."""

from __future__ import annotations

import json
from typing import Any

#: How much of a text is searched for JSON: in characters, and in places where it may begin.
SEARCHED, PLACES = 20_000, 200


def objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects in a text, also those within others."""
    text = text[:SEARCHED]
    decoder = json.JSONDecoder()
    starts = [index for index, character in enumerate(text) if character == "{"][:PLACES]
    found = []
    for start in starts:
        try:
            found.append(decoder.raw_decode(text, start)[0])
        except (ValueError, RecursionError):
            continue
    return found


def same_json(one: Any, other: Any) -> bool:
    """Equal as JSON, where 1, 1.0 and true differ."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def shows(text: str, pad: dict[str, Any]) -> bool:
    """Whether a text holds a pad as JSON."""
    return any(same_json(each, pad) for each in objects(text))


def dumped_twice(text: str, pad: dict[str, Any]) -> bool:
    """Whether a text holds a pad as JSON that was dumped again."""
    start = text.find('"{')
    try:
        inner = json.JSONDecoder().raw_decode(text, start)[0] if start >= 0 else None
        return isinstance(inner, str) and shows(inner, pad)
    except (ValueError, RecursionError):
        return False
