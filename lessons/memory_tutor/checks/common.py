"""What the checks of several lessons look at, and how they say it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import LearnerRaised, Misconception
from memory_tutor.scripting import Failure

if TYPE_CHECKING:
    from memory_tutor.learner import Learner, Outcome, Raised
    from memory_tutor.scripting import Sent

#: Types in which the SDK hands a reply over, whole or in part.
REPLY_TYPES = {"ChatCompletion", "ChatCompletionMessage", "Choice", "Response", "Stream", "ParsedChatCompletion"}
#: Names of the SDK's errors for a call that got no answer and for one that was refused, and of an error that is
#: none of the SDK's.
NO_CONNECTION, SERVER_ERROR, OTHER_ERROR = "APIConnectionError", "InternalServerError", "ValueError"


# -- messages ------------------------------------------------------------------------------------------


def user(text: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    """A message of the assistant."""
    return {"role": "assistant", "content": text}


def system(text: str) -> dict[str, Any]:
    """A system message."""
    return {"role": "system", "content": text}


def role(message: Any) -> str:
    """The role of a message, "?" where it has none."""
    return str(message.get("role", "?")) if isinstance(message, dict) else "?"


def text(message: Any) -> str:
    """The text of a message, also where it is given in parts."""
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in content)
    return content if isinstance(content, str) else ""


def plain(messages: Sequence[Any]) -> list[tuple[str, str]]:
    """Messages as (role, text) pairs: what a model reads, however it was written down."""
    return [(role(message), text(message)) for message in messages]


def roles(messages: Sequence[Any]) -> str:
    """The roles of messages, for people: "system, user"."""
    return shorten(", ".join(map(role, messages)), 80) or "none"


def turns(messages: Sequence[Any]) -> list[list[Any]]:
    """Messages as turns: each user message and what follows it. What stands before the first is one of its own."""
    found: list[list[Any]] = []
    for message in messages:
        if role(message) == "user" or not found:
            found.append([])
        found[-1].append(message)
    return found


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 message", "2 messages"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shown(raised: Raised) -> str:
    """An exception on one line: "KeyError: 'content'", or its name where it says nothing."""
    return shorten(f"{raised.names[0]}: {' '.join(raised.message.split())}", 120).removesuffix(": ")


def line_of(raised: Raised, unknown: str = "your code") -> str:
    """The learner's line that raised, quoted for a message.

    Args:
        raised: the exception.
        unknown: what stands for the line where it is not known.
    """
    line = shorten(raised.line.strip(), 80)
    return f"`{line}`" if line else unknown


# -- requests ------------------------------------------------------------------------------------------


def only_request(learner: Learner, outcome: Outcome, call: str) -> Sent:
    """The one request that a call made.

    Args:
        learner: whose requests are looked at, since the last `script`.
        outcome: of the call.
        call: how the call is named in a message.

    Raises:
        Misconception: it made none, or several.
        LearnerRaised: it raised.
    """
    has_run(outcome, call)
    sent = learner.requests
    if not sent:
        raise Misconception(
            f"""{call} returned, and no request was sent.
            The model is asked only where the code calls `client.chat.completions.create`.
            Look at what happens between the first line and the `return`."""
        )
    if len(sent) > 1:
        raise Misconception(
            f"""{call} sent {len(sent)} requests; the rule asks for one.
            Each request stands alone: what the first one said, the second does not know.
            Look at how often `create` is called, and what it is called for."""
        )
    _is_list_of_messages(sent[0], call)
    return sent[0]


def _is_list_of_messages(sent: Sent, call: str) -> None:
    """An endpoint refuses a chat request whose messages are anything but a list of dicts."""
    if sent.path.partition("?")[0] != "/chat/completions":
        return
    messages = sent.body.get("messages")
    if messages is None:
        raise Misconception(
            f"""{call} sent None as `messages`; the API wants a list of dicts.
            Methods such as `append` and `extend` change a list and return None.
            Look at what you give to `create`, and at which line made it."""
        )
    if not isinstance(messages, list):
        raise Misconception(
            f"""{call} sent a {type(messages).__name__} as `messages`; the API wants a list of dicts.
            One message is a list of one, and a text alone does not say who is speaking.
            Look at the brackets of what you give to `create`."""
        )
    for index, message in enumerate(messages):
        if not isinstance(message, dict | list):
            item = f"a {type(message).__name__}: {shorten(repr(message), 60)}"
            raise Misconception(
                f"""{call} sent a list in which item {index} is {item}.
                A message is a dict: without a role, nobody knows who is speaking.
                Look at what you put into the list."""
            )
        if isinstance(message, dict):
            _has_known_keys(message, index, call)


def _has_known_keys(message: dict[Any, Any], index: int, call: str) -> None:
    """A misspelt key is one that nobody reads."""
    for key in ("role", "content"):
        near = [] if key in message else difflib.get_close_matches(key, filter(_is_text, message), n=1, cutoff=0.7)
        if near:
            raise Misconception(
                f"""{call} sent a message, item {index} of the list, that has the key `{near[0]}`; it has no `{key}`.
                A model, and the API, look for `{key}` alone; many providers refuse a key that they do not know.
                Look at how the keys are spelt where you make this message."""
            )


def _is_text(key: object) -> bool:
    return isinstance(key, str) and key.isprintable() and len(key) < 20


def unwrap_nested(messages: Sequence[Any], call: str) -> None:
    """Tell a list within the list of messages apart from other faults.

    Raises:
        Misconception: one of the messages is itself a list.
    """
    if any(isinstance(message, list) for message in messages):
        raise Misconception(
            f"""{call} sent a list in which another list stands among the messages.
            A request holds one flat list; an endpoint refuses anything else.
            Look at how the messages of the list that you were given get into yours."""
        )


# -- what a call returned ------------------------------------------------------------------------------


def has_run(outcome: Outcome, call: str) -> None:
    """Tell code that waits to be run apart from code that did nothing.

    Raises:
        Misconception: the function is a coroutine or a generator.
        LearnerRaised: it raised.
    """
    value = outcome.value
    kind = value.type_name if isinstance(value, Opaque) else ""
    if kind in ("coroutine", "async_generator"):
        raise Misconception(
            f"""{call} returned a {kind}: its code has not run yet.
            `async def` makes a function that has to be awaited; this one is called plainly.
            Look at the line with `def`."""
        )
    if kind == "generator":
        raise Misconception(
            f"""{call} returned a generator: its code has not run yet.
            `yield` hands values over one by one, and only when somebody asks for them.
            Look at where `yield` stands."""
        )


def reply_of(outcome: Outcome, call: str, reply: str) -> None:
    """Compare what a call returned with the text of the scripted reply.

    Args:
        outcome: of the call.
        call: how the call is named in a message.
        reply: what the model said.

    Raises:
        Misconception: it returned anything else.
        LearnerRaised: it raised.
    """
    value = outcome.value
    if isinstance(value, Opaque):
        raise Misconception(_opaque(value, call))
    if value is None:
        if reply in outcome.stdout:
            raise Misconception(
                f"""{call} printed the reply and returned None.
                What is printed is for people; the code that calls the function gets nothing.
                Look at the last line of the function."""
            )
        raise Misconception(
            f"""{call} returned None; the model had replied.
            A function that ends without `return` gives None to its caller.
            Look at where the reply is when the function ends."""
        )
    if not isinstance(value, str):
        raise Misconception(
            f"""{call} returned a {type(value).__name__}: {shorten(repr(value), 80)}.
            The caller expects the text of the reply, a str.
            Look at which part of the response you return."""
        )
    if value != reply:
        raise Misconception(
            f"""{call} returned {shorten(repr(value), 80)}; the model had said {reply!r}.
            The text of a reply belongs to the caller as it is.
            Look at where the returned text comes from."""
        )


def _opaque(value: Opaque, call: str) -> str:
    if value.type_name in REPLY_TYPES:
        return f"""{call} returned a {value.type_name}, an object of the SDK; the rule asks for a str.
            The text is one field deep inside: the caller would have to know the SDK to find it.
            Look at how lesson 1, section 1, gets from `response` to the text that it prints."""
    return f"""{call} returned a {value.type_name}; the rule asks for plain data.
        Look at what the last line returns."""


def none_counts_as_empty(learner: Learner, name: str, args: Sequence[Any], call: str) -> Outcome:
    """Call with a model that replies None: the function must return "".

    Raises:
        Misconception: it returned something else, or could not work with None.
    """
    learner.script(None)
    outcome = learner.call(name, *args)
    empty_for_none(outcome, call)
    return outcome


def empty_for_none(outcome: Outcome, call: str) -> None:
    """Look at a call that got None for a reply: it must have returned "".

    Raises:
        Misconception: it returned something else.
        LearnerRaised: it could not work with None.
    """
    raised = outcome.exception
    if raised is not None and {"TypeError", "AttributeError"} & set(raised.names):
        raise LearnerRaised(
            f"""When the reply was None, {call} raised {shown(raised)}
            A reply may have no text at all, as when the model calls a tool.
            Look at the first thing that your code does with the reply: {line_of(raised)}"""
        )
    value = outcome.value
    if value == "":
        return
    if value == "None":
        raise Misconception(
            f"""{call} returned the text 'None' when the reply was None.
            `str(None)` is a word of four letters, and a user would read it.
            Look at how you make a str of the reply."""
        )
    raise Misconception(
        f"""{call} returned {shorten(repr(value), 60)} when the reply was None; None counts as "".
        Code that expects a str fails later, far from here.
        Look at the section "The reply may be None" in lesson 1."""
    )


def error_goes_on(learner: Learner, name: str, args: Sequence[Any], call: str) -> None:
    """Call without a network: the SDK's error must reach the caller.

    Raises:
        Misconception: it did not, or as another one.
    """
    learner.script(Failure("connection"), Failure("connection"), Failure("connection"))
    outcome = learner.call(name, *args)
    same_exception(outcome, call, NO_CONNECTION)


def same_exception(outcome: Outcome, call: str, expected: str) -> None:
    """Look whether a call raised what the SDK had raised.

    Args:
        outcome: of the call.
        call: how the call is named in a message.
        expected: name of the SDK's exception.

    Raises:
        Misconception: it raised nothing, or another exception.
    """
    raised = outcome.exception
    if raised is None:
        value = outcome.value
        raise Misconception(
            f"""{call} returned {shorten(repr(value), 60)} although the request had failed with {expected}.
            Whoever calls it takes that for what the model said; the failure has been swallowed.
            Look at your `except`: what does it do last?"""
        )
    if expected not in raised.names:
        raise Misconception(
            f"""{call} raised {raised.names[0]} where the request had failed with {expected}.
            Callers wait for the SDK's own error, to try again or to tell the user.
            Look at what your code raises, or does, after the request has failed."""
        )
