"""Names that students and their files bring along, made fit to be shown, compared and used for a file."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from pathlib import PurePath

#: Control characters, what breaks or turns round a line, what nobody sees, and halves of a character.
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
#: What no file's name may have on some system, and what would need quoting in a shell or an address.
_UNSAFE = re.compile(r"[^\w.,@+-]+")
#: Names that Windows keeps for itself, whatever the ending.
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
#: How a name with digits of a hash ends, so that nobody is called like another one's file.
_HASHED = re.compile(r"-[0-9a-f]{8}$")
#: Characters of a name, for people and for a file.
LONGEST, LONGEST_STEM = 200, 60


def shown(name: PurePath | str, longest: int = LONGEST) -> str:
    """A name on one line, with nothing in it that a terminal or a page obeys.

    Args:
        name: any text.
        longest: characters; a longer one loses its middle, as files of a class often begin alike.
    """
    text = _UNSHOWN.sub(lambda found: repr(found[0])[1:-1], unicodedata.normalize("NFC", str(name)))
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def person(name: str) -> str:
    """A student's name: one spelling of each letter, single spaces, nothing unprintable."""
    return shown(" ".join(unicodedata.normalize("NFC", name).split()))


def stem(name: str) -> str:
    """A name for a student's files, safe on every system.

    Two names that differ never get the same one, also where the system does not tell capitals apart: a name
    that does not stay as it is gets a few digits of its hash.
    """
    plain = _UNSAFE.sub("_", name).strip("._ ")[:LONGEST_STEM].rstrip("._ ")
    ascii_and_small = plain == name and plain.isascii() and plain == plain.lower()
    if plain and ascii_and_small and not _RESERVED.fullmatch(plain) and not _HASHED.search(plain):
        return plain
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain or 'student'}-{digits}"
