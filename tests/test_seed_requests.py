"""The course grew out of two short texts. All that their examples send is recorded, and answered as they promise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import OpenAI

import memory_tutor

#: The model that an example asks for, its instruction, what the user says in turn, and what the last reply
#: holds. The talk by LangChain aside, these are all conversations that the texts' code has.
TALKS = [
    ("gpt-4o-mini", None, ["My name is Ada. Reply in one short sentence."], "Ada"),
    ("gpt-4o-mini", None, ["What is my name?"], ""),
    (
        "gpt-4o-mini",
        "You are a concise assistant. Remember user facts stated in this chat.",
        ["My name is Ada.", "What is my name?"],
        "Ada",
    ),
    ("gpt-4o", "You are a helpful assistant.", ["My name is Sam", "What's my name?"], "Your name is Sam."),
    (
        "gpt-4o-mini",
        "Help the user complete a small checklist.",
        ["Goal: Plan a 3-item grocery list. Suggest three items."],
        "",
    ),
]
#: The scratchpad that is shown to the model after the last of them, behind its instruction.
PAD = {"goal": "Plan a 3-item grocery list", "steps_done": ["suggested_items"]}


#: What the text's ConversationChain makes of a talk: one user message.
CHAIN = """The following is a friendly conversation between a human and an AI. The AI is talkative and provides lots \
of specific details from its context. If the AI does not know the answer to a question, it truthfully says it does not \
know.

Current conversation:
{history}
Human: {text}
AI:"""


def message(role: str, content: str) -> Any:
    return {"role": role, "content": content}


def test_all_of_it_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key that is never used")
    memory_tutor.start()  # all recordings
    client = OpenAI()

    def send(model: str, messages: list[Any]) -> str:
        return client.chat.completions.create(model=model, messages=messages).choices[0].message.content or ""

    last_replies, history = [], []
    for model, instruction, texts, promised in TALKS:
        history = [] if instruction is None else [message("system", instruction)]
        for text in texts:
            history.append(message("user", text))
            history.append(message("assistant", send(model, history)))
        assert history[-1]["content"] and promised in history[-1]["content"]
        last_replies.append(history[-1]["content"])
    assert "Ada" not in last_replies[1]  # the second call knows nothing of the first

    projection = f"Current scratchpad (authoritative JSON):\n{json.dumps(PAD, ensure_ascii=False)}"
    assert send("gpt-4o-mini", [history[0], message("system", projection), *history[1:]])


def test_the_talk_by_langchain_is_recorded_as_langchain_sends_it() -> None:
    memory_tutor.start()  # all recordings
    client, history, reply = OpenAI(), "", ""
    for text in ["My name is Sam", "What's my name?"]:
        messages: list[Any] = [message("user", CHAIN.format(history=history, text=text))]
        response = client.chat.completions.create(model="gpt-4o", messages=messages, stream=False)
        reply = response.choices[0].message.content or ""
        history = "\n".join(filter(None, [history, f"Human: {text}", f"AI: {reply}"]))
    assert reply == "Your name is Sam."
