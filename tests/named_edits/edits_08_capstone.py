"""The edits that lesson 8 names."""

from __future__ import annotations

#: What to replace, and by what; an edit is one or more of them.
Edit = list[tuple[str, str]]

STORE = "store, turns = earlier_talk(), 2"
GOALS = 'goals = ["Plan a picnic"]'

EDITS: list[tuple[str, list[Edit]]] = [
    ("one-turn-try", [[(STORE, "store, turns = earlier_talk(), 4")]]),
    ("one-turn-try", [[(STORE, "store, turns = earlier_talk(), 0")]]),
    ("one-turn-try", [[("projection_of(pad), ", "")]]),
    ("meanwhile-try", [[(GOALS, "goals = []")]]),
    ("meanwhile-try", [[(GOALS, 'goals = ["Plan a picnic", "Plan a party"]')]]),
    ("meanwhile-try", [[(GOALS, 'goals = ["Plan a picnic", "Plan a party", "Plan a walk"]')]]),
]

#: Cells that a cell needs, besides the set-up.
NEEDS = {
    "one-turn-try": ["given-names", "store-given"],
    "meanwhile-try": ["given-names", "store-given"],
}
