"""A request that is not recorded: the explanation points at what differs, within 25 lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_tutor import cassette, course, miss
from memory_tutor.cassette import Interaction, Recording, Request, Response
from memory_tutor.errors import wrapped

SYSTEM = {"role": "system", "content": "You are a helpful assistant."}
SAM = {"role": "user", "content": "My name is Sam"}
HELLO = {"role": "assistant", "content": "Hello Sam! How can I help you today?"}
ASK = {"role": "user", "content": "What's my name?"}


def request(*messages: dict[str, Any], **parameters: Any) -> Request:
    return Request("POST", "/v1/chat/completions", {"model": "m", "messages": list(messages), **parameters})


def recorded(*requests: Request) -> Recording:
    return Recording(
        Interaction(Request(each.method, "/chat/completions", each.body), Response(200, "application/json", "{}"))
        for each in requests
    )


def replied(asked: Request, text: str) -> Interaction:
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    return Interaction(asked, Response(200, "application/json", json.dumps(body)))


RECORDING = recorded(
    request({"role": "user", "content": "My name is Ada. Reply in one short sentence."}),
    request(SYSTEM, SAM),
    request(SYSTEM, SAM, HELLO, ASK),
)


FIRST_LESSON = cassette.load(course.path("cassettes", "01_stateless_calls"))
NAME = {"role": "user", "content": "My name is Ada."}
GRACE = {"role": "assistant", "content": "Your name is Grace."}


def explained(*messages: dict[str, Any], **parameters: Any) -> str:
    text = miss.explain(request(*messages, **parameters), RECORDING, "02_manual_history")
    assert len(text.splitlines()) <= miss.MOST_LINES
    assert wrapped(text) == text.splitlines(), "no line may be broken by the notebook"
    return text


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("What’s my name?", "curly (typographic) against straight"),  # noqa: RUF001
        ("What's  my name?", "only spaces or line breaks differ"),
        ("What's my name?\n", "only spaces or line breaks differ"),
        ("what's my name?", "only capital letters differ"),
        ("What's my name", "only punctuation differs"),
        ("What's my name\u037e", "only punctuation differs"),
        ("What's my na\uff4de?", "they look alike"),
    ],
)
def test_a_small_difference_is_named(content: str, reason: str) -> None:
    text = explained(SYSTEM, SAM, HELLO, {"role": "user", "content": content})
    assert "message 3  user: differs" in text and reason in text
    assert "message 0  system: the same" in text


def test_a_reply_that_was_not_appended() -> None:
    recording = Recording([*RECORDING.interactions, replied(request(SYSTEM, SAM), HELLO["content"])])
    text = miss.explain(request(SYSTEM, SAM, ASK), recording, "02_manual_history")
    assert "missing    assistant: 'Hello Sam!" in text
    assert "perhaps the reply was not appended" in text
    assert "differs" not in text.replace("how it differs", "")


def test_an_answer_that_was_written_by_hand_is_not_to_be_appended() -> None:
    text = explained(SYSTEM, SAM, ASK)  # no model has said it in this recording
    assert "missing    assistant: 'Hello Sam!" in text and "appended" not in text
    first, ask_first = FIRST_LESSON, [{"role": "user", "content": "What is my name?"}, GRACE]
    assert miss.nearest(request(*ask_first), first) is not None
    assert "appended" not in miss.explain(request(*ask_first), first, "01_stateless_calls")
    assert "appended" not in miss.explain(request(*ask_first[:1], NAME), first, "01_stateless_calls")


def test_the_nearest_has_as_many_messages_of_the_same_roles_and_a_text_as_long() -> None:
    instruction = {"role": "system", "content": "Answer with the word OK."}
    for before in ([], [instruction]):
        near = miss.nearest(request(*before, {"role": "user", "content": "dog"}), FIRST_LESSON)
        assert near is not None and near.messages == [*before, {"role": "user", "content": "cat"}]


def test_a_notebook_whose_lesson_was_closed_by_another_is_told_so() -> None:
    text = miss.explain(request(ASK), RECORDING, "05_scratchpads", "03_per_user_isolation")
    assert "  - if this is the notebook of 03_per_user_isolation, run its first cell again;" in text.splitlines()
    assert wrapped(text) == text.splitlines() and len(text.splitlines()) <= miss.MOST_LINES
    assert "if this is the notebook" not in explained(ASK)


def test_the_first_way_on_says_where_run_all_stops() -> None:
    assert "Run All stops at this cell" in explained(ASK)


def test_one_message_too_many() -> None:
    text = explained(SYSTEM, SAM, HELLO, SAM, ASK)
    assert "'My name is Sam' is not in the recorded request" in text


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"temperature": 0.2}, "parameter  temperature: you sent 0.2, the recorded request has none"),
        ({"stream": True}, "parameter  stream: you sent true, the recorded request has none"),
        (
            {"tools": [{"type": "function"}]},
            'parameter  tools: you sent [{"type": "function"}], the recorded request has none',
        ),
        ({"stop": None}, "parameter  stop: you sent null, the recorded request has none"),
    ],
)
def test_a_changed_parameter_is_named_and_the_messages_are_the_same(parameters: dict[str, Any], line: str) -> None:
    text = explained(SYSTEM, SAM, HELLO, ASK, **parameters)
    assert line in text and "differs" not in text


def test_another_role_and_a_content_that_is_none() -> None:
    text = explained(SYSTEM, {"role": "assistant", "content": "My name is Sam"}, HELLO, ASK)
    assert 'role: you sent "assistant", recorded is "user"' in text
    text = explained(SYSTEM, SAM, {"role": "assistant", "content": None}, ASK)
    assert "content: you sent null" in text


def test_a_key_without_a_value_is_a_difference_that_is_named() -> None:
    # As when `message.model_dump()` is appended in place of role and content.
    text = explained(SYSTEM, SAM, {**HELLO, "refusal": None, "tool_calls": None}, ASK)
    assert "message 2  assistant: differs" in text
    assert "refusal: you sent null, the recorded request has none" in text
    text = explained(SYSTEM, {"role": "user"})
    assert 'content: you sent none, recorded is "My name is Sam"' in text


def test_names_of_any_length_are_shortened() -> None:
    message = {"role": "r" * 300, "content": "My name is Sam", "k" * 300: 1}
    assert "k…: you sent 1" in explained(SYSTEM, message, **{"p" * 300: 1, "two\nlines": 2})


def test_what_is_shown_of_a_text_is_what_was_written() -> None:
    text = explained(SYSTEM, {"role": "user", "content": 'I\'m "Sam"\x1b[2J'})
    assert 'you sent     I\'m "Sam"\\x1b[2J' in text


def test_another_address() -> None:
    text = miss.explain(Request("GET", "/v1/files", None), RECORDING, "all lessons")
    assert "GET /files" in text and "no request to that address" in text and 'start(mode="explore")' in text


@pytest.mark.parametrize("body", [None, "text", [1, 2], {"messages": "no list"}, {"messages": [None, 3, "x"]}, {}])
def test_odd_bodies_are_explained_too(body: Any) -> None:
    text = miss.explain(Request("POST", "/v1/chat/completions", body), RECORDING, "02_manual_history")
    assert text.startswith("NOT RECORDED")


def test_messages_that_are_no_list_are_named() -> None:
    text = miss.explain(Request("POST", "/v1/chat/completions", {"messages": "What's my name?"}), RECORDING, "x")
    assert 'parameter  messages: you sent "What\'s my name?"' in text


def test_a_long_conversation_stays_short() -> None:
    turns = [{"role": "user", "content": f"{number}\n" * 500} for number in range(300)]
    long = recorded(request(*turns))
    changed = [{**turn, "content": turn["content"] + "!"} for turn in turns]
    text = miss.explain(request(*changed), long, "02_manual_history")
    assert len(text.splitlines()) <= miss.MOST_LINES and "more lines like these" in text
    assert wrapped(text) == text.splitlines()
