"""Values cross whole, or as an Opaque; nothing that a learner's class defines decides what is sent."""

from __future__ import annotations

import contextlib
import enum
import json
import math
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_tutor import channel, codec
from memory_tutor.codec import CodecError, Opaque, decode, encode

ints = st.integers(-(2**codec.INT_BITS) + 1, 2**codec.INT_BITS - 1)
# Lone surrogates among them: st.text() leaves them out unless it is told otherwise.
texts = st.text(st.characters(exclude_categories=()))
scalars = st.none() | st.booleans() | ints | st.floats() | texts
keys = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=20,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["dict", "tuple", "str", "float", "opaque", "x"]), inner, max_size=2)
    ),
    max_leaves=12,
)


def cross(value: object) -> Any:
    """There and back, through the text that a pipe carries."""
    return decode(json.loads(json.dumps(encode(value), allow_nan=False)))


def exact(value: Any) -> Any:
    """The value as text that tells types, the sign of zero and NaN apart."""
    if isinstance(value, dict):
        return [(exact(key), exact(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return type(value).__name__, [exact(part) for part in value]
    return type(value).__name__, repr(value)


@given(values)
def test_plain_values_arrive_as_they_left(value: Any) -> None:
    assert exact(cross(value)) == exact(value)


@given(json_values)
def test_any_json_data_is_decoded_or_refused(wire: Any) -> None:
    with contextlib.suppress(CodecError):
        decode(wire)


@pytest.mark.parametrize(
    "wire",
    [
        {"tuple": 3},
        {"dict": [[1]]},
        {"dict": [[1, 2, 3]]},
        {"float": "1"},
        {"float": []},
        {"str": 3},
        {"str": "\u20ac"},
        {"opaque": ["one"]},
        {"unknown": 1},
        {"tuple": [], "dict": []},
        {},
        math.nan,
        {"handle": 1},
    ],
)
def test_what_is_no_wire_form_is_refused(wire: Any) -> None:
    with pytest.raises(CodecError):
        decode(wire)


def test_wire_that_is_too_deep_is_refused() -> None:
    wire: Any = []
    for _ in range(5000):
        wire = [wire]
    with pytest.raises(CodecError):
        decode(wire)


class Colour(enum.IntEnum):
    RED = 1


class Word(str):
    def __str__(self) -> str:
        return "another"

    def __len__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Items(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return iter(["another"])

    def __len__(self) -> int:
        return 0


class Book(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        return [("another", 1)]

    def __len__(self) -> int:
        return 0


class Number(int):
    def __int__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "7"

    def bit_length(self) -> int:
        return 10**9


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (defaultdict(list, {"a": [1]}), {"a": [1]}),
        (OrderedDict([((1, 2), 3)]), {(1, 2): 3}),
        (Colour.RED, 1),
        (Pair(1, "b"), (1, "b")),
        (Word("word"), "word"),
        (Items([1, 2]), [1, 2]),
        (Book(a=1), {"a": 1}),
        (Number(5), 5),
        ({Word("k"): 1}, {"k": 1}),
    ],
)
def test_a_subclass_arrives_as_the_plain_type(value: Any, plain: Any) -> None:
    arrived = cross(value)
    assert exact(arrived) == exact(plain)


class Liar:
    """Equal to everything, and says that it is a list."""

    __class__ = list  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        raise RuntimeError

    def __iter__(self) -> Any:
        return iter([1, 2])

    def __len__(self) -> int:
        return 2

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Meta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return "list"

    def __instancecheck__(cls, other: object) -> bool:
        return True

    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return hash(list)

    def mro(cls) -> Any:
        return [*type.mro(cls)]


class Masked(metaclass=Meta):
    pass


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Liar(), "Liar"),
        (Masked(), "Masked"),
        ({1, 2}, "set"),
        (b"bytes", "bytes"),
        (1j, "complex"),
        (object(), "object"),
        (len, "builtin_function_or_method"),
        (10**100, "int"),
        (ValueError("x"), "ValueError"),
    ],
)
def test_everything_else_is_opaque_and_equal_to_nothing(value: object, name: str) -> None:
    arrived = cross(value)
    assert type(arrived) is Opaque and arrived.type_name == name
    assert arrived != value and arrived != cross(value) and arrived != [1, 2]
    assert arrived == arrived and len({arrived, arrived}) == 1


def test_a_repr_has_no_address_and_is_shortened() -> None:
    assert repr(cross(object())) == "<object object>"
    assert repr(cross(Liar())) == "<Liar object>"
    long = cross({"x" * 100_000})
    assert len(long.text) == codec.OPAQUE and long.text.endswith("…")


def test_an_opaque_crosses_again() -> None:
    assert cross(Opaque("set", "{1}")).text == "{1}"


def test_a_key_that_only_its_class_made_hashable_is_opaque() -> None:
    class Key(tuple):  # type: ignore[type-arg]
        def __hash__(self) -> int:
            return 1

    (key,) = cross({Key([[]]): 1})
    assert type(key) is Opaque


def test_a_cycle_is_named() -> None:
    history: list[Any] = [1]
    history.append({"inner": history})
    arrived = cross(history)
    assert arrived[0] == 1
    assert "contains itself" in repr(arrived[1]["inner"])


def test_the_same_list_twice_is_no_cycle() -> None:
    message = {"role": "user"}
    assert cross([message, message]) == [message, message]


def test_depth_is_bounded() -> None:
    value: list[Any] = []
    for _ in range(10_000):
        value = [value]
    arrived = cross(value)
    depth = 0
    while type(arrived) is list:
        (arrived,), depth = arrived, depth + 1
    assert depth == codec.DEPTH and "nested" in repr(arrived)


def test_size_is_bounded() -> None:
    assert cross([0] * codec.NODES) == [0] * codec.NODES
    assert "too many" in repr(cross([0] * (codec.NODES + 1)))
    assert "too many" in repr(cross(dict.fromkeys(range(codec.NODES + 1), 0)))
    first, second = cross([[0] * (codec.NODES - 2), [0] * 10])
    assert len(first) == codec.NODES - 2 and type(second) is Opaque


def test_characters_are_bounded() -> None:
    assert "too many" in repr(cross("x" * (codec.CHARACTERS + 1)))
    first, second = cross(["x" * codec.CHARACTERS, "y"])
    assert len(first) == codec.CHARACTERS and type(second) is Opaque


def test_shared_references_that_multiply_are_bounded() -> None:
    value: list[Any] = ["x" * 1000]
    for _ in range(40):
        value = [value] * 10
    assert len(json.dumps(encode(value))) < channel.LINE


@pytest.mark.parametrize("unit", ["x", "\x00", "\U0001f99c", "\ud800"])
def test_the_largest_message_fits_a_line(unit: str) -> None:
    encoder = codec.Encoder()
    wire = [
        encoder.encode(unit * (codec.CHARACTERS // len(unit))),
        encoder.encode([2**codec.INT_BITS - 1] * (codec.NODES // 2)),
        encoder.encode([type("x" * 1000, (), {})()] * (codec.NODES // 2)),
    ]
    size = len(json.dumps(wire))
    assert size < channel.LINE - (1 << 20)
