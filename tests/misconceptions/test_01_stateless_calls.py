"""Answers to lesson 1: what must pass, and what must not, each with the message that names its mistake."""

from __future__ import annotations

from answers import *  # noqa: F403

CREATE = "client.chat.completions.create"

RIGHT = {
    "ask": [
        (
            "plain",
            f"""
            def ask(text):
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
                return response.choices[0].message.content or ""
            """,
        ),
        (
            "None told apart, content in parts, a system message",
            f"""
            def ask(text):
                parts = [{{"type": "text", "text": text}}]
                messages = [{{"role": "system", "content": "Be kind."}}, {{"role": "user", "content": parts}}]
                reply = {CREATE}(model=model, messages=messages, max_completion_tokens=500).choices[0].message
                if reply.content is None:
                    return ""
                return reply.content
            """,
        ),
        (
            "a stream, joined",
            f"""
            def ask(text):
                stream = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}], stream=True)
                return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
            """,
        ),
        (
            "the Responses API",
            """
            def ask(text):
                return client.responses.create(model=model, input=text).output_text
            """,
        ),
    ],
    "make_it_remember": [
        (
            "a new list",
            f"""
            def make_it_remember(past, question):
                messages = [*past, {{"role": "user", "content": question}}]
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
        ),
        (
            "past is appended to",
            f"""
            def make_it_remember(past, question):
                past.append({{"role": "user", "content": question}})
                reply = {CREATE}(model=model, messages=past).choices[0].message.content or ""
                past.append({{"role": "assistant", "content": reply}})
                return reply
            """,
        ),
        (
            "a loop of copies",
            f"""
            def make_it_remember(past, question):
                messages = []
                for message in past:
                    messages.append({{"role": message["role"], "content": message["content"]}})
                messages += [dict(role="user", content=question)]
                text = {CREATE}(model=model, messages=messages).choices[0].message.content
                return "" if text is None else text
            """,
        ),
    ],
    "count_context": [
        (
            "asks for None first",
            f"""
            def count_context(messages):
                usage = {CREATE}(model=model, messages=messages).usage
                if usage is None:
                    raise ValueError("not counted")
                return usage.prompt_tokens
            """,
        ),
        (
            "catches what None brings about",
            f"""
            def count_context(messages):
                response = {CREATE}(model=model, messages=list(messages))
                try:
                    return response.usage.prompt_tokens
                except AttributeError as error:
                    raise ValueError("The response was not counted.") from error
            """,
        ),
        (
            "total minus completion",
            f"""
            class NotCounted(ValueError): pass
            def count_context(messages):
                found = {CREATE}(model=model, messages=messages).model_dump().get("usage")
                if not found:
                    raise NotCounted
                return found["total_tokens"] - found["completion_tokens"]
            """,
        ),
    ],
}

WRONG = {
    "ask": [
        (
            "misspells a key",
            f"""
            def ask(text):
                messages = [{{"Role": "user", "content": text}}]
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "has the key `Role`; it has no `role`",
        ),
        (
            "a bare text as the messages",
            f"""
            def ask(text):
                return {CREATE}(model=model, messages=text).choices[0].message.content or ""
            """,
            "sent a str as `messages`",
        ),
        (
            "one dict as the messages",
            f"""
            def ask(text):
                message = {{"role": "user", "content": text}}
                return {CREATE}(model=model, messages=message).choices[0].message.content or ""
            """,
            "sent a dict as `messages`",
        ),
        (
            "a list of texts",
            f"""
            def ask(text):
                return {CREATE}(model=model, messages=[text]).choices[0].message.content or ""
            """,
            "item 0 is a str: 'How are you?'",
        ),
        (
            "returns the response object",
            f"""
            def ask(text):
                return {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
            """,
            "returned a ChatCompletion, an object of the SDK",
        ),
        (
            "returns the message object",
            f"""
            def ask(text):
                return {CREATE}(model=model, messages=[{{"role": "user", "content": text}}]).choices[0].message
            """,
            "returned a ChatCompletionMessage, an object of the SDK",
        ),
        (
            "returns a stream",
            f"""
            def ask(text):
                return {CREATE}(model=model, messages=[{{"role": "user", "content": text}}], stream=True)
            """,
            "returned a Stream, an object of the SDK",
        ),
        (
            "prints instead of returning",
            f"""
            def ask(text):
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
                print(response.choices[0].message.content or "")
            """,
            "printed the reply and returned None",
        ),
        (
            "forgets to return",
            f"""
            def ask(text):
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
                reply = response.choices[0].message.content or ""
            """,
            "returned None; the model had replied",
        ),
        (
            "a global list that grows",
            f"""
            messages = []
            def ask(text):
                messages.append({{"role": "user", "content": text}})
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "also sent the question of the call before",
        ),
        (
            "a default list that grows",
            f"""
            def ask(text, messages=[]):
                messages.append({{"role": "user", "content": text}})
                reply = {CREATE}(model=model, messages=messages).choices[0].message.content or ""
                messages.append({{"role": "assistant", "content": reply}})
                return reply
            """,
            "in 3 messages",
        ),
        (
            "the role system",
            f"""
            def ask(text):
                response = {CREATE}(model=model, messages=[{{"role": "system", "content": text}}])
                return response.choices[0].message.content or ""
            """,
            "sent no user message",
        ),
        (
            "two user messages",
            f"""
            def ask(text):
                messages = [{{"role": "user", "content": "Be brief."}}, {{"role": "user", "content": text}}]
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "sent 2 user messages",
        ),
        (
            "the name of the argument instead of its value",
            f"""
            def ask(text):
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": "text"}}])
                return response.choices[0].message.content or ""
            """,
            "sent the user message 'text'",
        ),
        (
            "asks twice",
            f"""
            def ask(text):
                messages = [{{"role": "user", "content": text}}]
                if {CREATE}(model=model, messages=messages).choices[0].message.content:
                    return {CREATE}(model=model, messages=messages).choices[0].message.content
                return ""
            """,
            "sent 2 requests",
        ),
        ("sends nothing", "def ask(text): return 'Very well, thank you.'", "no request was sent"),
        (
            "the whole response as text",
            f"""
            def ask(text):
                return str({CREATE}(model=model, messages=[{{"role": "user", "content": text}}]))
            """,
            "belongs to the caller as it is",
        ),
        (
            "a dict",
            f"""
            def ask(text):
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
                return {{"reply": response.choices[0].message.content or ""}}
            """,
            "returned a dict",
        ),
        (
            "str() of None",
            f"""
            def ask(text):
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
                return str(response.choices[0].message.content)
            """,
            "returned the text 'None'",
        ),
        (
            "strips None",
            f"""
            def ask(text):
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
                return response.choices[0].message.content.strip()
            """,
            "When the reply was None",
        ),
        (
            "hands None on",
            f"""
            def ask(text):
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
                return response.choices[0].message.content
            """,
            "returned None when the reply was None",
        ),
        (
            "swallows errors",
            f"""
            def ask(text):
                try:
                    response = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
                except Exception:
                    return ""
                return response.choices[0].message.content or ""
            """,
            "the failure has been swallowed",
        ),
        (
            "replaces errors",
            f"""
            def ask(text):
                try:
                    response = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
                except Exception as error:
                    raise RuntimeError("no answer") from error
                return response.choices[0].message.content or ""
            """,
            "raised RuntimeError where the request had failed",
        ),
        (
            "async def",
            f"""
            async def ask(text):
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
                return response.choices[0].message.content or ""
            """,
            "returned a coroutine",
        ),
        (
            "a misspelt name",
            f"""
            def ask(text):
                return {CREATE}(model=modell, messages=[{{"role": "user", "content": text}}])
            """,
            "name 'modell' is not defined",
        ),
    ],
    "make_it_remember": [
        (
            "misspells a key of the question",
            f"""
            def make_it_remember(past, question):
                messages = [*past, {{"role": "user", "contents": question}}]
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "item 2 of the list, that has the key `contents`; it has no `content`",
        ),
        (
            "what append returns",
            f"""
            def make_it_remember(past, question):
                messages = past.copy().append({{"role": "user", "content": question}})
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "sent None as `messages`",
        ),
        (
            "a list of the notebook",
            f"""
            conversation = [
                {{"role": "user", "content": "My name is Ada. Reply in one short sentence."}},
                {{"role": "assistant", "content": "Hello, Ada!"}},
            ]
            def make_it_remember(past, question):
                messages = conversation + [{{"role": "user", "content": question}}]
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "and whether your code uses `past`",
        ),
        (
            "the past pasted into one string",
            f"""
            def make_it_remember(past, question):
                text = "\\n".join(f"{{m['role']}}: {{m['content']}}" for m in past) + "\\nuser: " + question
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": text}}])
                return response.choices[0].message.content or ""
            """,
            "sent 3 messages pasted into one, with the role `user`",
        ),
        (
            "the past pasted into a system message",
            f"""
            def make_it_remember(past, question):
                messages = [
                    {{"role": "system", "content": f"The conversation so far: {{past}}"}},
                    {{"role": "user", "content": question}},
                ]
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "sent 2 messages pasted into one, with the role `system`",
        ),
        (
            "two requests",
            f"""
            def make_it_remember(past, question):
                {CREATE}(model=model, messages=past or [{{"role": "user", "content": "Hello."}}])
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": question}}])
                return response.choices[0].message.content or ""
            """,
            "sent 2 requests",
        ),
        (
            "the answers left out",
            f"""
            def make_it_remember(past, question):
                messages = [m for m in past if m["role"] != "assistant"]
                messages.append({{"role": "user", "content": question}})
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "left out 1 answer",
        ),
        (
            "the system message left out",
            f"""
            def make_it_remember(past, question):
                messages = [m for m in past if m["role"] != "system"]
                messages.append({{"role": "user", "content": question}})
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "left out 'Answer in one short sentence.' (system)",
        ),
        (
            "the last exchange only",
            f"""
            def make_it_remember(past, question):
                messages = past[-2:] + [{{"role": "user", "content": question}}]
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "sent 3 messages and left out",
        ),
        (
            "the question alone",
            f"""
            def make_it_remember(past, question):
                response = {CREATE}(model=model, messages=[{{"role": "user", "content": question}}])
                return response.choices[0].message.content or ""
            """,
            "sent the question alone",
        ),
        (
            "the past alone",
            f"""
            def make_it_remember(past, question):
                return {CREATE}(model=model, messages=past).choices[0].message.content or ""
            """,
            "the question is none of them",
        ),
        (
            "the question first",
            f"""
            def make_it_remember(past, question):
                messages = [{{"role": "user", "content": question}}] + past
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "in another order: user, user, assistant",
        ),
        (
            "everything said by the user",
            f"""
            def make_it_remember(past, question):
                messages = [{{"role": "user", "content": m["content"]}} for m in past]
                messages.append({{"role": "user", "content": question}})
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "sent the roles user, user, user",
        ),
        (
            "a list in the list",
            f"""
            def make_it_remember(past, question):
                messages = [past, {{"role": "user", "content": question}}]
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "another list stands among the messages",
        ),
        (
            "a request to remember on top",
            f"""
            def make_it_remember(past, question):
                messages = [{{"role": "system", "content": "Remember this chat."}}, *past]
                messages.append({{"role": "user", "content": question}})
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "sent 4 messages (system, user, assistant, user)",
        ),
        (
            "a global list that grows",
            f"""
            messages = []
            def make_it_remember(past, question):
                messages.extend(past)
                messages.append({{"role": "user", "content": question}})
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "which was the question of the call before",
        ),
        (
            "needs a past",
            f"""
            def make_it_remember(past, question):
                messages = [past[0], *past[1:], {{"role": "user", "content": question}}]
                return {CREATE}(model=model, messages=messages).choices[0].message.content or ""
            """,
            "IndexError",
        ),
        (
            "returns the messages",
            f"""
            def make_it_remember(past, question):
                messages = [*past, {{"role": "user", "content": question}}]
                reply = {CREATE}(model=model, messages=messages).choices[0].message.content or ""
                return messages + [{{"role": "assistant", "content": reply}}]
            """,
            "returned a list",
        ),
        (
            "hands None on",
            f"""
            def make_it_remember(past, question):
                messages = [*past, {{"role": "user", "content": question}}]
                return {CREATE}(model=model, messages=messages).choices[0].message.content
            """,
            "returned None when the reply was None",
        ),
    ],
    "count_context": [
        (
            "total tokens",
            f"""
            def count_context(messages):
                usage = {CREATE}(model=model, messages=messages).usage
                if usage is None:
                    raise ValueError("not counted")
                return usage.total_tokens
            """,
            "returned 63, the total of request and reply",
        ),
        (
            "completion tokens",
            f"""
            def count_context(messages):
                usage = {CREATE}(model=model, messages=messages).usage
                if usage is None:
                    raise ValueError("not counted")
                return usage.completion_tokens
            """,
            "returned 6, the tokens of the reply",
        ),
        (
            "characters divided by four",
            """
            def count_context(messages):
                return sum(len(message["content"]) for message in messages) // 4
            """,
            "the characters divided by four",
        ),
        (
            "words",
            """
            def count_context(messages):
                return sum(len(message["content"].split()) for message in messages)
            """,
            "without sending anything",
        ),
        (
            "words, beside a request",
            f"""
            def count_context(messages):
                {CREATE}(model=model, messages=messages)
                return sum(len(message["content"].split()) for message in messages)
            """,
            "returned 9; the API had counted 57 tokens",
        ),
        (
            "one request a message",
            f"""
            def count_context(messages):
                return sum({CREATE}(model=model, messages=[m]).usage.prompt_tokens for m in messages)
            """,
            "sent 2 requests",
        ),
        (
            "the last message only",
            f"""
            def count_context(messages):
                usage = {CREATE}(model=model, messages=messages[-1:]).usage
                if usage is None:
                    raise ValueError("not counted")
                return usage.prompt_tokens
            """,
            "sent 1 message (user)",
        ),
        (
            "the usage object",
            f"""
            def count_context(messages):
                return {CREATE}(model=model, messages=messages).usage
            """,
            "returned the whole `usage` object",
        ),
        (
            "prints",
            f"""
            def count_context(messages):
                print({CREATE}(model=model, messages=messages).usage.prompt_tokens)
            """,
            "printed and returned None",
        ),
        (
            "a text",
            f"""
            def count_context(messages):
                return str({CREATE}(model=model, messages=messages).usage.prompt_tokens)
            """,
            "returned '57'",
        ),
        (
            "believes that usage is always there",
            f"""
            def count_context(messages):
                return {CREATE}(model=model, messages=messages).usage.prompt_tokens
            """,
            "send a response without `usage`",
        ),
        (
            "0 without usage",
            f"""
            def count_context(messages):
                usage = {CREATE}(model=model, messages=messages).usage
                return usage.prompt_tokens if usage else 0
            """,
            "returned 0 although the response had no `usage`",
        ),
        (
            "returns the exception",
            f"""
            def count_context(messages):
                usage = {CREATE}(model=model, messages=messages).usage
                return ValueError("not counted") if usage is None else usage.prompt_tokens
            """,
            "returned an exception although",
        ),
        (
            "asks again when there is no usage",
            f"""
            def count_context(messages):
                for _ in range(2):
                    usage = {CREATE}(model=model, messages=messages).usage
                    if usage is not None:
                        return usage.prompt_tokens
                raise ValueError("not counted")
            """,
            "sent 2 requests",
        ),
        (
            "another exception without usage",
            f"""
            def count_context(messages):
                usage = {CREATE}(model=model, messages=messages).usage
                if usage is None:
                    raise RuntimeError("not counted")
                return usage.prompt_tokens
            """,
            "raised RuntimeError for a response without `usage`",
        ),
        (
            "takes a failed call for a missing count",
            f"""
            def count_context(messages):
                try:
                    return {CREATE}(model=model, messages=messages).usage.prompt_tokens
                except Exception:
                    raise ValueError("not counted")
            """,
            "raised ValueError where the request had failed",
        ),
    ],
}
