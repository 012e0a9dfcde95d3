"""The transcript of calls that really go through the tape: each way to ask, and each way in which one ends."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import openai
import pytest

from fake_endpoint import Endpoint
from memory_tutor import cassette, replay
from memory_tutor.cassette import JSON_TYPE, Interaction, Recording, Request, Response
from memory_tutor.scripting import STREAM_TYPE, Answer, Failure, Reply, respond
from memory_tutor.transcript import Call, Transcript

LESSON = "01_stateless_calls"
SAM: list[Any] = [{"role": "user", "content": "I am Sam."}]
HELLO = {"role": "assistant", "content": "Hello Sam."}
ASK = {"role": "user", "content": "Who am I?"}
COUNTED = Reply("Hello Sam.", prompt_tokens=9, completion_tokens=4)
TOKENS = "tokens: 9 in the request (prompt), 4 in the reply (completion)"
#: What a row for the first message, and one for its reply, hold.
FIRST = ("0", "user", "9", "new", "I am Sam.")
REPLY = ("→", "assistant", "10", "reply", "Hello Sam.")

Talk = Callable[[openai.OpenAI], object]


class Recorded:
    """Record what a piece of code asks for, with these answers, and play it again from a cassette file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / f"{LESSON}.yaml"

    def __call__(self, talk: Talk, *answers: Answer | Response) -> Transcript:
        kept: list[Interaction] = []
        left = chain(answers, repeat("OK."))

        def answer(request: Request) -> Response:
            given = next(left)
            response = given if isinstance(given, Response) else respond(request, given)
            kept.append(Interaction(request, response))
            return response

        with replay.scripted(answer):
            talk(openai.OpenAI(api_key="k"))
        cassette.save(self.file, Recording(kept, {"model": "m", "recorded": "2026-11-30"}))
        tape = replay.open(LESSON, "replay")
        talk(openai.OpenAI(api_key="k"))
        return tape.transcript


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    monkeypatch.setenv("MEMORY_TUTOR_CASSETTES", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return Recorded(tmp_path)


def rows(call: Call) -> list[tuple[str, ...]]:
    """What the rows of a request's table hold: place, role, characters, mark, text."""
    table = ElementTree.fromstring(call._repr_html_())
    found = [tuple("".join(cell.itertext()) for cell in row) for row in table.iter("tr")][1:]
    # The table for a terminal has the same words in each row.
    assert [" ".join(filter(None, row)).split() for row in found] == [
        line.split() for line in repr(call).splitlines()[2:-1]
    ]
    return found


def foot(call: Call) -> str:
    return repr(call).splitlines()[-1].strip()


def events(*pieces: dict[str, Any]) -> Response:
    """A stream that holds these."""
    return Response(200, STREAM_TYPE, "".join(f"data: {json.dumps(each)}\n\n" for each in pieces) + "data: [DONE]\n\n")


def piece(index: int = 0, **delta: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "model": "m", "choices": [{"index": index, "delta": delta}]}


def called(place: int, name: str | None = None, arguments: str = "") -> dict[str, Any]:
    """A piece of a tool call in a stream; only the first bears the name."""
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    return {"index": place, "function": function, **({"id": f"call_{place}", "type": "function"} if name else {})}


# -- each way to ask -----------------------------------------------------------------------------------


def chat(client: openai.OpenAI) -> None:
    client.chat.completions.create(model="m", messages=SAM)


def raw(client: openai.OpenAI) -> None:
    client.chat.completions.with_raw_response.create(model="m", messages=SAM).parse()


def streamed(client: openai.OpenAI, **more: Any) -> str:
    chunks = client.chat.completions.create(model="m", messages=SAM, stream=True, **more)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def stream_counted(client: openai.OpenAI) -> None:
    assert streamed(client, stream_options={"include_usage": True}) == "Hello Sam."


def stream_manager(client: openai.OpenAI, **more: Any) -> None:
    with client.chat.completions.stream(model="m", messages=SAM, **more) as stream:
        stream.until_done()


def stream_manager_counted(client: openai.OpenAI) -> None:
    stream_manager(client, stream_options={"include_usage": True})


def broken_off(client: openai.OpenAI) -> None:
    """Reading ends after the first word."""
    with client.chat.completions.create(model="m", messages=SAM, stream=True) as stream:
        next(chunk for chunk in stream if chunk.choices[0].delta.content)


def never_read(client: openai.OpenAI) -> None:
    client.chat.completions.create(model="m", messages=SAM, stream=True)


def responses(client: openai.OpenAI) -> None:
    client.responses.create(model="m", input="I am Sam.")


def responses_streamed(client: openai.OpenAI) -> None:
    list(client.responses.create(model="m", input=SAM, stream=True))


def responses_manager(client: openai.OpenAI) -> None:
    with client.responses.stream(model="m", input=SAM) as stream:
        stream.until_done()


def asynchronous(_: openai.OpenAI) -> None:
    async def ask() -> None:
        async with openai.AsyncOpenAI() as client:
            await client.chat.completions.create(model="m", messages=SAM)

    asyncio.run(ask())


def asynchronous_stream(_: openai.OpenAI) -> None:
    async def ask() -> None:
        async with openai.AsyncOpenAI() as client:
            async for _ in await client.chat.completions.create(model="m", messages=SAM, stream=True):
                pass

    asyncio.run(ask())


def in_a_thread(client: openai.OpenAI) -> None:
    thread = threading.Thread(target=chat, args=[client])
    thread.start()
    thread.join()


def model() -> Any:
    langchain = pytest.importorskip("langchain_openai", reason="the langchain extra is not installed")
    return langchain.ChatOpenAI(model="m", use_responses_api=False)


def langchain_invoke(_: openai.OpenAI) -> None:
    model().invoke("I am Sam.")


def langchain_stream(_: openai.OpenAI) -> None:
    list(model().stream("I am Sam."))


def langchain_ainvoke(_: openai.OpenAI) -> None:
    asyncio.run(model().ainvoke("I am Sam."))


#: Calls after which an endpoint says what it counted, and streams in which it was not asked to.
KINDS = {
    chat: True, raw: True, streamed: False, stream_counted: True, stream_manager: False, stream_manager_counted: True,
    broken_off: False, never_read: False, responses: True, responses_streamed: True, responses_manager: True,
    asynchronous: True, asynchronous_stream: False, in_a_thread: True,
    langchain_invoke: True, langchain_stream: True, langchain_ainvoke: True,
}  # fmt: skip


@pytest.mark.parametrize(("talk", "counted"), KINDS.items(), ids=[talk.__name__ for talk in KINDS])
def test_every_way_to_ask_is_shown_alike(recorded: Recorded, talk: Talk, counted: bool) -> None:
    (call,) = recorded(talk, COUNTED)
    assert rows(call) == [FIRST, REPLY]
    assert foot(call) == (TOKENS if counted else "tokens: not counted")


@pytest.mark.parametrize("talk", [talk for talk in KINDS if talk not in (chat, raw)], ids=lambda talk: talk.__name__)
def test_the_next_call_sees_what_the_one_before_held(recorded: Recorded, talk: Talk) -> None:
    """Whichever way the first was asked, the second knows its messages and adds its tokens."""

    def both(client: openai.OpenAI) -> None:
        talk(client)
        client.chat.completions.create(model="m", messages=[*SAM, HELLO, ASK])

    _, second = recorded(both, COUNTED, Reply("Sam.", prompt_tokens=20, completion_tokens=2))
    assert rows(second) == [
        ("0", "user", "9", "", "I am Sam."),
        ("1", "assistant", "10", "new", "Hello Sam."),
        ("2", "user", "9", "new", "Who am I?"),
        ("→", "assistant", "4", "reply", "Sam."),
    ]
    assert foot(second).endswith(f"; {22 + 13 * KINDS[talk]} in all requests so far")


def test_gathered_calls_stand_in_the_order_in_which_they_were_sent(recorded: Recorded) -> None:
    def talk(_: openai.OpenAI) -> None:
        async def ask() -> list[Any]:
            async with openai.AsyncOpenAI() as client:
                said = [{"role": "user", "content": f"Question {number}"} for number in range(6)]
                calls = [client.chat.completions.create(model="m", messages=[each]) for each in said]  # type: ignore[list-item]
                return await asyncio.gather(*calls)

        asyncio.run(ask())

    transcript = recorded(talk)
    assert [call.number for call in transcript] == [1, 2, 3, 4, 5, 6]
    asked = [call.messages[0]["content"] for call in transcript]
    assert sorted(asked) == [f"Question {number}" for number in range(6)]
    assert [call.before for call in transcript] == [None, *list(transcript)[:-1]]
    assert all(call.new == [True] and call.dropped == [] for call in transcript), "six conversations"


def test_each_gathered_call_has_its_own_reply(recorded: Recorded) -> None:
    async def ask(texts: list[str]) -> None:
        async with openai.AsyncOpenAI() as client:
            await asyncio.gather(
                *(client.chat.completions.create(model="m", messages=[{"role": "user", "content": t}]) for t in texts)
            )

    def one_by_one(_: openai.OpenAI) -> None:
        for text in ("one", "two", "three"):
            asyncio.run(ask([text]))

    recorded(one_by_one, "first", "second", "third")
    tape = replay.open(LESSON, "replay")
    asyncio.run(ask(["three", "one", "two"]))
    replies = {call.messages[0]["content"]: call.reply for call in tape.transcript}
    assert replies == {"one": "first", "two": "second", "three": "third"}


def test_calls_of_many_threads_have_numbers_of_their_own() -> None:
    transcript = Transcript()

    def begin() -> None:
        for _ in range(500):
            transcript.begin(Request("POST", "/chat/completions", {}))

    threads = [threading.Thread(target=begin) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert [call.number for call in transcript] == list(range(1, 2001))


def test_a_window_drops_in_a_stream_too(recorded: Recorded) -> None:
    def talk(client: openai.OpenAI) -> None:
        streamed(client)
        for messages in ([*SAM, HELLO, ASK], [ASK, HELLO]):
            list(client.chat.completions.create(model="m", messages=messages, stream=True))  # type: ignore[call-overload]

    *_, last = recorded(talk, "Hello Sam.", "Sam.", None)
    assert rows(last) == [
        ("0", "user", "9", "", "Who am I?"),
        ("1", "assistant", "10", "", "Hello Sam."),
        ("", "user", "9", "dropped", "I am Sam."),
        ("→", "assistant", "0", "reply", ""),
    ]


# -- what is no plain text -----------------------------------------------------------------------------


def test_tools_that_are_called_in_a_stream_are_named_once(recorded: Recorded) -> None:
    answer = events(
        piece(role="assistant", content=None, tool_calls=[called(0, "look_up")]),
        piece(tool_calls=[called(0, arguments='{"city":')]),
        piece(tool_calls=[called(0, arguments='"Rome"}')]),
        piece(tool_calls=[called(1, "convert")]),
        piece(tool_calls=[called(1, arguments="{}")]),
    )
    (call,) = recorded(streamed, answer)
    assert rows(call) == [FIRST, ("→", "assistant", "24", "reply", "(calls look_up, convert)")]


def test_a_tool_turn_is_shown_message_by_message(recorded: Recorded) -> None:
    tool = {"id": "call_7", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    messages = [
        *SAM,
        {"role": "assistant", "content": None, "tool_calls": [tool]},
        {"role": "tool", "tool_call_id": "call_7", "content": "21 degrees"},
        {"role": "assistant", "content": "Let me look again.", "tool_calls": [tool]},
    ]
    (call,) = recorded(lambda client: client.chat.completions.create(model="m", messages=messages))
    assert rows(call)[1:4] == [
        ("1", "assistant", "15", "new", "(calls look_up)"),
        ("2", "tool", "10", "new", "21 degrees"),
        ("3", "assistant", "34", "new", "Let me look again. (calls look_up)"),
    ]


def test_tools_and_instructions_of_the_responses_api(recorded: Recorded) -> None:
    given = [
        *SAM,
        {"type": "function_call", "call_id": "call_7", "name": "look_up", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_7", "output": "21 degrees"},
    ]
    answer = {"object": "response", "model": "m", "usage": {"input_tokens": 5, "output_tokens": 1}, "output": [
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Once more."}]},
        {"type": "function_call", "call_id": "call_8", "name": "look_up", "arguments": "{}"},
    ]}  # fmt: skip

    def talk(client: openai.OpenAI) -> None:
        client.responses.create(model="m", input=given, instructions="Be brief.")

    (call,) = recorded(talk, Response(200, JSON_TYPE, json.dumps(answer)))
    assert rows(call) == [
        ("0", "system", "9", "new", "Be brief."),
        ("1", "user", "9", "new", "I am Sam."),
        ("2", "function_call", "15", "new", "(calls look_up)"),
        ("3", "function_call_output", "10", "new", "21 degrees"),
        ("→", "assistant", "26", "reply", "Once more. (calls look_up)"),
    ]
    assert foot(call) == "tokens: 5 in the request (prompt), 1 in the reply (completion)"


def test_tools_that_a_streamed_response_calls(recorded: Recorded) -> None:
    item = {"type": "function_call", "call_id": "call_8", "name": "look_up", "arguments": "{}"}
    whole = {"object": "response", "model": "m", "output": [item], "usage": {"input_tokens": 5, "output_tokens": 1}}
    answer = events(
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    )
    (call,) = recorded(responses_streamed, answer)
    assert rows(call)[-1] == ("→", "assistant", "15", "reply", "(calls look_up)")


@pytest.mark.parametrize("more", [{"previous_response_id": "resp_1"}, {"conversation": {"id": "resp_1"}}])
def test_what_the_provider_keeps_is_told_although_it_is_not_in_the_request(recorded: Recorded, more: Any) -> None:
    (call,) = recorded(lambda client: client.responses.create(model="m", input="Who am I?", **more), COUNTED)
    assert foot(call) == f"{TOKENS}; goes on from resp_1, which the provider keeps"


def test_an_image_is_told_by_its_type_and_never_spelt_out(recorded: Recorded) -> None:
    picture = "data:image/png;base64," + "A" * 9000
    seen = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": picture}}]
    given: list[Any] = [{"role": "user", "content": seen}]
    (call,) = recorded(lambda client: client.chat.completions.create(model="m", messages=given))
    assert rows(call)[0] == ("0", "user", "23", "new", "What is it? (image_url)")
    heard = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": picture}]
    given = [{"role": "user", "content": heard}]
    (call,) = recorded(lambda client: client.responses.create(model="m", input=given))
    assert rows(call)[0] == ("0", "user", "25", "new", "What is it? (input_image)")


def test_a_refusal_of_the_model_is_its_reply(recorded: Recorded) -> None:
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": None, "refusal": "I may not."}}]}
    (call,) = recorded(chat, Response(200, JSON_TYPE, json.dumps(body)))
    assert rows(call)[-1] == ("→", "assistant", "10", "reply", "I may not.")
    (call,) = recorded(streamed, events(piece(role="assistant"), piece(refusal="I "), piece(refusal="may not.")))
    assert call.reply == "I may not."


def test_of_several_choices_the_first_is_shown(recorded: Recorded) -> None:
    mixed = events(piece(content="He"), piece(1, content="Good "), piece(1, content="day"), piece(content="llo"))
    (call,) = recorded(lambda client: streamed(client, n=2), mixed)
    assert call.reply == "Hello"


# -- what goes wrong -----------------------------------------------------------------------------------


def failing(error: type[Exception], call: Talk = chat) -> Talk:
    def talk(client: openai.OpenAI) -> None:
        with pytest.raises(error):
            call(client)

    return talk


@pytest.mark.parametrize("ask", [chat, streamed, responses, asynchronous, langchain_stream], ids=lambda a: a.__name__)
def test_a_refused_request_says_why_and_its_messages_are_known_to_the_next(recorded: Recorded, ask: Talk) -> None:
    def talk(client: openai.OpenAI) -> None:
        failing(openai.BadRequestError, ask)(client)
        client.chat.completions.create(model="m", messages=[*SAM, ASK])

    refused, after = recorded(talk, Failure(400, "The request exceeds the context."), "Sam.")
    assert rows(refused) == [FIRST, ("→", "error", "", "reply", "(400: The request exceeds the context.)")]
    assert foot(refused) == "tokens: not counted"
    assert after.new == [False, True]


def test_a_stream_that_the_endpoint_breaks_off_shows_what_came_and_why(recorded: Recorded) -> None:
    answer = events(piece(content="Hel"), {"error": {"message": "out of memory", "type": "server_error"}})
    (call,) = recorded(failing(openai.APIError, streamed), answer)
    assert rows(call) == [FIRST, ("→", "error", "", "reply", "Hel (broken off: out of memory)")]


def test_a_response_that_fails_on_the_way(recorded: Recorded) -> None:
    failed = {"type": "response.failed", "response": {"status": "failed", "error": {"message": "out of memory"}}}
    answer = events({"type": "response.output_text.delta", "delta": "Hel"}, failed)
    (call,) = recorded(responses_streamed, answer)
    assert rows(call)[-1] == ("→", "error", "", "reply", "Hel (broken off: out of memory)")


def test_a_stream_that_ends_in_the_middle_of_an_event_shows_what_came() -> None:
    whole = events(piece(content="Hel"), piece(content="lo")).body
    cut = Response(200, STREAM_TYPE, whole[: whole.index("lo")])
    assert Call(1, Request("POST", "/chat/completions", {"messages": SAM}), cut).reply == "Hel"


@pytest.mark.parametrize("ask", [chat, streamed, responses, asynchronous], ids=lambda ask: ask.__name__)
def test_a_call_without_a_network_and_one_that_is_not_recorded(recorded: Recorded, ask: Talk) -> None:
    recorded(chat)
    tape = replay.open(LESSON, "replay")
    client = openai.OpenAI(api_key="k")
    with replay.unplugged():
        failing(openai.APIConnectionError, ask)(client)
    other = [{"role": "user", "content": "Nobody asked this."}]
    with pytest.raises(replay.NotRecorded):
        client.chat.completions.create(model="m", messages=other, stream=True)  # type: ignore[call-overload]
    unplugged, missed = tape.transcript
    assert rows(unplugged) == [FIRST, ("→", "error", "", "reply", "(no connection)")]
    assert rows(missed)[-1] == ("→", "error", "", "reply", "(not recorded)")


# -- live ----------------------------------------------------------------------------------------------


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with Endpoint() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        yield running


@pytest.mark.parametrize("ask", [stream_counted, broken_off, asynchronous_stream, langchain_stream])
def test_a_live_stream_is_shown_with_what_the_endpoint_sent(endpoint: Endpoint, ask: Talk) -> None:
    tape = replay.open(None, "live")
    if ask is stream_counted:
        streamed(openai.OpenAI(), stream_options={"include_usage": True})
    else:
        ask(openai.OpenAI())
    (call,) = tape.transcript
    assert call.reply == "You sent 1 message(s); the last says: I am Sam. "
    assert call.usage.get("prompt_tokens") == (3 if ask is stream_counted else None)


def test_live_every_try_of_the_sdk_is_a_request(endpoint: Endpoint) -> None:
    tape = replay.open(None, "live")
    said: list[Any] = [{"role": "user", "content": "[busy] Hello"}]
    openai.OpenAI().chat.completions.create(model="m", messages=said)
    assert [call.answered for call in tape.transcript] == [False, True]
    assert tape.transcript[0].reply == "(429: Slow down.)" and tape.transcript[1].new == [False]
