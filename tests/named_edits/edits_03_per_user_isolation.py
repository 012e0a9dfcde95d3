"""The edits that lesson 3 names."""

from __future__ import annotations

#: What to replace, and by what; an edit is one or more of them.
Edit = list[tuple[str, str]]

QUESTION = '("sam", "What\'s my name?")'
KEY = 'f"{tenant}:{user}"'
IDS = '[("acme", "eu:ada", "Ada\'s secret"), ("acme:eu", "ada", "another Ada\'s secret")]'
RARE: Edit = [(KEY, 'f"{tenant}|{user}"')]

EDITS: list[tuple[str, list[Edit]]] = [
    ("by-id-try", [[('("ada", "My name is Ada")', '("sam", "My name is Ada")')]]),
    ("by-id-try", [[(QUESTION, '("sam 2", "What\'s my name?")')]]),
    ("by-id-try", [[(QUESTION, '("Sam", "What\'s my name?")')]]),
    ("joined-try", [RARE]),
    ("joined-try", [RARE, [(IDS, '[("a|b", "c", "Ada\'s secret"), ("a", "b|c", "another Ada\'s secret")]')]]),
    ("joined-try", [[(KEY, "(tenant, user)")]]),
]

#: Cells that a cell needs, besides the set-up.
NEEDS = {"by-id-try": ["set-up-chat", "by-id-run"]}
