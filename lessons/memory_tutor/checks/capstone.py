"""Lesson 8: one class for many users, put together from all the parts, and looked at from five sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_tutor.checks import assistants
from memory_tutor.exercises import Lesson

if TYPE_CHECKING:
    from memory_tutor.learner import Learner

lesson = Lesson("08_capstone", "Capstone", level=3, minutes=90)


# -- predictions ---------------------------------------------------------------------------------------

lesson.predict(
    "beyond_window",
    choices={
        "a": "Both: the store holds both",
        "b": "The goal, and not the name",
        "c": "Neither: both are older than the window",
    },
    right="b",
    why={
        "a": "the store is yours, not the model's. Of what it holds, the model reads what you send.",
        "b": "the pad is in front of each request, whatever the window holds. The name was in a turn that is cut.",
        "c": "that would be so if the goal had been said in a turn. It stands in the pad, which no window cuts.",
    },
)

lesson.predict(
    "goal_on_self",
    choices={
        "a": "That he has none: his ids are others",
        "b": "Ada's goal",
        "c": "An error: nothing is kept under his ids",
    },
    right="b",
    why={
        "a": "the ids choose a conversation in the store. `self.pad` has nothing to do with them.",
        "b": "one object has one `self.pad`, and every user of the object reads it. The present is no secret now.",
        "c": "nobody looks anything up under his ids: the pad is there, and it is sent.",
    },
)

lesson.predict(
    "goal_meanwhile",
    choices={
        "a": "It is kept: B has written no message, so nobody is in A's way",
        "b": "`Conflict`: the version is that of the talk, pad and all",
        "c": "It is kept, and B's goal is gone: A had loaded the old pad",
    },
    right="b",
    why={
        "a": "A's reply was made without the goal, so B is in A's way: the reply is out of date.",
        "b": "whatever is written changes the version, so A is told that its reply was made from something old.",
        "c": "so it goes where no version is checked, and where each save writes all that was loaded.",
    },
)


# -- one class, five checks ----------------------------------------------------------------------------


@lesson.exercise(
    points=3,
    answer="Assistant",
    hints=[
        "Two users of two tenants may both be called ada, and an id may hold any character. What tells your class "
        "whose message it has?",
        "Section 3: what stands on `self` belongs to everybody. And lesson 3: ids that are joined to one text can be "
        "joined to the same text in two ways.",
        "Give the store the three ids as they came, as one tuple, in `load` and in `append`, and keep nothing of a "
        "conversation anywhere else. The line left to write is `conversation = (…, …, …)`.",
    ],
    another_way="""
        Where one object serves one user only, the ids may go into `__init__` in place of each call. That is better in a
        desktop program. In a service, an object for each user has to be found again by the same three ids.
        """,
)
def keeps_apart(learner: Learner) -> None:
    """Give each conversation its own, whatever stands in the ids."""
    assistants.keeps_apart(learner)


@lesson.exercise(
    points=3,
    answer="Assistant",
    hints=[
        "A stored turn may have two messages, or four, or one. How do you find the place where the newest two turns "
        "begin?",
        "Lesson 4, exercise 2: `trim_turns`, and its trap, a window of 0. The question is not in the store yet, so it "
        "does not count. And who appends the question, and when?",
        "The request is the system message, then the newest turns of what `load` gives, then the question; `append` "
        "gets the question and the reply, both as plain dicts. The line left to write is the list `messages`.",
    ],
    another_way="""
        `load` with `last` reads less from the disk, which is better for talks of thousands of messages. `last` counts
        messages and a turn has any number of them: load more until the window's turns are whole, or all is loaded.
        """,
)
def sends_a_window(learner: Learner) -> None:
    """Store everything, and send a window of whole turns."""
    assistants.sends_a_window(learner)


@lesson.exercise(
    points=3,
    answer="Assistant",
    hints=[
        "The network goes away in the middle of `chat`. What stands in the store afterwards, and what does the next "
        "request hold?",
        "Lesson 2, `say_safely`, and lesson 6, section 7: the order of load, call and save decides what a failure can "
        "leave behind. Which errors are a reason for another attempt, and which are not?",
        "Refuse blank text first. Nothing is appended before the reply has come, and the `try` stands around the "
        "`append` alone. The line left to write is `except Conflict:`, and not a wider one.",
    ],
    another_way="""
        Some services keep the question at once, with a mark that its answer is missing, so that nothing of what a user
        typed is lost. It is better where people write long texts, and it needs code that leaves the marked ones out of
        each request.
        """,
)
def survives_failure(learner: Learner) -> None:
    """Leave the store as it was when a call fails."""
    assistants.survives_failure(learner)


@lesson.exercise(
    points=3,
    answer="Assistant",
    hints=[
        "Your program is started anew, and Ada asks for her goal. Where can it come from?",
        "Section 3 ends with the line that puts a goal into the store. Lesson 5, `messages_for_model`: one projection, "
        "made for the request, as JSON, with letters as they are.",
        "`set_goal`: `load`, a new pad with the old keys and the goal, `append` of no messages with that pad. `chat`: "
        "the pad that `load` gives goes through `projection_of`. The line left to write is the `append`.",
    ],
    another_way="""
        The pad may also go into the first system message, behind the instruction. It is better where a provider, or a
        model's template, takes only one system message.
        """,
)
def remembers_goal(learner: Learner) -> None:
    """Show the goal in each request, also after a restart."""
    assistants.remembers_goal(learner)


@lesson.exercise(
    points=3,
    answer="Assistant",
    hints=[
        "Another worker answers, or changes the goal, while yours waits for the model. What is your reply worth then, "
        "and what is the pad worth that you have loaded?",
        "Section 4: which steps are done again after a `Conflict`? And after the third edit there: what does the "
        "caller learn when the last attempt has failed?",
        "Both methods: a loop of three, with `load` inside it, and `append` with the version of that `load`; `except "
        "Conflict` goes on unless it was the third attempt. The line left to write is the bare `raise` of the third.",
    ],
    another_way="""
        `set_goal` needs no model, so it could try more often than three times at no cost. A lock for each conversation
        (lesson 6, section 9) makes conflicts rare within one process, which is better where users are impatient; the
        version is still needed for the other processes.
        """,
)
def shares_with_workers(learner: Learner) -> None:
    """Lose no turn and no goal when other workers write, too."""
    assistants.shares_with_workers(learner)
