"""How values cross between a check and a learner's code: JSON data that keeps Python's plain types.

None, bool, int, float, str, list, tuple and dict (with any of them as keys) arrive as they left, by
value. A subclass arrives as the plain type that it extends. Whatever else there is arrives as an
`Opaque`: its type's name and a shortened repr. Nothing that a learner's class defines decides what is
sent: types are those of `type()`, contents are read by the built-in types' own methods.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

#: Bounds of one message: values in containers, characters of text, containers within each other.
NODES = 50_000
CHARACTERS = 500_000
DEPTH = 50
#: The longest int, in bits, and the longest text of an Opaque, in characters.
INT_BITS = 256
OPAQUE = 200

#: JSON data that stands for a value. A list is a list; every other tagged form is an object of one key.
Wire = Any
#: Turns a value that is no plain data into wire form, or returns None to leave it to Opaque.
Extend = Callable[[Any], Wire]
#: Turns the wire form of such a value back: gets the tag and what stands under it.
Restore = Callable[[str, Any], Any]


class CodecError(ValueError):
    """What arrived is not the wire form of a value."""


class Opaque:
    """Stands for a value that cannot cross. It is equal to nothing but itself.

    Args:
        type_name: name of the value's type.
        text: what to show for it.
    """

    __slots__ = ("text", "type_name")

    def __init__(self, type_name: str, text: str) -> None:
        self.type_name = type_name
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        # Decided here: the other side of the comparison is not asked.
        return self is other

    def __hash__(self) -> int:
        return id(self)


def class_name(kind: type) -> str:
    """The real name of a class, whatever its metaclass says."""
    name: str = type.__dict__["__name__"].__get__(kind)
    return name


def class_mro(value: object) -> tuple[type, ...]:
    """The real type of a value and those that it extends, whatever its class or metaclass says."""
    mro: tuple[type, ...] = type.__dict__["__mro__"].__get__(type(value))
    return mro


def type_name(value: object) -> str:
    """The name of a value's real type."""
    return class_name(type(value))


def safe_repr(value: object) -> str:
    """A value's repr without addresses, shortened; where it fails, the name of the type."""
    try:
        text = str.__str__(repr(value))
    except Exception:  # a learner's __repr__ may do anything; an interrupt still ends it
        return f"<{type_name(value)} object>"
    return shorten(re.sub(r" at 0x[0-9a-fA-F]+", "", text[: 10 * OPAQUE]), OPAQUE)


def shorten(text: str, most: int) -> str:
    """The text, cut to so many characters, with an ellipsis where it was cut."""
    return text if len(text) <= most else text[: most - 1] + "…"


class Encoder:
    """Turns values into wire form; the bounds hold for all values of one encoder together.

    Args:
        extend: gets what is no plain data, before it becomes an Opaque.
    """

    def __init__(self, extend: Extend | None = None) -> None:
        self._extend = extend
        self._nodes = NODES
        self._characters = CHARACTERS
        self._within: set[int] = set()

    def encode(self, value: object) -> Wire:
        """The wire form of a value. It never raises for what a value is, only for what `extend` raises."""
        kind = type(value)
        if value is None or kind is bool:
            return value
        if issubclass(kind, int):
            number = int.__int__(value)  # type: ignore[arg-type]
            if number.bit_length() > INT_BITS:
                return self._refuse(value, f"an int of {number.bit_length()} bits, too long")
            return number
        if issubclass(kind, float):
            real = float.__float__(value)  # type: ignore[arg-type]
            return real if math.isfinite(real) else {"float": repr(real)}
        if issubclass(kind, str):
            return self._text(str.__str__(value))
        if issubclass(kind, list | tuple | dict):
            return self._container(value)
        if kind is Opaque:
            return self._opaque(value.type_name, value.text)  # type: ignore[attr-defined]
        if self._extend is not None and (extended := self._extend(value)) is not None:
            return extended
        return self._opaque(type_name(value), safe_repr(value))

    def _text(self, text: str) -> Wire:
        if len(text) > self._characters:
            return self._refuse(text, f"a str of {len(text)} characters, too many")
        self._characters -= len(text)
        if any("\ud800" <= character <= "\udfff" for character in text):
            # JSON would join two of them to one character; as bytes each stays what it is.
            return {"str": text.encode("utf-8", "surrogatepass").decode("latin-1")}
        return text

    def _container(self, value: Any) -> Wire:
        is_dict = issubclass(type(value), dict)
        plain = dict if is_dict else list if issubclass(type(value), list) else tuple
        size = plain.__len__(value)
        if id(value) in self._within:
            return self._refuse(value, f"a {plain.__name__} that contains itself")
        if len(self._within) >= DEPTH:
            return self._refuse(value, f"a {plain.__name__} nested more than {DEPTH} deep")
        if size > self._nodes:
            return self._refuse(value, f"a {plain.__name__} of {size} items, too many")
        self._nodes -= size
        self._within.add(id(value))
        try:
            if is_dict:
                pairs = list(dict.items(value))
                return {"dict": [[self.encode(key), self.encode(item)] for key, item in pairs]}
            parts = [self.encode(item) for item in list(plain.__iter__(value))]
            return parts if plain is list else {"tuple": parts}
        finally:
            self._within.discard(id(value))

    def _refuse(self, value: object, why: str) -> Wire:
        return self._opaque(type_name(value), f"<{why} to look at>" if why.endswith("many") else f"<{why}>")

    def _opaque(self, name: str, text: str) -> Wire:
        room = max(0, self._characters)
        name, text = shorten(name, OPAQUE)[:room], text[:room]
        self._characters -= len(name) + len(text)
        return {"opaque": [printable(name), printable(text)]}


def printable(text: str) -> str:
    """The text with lone surrogates escaped: no notebook and no file can show them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def encode(value: object, extend: Extend | None = None) -> Wire:
    """The wire form of one value; see `Encoder`."""
    return Encoder(extend).encode(value)


def decode(wire: Wire, restore: Restore | None = None) -> Any:
    """The value that a wire form stands for, made of exact built-in types and Opaque.

    Args:
        wire: JSON data; it may come from a process that is not to be trusted.
        restore: gets the tags that are not the codec's own.

    Raises:
        CodecError: it stands for no value.
    """
    try:
        return _decode(wire, restore, DEPTH + 2)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CodecError("This stands for no value.") from error


def _decode(wire: Wire, restore: Restore | None, depth: int) -> Any:
    if depth == 0:
        raise ValueError("too deep")
    if wire is None or isinstance(wire, bool | int | str):
        return wire
    if isinstance(wire, float):
        if not math.isfinite(wire):
            raise ValueError("not JSON")
        return wire
    if isinstance(wire, list):
        return [_decode(part, restore, depth - 1) for part in wire]
    if not isinstance(wire, dict):
        return _fail()
    ((tag, inside),) = wire.items()
    if tag == "float":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.get(inside) or _fail()
    if tag == "str":
        return inside.encode("latin-1").decode("utf-8", "surrogatepass")
    if tag == "tuple":
        return tuple(_decode(part, restore, depth - 1) for part in inside)
    if tag == "dict":
        return {_key(_decode(key, restore, depth - 1)): _decode(item, restore, depth - 1) for key, item in inside}
    if tag == "opaque":
        name, text = inside
        return Opaque(str(name), str(text))
    if restore is None:
        return _fail()
    return restore(tag, inside)


def _key(key: Any) -> Any:
    """A dict key; one that only its own class made hashable becomes Opaque."""
    try:
        hash(key)
    except TypeError:
        return Opaque(type(key).__name__, f"<a {type(key).__name__} as a key>")
    return key


def _fail() -> Any:
    raise ValueError("unknown")
