"""The course grew out of two short texts. What their first examples send is recorded, and answered as they promise."""

from __future__ import annotations

from typing import Any

import pytest
from openai import OpenAI

import memory_tutor


@pytest.fixture
def client() -> OpenAI:
    memory_tutor.start()  # all recordings
    return OpenAI()


def talk(client: OpenAI, model: str, system: str, *texts: str) -> list[str]:
    """A conversation that sends all of its history each time; the replies."""
    history: list[Any] = [{"role": "system", "content": system}]
    replies = []
    for text in texts:
        history.append({"role": "user", "content": text})
        reply = client.chat.completions.create(model=model, messages=history).choices[0].message.content or ""
        history.append({"role": "assistant", "content": reply})
        replies.append(reply)
    return replies


def test_two_calls_know_nothing_of_each_other(client: OpenAI) -> None:
    texts = ["My name is Ada. Reply in one short sentence.", "What is my name?"]
    first, second = (talk_alone(client, text) for text in texts)
    assert "Ada" in first and "Ada" not in second


def talk_alone(client: OpenAI, text: str) -> str:
    messages: Any = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="gpt-4o-mini", messages=messages).choices[0].message.content or ""


def test_with_its_history_the_model_knows_the_name(client: OpenAI) -> None:
    concise = "You are a concise assistant. Remember user facts stated in this chat."
    assert "Ada" in talk(client, "gpt-4o-mini", concise, "My name is Ada.", "What is my name?")[-1]


def test_the_shortest_form_of_it(client: OpenAI) -> None:
    replies = talk(client, "gpt-4o", "You are a helpful assistant.", "My name is Sam", "What's my name?")
    assert replies[-1] == "Your name is Sam."
