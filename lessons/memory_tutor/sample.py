"""The talk that lesson 8 records, and that `memory-tutor chat` repeats offline, line by line."""

from __future__ import annotations

TENANT, USER, SESSION = "acme", "ada", "s1"
#: Of the Assistant, in turns: small enough for the user's name to leave it.
WINDOW = 2
#: In the pad, where no window cuts it off.
GOAL = "Plan a birthday party for Zoë"
#: What the user types, one line a turn; a command is no message.
LINES = [
    "Hello, I am Ada.",
    f"/goal {GOAL}",
    "Name one thing to buy for it.",
    "And one game to play?",
    "What is my goal?",
    "What is my name?",
]
