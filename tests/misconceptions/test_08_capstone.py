"""Answers to lesson 8."""

from answers import *  # noqa: F403

WRONG = {
    "keeps_apart": [("a", "b", "c")],
    "sends_a_window": [("a", "b", "c")],
    "survives_failure": [("a", "b", "c")],
    "remembers_goal": [("a", "b", "c")],
    "shares_with_workers": [("a", "b", "c")],
}
RIGHT = {
    "keeps_apart": [("a", "b"), ("c", "d")],
    "sends_a_window": [("a", "b"), ("c", "d")],
    "survives_failure": [("a", "b"), ("c", "d")],
    "remembers_goal": [("a", "b"), ("c", "d")],
    "shares_with_workers": [("a", "b"), ("c", "d")],
}
