"""Answers to lesson 2: what must pass, and what must not, each with the message that names its mistake."""

from __future__ import annotations

import harness
from answers import *  # noqa: F403

CREATE = "client.chat.completions.create"

RIGHT = {
    "say": [
        (
            "append, send, append",
            f"""
            def say(history, text):
                history.append({{"role": "user", "content": text}})
                reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
                history.append({{"role": "assistant", "content": reply}})
                return reply
            """,
        ),
        (
            "both at once, afterwards",
            f"""
            def say(history, text):
                question = {{"role": "user", "content": text}}
                message = {CREATE}(model=model, messages=history + [question]).choices[0].message
                reply = "" if message.content is None else message.content
                history[len(history):] = [question, {{"role": message.role, "content": reply}}]
                return reply
            """,
        ),
        (
            "the SDK's object dumped to a dict",
            f"""
            def say(history, text):
                history.append(dict(role="user", content=text))
                message = {CREATE}(model=model, messages=list(history)).choices[0].message
                dumped = message.model_dump(exclude_none=True)
                dumped.setdefault("content", "")
                history.append(dumped)
                return dumped["content"]
            """,
        ),
        (
            "a whole new list put in the old one's place",
            f"""
            def say(history, text):
                asked = [*history, {{"role": "user", "content": text}}]
                reply = {CREATE}(model=model, messages=asked, user="ada").choices[0].message.content or ""
                history[:] = asked + [{{"content": reply, "role": "assistant"}}]
                return reply
            """,
        ),
    ],
    "show_history": [
        (
            "a loop",
            """
            def show_history(history):
                rows = []
                for index, message in enumerate(history):
                    content = message.get("content") or ""
                    row = {"index": index, "role": message["role"], "chars": len(content), "preview": content[:60]}
                    rows.append(row)
                return rows
            """,
        ),
        (
            "a comprehension with an own function, and one key more",
            """
            def text_of(message):
                if message.get("content") is None:
                    return ""
                return message["content"]

            def show_history(history):
                return [
                    dict(
                        index=i,
                        role=m["role"],
                        chars=len(text_of(m)),
                        preview=text_of(m)[:60],
                        tools=len(m.get("tool_calls", [])),
                    )
                    for i, m in enumerate(history)
                ]
            """,
        ),
        (
            "copies that are filled up",
            """
            import copy

            def show_history(history):
                filled = copy.deepcopy(history)
                for message in filled:
                    message["content"] = message.get("content") or ""
                return [
                    {"preview": m["content"][:60], "chars": len(m["content"]), "role": m["role"], "index": n}
                    for n, m in enumerate(filled)
                ]
            """,
        ),
    ],
    "say_safely": [
        (
            "append late",
            f"""
            def say_safely(history, text):
                question = {{"role": "user", "content": text}}
                reply = {CREATE}(model=model, messages=[*history, question]).choices[0].message.content or ""
                history += [question, {{"role": "assistant", "content": reply}}]
                return reply
            """,
        ),
        (
            "undo with pop",
            f"""
            def say_safely(history, text):
                history.append({{"role": "user", "content": text}})
                try:
                    response = {CREATE}(model=model, messages=history)
                except Exception:
                    history.pop()
                    raise
                reply = response.choices[0].message.content or ""
                history.append({{"role": "assistant", "content": reply}})
                return reply
            """,
        ),
        (
            "undo to the length before, whatever is raised",
            f"""
            def say_safely(history, text):
                before = len(history)
                done = False
                try:
                    history.append({{"role": "user", "content": text}})
                    reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
                    history.append({{"role": "assistant", "content": reply}})
                    done = True
                    return reply
                finally:
                    if not done:
                        del history[before:]
            """,
        ),
        (
            "a backup put back into the same list",
            f"""
            def say_safely(history, text):
                backup = list(history)
                try:
                    history.append({{"role": "user", "content": text}})
                    reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
                except BaseException as error:
                    history[:] = backup
                    raise error
                history.append({{"role": "assistant", "content": reply}})
                return reply
            """,
        ),
    ],
}


def turn(name: str, *, send: str = "history", keep: str = '{"role": "assistant", "content": reply}') -> str:
    """An answer that appends, sends and appends, with one thing in it that may be wrong."""
    return f"""
def {name}(history, text):
    history.append({{"role": "user", "content": text}})
    message = {CREATE}(model=model, messages={send}).choices[0].message
    reply = message.content or ""
    history.append({keep})
    return reply
"""


#: Wrong in `say` and in `say_safely` alike, where turns that succeed are looked at in the same way.
WRONG_TURNS = [
    (
        "puts the question first",
        f"""
        def say(history, text):
            history.insert(0, {{"role": "user", "content": text}})
            reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
            history.append({{"role": "assistant", "content": reply}})
            return reply
        """,
        "the right messages in another order",
    ),
    (
        "adds the reply letter by letter",
        f"""
        def say(history, text):
            history.append({{"role": "user", "content": text}})
            reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
            history += reply
            return reply
        """,
        "letter by letter",
    ),
    (
        "sends the last ten messages",
        f"""
        def say(history, text):
            history.append({{"role": "user", "content": text}})
            reply = {CREATE}(model=model, messages=history[-10:]).choices[0].message.content or ""
            history.append({{"role": "assistant", "content": reply}})
            return reply
        """,
        "the history and the question are 61",
    ),
    (
        "appends the bare question",
        f"""
        def say(history, text):
            history.append(text)
            reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
            history.append({{"role": "assistant", "content": reply}})
            return reply
        """,
        "sent a list in which item",
    ),
    (
        "the reply not appended",
        f"""
        def say(history, text):
            history.append({{"role": "user", "content": text}})
            return {CREATE}(model=model, messages=history).choices[0].message.content or ""
        """,
        "the history ended with the question; the reply was not in it",
    ),
    ("the SDK's object stored", turn("say", keep="message"), "appended a ChatCompletionMessage"),
    ("only the last message sent", turn("say", send="history[-1:]"), "sent the last message alone"),
    (
        "the question not appended",
        f"""
        def say(history, text):
            messages = history + [{{"role": "user", "content": text}}]
            reply = {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            history.append({{"role": "assistant", "content": reply}})
            return reply
        """,
        "appended the reply, but not the question",
    ),
    (
        "a new list under the old name",
        f"""
        def say(history, text):
            history = history + [{{"role": "user", "content": text}}]
            reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
            history = history + [{{"role": "assistant", "content": reply}}]
            return reply
        """,
        "left the caller's list as it was",
    ),
    (
        "sent before the question is in",
        f"""
        def say(history, text):
            reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
            history += [{{"role": "user", "content": text}}, {{"role": "assistant", "content": reply}}]
            return reply
        """,
        "and the new question is none of them",
    ),
    ("the bare text stored", turn("say", keep="reply"), "appended the bare text"),
    (
        "the reply stored as the user's",
        turn("say", keep='{"role": "user", "content": reply}'),
        "added 2 messages (user, user)",
    ),
    (
        "a system message added where there is none",
        f"""
        def say(history, text):
            if not history:
                history.append({{"role": "system", "content": "Be brief."}})
            history.append({{"role": "user", "content": text}})
            reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
            history.append({{"role": "assistant", "content": reply}})
            return reply
        """,
        "sent a system message that was not in the history",
    ),
    ("the system message left out", turn("say", send="history[1:]"), "the history and the question are 4"),
    ("sent twice over", turn("say", send="history + history[-1:]"), "4 were expected"),
    (
        "forgets old messages",
        f"""
        def say(history, text):
            history.append({{"role": "user", "content": text}})
            reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
            history.append({{"role": "assistant", "content": reply}})
            del history[1:3]
            return reply
        """,
        "changed or removed messages",
    ),
    (
        "two requests",
        f"""
        def say(history, text):
            history.append({{"role": "user", "content": text}})
            {CREATE}(model=model, messages=history)
            reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
            history.append({{"role": "assistant", "content": reply}})
            return reply
        """,
        "sent 2 requests",
    ),
    (
        "prints the reply",
        f"""
        def say(history, text):
            history.append({{"role": "user", "content": text}})
            reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
            history.append({{"role": "assistant", "content": reply}})
            print(reply)
        """,
        "printed the reply and returned None",
    ),
    (
        "returns the history",
        f"""
        def say(history, text):
            history.append({{"role": "user", "content": text}})
            reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
            history.append({{"role": "assistant", "content": reply}})
            return history
        """,
        "returned a list",
    ),
    (
        "None stored",
        turn("say", keep='{"role": "assistant", "content": message.content}'),
        'When the reply was None, `say(history, "Are you there?")` appended',
    ),
    (
        "a reply of None not stored",
        f"""
        def say(history, text):
            history.append({{"role": "user", "content": text}})
            reply = {CREATE}(model=model, messages=history).choices[0].message.content
            if reply is None:
                return ""
            history.append({{"role": "assistant", "content": reply}})
            return reply
        """,
        'After `say(history, "Are you there?")`, the history ended with the question; the reply was not in it',
    ),
]

#: How a failure is handled, around a turn that is right.
UNDO = f"""
def say_safely(history, text):
    {{before}}
    history.append({{{{"role": "user", "content": text}}}})
    try:
        response = {CREATE}(model=model, messages=history)
    except {{error}}:
        {{undo}}
    reply = response.choices[0].message.content or ""
    history.append({{{{"role": "assistant", "content": reply}}}})
    return reply
"""


def undo(undo: str, *, before: str = "pass", error: str = "Exception") -> str:
    return UNDO.format(undo=undo, before=before, error=error)


WRONG = {
    "say": [
        *WRONG_TURNS,
        (
            "swallows errors",
            f"""
            def say(history, text):
                history.append({{"role": "user", "content": text}})
                try:
                    reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
                except Exception as error:
                    reply = f"Sorry: {{error}}"
                history.append({{"role": "assistant", "content": reply}})
                return reply
            """,
            "the failure has been swallowed",
        ),
    ],
    "show_history": [
        (
            "asks the list for the index",
            """
            def show_history(history):
                rows = []
                for message in history:
                    content = message.get("content") or ""
                    rows.append({"index": history.index(message), "role": message["role"],
                                 "chars": len(content), "preview": content[:60]})
                return rows
            """,
            "row 7 says index = 5",
        ),
        (
            "one dict for all rows",
            """
            def show_history(history):
                rows, row = [], {}
                for index, message in enumerate(history):
                    content = message.get("content") or ""
                    row.update(index=index, role=message["role"], chars=len(content), preview=content[:60])
                    rows.append(row)
                return rows
            """,
            "returned the same row 2 times",
        ),
        (
            "line breaks taken out",
            """
            def show_history(history):
                return [{"index": index, "role": message["role"], "chars": len(message.get("content") or ""),
                         "preview": (message.get("content") or "")[:60].replace("\\n", " ")}
                        for index, message in enumerate(history)]
            """,
            "row 1 says preview =",
        ),
        (
            "fails on None",
            """
            def show_history(history):
                return [
                    {"index": i, "role": m["role"], "chars": len(m["content"]), "preview": m["content"][:60]}
                    for i, m in enumerate(history)
                ]
            """,
            "TypeError: object of type 'NoneType' has no len()",
        ),
        (
            "fails where there is no content",
            """
            def show_history(history):
                rows = []
                for i, m in enumerate(history):
                    text = m["content"] or ""
                    rows.append({"index": i, "role": m["role"], "chars": len(text), "preview": text[:60]})
                return rows
            """,
            "KeyError: 'content'",
        ),
        (
            "writes the empty text back",
            """
            def show_history(history):
                rows = []
                for i, m in enumerate(history):
                    m["content"] = m.get("content") or ""
                    row = {"index": i, "role": m["role"], "chars": len(m["content"]), "preview": m["content"][:60]}
                    rows.append(row)
                return rows
            """,
            "changed the history: message 2 is now",
        ),
        (
            "empties the history",
            """
            def show_history(history):
                rows = []
                while history:
                    m = history.pop(0)
                    text = m.get("content") or ""
                    rows.append({"index": len(rows), "role": m["role"], "chars": len(text), "preview": text[:60]})
                return rows
            """,
            "changed the history: it has other messages now",
        ),
        (
            "counts the preview",
            """
            def show_history(history):
                rows = []
                for i, m in enumerate(history):
                    text = (m.get("content") or "")[:60]
                    rows.append({"index": i, "role": m["role"], "chars": len(text), "preview": text})
                return rows
            """,
            "That is the length of the preview",
        ),
        (
            "counts bytes",
            """
            def show_history(history):
                rows = []
                for i, m in enumerate(history):
                    text = m.get("content") or ""
                    size = len(text.encode("utf-8"))
                    rows.append({"index": i, "role": m["role"], "chars": size, "preview": text[:60]})
                return rows
            """,
            "that is its size in bytes",
        ),
        (
            "prints",
            """
            def show_history(history):
                for i, m in enumerate(history):
                    text = m.get("content") or ""
                    print(i, m["role"], len(text), text[:60])
            """,
            "printed and returned None",
        ),
        (
            "lines of text",
            """
            def show_history(history):
                return [f"{i} {m['role']} {len(m.get('content') or '')}" for i, m in enumerate(history)]
            """,
            "a row is a str",
        ),
        (
            "tuples",
            """
            def show_history(history):
                rows = []
                for i, m in enumerate(history):
                    text = m.get("content") or ""
                    rows.append((i, m["role"], len(text), text[:60]))
                return rows
            """,
            "a row is a tuple",
        ),
        (
            "one text",
            """
            def show_history(history):
                return "\\n".join(m["role"] for m in history)
            """,
            "returned a str",
        ),
        (
            "other keys",
            """
            def show_history(history):
                rows = []
                for i, m in enumerate(history):
                    text = m.get("content") or ""
                    rows.append({"index": i, "role": m["role"], "characters": len(text), "preview": text[:60]})
                return rows
            """,
            "without 'chars'",
        ),
        (
            "counts from 1",
            """
            def show_history(history):
                rows = []
                for i, m in enumerate(history, 1):
                    text = m.get("content") or ""
                    rows.append({"index": i, "role": m["role"], "chars": len(text), "preview": text[:60]})
                return rows
            """,
            "row 0 says index = 1",
        ),
        (
            "a shorter preview with dots",
            """
            def show_history(history):
                rows = []
                for i, m in enumerate(history):
                    text = m.get("content") or ""
                    short = text if len(text) <= 60 else text[:57] + "..."
                    rows.append({"index": i, "role": m["role"], "chars": len(text), "preview": short})
                return rows
            """,
            "row 1 says preview = ",
        ),
        (
            "leaves the system message out",
            """
            def show_history(history):
                rows = []
                for i, m in enumerate(history):
                    text = m.get("content") or ""
                    if m["role"] != "system":
                        rows.append({"index": i, "role": m["role"], "chars": len(text), "preview": text[:60]})
                return rows
            """,
            "with 2 messages returned 1 row: user.",
        ),
        (
            "leaves messages without text out",
            """
            def show_history(history):
                rows = []
                for i, m in enumerate(history):
                    text = m.get("content") or ""
                    if text:
                        rows.append({"index": i, "role": m["role"], "chars": len(text), "preview": text[:60]})
                return rows
            """,
            "with 8 messages returned 6 rows: system, user, tool, user, assistant, user.",
        ),
        (
            "a heading for an empty history",
            """
            def show_history(history):
                rows = []
                for i, m in enumerate(history or [{"role": "nobody"}]):
                    text = m.get("content") or ""
                    rows.append({"index": i, "role": m["role"], "chars": len(text), "preview": text[:60]})
                return rows
            """,
            "with 0 messages returned 1 row: nobody.",
        ),
    ],
    "say_safely": [
        *[
            (label, code.replace("def say(", "def say_safely("), fragment.replace("`say(", "`say_safely("))
            for label, code, fragment in WRONG_TURNS
        ],
        (
            "rebinds the list",
            undo("history = backup; raise", before="backup = list(history)"),
            "`history = …` names another list",
        ),
        (
            "undoes the SDK's errors alone",
            f"""
            def say_safely(history, text):
                from openai import OpenAIError
                history.append({{"role": "user", "content": text}})
                try:
                    reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
                except OpenAIError:
                    history.pop()
                    raise
                history.append({{"role": "assistant", "content": reply}})
                return reply
            """,
            "had failed with ValueError, the question was still in `history`",
        ),
        ("swallows the exception", undo("history.pop(); return ''"), "the failure has been swallowed"),
        (
            "another exception",
            undo("history.pop(); raise RuntimeError('no answer')"),
            "raised RuntimeError where the request had failed",
        ),
        (
            "removes an older message too",
            undo("del history[-2:]; raise"),
            "`history` was shorter by 1",
        ),
        (
            "removes what it has not added",
            f"""
            def say_safely(history, text):
                question = {{"role": "user", "content": text}}
                try:
                    reply = {CREATE}(model=model, messages=[*history, question]).choices[0].message.content or ""
                except Exception:
                    if history:
                        history.pop()
                        history[:] = history[:-1]
                    raise
                history += [question, {{"role": "assistant", "content": reply}}]
                return reply
            """,
            "`history` was shorter by 2",
        ),
        ("empties the list", undo("history.clear(); raise"), "`history` was shorter by 3"),
        (
            "removes the first message that is equal",
            undo("history.remove({'role': 'user', 'content': text}); raise"),
            "in another order",
        ),
        (
            "knows one failure only",
            undo("history.pop(); raise", before="import openai", error="openai.APIConnectionError"),
            "your code takes some failures for the only ones",
        ),
        (
            "keeps a note of the failure",
            undo("history[-1] = {'role': 'assistant', 'content': '(failed)'}; raise"),
            "`history` was not as before; it ends in {'role': 'assistant', 'content': '(failed)'}",
        ),
    ],
}


def test_a_turn_without_any_undo_is_not_safe() -> None:
    harness.says(harness.outcome("say_safely", turn("say_safely"), "kernel"), "still ended in the question")
