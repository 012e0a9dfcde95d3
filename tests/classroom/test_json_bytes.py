"""What is seen of a JSON file before it is parsed is what a parser sees."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_tutor.grading import json_bytes

TEXTS = st.text(st.sampled_from('ab"\\ ,[{\n\x1b€'), max_size=6)
VALUES = st.recursive(TEXTS | st.integers() | st.none(), lambda each: st.lists(each) | st.dictionaries(TEXTS, each))


@given(VALUES, st.booleans())
def test_texts_and_parts_are_those_of_a_parser(value: Any, ascii_only: bool) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only).encode()
    seen: list[str] = []
    count = _walk(value, seen)
    assert [json.loads(data[start:stop]) for start, stop in json_bytes.texts(data)] == seen
    assert json_bytes.parts(data) == count


def _walk(value: Any, seen: list[str]) -> int:
    """Gathers all texts; returns how many lists, objects and commas there are."""
    if isinstance(value, str):
        seen.append(value)
    if isinstance(value, dict):
        count = 1 + max(0, len(value) - 1)
        for name, each in value.items():
            seen.append(name)
            count += _walk(each, seen)
        return count
    if isinstance(value, list):
        return 1 + max(0, len(value) - 1) + sum(_walk(each, seen) for each in value)
    return 0


@given(st.lists(TEXTS), st.lists(TEXTS, min_size=2), st.integers(0, 60))
def test_of_a_long_list_of_texts_the_last_is_left(before: list[str], long: list[str], most: int) -> None:
    data = json.dumps({"a": [before, 1, long], "b": 2}).encode()
    kept = json.loads(json_bytes.without_long_lists(data, most))
    size = len(json.dumps(long)) - len(json.dumps([long[-1]]))
    assert kept["b"] == 2 and kept["a"][1] == 1
    assert kept["a"][2] == (["", long[-1]] if size > most else long)


@pytest.mark.parametrize("data", [b'"', b'"\\', b'["a", "b', b'"a\\"', b'{"a": "', b"\\", b"", b'\\"a"'])
def test_half_a_file_keeps_all_that_is_there(data: bytes) -> None:
    assert json_bytes.without_long_lists(data, 100) == data
    assert [stop for _, stop in json_bytes.texts(data)][-1:] in ([], [len(data)])
