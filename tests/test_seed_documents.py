"""The Python of the two texts that the course grew out of, run as it stands there, offline.

The texts are not part of the course: where their folder is not beside it, there is nothing to run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memory_tutor

FOLDER = Path(__file__).parents[2] / "shared" / "seeds"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))}

pytestmark = pytest.mark.skipif(not TEXTS, reason="the folder with the two texts is not beside the course")


def text_with(words: str) -> str:
    """The text that has these words."""
    (found,) = [text for text in TEXTS.values() if words in text]
    return found


def code_in(text: str) -> Iterator[str]:
    """The Python in a text: from each line on, as many lines as are Python together."""
    lines = text.splitlines()
    start = 0
    while start < len(lines):
        ends = [end for end in range(len(lines), start, -1) if is_code("\n".join(lines[start:end]))]
        if ends:
            yield "\n".join(lines[start : ends[0]])
        start = ends[0] if ends else start + 1


def is_code(text: str) -> bool:
    """Whether it is Python that does something: a heading of one word would be a name."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return False
    return bool(body) and not all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Name) for each in body)


def run(text: str, **given: Any) -> dict[str, Any]:
    """Run the Python of a text, with what the text leaves undefined; the names that are then defined."""
    tutor = memory_tutor.start()  # all recordings
    names: dict[str, Any] = {"__name__": "__main__", "__transcript__": tutor.transcript, **given}
    for code in code_in(text):
        exec(compile(code, "<text>", "exec"), names)
    return names


def test_short_term_memory_basics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = text_with("Short-Term Memory Basics")
    file = tmp_path / "session.json"
    names = run(text.replace("/tmp/agent_session_demo.json", file.as_posix()))

    session, trim = names["session"], names["trim_messages"]
    # The text leaves this call to its reader.
    last = "# resp = client.chat.completions.create(model=model, messages=messages_for_model(session))"
    assert last in text
    exec(last.removeprefix("# "), names)
    assert names["resp"].choices[0].message.content

    # What it leaves to its reader once more: the list, trimmed after each turn.
    messages = names["messages"]
    messages[:] = trim(messages, max_messages=12)
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "user", "assistant"]

    printed = capsys.readouterr().out.splitlines()
    without, with_history = names["r2"].choices[0].message.content, messages[-1]["content"]
    assert "Ada" not in without and "Ada" in with_history and {without, with_history} <= set(printed)
    assert "{'goal': 'Plan a 3-item grocery list', 'steps_done': ['suggested_items']}" in printed
    assert "sess_demo_1 3" in printed and names["restored"] == session


def test_chat_memory_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    text = text_with("Chat Memory in Python")
    # The classes that it takes from LangChain have moved since; nothing else of its code is changed.
    for module in ("memory", "chains"):
        assert f"from langchain.{module} import" in text
        text = text.replace(f"from langchain.{module} import", f"from langchain_classic.{module} import")
    names = run(text, user_id="sam")

    printed = capsys.readouterr().out.splitlines()
    assert printed.count("Your name is Sam.") == 2  # by the list, and by LangChain's memory
    assert names["conversations"]["sam"] == []  # trimmed before anything was said
    assert [each.type for each in names["memory"].chat_memory.messages] == ["human", "ai", "human", "ai"]
    sent = names["__transcript__"][-1].messages
    assert [each["role"] for each in sent] == ["user"] and "Human: My name is Sam\n" in sent[0]["content"]
