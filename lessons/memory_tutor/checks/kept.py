"""What a function that chooses messages by way of LangChain returned: plain dicts, or something of LangChain's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memory_tutor import extras
from memory_tutor.checks import common
from memory_tutor.checks.talks import Messages, name, names, parted
from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import LearnerRaised, Misconception, NotGradable

if TYPE_CHECKING:
    from memory_tutor.learner import Learner, Outcome

#: What a message of a request may hold; a converter may add others that are empty.
KEYS = {"role", "content", "tool_calls", "tool_call_id"}
ROLES = {"system", "user", "assistant", "tool"}
#: LangChain's words for roles.
THEIR_ROLES = {"human": "user", "ai": "assistant"}
#: What code raises that has forgotten a case: an empty list, a list without a system message, a limit of 0.
CASE_FORGOTTEN = {"IndexError", "KeyError", "StopIteration", "UnboundLocalError", "TypeError", "ValueError"}
CASE_FORGOTTEN |= {"AssertionError", "ZeroDivisionError"}
#: Words in what a function says that was not called as it wants to be.
ABOUT_ARGUMENTS = ("argument", "parameter")
#: What code raises that uses LangChain where that is not installed: its import fails, or the cell that imports it did.
NOT_IMPORTED = {"ImportError", "NameError"}


@dataclass(frozen=True)
class Kept:
    """What a call of the function was given and has returned.

    Args:
        call: how it is named in a message.
        given: the messages.
        messages: those that it returned, dicts with a role.
    """

    call: str
    given: Messages
    messages: Messages

    @property
    def others(self) -> Messages:
        """Those given that are no system messages."""
        return parted(self.given)[1]

    @property
    def kept_others(self) -> Messages:
        """Those returned that are no system messages."""
        return parted(self.messages)[1]

    @property
    def seen(self) -> str:
        """The first line of most messages."""
        return f"{self.call} returned {names(self.messages)}."


def keep(learner: Learner, function: str, given: Messages, limit: int) -> Kept:
    """Call a function, and see that it returned a list of the given messages, as dicts, and changed nothing.

    Args:
        learner: whose function it is.
        function: its name.
        given: the messages.
        limit: how much may be kept.

    Raises:
        Misconception: it did not.
        LearnerRaised: it raised.
        NotGradable: it needs LangChain, which is not installed here.
    """
    call = f"`{function}({names(given)}, {limit})`"
    outcome = learner.call(function, given, limit)
    _must_not_raise(outcome, call)
    common.has_run(outcome, call)
    _is_list(outcome, call)
    for item in outcome.value:
        _is_dict_of_a_request(item, call)
    after = outcome.args[0]
    if after != given:
        shorter = isinstance(after, list) and names(after) != names(given)
        raise Misconception(
            f"""{call} changed its list {f"to {names(after)}" if shorter else "within a message"}.
            That list is what is stored; a function that chooses must leave it alone.
            Look at each line that changes a list or a dict instead of making a new one."""
        )
    kept = Kept(call, given, outcome.value)
    _are_given(kept)
    return kept


def same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two lists of messages say the same to an API, however each is written down."""
    return [_meaning(message) for message in one] == [_meaning(message) for message in other]


def _meaning(message: Any) -> tuple[Any, ...]:
    """What an API reads of a message: no text is the same as an empty one, and arguments are data."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    made = [_call(call) for call in calls] if isinstance(calls, list) else []
    result = message.get("tool_call_id") if isinstance(message, dict) else None
    return common.role(message), common.text(message), made, result


def _call(call: Any) -> tuple[Any, ...]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return ("?", repr(call))
    arguments = function.get("arguments")
    try:
        arguments = json.loads(arguments) if isinstance(arguments, str) else ("no text", repr(arguments))
    except (ValueError, RecursionError):
        arguments = ("no JSON", arguments)
    return (call.get("id"), function.get("name"), arguments)


def new_list(learner: Learner, function: str, given: Messages, limit: int) -> None:
    """Where nothing has to be cut, the result is another list than the one given.

    Raises:
        Misconception: it is the same.
    """
    first = learner.call(function, given, limit, keep=True).handle
    second = learner.call(function, first, limit, keep=True).handle
    if second.same(first):
        raise Misconception(
            f"""`{function}` returned the very list that it was given, as nothing had to be cut.
            Whoever appends to what is sent then appends to what is stored.
            Look at what you return where all of it is kept: the rule asks for a new list, always."""
        )


def _must_not_raise(outcome: Outcome, call: str) -> None:
    raised = outcome.exception
    if raised is None:
        return
    if NOT_IMPORTED & set(raised.names):
        try:
            extras.need("langchain")
        except extras.MissingExtra as missing:
            raise NotGradable(f"{call} raised {common.shown(raised)}\n{missing.message}") from None
    if raised.names[0] in ("TypeError", "ValueError") and any(word in raised.message for word in ABOUT_ARGUMENTS):
        raise LearnerRaised(
            f"""{call} raised {common.shown(raised)}
            That is about how a function was called, and not about the messages.
            Look at {common.line_of(raised)}: which arguments does it give, and how do the sections above give them?"""
        )
    if raised.names[0] in CASE_FORGOTTEN:
        raise LearnerRaised(
            f"""{call} raised {common.shown(raised)}
            Every such list has an answer here, also one that is empty or short, and so has a limit of 0.
            Look at {common.line_of(raised)}: what does it take for given?"""
        )
    raise LearnerRaised(raised.tell(outcome.name))


def _is_list(outcome: Outcome, call: str) -> None:
    value = outcome.value
    if value is None:
        seen = "printed something and returned None" if outcome.stdout.strip() else "returned None"
        raise Misconception(
            f"""{call} {seen}; the rule asks for a list.
            A function without `return` gives None to its caller, and so does `append`.
            Look at each way in which your function can end."""
        )
    if isinstance(value, str):
        raise Misconception(
            f"""{call} returned a text: {shorten(repr(value), 60)}; the rule asks for a list of messages.
            In one text nothing but a word says who is speaking; that is what the old chain sends.
            Look at the cell of section 1 that prints what is kept for several `k`: how is that memory made?"""
        )
    if isinstance(value, dict):
        raise Misconception(
            f"""{call} returned a dict with {shorten(repr(list(value)), 60)}; the rule asks for a list of messages.
            LangChain hands its memory over under a name, for a prompt that has a place of this name.
            Look at what stands under it, and in which form."""
        )
    if not isinstance(value, list):
        kind = value.type_name if isinstance(value, Opaque) else type(value).__name__
        raise Misconception(
            f"""{call} returned a {kind}; the rule asks for a list of messages.
            Whoever sends it, or appends to it, counts on a list.
            Look at what you return."""
        )


def _is_dict_of_a_request(item: Any, call: str) -> None:
    """A message as the API takes it: a dict with a role that the API knows."""
    kind = item.type_name if isinstance(item, Opaque) else type(item).__name__
    if kind.endswith(("Message", "MessageChunk")):
        raise Misconception(
            f"""{call} returned a list in which a {kind} stands; the rule asks for plain dicts.
            It is an object of LangChain's: `openai` does not take it, and `json.dumps` does not write it.
            Look at section 6: what brings dicts back?"""
        )
    if isinstance(item, list | tuple):
        raise Misconception(
            f"""{call} returned a list in which a {type(item).__name__} stands: {shorten(repr(item), 50)}.
            A request holds one flat list of dicts, each with `role` and `content`.
            Look at how your pieces are put together."""
        )
    if not isinstance(item, dict):
        raise Misconception(
            f"""{call} returned a list in which a {kind} stands: {shorten(repr(item), 40)}.
            The messages are asked for, whole, as dicts; a text does not say who is speaking.
            Look at what you take out of each message."""
        )
    role = item.get("role")
    known = isinstance(role, str) and role in ROLES
    if not known and ("type" in item or "data" in item):
        raise Misconception(
            f"""{call} returned a dict with the keys {shorten(repr(list(item)), 60)}.
            That is how LangChain writes its objects down; a request has `role` and `content`.
            Look at section 6: what brings dicts back that an API takes?"""
        )
    if isinstance(role, str) and role in THEIR_ROLES:
        raise Misconception(
            f"""{call} returned a message with the role {role!r}.
            That is LangChain's word; the API calls it {THEIR_ROLES[role]!r}, and refuses any other.
            Look at where your code writes the role."""
        )
    if not known:
        raise Misconception(
            f"""{call} returned {shorten(repr(item), 60)}; a message has a role: user, assistant and so on.
            Look at how this dict is made."""
        )
    extra = [key for key, value in item.items() if key not in KEYS and (isinstance(value, Opaque) or value)]
    if extra:
        raise Misconception(
            f"""{call} returned a message with the key {shorten(repr(extra[0]), 40)}, which no request has.
            An API refuses what it does not know, and the messages that were given have no such key.
            Look at how this dict is made."""
        )


def _are_given(kept: Kept) -> None:
    """What is kept are whole messages of the given ones, each at most as often as there."""
    given = [_meaning(message) for message in kept.given]
    for item in kept.messages:
        meaning = _meaning(item)
        if meaning not in given:
            _half_a_message(kept, item)
            raise Misconception(
                f"""{kept.call} returned {shorten(repr(item), 60)}, which was not in the list.
                A window chooses messages; it changes none, and makes none up.
                Look at where this message comes from."""
            )
        often = sum(_meaning(each) == meaning for each in kept.messages)
        if often > given.count(meaning):
            raise Misconception(
                f"""{kept.seen}
                {name(item)} is in it {often} times, and the model would read it as often.
                Look at which of your pieces it comes from: can two of them hold the same message?"""
            )


def _half_a_message(kept: Kept, item: Any) -> None:
    """A message of a tool turn that has lost what ties it to the others."""
    role, said, calls, result = _meaning(item)
    for message in kept.given:
        whole = _meaning(message)
        if (role, said) != whole[:2] or (calls, result) == whole[2:]:
            continue
        if whole[2] and not calls:
            raise Misconception(
                f"""{kept.call} returned {shorten(repr(item), 50)}: the call of a tool has lost its `tool_calls`.
                Without it the result that follows belongs to nothing, and an API refuses it.
                Look at what your code copies of a message: role and content are not all of it."""
            )
        if whole[3] and not result:
            raise Misconception(
                f"""{kept.call} returned {shorten(repr(item), 50)}: a tool's result has lost its `tool_call_id`.
                By this id an API knows which call it answers.
                Look at what your code copies of a message: role and content are not all of it."""
            )
