"""Lesson 2: a conversation is a list that your code keeps, and sends whole each time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory_tutor.checks import common
from memory_tutor.checks.common import assistant, system, user
from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import LearnerRaised, Lesson, Misconception
from memory_tutor.scripting import Failure

if TYPE_CHECKING:
    from memory_tutor.learner import Learner

Messages = list[dict[str, Any]]

lesson = Lesson("02_manual_history", "Manual history", level=1, minutes=35)


# -- predictions ---------------------------------------------------------------------------------------

lesson.predict(
    "second_request",
    choices={
        "a": "1: the new question, since the API has the rest",
        "b": "3: the system message went with the first request",
        "c": "4: all that is in the list",
    },
    right="c",
    why={
        "a": "that would need an API that keeps conversations. Lesson 1 has shown that it keeps none.",
        "b": "instructions are given once to people. A model reads them in each request, or not at all.",
        "c": "the list is the conversation, and the whole list is sent.",
    },
)

lesson.predict(
    "cost_growth",
    choices={
        "a": "About twice as large: there is twice as much text",
        "b": "Less than twice as large: the system message is paid for once",
        "c": "Nearly four times as large",
    },
    right="c",
    why={
        "a": "the text doubles. But every old message is sent again with every new one.",
        "b": "the system message is in each request, and counted in each.",
        "c": "turn 8 sends what turns 1 to 7 said. The sum of 1, 2, 3, … grows with the square.",
    },
)

lesson.predict(
    "after_failure",
    choices={
        "a": "The system message alone: a call that failed leaves nothing behind",
        "b": "The system message and the question",
        "c": "The system message, the question and an empty reply",
    },
    right="b",
    why={
        "a": "a database would undo it. A list does not know that the call belonged to the append.",
        "b": "the append came before the call, and nothing has taken it back.",
        "c": "the line that appends the reply was never reached: an exception leaves at once.",
    },
)


# -- say -----------------------------------------------------------------------------------------------

OPENED = [system("Answer in one short sentence."), user("I keep two cats."), assistant("Good company.")]
REPEATED = [user("Again."), assistant("Once more."), user("And again."), assistant("And once more.")]


@lesson.exercise(
    points=4,
    hints=[
        "When `say` is called a second time, what must the list hold for the model to know the first time?",
        "The loop in section 1 does four things for each text. `say` does them once, with the list that it is given.",
        'Append the question, send `history`, take the text of the reply, with `or ""`, and return it in the end. '
        "The line left to write appends a dict of two keys to `history`.",
    ],
    another_way="""
        Instead of two calls of `append` you can send `history + [question]` first, and then add both messages
        in one go: `history += [question, answer]`. It is better where the call may fail: until the
        reply is there, nothing has changed. The third exercise of this lesson is about that.
        """,
)
def say(learner: Learner) -> None:
    """Add one turn to a conversation: the user's text, and the model's reply to all of it."""
    _good_turns(learner, "say")
    common.error_goes_on(learner, "say", [OPENED, "Are you there?"], '`say(history, "Are you there?")`')


#: Longer than any number of messages that somebody might think is enough to send.
LONG_TALK: Messages = [
    message for number in range(1, 31) for message in (user(f"My number is {number}."), assistant(f"{number}, noted."))
]


def _good_turns(learner: Learner, name: str) -> None:
    """What `say` and `say_safely` have in common: turns that succeed."""
    history = _turn(learner, name, OPENED, "What are they called?", "I do not know their names.")
    _turn(learner, name, history, "Guess, please.", "Perhaps Loki and Freya.")
    _turn(learner, name, [], "Where is Oslo?", "Oslo is in Norway.")
    _turn(learner, name, LONG_TALK, "What was my first number?", "It was 1.")
    call = f'`{name}(history, "Are you there?")`'
    outcome = common.none_counts_as_empty(learner, name, [OPENED, "Are you there?"], call)
    after = outcome.args[0]
    last = after[-1] if isinstance(after, list) and after else None
    if isinstance(last, dict) and last.get("content") is None:
        raise Misconception(
            f"""When the reply was None, {call} appended {shorten(repr(last), 80)}.
            What is in the list is sent with every later request; None counts as "".
            Look at what you put in `content`."""
        )
    _pair_was_appended(after, OPENED, "Are you there?", "", call)


def _turn(learner: Learner, name: str, history: Messages, text: str, reply: str) -> Messages:
    """Let one turn succeed, and return the history as the call left it."""
    given = f"history of {common.count(len(history), 'message')}" if history else "[]"
    call = f'`{name}({given}, "{text}")`'
    learner.script(*[reply] * 8)
    outcome = learner.call(name, history, text)
    sent = common.only_request(learner, outcome, call)
    _all_was_sent(sent.messages, history, text, call)
    common.reply_of(outcome, call, reply)
    after = outcome.args[0]
    _pair_was_appended(after, history, text, reply, call)
    return [*history, user(text), assistant(reply)]


def _all_was_sent(sent: list[Any], history: Messages, text: str, call: str) -> None:
    common.unwrap_nested(sent, call)
    seen, wanted = common.plain(sent), common.plain([*history, user(text)])
    if seen == wanted:
        return
    shown = f"{common.count(len(seen), 'message')} ({common.roles(sent)})"
    if history and seen == wanted[-1:]:
        raise Misconception(
            f"""{call} sent the last message alone.
            The API keeps no conversation, so the model is back in its first minute.
            Look at what you give to `create` as `messages`."""
        )
    if wanted[-1] not in seen:
        raise Misconception(
            f"""{call} sent {shown}, and the new question is none of them.
            The model answers what is in the request at the moment when it is sent.
            Look at what comes first in your code: the append or the request."""
        )
    if not history and common.role(sent[0]) in ("system", "developer"):
        raise Misconception(
            f"""{call} sent a system message that was not in the history.
            Whether there are instructions, and which, is for the caller to say.
            Look at what your code does with a list that has no system message."""
        )
    if sorted(seen) == sorted(wanted):
        raise Misconception(
            f"""{call} sent the right messages in another order ({common.roles(sent)}).
            A conversation is read from top to bottom; the new question comes last.
            Look at where in the list you put it."""
        )
    if len(seen) < len(wanted):
        raise Misconception(
            f"""{call} sent {shown}; the history and the question are {len(wanted)}.
            What is not in the request, the model does not know.
            Look at which messages are left out on the way to `create`."""
        )
    raise Misconception(
        f"""{call} sent {shown}; {len(wanted)} were expected.
        The request is the history that you were given and the new question, in this order.
        Look at what else, or what other list, you send."""
    )


def _pair_was_appended(after: Any, history: Messages, text: str, reply: str, call: str) -> None:
    wanted = [*history, user(text), assistant(reply)]
    if not isinstance(after, list):
        raise Misconception(f"{call} was given a list, and afterwards it is a {type(after).__name__}.")
    if after == history:
        raise Misconception(
            f"""{call} left the caller's list as it was; the turn is not in it.
            `history + […]` and `history or […]` can make a new list; under the old name it is still another list.
            Look at whether your code changes the list that it is given."""
        )
    if len(after) > len(history) and isinstance(after[-1], Opaque):
        raise Misconception(
            f"""{call} appended a {after[-1].type_name}, an object of the SDK, as the reply.
            It has no `["role"]`, it cannot be saved as JSON, and the other messages are dicts.
            Look at what you append after the call."""
        )
    if len(after) > len(history) + 2 and len(reply) > 1 and after[-len(reply) :] == list(reply):
        raise Misconception(
            f"""{call} added the reply to the history letter by letter, {len(reply)} items.
            `+=` and `extend` take what is on their right apart, and a str is made of letters.
            Look at what you add after the call."""
        )
    if len(after) > len(history) and isinstance(after[-1], str):
        raise Misconception(
            f"""{call} appended the bare text {shorten(repr(after[-1]), 60)} to the history.
            A message is a dict: without a role, nobody knows who said it.
            Look at what you append after the call."""
        )
    if after == [*history, user(text)]:
        raise Misconception(
            f"""After {call}, the history ended with the question; the reply was not in it.
            In the next request the model sees two questions in a row, and not what it has said itself.
            Look at what happens to the reply besides being returned."""
        )
    if after == [*history, assistant(reply)]:
        raise Misconception(
            f"""{call} appended the reply, but not the question.
            In the next request stands an answer, and nobody knows to what.
            Look at what happens to `text` besides being sent."""
        )
    if after[: len(history)] != history:
        raise Misconception(
            f"""{call} changed or removed messages that were in the history before.
            A conversation only grows at its end; what was said stays said.
            Look at each line that writes to `history`."""
        )
    if common.plain(after) == common.plain(wanted):
        return  # with further keys, as `model_dump` gives them
    added = after[len(history) :]
    raise Misconception(
        f"""{call} added {common.count(len(added), "message")} ({common.roles(added)}), the last {_shown_last(after)}.
        A turn adds two dicts: what the user said, and what the model replied, word for word.
        Look at the role and the content of what you append."""
    )


def _shown_last(messages: Any) -> str:
    return shorten(repr(messages[-1]), 80) if isinstance(messages, list) and messages else repr(messages)


# -- show_history --------------------------------------------------------------------------------------

LONG = "I have been wondering\nwhether a conversation can be too long for its own good, so here is a long one."
CALLED = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
SHOWN: Messages = [
    system("Be brief."),
    user(LONG),
    {"role": "assistant", "content": None, "tool_calls": [CALLED]},
    {"role": "tool", "tool_call_id": "call_1", "content": "Zoë 你好 🦜"},
    {"role": "assistant", "tool_calls": [CALLED]},
    user("And again?"),
    assistant("Yes."),
    user("And again?"),
]
ROW_KEYS = ("index", "role", "chars", "preview")
PREVIEW = 60


@lesson.exercise(
    points=3,
    hints=[
        "Which messages have no text at all, and what does `len` say to that?",
        "Section 1 prints a line for each message with `enumerate`. The text of a message is "
        '`message.get("content")`, which may be None.',
        'Make one dict per message, with a name for its text, `content = message.get("content") or ""`. '
        "The line left to write is the dict of four keys; a slice makes the preview.",
    ],
    another_way="""
        A list comprehension or a loop with `append`: both are right. A generator (`yield`) is better for a
        history of a million messages, of which somebody looks at ten; but it can be read only once, and the
        contract here is a list.
        """,
)
def show_history(learner: Learner) -> None:
    """List a history for people: who said how much, and how it begins."""
    learner.script()
    _rows(learner, SHOWN[:2])
    _rows(learner, SHOWN)
    _rows(learner, [])


def _rows(learner: Learner, history: Messages) -> None:
    call = f"`show_history(history)` with {common.count(len(history), 'message')}"
    outcome = learner.call("show_history", history)
    raised = outcome.exception
    if raised is not None and {"TypeError", "KeyError", "AttributeError"} & set(raised.names) and len(history) > 2:
        raise LearnerRaised(
            f"""{call} raised {common.shown(raised)}
            A message that calls a tool has the content None, or no content at all.
            Look at {common.line_of(raised)}: what does it need?"""
        )
    common.has_run(outcome, call)
    if outcome.args[0] != history:
        raise Misconception(
            f"""{call} changed the history: {_first_change(history, outcome.args[0])}.
            Whoever only wants to look at a list must find it afterwards as it was.
            Look at each line that assigns to a message."""
        )
    value = outcome.value
    _are_rows(value, outcome.stdout, call)
    if len(value) != len(history):
        found = [row["role"] for row in value]
        raise Misconception(
            f"""{call} returned {common.count(len(value), "row")}: {shorten(", ".join(map(str, found)), 80) or "[]"}.
            Each message has one row, whatever its role and its text; an empty history has none.
            Look at which messages your code passes over, or adds."""
        )
    for index, (row, message) in enumerate(zip(value, history, strict=True)):
        _row(row, index, message, call)


def _first_change(before: Messages, after: Any) -> str:
    if not isinstance(after, list) or len(after) != len(before):
        return "it has other messages now"
    index = next(i for i, message in enumerate(before) if after[i] != message)
    return f"message {index} is now {shorten(repr(after[index]), 90)}"


def _are_rows(value: object, stdout: str, call: str) -> None:
    if value is None:
        printed = stdout.strip()
        seen = "printed and returned None" if printed else "returned None"
        means = "A table on the screen" if printed else "What is not returned"
        raise Misconception(
            f"""{call} {seen}; the rule asks for a list of rows.
            {means} cannot be sorted, counted or tested.
            Look at what you do with each row."""
        )
    if not isinstance(value, list):
        kind = value.type_name if isinstance(value, Opaque) else type(value).__name__
        raise Misconception(
            f"""{call} returned a {kind}; the rule asks for a list of rows.
            A list has a length, and can be read twice.
            Look at what you return."""
        )
    for row in value:
        if not isinstance(row, dict):
            kind = row.type_name if isinstance(row, Opaque) else type(row).__name__
            raise Misconception(
                f"""{call} returned a list in which a row is a {kind}; each row is a dict.
                Names tell a reader what a number is; places do not.
                Look at what you make of one message."""
            )
        missing = [key for key in ROW_KEYS if key not in row]
        if missing:
            found = shorten(repr(list(row)), 60)
            raise Misconception(
                f"""{call} returned a row without {" and ".join(map(repr, missing))}, but with {found}.
                Code that reads the rows asks for exactly these names.
                Look at the keys of your dict, letter by letter."""
            )
    if len(value) > 1 and all(row == value[0] for row in value):
        raise Misconception(
            f"""{call} returned the same row {len(value)} times, that of message {shorten(repr(value[0]["index"]), 20)}.
            A dict that is made once and appended again and again is one dict: its last state shows everywhere.
            Look at where your code makes the dict: before the loop, or in it."""
        )


def _row(row: dict[str, Any], index: int, message: dict[str, Any], call: str) -> None:
    content = message.get("content") or ""
    wanted = {"index": index, "role": message["role"], "chars": len(content), "preview": content[:PREVIEW]}
    if all(row[key] == wanted[key] and type(row[key]) is type(wanted[key]) for key in ROW_KEYS):
        return
    preview = row["preview"] if isinstance(row["preview"], str) else ""
    if len(content) > PREVIEW and row["chars"] == len(preview):
        raise Misconception(
            f"""{call}: the row of a message with {len(content)} characters says {row["chars"]} chars.
            That is the length of the preview; the reader wants to know how long the message is.
            Look at what you measure: the text, or what is left of it."""
        )
    if row["chars"] == len(content.encode("utf-8")) != len(content):
        raise Misconception(
            f"""{call}: the row of {content!r} says {row["chars"]} chars; that is its size in bytes.
            A character outside ASCII takes two bytes or more.
            Look at what you measure: the text, or its encoding."""
        )
    key = next(key for key in ROW_KEYS if row[key] != wanted[key] or type(row[key]) is not type(wanted[key]))
    raise Misconception(
        f"""{call}: row {index} says {key} = {shorten(repr(row[key]), 80)}.
        By the rule it is {shorten(repr(wanted[key]), 80)}; the message was {shorten(repr(message), 60)}.
        Look at how your code makes `{key}`."""
    )


# -- say_safely ----------------------------------------------------------------------------------------


@lesson.exercise(
    points=5,
    hints=[
        "After a failure the list must be as it was. At which moment does `say` change it for the first time?",
        "There are two places to work at: before the request, so that nothing is appended too early; or in an "
        "`except` after it, which takes the question back and lets the same exception go on.",
        "Late: send `history + [question]`, take the text of the reply, and only then change the list. "
        "The line left to write adds two messages to `history` at once.",
    ],
    another_way="""
        **Append late** (send `history + [question]`, then `history += [question, answer]`) needs no `except`:
        what has not been done need not be undone. **Undo** (append, then in an `except`
        `del history[before:]` and a bare `raise`) is better where code between must already see the question in
        the list; note the length before, so that you take away what you have added and nothing else.
        """,
)
def say_safely(learner: Learner) -> None:
    """Add one turn to a conversation, or, if the call fails, nothing at all."""
    _good_turns(learner, "say_safely")
    _failures(learner, OPENED, "What are they called?")
    # An old message with the same words must not be taken for the new one.
    _failures(learner, REPEATED, "Again.")
    _failures(learner, [], "Hello?")


def _failures(learner: Learner, history: Messages, text: str) -> None:
    """Three failures in a row, of three kinds, and then a turn that succeeds, all on one list."""
    given = history
    failures = (
        (Failure("connection"), common.NO_CONNECTION),
        (Failure(500), common.SERVER_ERROR),
        (Failure("bug"), common.OTHER_ERROR),
    )
    for failure, expected in failures:
        call = f'`say_safely(history, "{text}")`'
        learner.script(failure, failure, failure)
        outcome = learner.call("say_safely", given, text)
        common.same_exception(outcome, call, expected)
        given = outcome.args[0]
        _is_as_before(given, history, text, expected, call)
    _turn(learner, "say_safely", given, text, "Here I am.")


def _is_as_before(after: Any, history: Messages, text: str, expected: str, call: str) -> None:
    if after == history:
        return
    question = user(text)
    if after == [*history, question] and expected != common.NO_CONNECTION:
        raise Misconception(
            f"""After {call} had failed with {expected}, the question was still in `history`.
            With {common.NO_CONNECTION} it was not: your code takes some failures for the only ones.
            Look at which exceptions your `except` names."""
        )
    if after == [*history, question]:
        raise Misconception(
            f"""After {call} had failed with {expected}, the caller's list still ended in the question.
            The next request carries it along, unanswered; and `history = …` names another list, not the caller's.
            Look at whether anything takes the question out of the list itself."""
        )
    if isinstance(after, list) and len(after) < len(history):
        raise Misconception(
            f"""After {call} had failed with {expected}, `history` was shorter by {len(history) - len(after)}.
            More was taken away than this call had added.
            Look at what is at the end of the list at the moment when you remove something."""
        )
    if isinstance(after, list) and question in history and sorted(map(repr, after)) == sorted(map(repr, history)):
        raise Misconception(
            f"""After {call} had failed with {expected}, `history` had its messages in another order.
            `list.remove` takes the first that is equal, and the user had said the same before.
            Look at how your code finds the message that it takes out."""
        )
    raise Misconception(
        f"""After {call} had failed with {expected}, `history` was not as before; it ends in {_shown_last(after)}.
        A turn that failed must leave no trace, or the next request carries it along.
        Look at what your code has added or changed when the failure comes."""
    )
