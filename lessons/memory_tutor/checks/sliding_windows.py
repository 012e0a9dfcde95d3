"""Lesson 4: all is stored, and a window of it is sent, cut where it may be cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from memory_tutor.checks import common
from memory_tutor.checks.talks import Messages
from memory_tutor.checks.talks import histories as _histories
from memory_tutor.checks.talks import name as _name
from memory_tutor.checks.talks import names as _names
from memory_tutor.checks.talks import parted as _parted
from memory_tutor.checks.talks import starts as _starts
from memory_tutor.checks.talks import talk as _talk
from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import LearnerRaised, Lesson, Misconception

if TYPE_CHECKING:
    from memory_tutor.learner import Learner, Outcome

#: What code raises that has forgotten a case: an empty list, a list without a turn, a message without a text.
CASE_FORGOTTEN = {"IndexError", "KeyError", "StopIteration", "UnboundLocalError", "TypeError", "ValueError"}

lesson = Lesson("04_sliding_windows", "Sliding windows", level=2, minutes=50)


# -- predictions ---------------------------------------------------------------------------------------

lesson.predict(
    "forgotten_name",
    choices={
        "a": "Ada: the history holds the name, and nothing has been deleted",
        "b": "Ada: the user writes 5 messages, and a window of 5 holds them all",
        "c": "It cannot know: what is stored is not what is sent",
    },
    right="c",
    why={
        "a": "the name is in your list, safe and sound. The model reads the request, and not your list.",
        "b": "the answers take places, too: 5 messages are two turns and a question.",
        "c": "the name has slid out of the window; it is stored, and it was not sent.",
    },
)

lesson.predict(
    "overwritten",
    choices={
        "a": "On the server, which has received it and will give it back",
        "b": "Nowhere: trimming has deleted it on the server, too",
        "c": "Nowhere that your code can read: the list was the only copy",
    },
    right="c",
    why={
        "a": "it has received it, and answered. This API keeps no conversation that you could ask for.",
        "b": "a slice changes a list in your program. Nothing is told to the server; what it logs, it keeps.",
        "c": "no request can bring it back, since requests are made from this list.",
    },
)

lesson.predict(
    "too_long",
    choices={
        "a": "The oldest messages are left out by the server",
        "b": "It works: `max_tokens` was never set, so there is no limit",
        "c": "An error, and no reply",
    },
    right="c",
    why={
        "a": "some chat programs do that for you. This API answers what you send, or refuses it.",
        "b": "`max_tokens` limits the reply. How much the model can take in, no option of a request changes.",
        "c": "the whole request fits into the context, or nothing is answered.",
    },
)


# -- one call and what it gave --------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """What a call of one of the three functions was given and has returned.

    Args:
        call: how it is named in a message.
        given: the messages.
        kept: what it returned.
    """

    call: str
    given: Messages
    kept: list[Any]

    @property
    def others(self) -> Messages:
        """Those given that are no system messages."""
        return _parted(self.given)[1]

    @property
    def kept_others(self) -> list[Any]:
        """Those returned that are no system messages."""
        return _parted(self.kept)[1]

    @property
    def seen(self) -> str:
        """The first line of most messages."""
        return f"{self.call} returned {_names(self.kept)}."


def _select(learner: Learner, name: str, given: Messages, limit: int, *more: Any, about: str = "") -> Selection:
    """Call a function, and see that it returned a list of the given messages and changed nothing.

    Args:
        learner: whose function it is.
        name: of the function.
        given: the messages.
        limit: how much may be kept.
        more: further arguments.
        about: how these are named in a message.

    Raises:
        Misconception: it did not.
        LearnerRaised: it raised.
    """
    call = f"`{name}({_names(given)}, {limit}{about})`"
    outcome = learner.call(name, given, limit, *more)
    _must_not_raise(outcome, call)
    common.has_run(outcome, call)
    _is_list(outcome, call)
    after = outcome.args[0]
    if after != given:
        seen = (
            f"to {_names(after)}" if isinstance(after, list) and _names(after) != _names(given) else "within a message"
        )
        raise Misconception(
            f"""{call} changed its list {seen}.
            The list that it is given is what is stored, and what is gone from there is lost for ever.
            Look at each line that changes a list or a message instead of making a new one."""
        )
    selection = Selection(call, given, outcome.value)
    _are_given_messages(selection)
    _system_messages(selection)
    _run_of_the_end(selection)
    return selection


def _must_not_raise(outcome: Outcome, call: str) -> None:
    raised = outcome.exception
    if raised is not None and raised.names[0] in CASE_FORGOTTEN:
        raise LearnerRaised(
            f"""{call} raised {common.shown(raised)}
            Every list of messages has an answer here, also one that is empty, short, or without a turn.
            Look at {common.line_of(raised)}: what does it take for given?"""
        )


def _is_list(outcome: Outcome, call: str) -> None:
    value = outcome.value
    if value is None:
        seen = "printed something and returned None" if outcome.stdout.strip() else "returned None"
        raise Misconception(
            f"""{call} {seen}; the rule asks for a list.
            Methods such as `append` and `extend` return None, and so does a function without `return`.
            Look at each way in which your function can end."""
        )
    if not isinstance(value, list):
        kind = value.type_name if isinstance(value, Opaque) else type(value).__name__
        raise Misconception(
            f"""{call} returned a {kind}; the rule asks for a list of messages.
            Whoever sends it, or appends to it, counts on a list.
            Look at what you return."""
        )


def _are_given_messages(selection: Selection) -> None:
    """What is kept are whole messages of the given ones, each at most once."""
    for item in selection.kept:
        if isinstance(item, list | tuple):
            raise Misconception(
                f"""{selection.call} returned a list in which a {type(item).__name__} stands.
                A request holds one flat list of messages; the turns in it have no brackets.
                Look at how your pieces are put together: one by one, or as a whole?"""
            )
        if not isinstance(item, dict):
            kind = item.type_name if isinstance(item, Opaque) else type(item).__name__
            raise Misconception(
                f"""{selection.call} returned a list in which a {kind} stands: {shorten(repr(item), 40)}.
                The messages are to be kept as they are, as dicts.
                Look at what you take out of the list: messages, or something about them?"""
            )
        if item not in selection.given:
            raise Misconception(
                f"""{selection.call} returned {shorten(repr(item), 60)}, which was not in the list.
                A window chooses messages; it changes none and makes none up.
                Look at where this message comes from."""
            )
        if selection.kept.count(item) > selection.given.count(item):
            raise Misconception(
                f"""{selection.seen}
                {_name(item)} is in it {selection.kept.count(item)} times, and the model would read it as often.
                Look at which of your pieces it comes from: can two of them hold the same message?"""
            )


def _system_messages(selection: Selection) -> None:
    """All of them are kept, in front, in their order."""
    wanted, kept = _parted(selection.given)[0], _parted(selection.kept)[0]
    lost = [message for message in wanted if message not in kept]
    if lost and not kept:
        raise Misconception(
            f"""{selection.seen}
            The system message is gone, and with it the model's instructions.
            Look at what becomes of system messages in your code: they stay, whatever the limit."""
        )
    if lost:
        raise Misconception(
            f"""{selection.seen}
            The system message {_name(lost[0])} is lost; a developer may add one in the middle of a talk.
            Look at section 3: which of the two ways does your code go?"""
        )
    if selection.kept[: len(wanted)] != wanted:
        if kept != wanted:
            raise Misconception(
                f"""{selection.seen}
                The system messages have changed places among themselves; a later one may correct an earlier one.
                Look at the order in which your code collects them."""
            )
        late = next(m for m, place in zip(selection.kept, wanted, strict=False) if m != place)
        raise Misconception(
            f"""{selection.seen}
            {_name(late)} stands before a system message; by the rule all of these come first.
            Look at how the result is put together."""
        )


def _run_of_the_end(selection: Selection) -> None:
    """The others are an unbroken run that ends with the newest message."""
    others, kept = selection.others, selection.kept_others
    if not kept or kept == others[-len(kept) :]:
        return
    if sorted(map(repr, kept)) == sorted(map(repr, others[-len(kept) :])):
        raise Misconception(
            f"""{selection.seen}
            The messages are the right ones, in another order; the model reads them from top to bottom.
            Look at where your code puts a message or a turn that it adds."""
        )
    if kept[-1] != others[-1]:
        raise Misconception(
            f"""{selection.seen}
            {_name(others[-1])}, the newest message, is not at its end; it is what the model has to answer.
            Look at which end of the list your code counts from, and where it stops."""
        )
    first = next((m for m in kept if common.role(m) == "user"), None)
    if first is not None and kept[0] is not first and others[: kept.index(first)] == kept[: kept.index(first)]:
        raise Misconception(
            f"""{selection.seen}
            {_name(kept[0])}, from before the first user message, stands before a gap: turns after it were cut.
            Look at what your code does with messages that come before the first turn."""
        )
    missing = next(m for m in others[others.index(kept[0]) :] if m not in kept)
    raise Misconception(
        f"""{selection.seen}
        {_name(missing)} is missing in the middle; the model would read two parts as if nothing had been between.
        Look at where your code passes over a message or a turn, and goes on to older ones."""
    )


def _opening(selection: Selection, cut_from: str = "Look at where your window begins, and move that place.") -> None:
    """What is kept opens on a user message; called where nothing else is right."""
    kept = selection.kept_others
    if not kept or common.role(kept[0]) == "user":
        return
    first = _name(kept[0])
    if common.role(kept[0]) == "tool":
        raise Misconception(
            f"""{selection.seen}
            It opens on {first}, the result of a tool call that was cut.
            Look at section 5: in front of which messages may a history be cut?"""
        )
    if isinstance(kept[0], dict) and kept[0].get("tool_calls"):
        raise Misconception(
            f"""{selection.seen}
            It opens on {first}, in which the model calls a tool; the question that made it do so was cut.
            Look at which roles your code accepts at the beginning of a window."""
        )
    raise Misconception(
        f"""{selection.seen}
        It opens on {first}, an answer whose question was cut.
        {cut_from}"""
    )


def _by_the_rule(selection: Selection, accepted: Sequence[Messages], why: str) -> None:
    """What is said where no other message fits."""
    wanted = _names([*_parted(selection.given)[0], *accepted[0]])
    raise Misconception(
        f"""{selection.seen}
        By the rule it is {wanted}: {why}.
        Look at what your code does with this list, step by step."""
    )


def _refuses_negative(learner: Learner, name: str, given: Messages) -> None:
    """A negative limit is a ValueError."""
    call = f"`{name}({_names(given)}, -1)`"
    outcome = learner.call(name, given, -1)
    if outcome.exception is not None:
        if "ValueError" in outcome.exception.names:
            return
        raise LearnerRaised(
            f"""{call} raised {common.shown(outcome.exception)}
            For a negative number the rule asks for a ValueError, which callers can expect.
            Look at the first thing that your code does with the number."""
        )
    value = outcome.value
    seen = _names(value) if isinstance(value, list) else shorten(repr(value), 60)
    raise Misconception(
        f"""{call} returned {seen}; a negative number is a ValueError.
        Nobody can mean it: the caller has a mistake in a sum, and would never hear of it.
        Look at what your code does before it counts anything."""
    )


def _makes_a_new_list(learner: Learner, name: str, limit: int, *more: Any) -> None:
    """Where nothing has to be cut, the result is another list than the one given, also where there is no turn."""
    for names, where in (("S1 Q1 A1", "where all of it fits"), ("S1 A0", "where no message is a user's")):
        first = learner.call(name, _talk(names), limit, *more, keep=True).handle
        second = learner.call(name, first, limit, *more, keep=True).handle
        if second.same(first):
            raise Misconception(
                f"""`{name}` returned the very list that it was given ({names}), as nothing had to be cut.
                Whoever appends to what is sent then appends to what is stored.
                Look at what you return {where}: the rule asks for a new list, always."""
            )


def _repeated(selection: Selection, accepted: Sequence[Messages]) -> None:
    """The same words said twice are two messages."""
    if selection.kept_others not in accepted:
        wanted = _names([*_parted(selection.given)[0], *accepted[0]])
        raise Misconception(
            f"""{selection.seen}
            By the rule it is {wanted}: messages with the same words are still several messages.
            Look at where your code searches for a message: it finds the first that is equal."""
        )


# -- trim_messages -------------------------------------------------------------------------------------


def _window_of_messages(others: Messages, most: int) -> list[Messages]:
    """What may be kept of the others. A greeting that fits opens on no user message: either is right."""
    starts = _starts(others)
    if most == 0:
        return [[]]
    if not starts:
        return [others[cut:] for cut in range(len(others) + 1)]
    fitting = [start for start in starts if len(others) - start <= most]
    run = others[fitting[0] if fitting else starts[-1] :]
    return [others, run] if len(others) <= most else [run]


#: What each is for: fits; too long; opens on an answer; none; later system messages, two places; tool turns;
#: a newest turn that is too long; questions without an answer; a greeting; nothing there.
MESSAGE_CASES = (
    ("S1 Q1 A1", 4),
    ("S1 Q1 A1 Q2 A2 Q3", 3),
    ("S1 Q1 A1 Q2 A2 Q3", 4),
    ("S1 Q1 A1 Q2 A2 Q3", 0),
    ("S1 Q1 A1 S2 Q2 A2", 2),
    ("S1 Q1 S2 A1", 2),
    ("S1 S2 Q1 A1 Q2", 3),
    ("S1 Q1 C1 T1 A1 Q2", 3),
    ("S1 Q1 C1 T1 A1 Q2", 4),
    ("S1 Q1 C1+C2 T1 T2 A1 Q2", 3),
    ("S1 Q1 A1 Q2 C1 T1 A2", 2),
    ("S1 Q1 A1 Q2 C1 T1 C2 T2 A2", 1),
    ("Q1 A1 Q2", 1),
    ("S1 Q1 Q2 A2", 2),
    ("S1 A0 Q1 A1 Q2", 3),
    ("", 3),
    ("S1", 3),
    ("S1 S2", 0),
    ("S1 A0", 3),
    ("S1 A0 A1", 1),
)


@lesson.exercise(
    points=4,
    hints=[
        "Which messages are never cut, and in front of which messages may the others be cut?",
        "Section 3 parts the system messages from the others; section 6 lists the places where a turn starts. "
        "Go through these places from the oldest on: how many messages would be kept from there?",
        "Deal with a negative number, with 0 and with a list that fits, each with a line of its own. Then loop "
        "over the starts and stop at the first from which the rest is short enough. If none is, the last start is "
        "the place. The line left to write is that condition.",
    ],
    another_way="""
        Instead of looking for the first start that fits you can take `others[-max_messages:]` and drop from its
        front until it opens on a user message; then a newest turn that was too long has left nothing, and you need
        a second rule for it. That way is better for a window of a million messages: it never looks at the
        rest. Counting turns, as the next exercise does, needs neither.
        """,
)
def trim_messages(learner: Learner) -> None:
    """Choose what to send, by a number of messages."""
    learner.script()
    for names, most in MESSAGE_CASES:
        _trimmed_messages(learner, _talk(names), most)
        if most == 0 and names.startswith("S1 Q1"):
            _refuses_negative(learner, "trim_messages", _talk(names))
    again = _talk("S1 Q1 A1 Q1 A1 Q1")
    _repeated(_select(learner, "trim_messages", again, 3), _window_of_messages(_parted(again)[1], 3))
    for history in _histories(30):
        # From one more than there are to 0, in steps that meet each place of a turn in one history or another.
        for most in range(len(history) + 1, -1, -3):
            _trimmed_messages(learner, history, most)
    _makes_a_new_list(learner, "trim_messages", 9)


def _trimmed_messages(learner: Learner, given: Messages, most: int) -> None:
    selection = _select(learner, "trim_messages", given, most)
    others, kept = selection.others, selection.kept_others
    accepted = _window_of_messages(others, most)
    if kept in accepted:
        return
    instructions = len(given) - len(others)
    starts = _starts(others)
    newest = others[starts[-1] :] if starts else []
    if most == 0:
        _keeps_nothing(selection)
    if len(newest) > most and len(kept) < len(newest):
        seen = "is gone" if not kept else f"was cut: it begins with {_name(newest[0])}"
        raise Misconception(
            f"""{selection.seen}
            The newest turn, of {len(newest)} messages, {seen}; without it the model has nothing to answer.
            Look at what your code keeps when the newest turn alone is longer than the window."""
        )
    if instructions and kept == others[-(most - instructions) :] and len(kept) == most - instructions:
        _system_counted(selection, most, instructions)
    _opening(selection)
    if instructions and most > instructions and kept in _window_of_messages(others, most - instructions):
        # Where it is as wrong without system messages, these are not the cause.
        _trimmed_messages(learner, others, most + 1)
        _trimmed_messages(learner, others, most)
        _system_counted(selection, most, instructions)
    if len(starts) > most and kept == others[starts[-most] :]:
        raise Misconception(
            f"""{selection.seen}
            These are {common.count(most, "turn")} and {len(kept)} messages; {most} counts messages here.
            Look at what your code counts: messages, or the places where turns start."""
        )
    if len(kept) > max(most, len(newest)):
        raise Misconception(
            f"""{selection.seen}
            System messages aside, it holds {len(kept)} messages; at most {most} may stay.
            Look at how your code counts what it keeps."""
        )
    if len(others) <= most:
        raise Misconception(
            f"""{selection.seen}
            It could hold all of it: there are {len(others)} messages besides the system messages.
            Look at when your code begins to cut."""
        )
    _by_the_rule(selection, accepted, f"{len(accepted[0])} messages, and {most} may stay")


def _keeps_nothing(selection: Selection) -> None:
    """0 was asked, and something was kept."""
    if selection.kept_others == selection.others:
        raise Misconception(
            f"""{selection.call} kept everything; with 0, only system messages stay.
            `others[-0:]` is `others[0:]`: a slice that counts from the end has no zero.
            Look at the case where nothing may be kept."""
        )
    raise Misconception(
        f"""{selection.seen}
        With 0, only system messages stay; nobody asked for {_name(selection.kept_others[0])}.
        Look at which rule comes first: the one about 0, or the one about the newest turn."""
    )


def _system_counted(selection: Selection, most: int, instructions: int) -> None:
    kept = len(selection.kept_others)
    raise Misconception(
        f"""{selection.seen}
        It holds {kept} besides {common.count(instructions, "system message")}; a window of {most} can hold more.
        Look at whether system messages take places in your window: by the rule they do not count."""
    )


# -- trim_turns ----------------------------------------------------------------------------------------


def _window_of_turns(others: Messages, most: int) -> list[Messages]:
    """What may be kept of the others. Where there is no turn, a greeting may stay or not."""
    starts = _starts(others)
    if not starts:
        return [others[cut:] for cut in range(len(others) + 1)]
    if most >= len(starts):
        return [others]
    return [others[starts[-most] :] if most else []]


#: What each is for: turns of two messages; more than there are; turns with tools; questions without an answer;
#: none; later system messages; a greeting; nothing there.
TURN_CASES = (
    ("S1 Q1 A1 Q2 A2 Q3 A3", 2),
    ("S1 Q1 A1 Q2 A2 Q3", 2),
    ("S1 Q1 A1", 5),
    ("S1 Q1 A1 Q2 C1 T1 A2", 1),
    ("S1 Q1 A1 Q2 C1+C2 T1 T2 A2 Q3 A3", 2),
    ("S1 Q1 Q2 A2", 1),
    ("S1 Q1 Q2", 1),
    ("S1 Q1 A1 Q2", 0),
    ("S1 Q1 A1 S2 Q2 A2", 1),
    ("S1 Q1 S2 A1", 1),
    ("Q1 A1 Q2", 1),
    ("S1 A0 Q1 A1 Q2", 9),
    ("S1 A0 Q1 A1 Q2", 2),
    ("S1 A0 Q1 A1 Q2", 1),
    ("S1 A0 Q1", 0),
    ("", 2),
    ("S1", 2),
    ("S1 S2", 0),
    ("S1 A0", 2),
    ("S1 A0 A1", 1),
)


@lesson.exercise(
    points=5,
    hints=[
        "How many turns does a history have, and at which messages do they begin?",
        "Section 6 makes `starts`, the list of the places where turns begin. Which of them is the place to cut when "
        "the last 2 turns are to stay? When is there nothing to cut?",
        "Part the system messages from the others, and make `starts` from the others. If `max_turns` is smaller "
        "than the number of starts, cut at one of them; else keep all. The line left to write picks the start; look "
        "what it picks for 0.",
    ],
    another_way="""
        You can build a list of turns first (a new inner list at each user message, else an append to the last one)
        and flatten the last of them. It is better as soon as you do more with turns than count them: drop the
        dull ones, sum them up, show them to somebody.
        """,
)
def trim_turns(learner: Learner) -> None:
    """Choose what to send, by a number of turns."""
    learner.script()
    for names, most in TURN_CASES:
        _trimmed_turns(learner, _talk(names), most)
        if most == 0 and names.startswith("S1 Q1"):
            _refuses_negative(learner, "trim_turns", _talk(names))
    again = _talk("S1 Q1 A1 Q1 A1 Q1")
    _repeated(_select(learner, "trim_turns", again, 2), _window_of_turns(_parted(again)[1], 2))
    for history in _histories(30):
        for most in range(len(_starts(history)) + 2):
            _trimmed_turns(learner, history, most)
    _makes_a_new_list(learner, "trim_turns", 9)


def _trimmed_turns(learner: Learner, given: Messages, most: int) -> None:
    selection = _select(learner, "trim_turns", given, most)
    others, kept = selection.others, selection.kept_others
    accepted = _window_of_turns(others, most)
    if kept in accepted:
        return
    starts = _starts(others)
    if most == 0:
        _keeps_nothing(selection)
    turns, size = common.count(most, "turn"), len(accepted[0])
    if len(kept) == most:
        raise Misconception(
            f"""{selection.seen}
            Here {turns} would be {common.count(size, "message")}: {_names(accepted[0])}; it kept {len(kept)}.
            Look at what your code counts: messages, or questions of the user?"""
        )
    if len(kept) == 2 * most:
        raise Misconception(
            f"""{selection.seen}
            It took two messages for a turn; here {turns} would be {common.count(size, "message")}.
            Look at section 6: how many messages can a turn have?"""
        )
    if starts[0] and most >= len(starts):
        raise Misconception(
            f"""{selection.seen}
            {_name(others[0])} is lost, although no turn had to be cut: there are {len(starts)}, and {most} may stay.
            Look at the messages before the first turn, and at when they stay."""
        )
    if starts[0] and kept == others and most < len(starts):
        raise Misconception(
            f"""{selection.seen}
            It kept {_name(others[0])} and {common.count(len(starts), "turn")}; {most} may stay.
            Look at what your code takes for a turn: one begins with a user message."""
        )
    _opening(selection, "Look at where your code begins a turn: at a question, or at something else?")
    have = len(_starts(kept))
    if have > most and any(later - start == 1 for start, later in pairwise(starts)):
        raise Misconception(
            f"""{selection.seen}
            Two user messages running are two turns, so it holds {have}; {most} may stay.
            Look at what your code takes for the beginning of a turn."""
        )
    if have > most:
        raise Misconception(
            f"""{selection.seen}
            It holds {common.count(have, "turn")}; {most} may stay.
            Look at which of the starts your code cuts at."""
        )
    raise Misconception(
        f"""{selection.seen}
        It holds {common.count(have, "turn")}; of {len(starts)} that there are, {most} may stay.
        Look at which of the starts your code cuts at, and what it does when fewer are there than it may keep."""
    )


# -- trim_to_budget ------------------------------------------------------------------------------------


class Counter:
    """Serves `count` to the learner's code, and notes what it was asked.

    Args:
        costs: of single messages by name; others cost 10.
        request: what a request costs besides.
        between: what each message after the first costs besides.
        step: the sum is rounded up to a multiple of it.
    """

    def __init__(
        self, costs: Mapping[str, int] | None = None, *, request: int = 0, between: int = 0, step: int = 1
    ) -> None:
        self._costs = costs or {}
        self._request, self._between, self._step = request, between, step
        self.asked: list[list[Any]] = []

    @property
    def adds_up(self) -> bool:
        """Whether the cost of a list is the sum of its messages' costs."""
        return (self._request, self._between, self._step) == (0, 0, 1)

    def cost(self, messages: Sequence[Any]) -> int:
        """What the messages cost as one request."""
        single = sum(self._costs.get(_name(message), 10) for message in messages)
        raw = self._request + single + self._between * max(len(messages) - 1, 0)
        return -(-raw // self._step) * self._step

    def count(self, messages: Any = None, *more: Any) -> int:
        """What the learner's code calls.

        Raises:
            Misconception: it was asked about anything but a list of messages.
        """
        if more or not isinstance(messages, list | tuple):
            kind = messages.type_name if isinstance(messages, Opaque) else type(messages).__name__
            seen = f"with {len(more) + 1} arguments" if more else f"with a {kind}: {shorten(repr(messages), 60)}"
            raise Misconception(
                f"""`trim_to_budget` called `count` {seen}.
                It takes one list of messages, all that a request would hold.
                Look at what you give to it."""
            )
        if any(not isinstance(message, dict) for message in messages):
            raise Misconception(
                f"""`trim_to_budget` called `count` with {shorten(repr(messages), 70)}.
                It takes a flat list of messages, as a request holds it; another list may not stand within.
                Look at how the list that you ask about is put together."""
            )
        self.asked.append(list(messages))
        return self.cost(messages)


def _window_of_tokens(given: Messages, budget: int, cost: Callable[[Sequence[Any]], int]) -> list[Messages]:
    """What may be kept of the others. A greeting before the first turn may stay where it fits, with all turns."""
    instructions, others = _parted(given)
    starts = _starts(others)
    if not starts:
        return [others[cut:] for cut in range(len(others) + 1)]
    fitting = [start for start in starts if cost([*instructions, *others[start:]]) <= budget]
    first = fitting[0] if fitting else starts[-1]
    accepted = [others[first:]]
    if first == starts[0]:
        accepted += [others[cut:] for cut in range(first) if cost([*instructions, *others[cut:]]) <= budget]
    return accepted


LONG_ANSWER = {"A2": 100}


def _budget_cases() -> Iterator[tuple[str, int, Counter]]:
    """All fits; two turns do, with room, with little and exactly; a big turn, in the middle and
    at the end; counts that do not add up; later system messages; tools; a greeting; nothing there.
    """
    yield "S1 Q1 A1", 100, Counter()
    yield "S1 Q1 A1 Q2 A2 Q3", 55, Counter()
    yield "S1 Q1 A1 Q2 A2 Q3", 45, Counter()
    yield "S1 Q1 A1 Q2 A2 Q3", 40, Counter()
    yield "S1 Q1 A1 Q2 A2 Q3 A3", 60, Counter(LONG_ANSWER)
    yield "S1 Q1 A1 Q2 A2", 50, Counter(LONG_ANSWER)
    yield "S1 Q1 A1 Q2 A2", 0, Counter()
    yield "S1 Q1 A1 Q2 A2", 70, Counter(request=20)
    yield "S1 Q1 A1 Q2 A2", 75, Counter(between=10)
    yield "S1 Q1 A1 Q2 A2", 56, Counter(step=8)
    yield "S1 Q1 A1 S2 Q2 A2", 40, Counter()
    yield "S1 S2 Q1 A1 Q2 A2", 55, Counter()
    yield "S1 Q1 S2 A1", 40, Counter()
    yield "S1 Q1 A1 Q2 C1 T1 A2", 60, Counter()
    yield "S1 Q1 A1 Q2 C1+C2 T1 T2 A2", 40, Counter()
    yield "S1 Q1 Q2 A2", 30, Counter()
    yield "Q1 A1 Q2", 10, Counter()
    yield "S1 A0 Q1 A1 Q2", 40, Counter()
    yield "S1 A0 Q1 A1 Q2", 30, Counter()
    yield "", 10, Counter()
    yield "S1", 10, Counter()
    yield "S1", 5, Counter()
    yield "S1 A0", 50, Counter()
    yield "S1 A0 A1", 20, Counter()
    yield "A0 S1", 50, Counter()


@lesson.exercise(
    points=4,
    hints=[
        "Which lists could you send, from the longest to the shortest? What would `count` say of each?",
        "Each candidate is all system messages and the others from one of the starts on. Ask `count` about a whole "
        "candidate, and stop at the first that is within the budget.",
        "Part the system messages from the others, and loop over the starts, the oldest first: make the candidate, "
        "and `break` if it fits. If none fits, the last candidate is the newest turn, which stays. The line left to "
        "write is the condition.",
    ],
    another_way="""
        You can also grow: begin with the newest turn, and put one older turn after another in front while the whole
        still fits; stop at the first that does not. It asks `count` less often where a history is much longer than
        its window. Dropping from the front is better where most of a history fits. For a count that makes a request,
        that difference is on the bill.
        """,
)
def trim_to_budget(learner: Learner) -> None:
    """Choose what to send, by a number of tokens."""
    learner.script()
    for names, budget, counter in _budget_cases():
        _trimmed_to_budget(learner, _talk(names), budget, counter)
    again, counter = _talk("S1 Q1 A1 Q1 A1 Q1"), Counter()
    selection = _select(learner, "trim_to_budget", again, 40, learner.callback(counter.count), about=", count")
    _repeated(selection, _window_of_tokens(again, 40, counter.cost))
    made = random.Random(5)
    for history in _histories(25):
        costs = {_name(message): made.choice([5, 10, 20, 60]) for message in history}
        for counter in (Counter(costs), Counter(costs, request=25), Counter(costs, between=7, step=10)):
            budget = made.randint(0, counter.cost(history) + 10)
            _trimmed_to_budget(learner, history, budget, counter)
    _makes_a_new_list(learner, "trim_to_budget", 999, learner.callback(Counter().count))


def _trimmed_to_budget(learner: Learner, given: Messages, budget: int, counter: Counter) -> None:
    asked = learner.callback(counter.count)
    selection = _select(learner, "trim_to_budget", given, budget, asked, about=", count")
    instructions, others = _parted(given)
    kept, cost = selection.kept_others, counter.cost
    accepted = _window_of_tokens(given, budget, cost)
    if kept in accepted:
        return
    wanted, newest = accepted[0], others[_starts(others)[-1] :]
    if not counter.asked:
        raise Misconception(
            f"""{selection.seen}
            `count` was never asked; how many tokens a list costs, nobody else can know.
            Look at where your code gets its numbers from."""
        )
    if len(kept) < len(newest):
        seen = "is gone" if not kept else f"was cut: it begins with {_name(newest[0])}"
        raise Misconception(
            f"""{selection.seen}
            The newest turn {seen}. It stays whole even over the budget: the model has to answer it.
            Look at what your code keeps when nothing fits."""
        )
    _opening(selection, "Look at the steps in which your code shortens the list: messages, or whole turns?")
    if not counter.adds_up:
        _pieces_added_up(selection, budget, counter)
    now = cost(selection.kept)
    if now > budget and kept != newest:
        _over_budget(selection, budget, counter)
    best, could = [*instructions, *wanted], cost([*instructions, *wanted])
    if could == budget:
        raise Misconception(
            f"""{selection.seen}
            {_names(best)} costs {could}, exactly the budget: that fits.
            Look at how your code compares a cost with the budget."""
        )
    if instructions and could + cost(instructions) > budget:
        raise Misconception(
            f"""{selection.seen}
            {_names(best)} costs {could}, system messages included, and {budget} may be spent.
            Look at how often your code counts the system messages: once is enough."""
        )
    raise Misconception(
        f"""{selection.seen}
        It costs {now}; {_names(best)} costs {could}, and {budget} may be spent.
        Look at where your code stops: more turns would fit."""
    )


def _pieces_added_up(selection: Selection, budget: int, counter: Counter) -> None:
    """The count is more, or less, than the sum of its parts."""
    instructions, _ = _parted(selection.given)
    whole = [*instructions, *_window_of_tokens(selection.given, budget, counter.cost)[0]]
    if whole in counter.asked and selection.kept in counter.asked:
        return
    pieces = ", ".join(_names(piece) for piece in counter.asked[:3])
    raise Misconception(
        f"""{selection.seen}
        It costs {counter.cost(selection.kept)}, {_names(whole)} costs {counter.cost(whole)}; the budget is {budget}.
        Look at what your code asks `count` about ({shorten(pieces, 60)}): the costs of pieces do not add up."""
    )


def _over_budget(selection: Selection, budget: int, counter: Counter) -> None:
    now = counter.cost(selection.kept)
    alone = counter.cost(selection.kept_others)
    if alone <= budget and len(selection.kept) > len(selection.kept_others):
        raise Misconception(
            f"""{selection.seen}
            With its system messages it costs {now}, and {budget} may be spent; without them it would fit.
            Look at the list that your code asks `count` about: the system messages are sent, too."""
        )
    raise Misconception(
        f"""{selection.seen}
        It costs {now}, and {budget} may be spent.
        Look at which list your code asks `count` about: is it the one that it returns?"""
    )
