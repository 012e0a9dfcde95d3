"""Lesson 7: what a framework keeps and sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_tutor.checks import common, talks
from memory_tutor.checks.kept import Kept, keep, new_list, same
from memory_tutor.checks.talks import Messages
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
        "b": "The context does not run out any more",
        "c": "Who keeps the history",
    },
    right="c",
    why={
        "a": "the model reads the earlier messages each time, and each time you pay for their tokens.",
        "b": "the model's context is as large as before; what is stored elsewhere must fit into it, too.",
        "c": "the provider stores it, under the provider's rules, and another endpoint does not have it.",
    },
)

# -- k_turns -------------------------------------------------------------------------------------------

#: What each is for: three turns of six; one; none; all, exactly and with room; no system message; nothing there;
#: the lesson's own k.
K_CASES = (
    ("S1 Q1 A1 Q2 A2 Q3 A3 Q4 A4 Q5 A5 Q6 A6", 3),
    ("S1 Q1 A1 Q2 A2", 1),
    ("S1 Q1 A1 Q2 A2", 0),
    ("S1 Q1 A1 Q2 A2", 2),
    ("S1 Q1 A1", 6),
    ("Q1 A1 Q2 A2 Q3 A3", 2),
    ("Q1 A1 Q2 A2", 0),
    ("Q1 A1", 3),
    ("", 2),
    ("", 0),
    ("S1", 2),
    ("S1", 0),
    ("S1 Q1 A1 Q2 A2 Q3 A3 Q4 A4 Q5 A5 Q6 A6 Q7 A7 Q8 A8", 6),
    ("Q1 A1 Q2 A2 Q3 A3 Q4 A4", 3),
)


@lesson.exercise(
    points=5,
    hints=[
        "Section 1 prints what the memory keeps for `k` of 6, 2, 1 and 0. How many messages is a turn there, and "
        "which messages never stand in that memory?",
        "Part the system message from the others first; of the others, the last `k` turns stay. Look at the case "
        "`k=0` by itself: what does a slice that counts from the end make of it?",
        "Make `others`, the messages without the system message. If `k` is 0, nothing stays. Else the end of "
        "`others` stays, and the line left to write is that slice: how many messages are `k` turns?",
    ],
    another_way="""
        You can ask LangChain itself: fill a `ConversationBufferWindowMemory(k=k, return_messages=True)` by
        `save_context`, pair by pair, and give its `buffer` to `convert_to_openai_messages`. That way is better as a
        test of the other one: it is what it claims to be, and it goes when the class goes.
        """,
)
def k_turns(learner: Learner) -> None:
    """Say what LangChain's window memory would keep of a conversation."""
    learner.script()
    for written, k in K_CASES:
        _kept_turns(learner, talks.talk(written), k)
    again = talks.talk("S1 Q1 A1 Q1 A1 Q1 A1")
    for k in (1, 2):
        kept = keep(learner, "k_turns", again, k)
        if not same(kept.messages, again[-2 * k :]):
            raise Misconception(
                f"""{kept.seen}
                With `k={k}` it keeps {common.count(k, "turn")}; the same words said twice are several messages.
                Look at where your code searches for a message, or drops one that it has seen."""
            )
    new_list(learner, "k_turns", talks.talk("Q1 A1"), 9)


def _kept_turns(learner: Learner, given: Messages, k: int) -> None:
    kept = keep(learner, "k_turns", given, k)
    others = kept.others
    wanted = others[-2 * k :] if k else []
    if same(kept.messages, wanted):
        return
    if any(talks.is_system(message) for message in kept.messages):
        raise Misconception(
            f"""{kept.seen}
            The system message is in it. LangChain's memory holds questions and answers; the prompt is not its business.
            Look at which messages your code counts, and takes."""
        )
    if k == 0:
        _nothing_was_asked(kept, "A slice that counts from the end has no zero: `others[-0:]` is `others[0:]`.")
    _end_of_the_others(kept)
    have, turns = len(kept.messages), common.count(k, "turn")
    if have == k:
        raise Misconception(
            f"""{kept.seen}
            These are {common.count(k, "message")}, and `k` counts turns: each is a question and its answer.
            Look at section 1: how many messages does the memory keep for `k=2`?"""
        )
    if have % 2:
        raise Misconception(
            f"""{kept.seen}
            It opens on {talks.name(kept.messages[0]) if kept.messages else "nothing"}, in the middle of a turn.
            Look at how many messages your code takes for {turns}."""
        )
    raise Misconception(
        f"""{kept.seen}
        It holds {common.count(have // 2, "turn")} of {len(others) // 2}; with `k={k}` the memory keeps {turns} at most.
        Look at how many messages your code takes, and what it does when there are fewer."""
    )


# -- same_window ---------------------------------------------------------------------------------------

#: What each is for: exactly what fits; the system message takes no place; a cut at an answer; an end that is an
#: answer; none; no system message, also cut at an answer; all of it; tools, alone and in parallel; two questions
#: running; nothing there.
WINDOW_CASES = (
    ("Q1 A1 Q2 A2 Q3 A3 Q4", 7),
    ("S1 Q1 A1 Q2 A2 Q3 A3 Q4", 3),
    ("S1 Q1 A1 Q2 A2 Q3", 4),
    ("S1 Q1 A1 Q2 A2", 2),
    ("S1 Q1 A1 Q2", 0),
    ("Q1 A1 Q2 A2 Q3", 2),
    ("Q1 A1 Q2 A2 Q3", 3),
    ("Q1 A1 Q2", 0),
    ("S1 Q1 A1", 2),
    ("S1 Q1 A1", 9),
    ("Q1 A1", 9),
    ("S1 Q1 C1 T1 A1 Q2", 3),
    ("S1 Q1 C1 T1 A1 Q2", 4),
    ("S1 Q1 C1 T1 A1 Q2", 5),
    ("S1 Q1 A1 Q2 C1+C2 T1 T2 A2", 5),
    ("S1 Q1 Q2 A2", 3),
    ("", 3),
    ("S1", 3),
    ("S1", 0),
)


@lesson.exercise(
    points=5,
    hints=[
        "Section 7 shows three differences. Which of them can the caller make up for, and by which argument?",
        "Section 4 has a window for the request, section 6 the way back to dicts, and section 7 the argument that "
        "keeps a system message. What does that message cost there, and what when there is none?",
        "Count the system messages, call the trimmer with all its arguments, and convert what it gives. The line left "
        "to write is `max_tokens`: it has to leave `max_messages` places for the others.",
    ],
    another_way="""
        You can also part the system messages from the others, trim the others alone, and put them in front of what
        comes back. It needs no sum, and is better where there may be several system messages, wherever they stand;
        the sum is shorter. A function of your own that never calls LangChain passes, too: the check looks at what
        is kept.
        """,
)
def same_window(learner: Learner) -> None:
    """Make LangChain's trimmer do what lesson 4's `trim_messages` does."""
    learner.script()
    for written, most in WINDOW_CASES:
        _same_window(learner, talks.talk(written), most)
    again = talks.talk("S1 Q1 A1 Q1 A1 Q1")
    kept = keep(learner, "same_window", again, 3)
    if not same(kept.messages, [again[0], *again[-3:]]):
        raise Misconception(
            f"""{kept.seen}
            Three others were to stay; messages with the same words are still several messages.
            Look at where your code searches for a message, or drops one that it has seen."""
        )
    for history in talks.histories(40):
        instructions, others = talks.parted(history)
        if not talks.starts(others):
            continue
        newest = len(others) - talks.starts(others)[-1]
        for most in (0, *range(newest, len(others) + 2, 2)):
            _same_window(learner, [*instructions[:1], *others], most)
    new_list(learner, "same_window", talks.talk("S1 Q1 A1"), 9)


def _windows(others: Messages, most: int) -> list[Messages]:
    """What may be kept of the others: a greeting that fits may stay, as in lesson 4, or go, as with LangChain."""
    fitting = [start for start in talks.starts(others) if len(others) - start <= most]
    if most == 0 or not fitting:
        return [[]]
    run = others[fitting[0] :]
    return [run, others] if len(others) <= most else [run]


def _same_window(learner: Learner, given: Messages, most: int) -> None:
    kept = keep(learner, "same_window", given, most)
    instructions, others = talks.parted(given)
    windows = _windows(others, most)
    if any(same(kept.messages, [*instructions, *window]) for window in windows):
        return
    wanted = windows[0]
    _system_stays(kept, instructions)
    if most == 0:
        _nothing_was_asked(
            kept, "To the trimmer 0 is a number like any other; something else has taken it for no limit."
        )
    _end_of_the_others(kept)
    have = kept.kept_others
    if not have:
        raise Misconception(
            f"""{kept.seen}
            None of the others has stayed; by lesson 4 these do: {talks.names(wanted)}.
            Look at each argument: what does your `token_counter` count, and which `type` does the window open on?"""
        )
    _opens_on_a_question(kept)
    if instructions and any(same(have, window) for window in _windows(others, most - 1)):
        raise Misconception(
            f"""{kept.seen}
            It has room for {most} besides S1; the system message has taken a place, as LangChain counts it.
            Look at the number that you give as `max_tokens`: which messages does the trimmer count?"""
        )
    if len(have) > most and not instructions:
        raise Misconception(
            f"""{kept.seen}
            It holds {len(have)} messages, and {most} may stay; there is no system message here to make room for.
            Look at how your code gets at `max_tokens`: what does it do where there is none?"""
        )
    if len(have) > most:
        raise Misconception(
            f"""{kept.seen}
            Besides the system message it holds {len(have)}, and {most} may stay.
            Look at what your number counts: messages, turns, or something else?"""
        )
    raise Misconception(
        f"""{kept.seen}
        By lesson 4 these others stay: {talks.names(wanted)}.
        Look at the arguments of the trimmer, one by one: which of them cuts more?"""
    )


# -- what both look at ---------------------------------------------------------------------------------


def _system_stays(kept: Kept, instructions: Messages) -> None:
    have = [message for message in kept.messages if talks.is_system(message)]
    if instructions and not have:
        raise Misconception(
            f"""{kept.seen}
            The system message is gone, and with it the model's instructions.
            Look at section 7: which argument keeps it?"""
        )
    if instructions and not talks.is_system(kept.messages[0]):
        raise Misconception(
            f"""{kept.seen}
            The system message is not the first of the list any more.
            Look at how the result is put together."""
        )


def _nothing_was_asked(kept: Kept, why: str) -> None:
    """0 was asked, and something was kept."""
    if not kept.kept_others:
        return
    if same(kept.kept_others, kept.others):
        raise Misconception(
            f"""{kept.call} kept everything; 0 keeps none of these messages.
            {why}
            Look at the case where nothing may be kept."""
        )
    raise Misconception(
        f"""{kept.seen}
        0 keeps no question and no answer; nobody asked for {talks.name(kept.kept_others[0])}.
        Look at what your code does where nothing may be kept."""
    )


def _end_of_the_others(kept: Kept) -> None:
    """The others are an unbroken run that ends with the newest message."""
    others, have = kept.others, kept.kept_others
    if not have or same(have, others[-len(have) :]):
        return
    if sorted(map(talks.name, have)) == sorted(map(talks.name, others[-len(have) :])):
        raise Misconception(
            f"""{kept.seen}
            The messages are the right ones, in another order; the model reads them from top to bottom.
            Look at where your code puts a message or a turn that it adds."""
        )
    roles = {common.role(message) for message in have}
    if len(roles) == 1 and len(have) > 1:
        raise Misconception(
            f"""{kept.seen}
            All of them have the role {roles.pop()!r}; a turn is a question and its answer.
            Look at which messages your code leaves out."""
        )
    if not same(have[-1:], others[-1:]):
        raise Misconception(
            f"""{kept.seen}
            {talks.name(others[-1])}, the newest message, is not at its end: the window has another end.
            Look at which end of the list your code takes, or tells the trimmer to take."""
        )
    raise Misconception(
        f"""{kept.seen}
        There is a gap in it: the model would read two parts as if nothing had been between.
        Look at where your code passes over a message, and goes on to older ones."""
    )


def _opens_on_a_question(kept: Kept) -> None:
    first = kept.kept_others[0]
    if common.role(first) == "user" or same([first], kept.others[:1]):
        return
    if common.role(first) == "tool":
        raise Misconception(
            f"""{kept.seen}
            It opens on {talks.name(first)}, the result of a tool call that was cut: an orphan.
            Look at section 6: which argument moves the cut?"""
        )
    raise Misconception(
        f"""{kept.seen}
        It opens on {talks.name(first)}; the question that it belongs to was cut.
        Look at section 4: what does the window there open on, and by which argument?"""
    )
