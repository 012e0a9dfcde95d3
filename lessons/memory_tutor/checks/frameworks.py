"""Lesson 7: what a framework keeps and sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_tutor.exercises import Lesson, Misconception

if TYPE_CHECKING:
    from memory_tutor.learner import Learner

lesson = Lesson("07_frameworks", "Frameworks", level=3, minutes=60)

lesson.predict(
    "what_k_sends",
    choices={
        "a": "7: six, and the question",
        "b": "13: six turns of two messages, and the question",
        "c": "1: all of it is one text",
    },
    right="c",
    why={
        "a": "twelve messages are kept: this `k` counts turns, each a question and its answer.",
        "b": "it keeps those twelve. But this chain's prompt is a text, and they are pasted into it.",
        "c": "the instruction, twelve messages and the question stand in the text of one user message.",
    },
)

lesson.predict(
    "after_the_window",
    choices={
        "a": "3: what was cut is gone",
        "b": "6: what is sent was cut, and not what is stored",
        "c": "None: the model has them",
    },
    right="b",
    why={
        "a": "that is so where a middleware changes the state; this one changes the request alone.",
        "b": "the middleware gave the model a shorter list; the checkpointer stored the whole state.",
        "c": "a model keeps nothing between two requests; the checkpointer in your process does.",
    },
)

lesson.predict(
    "provider_memory",
    choices={
        "a": "You pay for the new text only",
        "b": "The window does not end any more",
        "c": "Who keeps the history",
    },
    right="c",
    why={
        "a": "the model reads the earlier messages each time, and each time you pay for their tokens.",
        "b": "the model's context is as large as before; what is stored elsewhere must fit into it, too.",
        "c": "the provider stores it, under the provider's rules, and another endpoint does not have it.",
    },
)


@lesson.exercise(points=5, hints=["a", "b", "c"])
def k_turns(learner: Learner) -> None:
    """Say what LangChain's window memory would keep."""
    if learner.call("k_turns", [], 0).value != []:
        raise Misconception("not yet")


@lesson.exercise(points=5, hints=["a", "b", "c"])
def same_window(learner: Learner) -> None:
    """Make LangChain's trimmer do what lesson 4's does."""
    if learner.call("same_window", [], 0).value != []:
        raise Misconception("not yet")
