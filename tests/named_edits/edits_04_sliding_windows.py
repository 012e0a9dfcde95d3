"""The edits that lesson 4 names."""

from __future__ import annotations

#: What to replace, and by what; an edit is one or more of them.
Edit = list[tuple[str, str]]

LARGER: Edit = [("size = 5", "size = 9")]
LONGER: Edit = [('"And of Italy?"', '"And of Italy?", "And of Spain?"')]

EDITS: list[tuple[str, list[Edit]]] = [
    ("forgotten-name-try", [LARGER]),
    ("forgotten-name-try", [LARGER, LONGER]),
    ("forgotten-name-try", [[("size = 5", "size = 0")]]),
    ("two-ways-try", [[("(history, 3)", "(history, 99)")]]),
    ("two-ways-try", [[('note = {"role": "system"', 'note = {"role": "user"')]]),
    ("two-ways-try", [[("history.append(note)", 'history[0]["content"] += " " + note["content"]')]]),
]

#: Cells that a cell needs, besides the set-up.
NEEDS = {"two-ways-try": ["two-ways-functions"]}
