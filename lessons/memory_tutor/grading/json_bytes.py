"""What the bytes of a JSON file are made of, seen before it is parsed: parsing costs memory many times its size.

No regular expression does it: on long texts they are safe only with possessive quantifiers, which are broken in
Python before 3.11.5.
"""

from __future__ import annotations

from collections.abc import Iterator


def texts(data: bytes) -> Iterator[tuple[int, int]]:
    """The place of each text and of what follows it; the last text may lack its end."""
    start = data.find(b'"')
    while start >= 0:
        stop = _stop(data, start + 1)
        yield start, stop
        start = data.find(b'"', stop)


def _stop(data: bytes, place: int) -> int:
    """The place after the quotation mark that ends a text."""
    while (end := data.find(b'"', place)) >= 0:
        before = data[place:end]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return end + 1
        place = end + 1  # it is escaped
    return len(data)


def parts(data: bytes) -> int:
    """How many lists, objects and values there are, about."""
    pieces, last = [], 0
    for start, stop in texts(data):
        pieces.append(data[last:start])
        last = stop
    outside = b"".join([*pieces, data[last:]])
    return sum(map(outside.count, (b"{", b"[", b",")))


def without_long_lists(data: bytes, most: int) -> bytes:
    """The same with an empty text in the place of neighbouring texts, but for the last of them.

    Args:
        data: the file.
        most: bytes that neighbouring texts may have, with their commas.
    """
    kept, done = [], 0
    for first, last in _runs(data):
        if last - first > most:
            kept += [data[done:first], b'"",']
            done = last
    return b"".join([*kept, data[done:]])


def _runs(data: bytes) -> Iterator[tuple[int, int]]:
    """Texts with nothing but a comma between them: the place of the first and of the last."""
    first = last = end = -1
    for start, stop in texts(data):
        if first < 0 or data[end:start].strip() != b",":
            if first >= 0:
                yield first, last
            first = start
        last, end = start, stop
    if first >= 0:
        yield first, last
