"""What a request must hold of a stored conversation: the instruction, the pad, a window of turns, the question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_tutor.checks import common, kept
from memory_tutor.checks.json_in_text import dumped_twice, objects, same_json, shows
from memory_tutor.checks.turns import SYSTEM_PROMPT
from memory_tutor.codec import shorten
from memory_tutor.exercises import Misconception
from memory_tutor.scripting import Sent


@dataclass(frozen=True)
class Wanted:
    """What one request must hold.

    Args:
        stored: the messages of the conversation, as they were loaded.
        pad: its pad.
        window: so many of the newest turns belong to the request.
        text: the question.
        foreign: texts that belong to others, and to whom.
        earlier: pads of this conversation that are out of date.
    """

    stored: Sequence[dict[str, Any]]
    pad: dict[str, Any]
    window: int
    text: str
    foreign: Mapping[str, str]
    earlier: Sequence[dict[str, Any]] = ()

    @property
    def turns(self) -> list[list[Any]]:
        return common.turns(self.stored)

    @property
    def newest(self) -> list[Any]:
        turns = self.turns
        return [message for turn in turns[max(0, len(turns) - self.window) :] for message in turn]


def look_at(sent: Sent, wanted: Wanted, call: str, loads: Sequence[Any] = ()) -> None:
    """Look whether a request holds what it must, and nothing else.

    Args:
        sent: the request.
        wanted: what it must hold.
        call: how the turn is named in a message.
        loads: how many messages the store was asked for, each time; None for all.

    Raises:
        Misconception: it does not.
    """
    common.unwrap_nested(sent.messages, call)
    _leaks(sent, wanted, call)
    _instructed(sent, call)
    _shows_pad(sent, wanted, call)
    _dialogue(sent, wanted, call, loads)


def _leaks(sent: Sent, wanted: Wanted, call: str) -> None:
    everything = "\n".join([*map(common.text, sent.messages), repr(sent.messages)])
    for said, owner in wanted.foreign.items():
        if said in everything:
            raise Misconception(
                f"""{call} sent {shorten(repr(said), 60)}, which belongs to {owner}.
                The model may repeat it to whoever is asking now.
                Look at what your code keeps for more than one conversation, and under which name."""
            )


def _instructed(sent: Sent, call: str) -> None:
    seen = common.plain(sent.messages)
    systems = [said for who, said in seen if who == "system"]
    count = sum(said.count(SYSTEM_PROMPT) for said in systems)
    aside = next(((who, said) for who, said in seen if who != "system" and SYSTEM_PROMPT in said), None)
    if aside is not None and aside[1] == SYSTEM_PROMPT:
        raise Misconception(
            f"""{call} sent `SYSTEM_PROMPT` in a message of the role {shorten(aside[0], 20)!r}.
            Nobody but your program gives instructions, and `system` is its role.
            Look at the role of the message that you make."""
        )
    if aside is not None:
        raise Misconception(
            f"""{call} sent `SYSTEM_PROMPT` within another text: {shorten(repr(aside[1]), 60)}
            A request is a list of messages; in one text, nobody can tell who has said what.
            Look at what you give to `create` as `messages`."""
        )
    if not count:
        raise Misconception(
            f"""{call} sent {common.count(len(systems), "system message")}, and `SYSTEM_PROMPT` is in none.
            It is not in the store: the program puts it in front of each request.
            Look at what stands at the beginning of the list that you send."""
        )
    if count > 1:
        raise Misconception(
            f"""{call} sent `SYSTEM_PROMPT` {count} times.
            Each copy is paid for in each request; where it is stored as well, it comes back with every turn.
            Look at where your code adds it, and at what it appends to the store."""
        )
    if seen[0][0] != "system" or SYSTEM_PROMPT not in seen[0][1]:
        raise Misconception(
            f"""{call} sent the roles {common.roles(sent.messages)}: `SYSTEM_PROMPT` is not in the first message.
            The instruction comes first, then the pad, then the conversation.
            Look at the order of the list that you send."""
        )
    front = next((place for place, (who, _) in enumerate(seen) if who != "system"), len(seen))
    if front < len(systems):
        raise Misconception(
            f"""{call} sent the roles {common.roles(sent.messages)}: a system message stands within the conversation.
            The rule asks for a fixed place: instruction and pad in front, the question at the end.
            Look at where the pad gets into your list."""
        )
    if len(systems) > 2:
        raise Misconception(
            f"""{call} sent {len(systems)} system messages; one for the instruction and one for the pad are enough.
            A projection that is stored, or made once more each turn, piles up, and the old ones are stale.
            Look at what your code appends to the store, and how often it adds the pad."""
        )


def _shows_pad(sent: Sent, wanted: Wanted, call: str) -> None:
    text = "\n".join(common.text(message) for message in sent.messages if common.role(message) == "system")
    rest = text.replace(SYSTEM_PROMPT, "").strip()
    found, pad = objects(text), wanted.pad
    if not pad:
        if any(found):
            raise Misconception(
                f"""{call} sent the pad {shorten(repr(next(filter(None, found))), 60)}; in the store it is empty.
                The pad is the one that `load` gives for this conversation.
                Look at where your code has another one from."""
            )
        return
    goal = pad.get("goal")
    if isinstance(goal, str) and "\n" in goal and goal in text:
        raise Misconception(
            f"""{call} sent the goal bare, so that its line {goal.splitlines()[-1]!r} reads like one of yours.
            An f-string puts text in as it is; as JSON it keeps its quotes and stays on its line.
            Look at how the pad gets into the text of the system message."""
        )
    whole = [each for each in found if same_json(each, pad)]
    if len(whole) > 1:
        raise Misconception(
            f"""{call} sent the pad {len(whole)} times.
            Each copy costs its tokens, and where two differ the model has to guess.
            Look at how often your code adds the projection."""
        )
    if whole:
        _readable(text, pad, call)
        return
    if any(shows(text, earlier) for earlier in wanted.earlier if earlier):
        raise Misconception(
            f"""{call} sent a pad of earlier, not the one that the store holds now: {shorten(repr(found[0]), 60)}
            Another worker, or the same one, has changed it since.
            Look at how long your code keeps a pad, or a projection of it."""
        )
    if dumped_twice(text, pad):
        raise Misconception(
            f"""{call} sent the pad as JSON within JSON: {shorten(repr(rest), 60)}
            A text that is dumped again gets quotes around it and a backslash before each quote.
            Look at how often `json.dumps` is called on the way."""
        )
    if repr(pad) in text:
        raise Misconception(
            f"""{call} sent the pad as Python writes a dict: {shorten(repr(rest), 60)}
            None, True and single quotes are not JSON: a program in another language cannot read that back.
            Look at what makes the text of the pad."""
        )
    aside = next((message for message in sent.messages if _is_aside(message, pad)), None)
    if aside is not None and aside is sent.messages[-1]:
        raise Misconception(
            f"""{call} put the pad into the question: {shorten(repr(common.text(aside)), 60)}
            The user has not said that; and a question that is stored so brings the old pad back with each turn.
            Look at which message the pad gets into."""
        )
    if aside is not None:
        raise Misconception(
            f"""{call} sent the pad in a message of the role {shorten(common.role(aside), 20)!r}.
            The user has not said it, and the model has not said it: your program says it.
            Look at the role of the message that you make."""
        )
    partly = next((each for each in found if each), None)
    if partly is not None:
        lacking = ", ".join(sorted(set(pad) - set(partly))) or "no key, and has other values"
        raise Misconception(
            f"""{call} sent the JSON {shorten(repr(partly), 50)}, which is not the pad; it lacks {shorten(lacking, 40)}.
            A pad may hold any keys, and what is not shown the model does not know.
            Look at what you give to `json.dumps` or `projection_of`."""
        )
    if rest:
        raise Misconception(
            f"""{call} sent a system message in which no JSON of the pad stands: {shorten(repr(rest), 60)}
            Written in words of your own, the pad loses the borders between its values.
            Look at what makes the text of the pad."""
        )
    raise Misconception(
        f"""{call} sent no pad; the store holds one for this conversation, with {shorten(", ".join(pad), 50)}.
        What is not in the request, the model does not know.
        Look at what your code does with the second of the three things that `load` gives."""
    )


def _is_aside(message: Any, pad: dict[str, Any]) -> bool:
    """Whether a message shows the pad, and is no system message."""
    return common.role(message) != "system" and shows(common.text(message), pad)


def _readable(text: str, pad: dict[str, Any], call: str) -> None:
    for value in pad.values():
        if isinstance(value, str) and not value.isascii() and json.dumps(value, ensure_ascii=False) not in text:
            raise Misconception(
                f"""{call} sent {shorten(repr(value), 50)} as {shorten(json.dumps(value), 50)}.
                The model reads these escapes as they stand, and they take many more tokens.
                Look at the section on letters outside ASCII in lesson 5."""
            )


def _dialogue(sent: Sent, wanted: Wanted, call: str, loads: Sequence[Any]) -> None:
    dialogue = [message for message in sent.messages if common.role(message) != "system"]
    seen, text = common.plain(dialogue), wanted.text
    if not any(said == text for _, said in seen):
        raise Misconception(
            f"""{call} sent {common.count(len(sent.messages), "message")}, and the question is none of them.
            The model answers the last thing that it reads.
            Look at what stands at the end of the list that you send."""
        )
    if seen[-1] != ("user", text):
        raise Misconception(
            f"""{call} sent the question, and not as the user's last message: {shorten(repr(seen[-1]), 60)} is.
            Look at where in the list the question goes, and with which role."""
        )
    before = dialogue[:-1]
    if kept.same(before, wanted.newest):
        return
    if ("user", text) in seen[:-1]:
        raise Misconception(
            f"""{call} sent the question twice.
            It is not in the store yet when the request is made; whoever puts it there first loads it again.
            Look at where your code adds the question."""
        )
    if common.plain(before) == common.plain(wanted.newest):
        raise Misconception(
            f"""{call} sent the right messages, but not whole: a call of a tool has lost its `tool_calls`.
            A result whose call is missing makes many providers refuse the request.
            Look at what your code makes of the messages that `load` gives."""
        )
    _wrong_window(before, wanted, call, loads)


def _wrong_window(before: list[Any], wanted: Wanted, call: str, loads: Sequence[Any]) -> None:
    stored, turns = list(wanted.stored), wanted.turns
    asked = f"a window of {common.count(wanted.window, 'turn')}"
    may = f"{common.count(min(wanted.window, len(turns)), 'turn')} may be sent"
    if before == stored and len(before) > len(wanted.newest):
        why = (
            "A slice that counts from the end has no zero: `[-0:]` is everything."
            if wanted.window == 0
            else "Everything is stored, and a window of it is sent: a long talk would outgrow the model."
        )
        raise Misconception(
            f"""{call} sent all {common.count(len(turns), "stored turn")}; with {asked}, {may}.
            {why}
            Look at how the newest turns are chosen."""
        )
    if not before:
        raise Misconception(
            f"""{call} sent the question without anything from the store; with {asked}, {may}.
            The model knows of the conversation what the request holds.
            Look at what you do with the messages that `load` gives."""
        )
    if common.role(before[0]) != "user":
        raise Misconception(
            f"""{call} sent a window that opens on a message of the role {shorten(common.role(before[0]), 20)!r}.
            A turn of tools has four messages or more: whoever counts messages cuts it, and many APIs refuse the rest.
            Look at the places where a conversation may be cut: in front of a user message."""
        )
    if before == stored[-len(before) :]:
        sent = len(common.turns(before))
        if sent < wanted.window and loads and loads[-1] is not None:
            raise Misconception(
                f"""{call} asked the store for {loads[-1]} messages, and sent {common.count(sent, "turn")} with {asked}.
                `last` counts messages, and a turn has one, two, or many: nobody knows before how many a window needs.
                Look at what you give to `load`."""
            )
        raise Misconception(
            f"""{call} sent the newest {common.count(sent, "turn")} with {asked}; {len(turns)} are stored.
            A turn is a user message and all that follows it; the new question is in no turn yet.
            Look at what your code counts."""
        )
    if before == stored[: len(before)]:
        raise Misconception(
            f"""{call} sent the first turns of the conversation; a window is its end.
            Look at which end of the list your code takes."""
        )
    known = [message for message in before if message in stored]
    if len(known) < len(before):
        strange = next(message for message in before if message not in stored)
        raise Misconception(
            f"""{call} sent {shorten(repr(strange), 70)}, which is not in the store.
            What was not kept was not said, as far as any other worker knows.
            Look at where the messages of your request come from."""
        )
    raise Misconception(
        f"""{call} sent {common.count(len(before), "stored message")} with gaps, or in another order.
        A turn is sent whole or not at all, and the turns as they followed each other.
        Look at how the messages of the window are chosen."""
    )
