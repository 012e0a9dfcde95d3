"""The edits that lesson 6 names."""

from __future__ import annotations

#: What to replace, and by what; an edit is one or more of them.
Edit = list[tuple[str, str]]

CUT = "len(new) // 2)"
LOCKED = "async with locks[chat]:"

EDITS: list[tuple[str, list[Edit]]] = [
    ("killed-try", [[(CUT, "len(new) - 1)")]]),
    ("killed-try", [[(CUT, "0)")]]),
    ("killed-try", [[("process.kill()", 'process.communicate("go on\\n")')]]),
    ("store-try", [[('chat = "demo"', 'chat = f"demo {text}"')]]),
    ("store-try", [[("[question, answer]", "[system, question, answer]")]]),
    ("store-try", [[("*history", "*history[-2:]")]]),
    ("lock-try", [[(LOCKED, "async with asyncio.Lock():")]]),
    ("lock-try", [[(LOCKED, "async with locks[text]:")]]),
    ("lock-try", [[(LOCKED, 'async with locks["all"]:')]]),
]

#: Cells that a cell needs, besides the set-up.
NEEDS = {
    "killed-try": ["set-up-folder", "set-up-start", "killed-writer"],
    "store-try": ["set-up-folder", "store-functions", "store-read-and-add"],
    "lock-try": ["one-thread-turn"],
}
