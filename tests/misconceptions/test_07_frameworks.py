"""Answers to lesson 7: what must pass, and what must not, each with the message that names its mistake."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from answers import *  # noqa: F403

from memory_tutor import extras
from memory_tutor.checks import find_exercise
from memory_tutor.exercises import run_check
from memory_tutor.learner import KernelLearner

#: The cell that gives `langchain_trim` and `convert_to_openai_messages`.
GIVEN = ["given-trimmer"]


SYSTEM = "system = [m for m in messages if m['role'] == 'system']"
OTHERS = "others = [m for m in messages if m['role'] != 'system']"
#: The others, trimmed without the system message.
ALONE = "kept = langchain_trim(others, strategy='last', max_tokens=max_messages, token_counter=len, start_on='human')"


def k_turns(*lines: str) -> str:
    """An answer whose lines have `others`, the messages without system messages."""
    return _function("k_turns(messages, k)", OTHERS, *lines)


def window(*lines: str) -> str:
    """An answer to same_window."""
    return _function("same_window(messages, max_messages)", *lines)


def trimmed(
    limit: str = "max_messages + systems", *, give: str = "convert_to_openai_messages(kept)", **changes: str
) -> str:
    """An answer to same_window that calls the trimmer.

    Args:
        limit: `max_tokens`, in which `systems` is the number of system messages.
        give: what it returns of `kept`.
        changes: of the other arguments; "" leaves one out.
    """
    arguments = {
        "strategy": "'last'",
        "token_counter": "len",
        "start_on": "'human'",
        "include_system": "True",
        **changes,
    }
    given = ", ".join(f"{name}={value}" for name, value in arguments.items() if value)
    return window(
        "systems = sum(m['role'] == 'system' for m in messages)",
        f"kept = langchain_trim(messages, max_tokens={limit}, {given})",
        f"return {give}",
    )


def _function(head: str, *lines: str) -> str:
    body = "\n".join(dedent(line).strip("\n") for line in lines)
    return f"def {head}:\n{indent(body, '    ')}\n"


#: The memory itself, filled with what it is given.
MEMORY = """
import warnings
from langchain_classic.memory import ConversationBufferWindowMemory
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    memory = ConversationBufferWindowMemory(k=k, return_messages={messages})
    for question, reply in zip(others[::2], others[1::2]):
        memory.save_context({{"input": question["content"]}}, {{"output": reply["content"]}})
"""
AS_MESSAGES, AS_TEXT = MEMORY.format(messages=True), MEMORY.format(messages=False)

RIGHT = {
    "k_turns": [
        ("a slice", k_turns("return others[-2 * k:] if k else []")),
        ("a slice from the front", k_turns("return others[max(0, len(others) - 2 * k):]")),
        (
            "the memory itself, converted",
            k_turns(
                AS_MESSAGES,
                "from langchain_core.messages import convert_to_openai_messages",
                "return convert_to_openai_messages(memory.buffer)",
            ),
        ),
        (
            "the memory itself, dicts by hand",
            k_turns(
                AS_MESSAGES,
                "roles = {'human': 'user', 'ai': 'assistant'}",
                "kept = memory.load_memory_variables({})['history']",
                "return [{'role': roles[m.type], 'content': m.content} for m in kept]",
            ),
        ),
        (
            "turns as lists",
            """
            def k_turns(messages, k):
                turns = []
                for message in messages:
                    if message["role"] == "user":
                        turns.append([])
                    if message["role"] != "system":
                        turns[-1].append(dict(message))
                return [message for turn in turns[len(turns) - min(k, len(turns)):] for message in turn]
            """,
        ),
        (
            "a deque",
            k_turns("from collections import deque", "return list(deque(others, maxlen=2 * k))"),
        ),
        (
            "backwards",
            """
            import copy
            def k_turns(messages, k):
                kept = []
                for message in reversed(copy.deepcopy(messages)):
                    if len(kept) == 2 * k:
                        break
                    if message["role"] in ("user", "assistant"):
                        kept.append(message)
                return kept[::-1]
            """,
        ),
        (
            "lesson 4's trim_turns",
            """
            def trim_turns(messages, max_turns):
                system = [m for m in messages if m["role"] == "system"]
                others = [m for m in messages if m["role"] != "system"]
                starts = [i for i, m in enumerate(others) if m["role"] == "user"] + [len(others)]
                return system + others[starts[max(0, len(starts) - 1 - max_turns)]:]

            def k_turns(messages, k):
                return [m for m in trim_turns(messages, k) if m["role"] != "system"]
            """,
        ),
    ],
    "same_window": [
        ("the sum", trimmed()),
        (
            "one more where there is a system message",
            trimmed("max_messages + any(m['role'] == 'system' for m in messages)"),
        ),
        (
            "the others alone",
            window(
                SYSTEM,
                OTHERS,
                ALONE,
                "return system + convert_to_openai_messages(kept)",
            ),
        ),
        (
            "a counter that does not count the system message",
            window(
                "from langchain_core.messages import SystemMessage",
                "def count(messages): return sum(not isinstance(m, SystemMessage) for m in messages)",
                "return convert_to_openai_messages(langchain_trim(messages, strategy='last', max_tokens=max_messages,",
                "    token_counter=count, start_on='human', include_system=True))",
            ),
        ),
        (
            "classes, and texts as blocks",
            window(
                "from langchain_core.messages import HumanMessage",
                "n = max_messages + len([m for m in messages if m['role'] == 'system'])",
                "kept = langchain_trim(messages, strategy='last', max_tokens=n, token_counter=len,",
                "    start_on=HumanMessage, include_system=True)",
                "return convert_to_openai_messages(kept, text_format='block')",
            ),
        ),
        (
            "converted first, and the ends found again by their number",
            window(
                SYSTEM,
                OTHERS,
                ALONE.replace("'human'", "['human']"),
                "return [*system, *others[len(others) - len(kept):]]",
            ),
        ),
        (
            "lesson 4's function, without LangChain",
            """
            def same_window(messages, max_messages):
                system = [m for m in messages if m["role"] == "system"]
                others = [m for m in messages if m["role"] != "system"]
                if max_messages == 0:
                    return system
                if len(others) <= max_messages:
                    return system + others
                starts = [i for i, m in enumerate(others) if m["role"] == "user"]
                fits = [s for s in starts if len(others) - s <= max_messages]
                return system + others[(fits or starts[-1:])[0]:]
            """,
        ),
        (
            "a trimmer made beforehand",
            """
            from langchain_core.messages import trim_messages as make_trimmer

            def same_window(messages, max_messages):
                has_system = bool(messages) and messages[0]["role"] == "system"
                trimmer = make_trimmer(strategy="last", max_tokens=max_messages + has_system, token_counter=len,
                                        start_on="human", include_system=True)
                return convert_to_openai_messages(trimmer.invoke(messages))
            """,
        ),
    ],
}

WRONG = {
    "k_turns": [
        ("k messages", k_turns("return others[-k:] if k else []"), "`k` counts turns"),
        ("all for 0", k_turns("return others[-2 * k:]"), "has no zero"),
        ("the newest turn even for 0", k_turns("return others[-2 * max(k, 1):]"), "nobody asked for Q2"),
        ("the system message kept", k_turns("return messages[-2 * k:] if k else []"), "The system message is in it"),
        (
            "the system message put in front",
            k_turns("return messages[:1] + (others[-2 * k:] if k else [])"),
            "returned [S1, Q4, A4, Q5, A5, Q6, A6]",
        ),
        ("the oldest turns", k_turns("return others[:2 * k]"), "another end"),
        ("one turn more", k_turns("return others[-2 * (k + 1):]"), "It holds 4 turns of 6"),
        ("one turn fewer", k_turns("return others[-2 * (k - 1):] if k > 1 else []"), "It holds 2 turns of 6"),
        (
            "the question to come is counted",
            k_turns("return others[-2 * k - 1:] if k else []"),
            "in the middle of a turn",
        ),
        ("no turn ever", k_turns("return []"), "It holds 0 turns of 6"),
        ("k of the class's own", k_turns("return others[-10:]"), "It holds 5 turns of 6"),
        ("newest first", k_turns("return others[::-1][:2 * k]"), "in another order"),
        (
            "questions only",
            k_turns("return [m for m in others if m['role'] == 'user'][-2 * k:] if k else []"),
            "role 'user'",
        ),
        (
            "answers only",
            k_turns("return [m for m in others if m['role'] == 'assistant'][-2 * k:]"),
            "role 'assistant'",
        ),
        (
            "an index out of range",
            k_turns("return [others[len(others) - 2 * k + i] for i in range(2 * k)] if k else []"),
            "IndexError",
        ),
        (
            "nothing where there are fewer",
            k_turns("return others[len(others) - 2 * k:] if 2 * k < len(others) or k == 0 else []"),
            "It holds 0 turns of 2",
        ),
        (
            "an error where there are fewer",
            k_turns("if 2 * k > len(others): raise ValueError('too few')", "return others[len(others) - 2 * k:]"),
            "also one that is empty or short",
        ),
        ("an error for 0", k_turns("assert k", "return others[-2 * k:]"), "AssertionError"),
        ("a division by 0", k_turns("len(others) // k", "return others[-2 * k:]"), "ZeroDivisionError"),
        (
            "the first message taken for a system message",
            "def k_turns(messages, k):\n    return messages[1:][-2 * k:] if k else []",
            "It opens on A1",
        ),
        (
            "an empty list forgotten",
            k_turns("others[0]", "return others[-2 * k:] if k else []"),
            "`k_turns([], 2)` raised IndexError",
        ),
        ("LangChain's objects", k_turns(AS_MESSAGES, "return memory.buffer"), "a HumanMessage stands"),
        ("one text", k_turns(AS_TEXT, "return memory.buffer"), "returned a text"),
        ("what a prompt gets", k_turns(AS_TEXT, "return memory.load_memory_variables({})"), "returned a dict"),
        (
            "one text in one message",
            k_turns(AS_TEXT, "return [{'role': 'user', 'content': memory.buffer}] if memory.buffer else []"),
            "which was not in the list",
        ),
        (
            "LangChain's dicts",
            k_turns(
                AS_MESSAGES,
                "from langchain_core.messages import messages_to_dict",
                "return messages_to_dict(memory.buffer)",
            ),
            "['type', 'data']",
        ),
        (
            "dumped objects",
            k_turns(AS_MESSAGES, "return [m.model_dump() for m in memory.buffer]"),
            "writes its objects down",
        ),
        (
            "LangChain's roles",
            k_turns(AS_MESSAGES, "return [{'role': m.type, 'content': m.content} for m in memory.buffer]"),
            "calls it 'user'",
        ),
        (
            "all that is stored",
            k_turns(AS_MESSAGES, "return convert_to_openai_messages(memory.chat_memory.messages)"),
            "6 turns of 6",
        ),
        (
            "pairs",
            k_turns("pairs = list(zip(others[::2], others[1::2]))", "return pairs[len(pairs) - min(k, len(pairs)):]"),
            "a tuple stands",
        ),
        (
            "lists of turns",
            k_turns("return [others[i:i + 2] for i in range(0, len(others), 2)][-k:] if k else []"),
            "a list stands",
        ),
        ("texts", k_turns("return [m['content'] for m in others[-2 * k:]] if k else []"), "a str stands"),
        (
            "roles and texts",
            k_turns("return [(m['role'], m['content']) for m in others][-2 * k:] if k else []"),
            "('user', 'Q4')",
        ),
        (
            "without roles",
            k_turns("return [{'content': m['content']} for m in others[-2 * k:]] if k else []"),
            "a message has a role",
        ),
        (
            "a key too many",
            k_turns("return [{**m, 'turn': k} for m in others[-2 * k:]] if k else []"),
            "the key 'turn'",
        ),
        (
            "a role for all",
            k_turns("return [{**m, 'role': 'user'} for m in others[-2 * k:]] if k else []"),
            "makes none up",
        ),
        ("a tuple", k_turns("return tuple(others[-2 * k:]) if k else ()"), "returned a tuple"),
        ("an iterator", k_turns("return iter(others[-2 * k:])"), "returned a list_iterator"),
        ("a generator", k_turns("yield from others[-2 * k:]"), "returned a generator"),
        ("printed", k_turns("print(others[-2 * k:])"), "printed something"),
        ("no return", k_turns("others[-2 * k:]"), "returned None"),
        (
            "the list itself",
            k_turns(
                "if k and len(messages) == len(others) <= 2 * k: return messages",
                "return others[-2 * k:] if k else []",
            ),
            "very list",
        ),
        (
            "the system message taken out of the list",
            _function(
                "k_turns(messages, k)",
                "if messages and messages[0]['role'] == 'system': messages.pop(0)",
                "return messages[-2 * k:] if k else []",
            ),
            "changed its list to [Q1, A1, Q2",
        ),
        (
            "the list cut",
            k_turns("messages[:] = others[-2 * k:] if k else []", "return list(messages)"),
            "changed its list to [Q4, A4, Q5, A5, Q6, A6]",
        ),
        (
            "a role popped",
            k_turns("for m in messages: m.pop('role')", "return []"),
            "changed its list within a message",
        ),
        (
            "the same words once",
            k_turns(
                "kept = []",
                "for m in others:\n    if m not in kept: kept.append(m)",
                "return kept[-2 * k:] if k else []",
            ),
            "the same words said twice",
        ),
        (
            "the place of an equal message",
            k_turns(
                "if not k or not others: return []", "return others[others.index(others[max(0, len(others) - 2 * k)]):]"
            ),
            "Look at where your code searches",
        ),
        (
            "a gap",
            k_turns("return others[:2] + others[-4:] if k == 3 else others[-2 * k:] if k else []"),
            "There is a gap",
        ),
        ("twice the newest", k_turns("return others[-2 * k:] + others[-1:] if k else []"), "2 times"),
    ],
    "same_window": [
        ("the system message takes a place", trimmed("max_messages"), "has taken a place"),
        ("one more, always", trimmed("max_messages + 1"), "no system message here"),
        ("one fewer", trimmed("max_messages - 1"), "[Q1, A1, Q2, A2, Q3, A3, Q4]"),
        ("no start_on", trimmed(start_on=""), "It opens on A1"),
        ("no start_on, the system message counted", trimmed("max_messages", start_on=""), "It opens on A3"),
        ("the system message lost", trimmed("max_messages", include_system=""), "The system message is gone"),
        ("LangChain's objects", trimmed(give="kept"), "a HumanMessage stands"),
        (
            "LangChain's dicts",
            trimmed(give="[{'type': m.type, 'data': m.model_dump()} for m in kept]"),
            "['type', 'data']",
        ),
        ("dumped objects", trimmed(give="[m.model_dump() for m in kept]"), "'additional_kwargs'"),
        (
            "LangChain's roles",
            trimmed(give="[{'role': m.type, 'content': m.content} for m in kept]"),
            "LangChain's word",
        ),
        ("texts", trimmed(give="[m.content for m in kept]"), "a str stands"),
        ("a text", trimmed(give="str(convert_to_openai_messages(kept))"), "returned a text"),
        (
            "role and content alone",
            trimmed(
                give="""[
                    {'role': {'human': 'user', 'ai': 'assistant'}.get(m.type, m.type), 'content': m.content}
                    for m in kept
                ]"""
            ),
            "has lost its `tool_calls`",
        ),
        (
            "the id of a result lost",
            trimmed(
                give="[{k: v for k, v in m.items() if k != 'tool_call_id'} for m in convert_to_openai_messages(kept)]"
            ),
            "has lost its `tool_call_id`",
        ),
        (
            "calls of another tool",
            trimmed(
                give="""[
                    {**m, 'tool_calls': m['tool_calls'][:1]} if m.get('tool_calls') else m
                    for m in convert_to_openai_messages(kept)
                ]"""
            ),
            "which was not in the list",
        ),
        ("the oldest", trimmed(strategy="'first'", start_on="", include_system=""), "another end"),
        ("a strategy that takes no start_on", trimmed(strategy="'first'"), "which arguments does it give"),
        ("start_on by another word", trimmed(start_on="'user'"), "which `type` does the window open on"),
        ("the window has to end on a question", trimmed(end_on="'human'"), "A2, the newest message"),
        ("tokens", trimmed(token_counter="'approximate'"), "returned [Q4]"),
        ("characters", trimmed(token_counter="lambda ms: sum(len(m.content) for m in ms)"), "more"),
        ("everything for 0", trimmed("max_messages + systems or 99"), "0 keeps none"),
        (
            "no cut for 0",
            window(
                "if not max_messages: return list(messages)",
                "n = max_messages + sum(m['role'] == 'system' for m in messages)",
                "return convert_to_openai_messages(langchain_trim(messages, strategy='last', max_tokens=n,",
                "    token_counter=len, start_on='human', include_system=True))",
            ),
            "kept everything",
        ),
        ("one at least", trimmed("max(max_messages, 1) + systems"), "nobody asked for Q2"),
        ("a hundred", trimmed("100"), "Besides the system message"),
        (
            "no limit where there is no system message",
            trimmed("max_messages + 1 if systems else 99"),
            "It holds 5 messages, and 2",
        ),
        (
            "the first message taken for a system message",
            window(
                "kept = langchain_trim(messages[1:], strategy='last', max_tokens=max_messages, token_counter=len,",
                "    start_on='human')",
                "return messages[:1] + convert_to_openai_messages(kept)",
            ),
            "returned [Q1, Q2, A2, Q3, A3, Q4]",
        ),
        (
            "an empty list forgotten",
            trimmed("max_messages + (messages[0]['role'] == 'system')"),
            "`same_window([], 3)` raised IndexError",
        ),
        (
            "the system message twice",
            trimmed(give="[m for m in messages if m['role'] == 'system'] + convert_to_openai_messages(kept)"),
            "S1 is in it 2 times",
        ),
        (
            "the system message last",
            window(
                OTHERS,
                ALONE,
                "return convert_to_openai_messages(kept) + [m for m in messages if m['role'] == 'system']",
            ),
            "not the first",
        ),
        (
            "newest first",
            trimmed(
                give="[*convert_to_openai_messages(kept)[:systems], *convert_to_openai_messages(kept)[systems:][::-1]]"
            ),
            "in another order",
        ),
        (
            "user messages alone",
            trimmed(give="[m for m in convert_to_openai_messages(kept) if m['role'] != 'assistant']"),
            "role 'user'",
        ),
        (
            "without tools",
            trimmed(
                give="[m for m in convert_to_openai_messages(kept) if m['role'] != 'tool' and 'tool_calls' not in m]"
            ),
            "There is a gap",
        ),
        (
            "the list cut",
            window(
                "messages[:] = convert_to_openai_messages(langchain_trim(messages, strategy='last',",
                "    max_tokens=max_messages + 1, token_counter=len, start_on='human', include_system=True))",
                "return list(messages)",
            ),
            "changed its list to [S1, Q3, A3, Q4]",
        ),
        (
            "the list itself where all fits",
            """
            def same_window(messages, max_messages):
                n = sum(m["role"] == "system" for m in messages)
                if max_messages and len(messages) - n <= max_messages:
                    return messages
                return convert_to_openai_messages(langchain_trim(messages, strategy="last", max_tokens=max_messages + n,
                    token_counter=len, start_on="human", include_system=True))
            """,
            "very list",
        ),
        (
            "turns",
            """
            def same_window(messages, max_messages):
                system = [m for m in messages if m["role"] == "system"]
                others = [m for m in messages if m["role"] != "system"]
                starts = [i for i, m in enumerate(others) if m["role"] == "user"]
                return system + (others[starts[-max_messages:][0]:] if max_messages and starts else [])
            """,
            "turns, or something else",
        ),
        ("a name of lesson 4", window("return trim_messages(messages, max_messages)"), "NameError"),
        ("no keyword arguments", window("return langchain_trim(messages, max_messages)"), "how a function was called"),
        ("not called", window("return langchain_trim"), "returned a function"),
        (
            "a trimmer that waits",
            window("return langchain_trim(max_tokens=max_messages, token_counter=len, strategy='last')"),
            "returned a RunnableLambda",
        ),
        ("no return", window("langchain_trim(messages, max_tokens=max_messages, token_counter=len)"), "returned None"),
        (
            "the same words once",
            trimmed(
                give="""[
                    m for i, m in enumerate(convert_to_openai_messages(kept))
                    if m not in convert_to_openai_messages(kept)[:i]
                ]"""
            ),
            "still several messages",
        ),
        (
            "content left out where there is none, and calls as texts",
            trimmed(
                give="[{**m, 'tool_calls': str(m.get('tool_calls') or '')} for m in convert_to_openai_messages(kept)]"
            ),
            "tool_calls",
        ),
    ],
}


@pytest.mark.parametrize(
    "code", ["import no_such_langchain\nno_such_langchain.trim()", "return langchain_trim_(messages)"]
)
def test_where_langchain_is_not_installed_the_check_says_how_to_install_it(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(extras.EXTRAS, "langchain", ("LangChain", ("no_such_langchain",)))
    lines = [window(*code.splitlines()), k_turns("return others[-2 * k:] if k else []")]
    namespace: dict[str, object] = {"__name__": "__main__", "In": lines}
    for line in lines:
        exec(line, namespace)
    with KernelLearner(namespace) as learner:
        missing = run_check(find_exercise("same_window"), learner)
        assert run_check(find_exercise("k_turns"), learner).passed
    assert missing.status == "not gradable"
    assert 'pip install "memory-tutor[langchain]"' in missing.message


def test_without_langchain_the_untouched_stub_is_still_not_attempted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.EXTRAS, "langchain", ("LangChain", ("no_such_langchain",)))
    namespace: dict[str, object] = {"__name__": "__main__", "In": []}
    with KernelLearner(namespace) as learner:
        assert run_check(find_exercise("same_window"), learner).status == "not attempted"
