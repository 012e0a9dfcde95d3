"""Answers to lesson 7."""

from __future__ import annotations

from answers import *  # noqa: F403

RIGHT = {"k_turns": [("a", "x"), ("b", "y")], "same_window": [("a", "x"), ("b", "y")]}
WRONG = {"k_turns": [("a", "x", "y")], "same_window": [("a", "x", "y")]}
