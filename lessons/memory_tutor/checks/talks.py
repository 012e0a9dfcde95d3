"""Conversations to check with, whose texts tell who speaks: S the system, Q a question, A an answer.

"S1 Q1 C1 T1 A1" has a system message, and a turn in which the model calls a tool (C) and is given its result (T).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from memory_tutor.checks import common
from memory_tutor.checks.common import assistant, system, user
from memory_tutor.codec import shorten

Messages = list[dict[str, Any]]


def talk(names: str) -> Messages:
    """Messages from their names: S1 system, Q1 user, A1 assistant, C1+C2 two tool calls, T1 a result."""
    return [_message(name) for name in names.split()]


def _message(name: str) -> dict[str, Any]:
    if name[0] == "C":
        calls = [
            {"id": id_.lower(), "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
            for id_ in name.split("+")
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    if name[0] == "T":
        return {"role": "tool", "tool_call_id": name.lower().replace("t", "c"), "content": name}
    return {"S": system, "Q": user, "A": assistant}[name[0]](name)


def name(message: Any) -> str:
    """The name of a message, as `talk` reads it."""
    if isinstance(message, dict):
        content, calls = message.get("content"), message.get("tool_calls")
        if isinstance(content, str) and content:
            return shorten(content, 20)
        if isinstance(calls, list) and all(isinstance(call, dict) for call in calls):
            return shorten("+".join(str(call.get("id")).upper() for call in calls), 20)
    return shorten(repr(message), 40)


def names(messages: Sequence[Any]) -> str:
    """Messages for people: "[S1, Q1, A1]"."""
    return shorten(f"[{', '.join(map(name, messages))}]", 70)


def is_system(message: Any) -> bool:
    return common.role(message) == "system"


def parted(messages: Messages) -> tuple[Messages, Messages]:
    """The system messages, and the others."""
    return [m for m in messages if is_system(m)], [m for m in messages if not is_system(m)]


def starts(others: Sequence[Any]) -> list[int]:
    """Where the turns begin."""
    return [index for index, message in enumerate(others) if common.role(message) == "user"]


def histories(number: int) -> list[Messages]:
    """Conversations of every shape, the same each time, the shortest first."""
    made = random.Random(4)
    talks: dict[str, None] = {}
    while len(talks) < number:
        names = ["A0"] * (made.random() < 0.3)
        for turn in range(1, made.randint(1, 6)):
            names.append(f"Q{turn}")
            shape = made.choice(["answered", "answered", "open", "tool", "two tools", "tool loop"])
            one, two = f"{turn}1", f"{turn}2"
            if shape == "tool":
                names += [f"C{one}", f"T{one}"]
            elif shape == "two tools":
                names += [f"C{one}+C{two}", f"T{one}", f"T{two}"]
            elif shape == "tool loop":
                names += [f"C{one}", f"T{one}", f"C{two}", f"T{two}"]
            if shape != "open":
                names.append(f"A{turn}")
        for instruction in range(made.randint(0, 2), 0, -1):
            names.insert(made.randint(0, len(names)) if made.random() < 0.4 else 0, f"S{instruction}")
        talks[" ".join(names)] = None
    return sorted(map(talk, talks), key=len)
