"""The names in a check's texts, exchanged for others: what one class has written down does not fit another.

Names go to others of their length, and back again, so that a check need not know of it: what it says is changed on
its way to the learner's code, what that code says on its way to the check.
"""

from __future__ import annotations

import random
import re
from typing import Any

#: Names that checks use, or may come to use, with others of their length.
NAMES = (
    ("Ada", "Bob", "Eva", "Ida", "Kim", "Mia", "Sam", "Tom"),
    ("Alan", "Cork", "Lima", "Nora", "Olga", "Oslo", "Rome"),
    ("Clara", "Grace", "Italy", "Japan", "Kenya", "Spain"),
    ("Norway", "Poland", "Sweden", "Turkey"),
)
# As it stands, and in small and in capital letters: checks have ids that differ in nothing else. A name ends where a
# word ends, so two of them never overlap, and each is found whatever stands before it: in JSON that may be the n
# of "\\n".
_CASES = (str.title, str.lower, str.upper)
_NAME = re.compile(rf"(?:{'|'.join(case(name) for group in NAMES for name in group for case in _CASES)})(?![A-Za-z])")


class Variation:
    """One way to exchange them.

    Args:
        seed: any whole number; the same gives the same.

    Raises:
        ValueError: by its methods: data that is nested beyond reason.
    """

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self._theirs: dict[str, str] = {}
        for group in NAMES:
            for ours, theirs in zip(group, rng.sample(group, len(group)), strict=True):
                self._theirs |= {case(ours): case(theirs) for case in _CASES}
        self._ours = {name: ours for ours, name in self._theirs.items()}

    def theirs(self, data: Any) -> Any:
        """What the learner's code gets in place of a text, or of all texts in JSON data."""
        return _exchanged(data, self._theirs)

    def ours(self, data: Any) -> Any:
        """What the check gets in place of a text, or of all texts in JSON data."""
        return _exchanged(data, self._ours)


def _exchanged(data: Any, names: dict[str, str], depth: int = 200) -> Any:
    if depth == 0:  # no message of ours, and none that anybody could read
        raise ValueError("too deep")
    if isinstance(data, str):
        return _NAME.sub(lambda match: names[match[0]], data)
    if isinstance(data, list | tuple):
        return [_exchanged(part, names, depth - 1) for part in data]
    if isinstance(data, dict):
        return {key: _exchanged(value, names, depth - 1) for key, value in data.items()}
    return data
