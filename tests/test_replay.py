"""The tape: modes, layers, and that nothing reaches the network when nothing should."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

import memory_tutor
from memory_tutor import cassette, course, replay
from memory_tutor.cassette import CassetteError, Interaction, Recording, Request, Response
from memory_tutor.errors import TutorError

LESSON = "01_stateless_calls"
ADA = [{"role": "user", "content": "My name is Ada."}]
OTHER = [{"role": "user", "content": "Nobody recorded this."}]


def body(text: str, **more: Any) -> str:
    return json.dumps(
        {"model": "the-real-one", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}], **more}
    )


class Endpoint:
    """A small endpoint on this machine that counts its requests."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.statuses: list[int] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
                endpoint.seen.append(sent)
                status = endpoint.statuses.pop(0) if endpoint.statuses else 200
                data = body(f"live {len(endpoint.seen)}").encode() if status < 400 else b'{"error": {"message": "no"}}'
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.send_header("retry-after-ms", "1")
                self.send_header("set-cookie", "secret=1")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    made = Endpoint()
    monkeypatch.setenv("OPENAI_BASE_URL", made.url)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-that-must-not-be-used")
    yield made
    replay.close()
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def cassettes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    request = Request("POST", "/v1/chat/completions", {"model": "m", "messages": ADA})
    stream = Request("POST", "/v1/chat/completions", {"model": "m", "messages": ADA, "stream": True})
    events = "".join(
        f"data: {json.dumps({'model': 'the-real-one', 'choices': [{'index': 0, 'delta': {'content': part}}]})}\n\n"
        for part in ("Hel", "lo")
    )
    answer = {"object": "response", "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]}  # fmt: skip
    recording = Recording(
        [
            Interaction(request, Response(200, "application/json", body("Hello, Ada!"))),
            Interaction(stream, Response(200, "text/event-stream", events + "data: [DONE]\n\n")),
            Interaction(
                Request("POST", "/v1/responses", {"model": "m", "input": "Hi"}),
                Response(200, "application/json", json.dumps(answer)),
            ),
            Interaction(
                Request("POST", "/v1/chat/completions", {"messages": []}),
                Response(400, "application/json", '{"error": {"message": "empty"}}'),
            ),
        ],
        {"model": "the-real-one", "recorded": "2026-11-30"},
    )
    cassette.save(tmp_path / f"{LESSON}.yaml", recording)
    monkeypatch.setenv("MEMORY_TUTOR_CASSETTES", str(tmp_path))
    return tmp_path


def ask(messages: Any = ADA, client: openai.OpenAI | None = None, **parameters: Any) -> Any:
    client = client or openai.OpenAI(api_key="k")
    return client.chat.completions.create(model="gpt-6-luna", messages=messages, **parameters)


def text(response: Any) -> Any:
    return response.choices[0].message.content


# -- replay --------------------------------------------------------------------------------------------


def test_the_recording_answers_any_number_of_times_and_tells_the_model(cassettes: Path, endpoint: Endpoint) -> None:
    replay.open(LESSON, "replay")
    assert [text(ask()) for _ in range(3)] == ["Hello, Ada!"] * 3
    assert ask().model == "the-real-one"
    assert endpoint.seen == []


def test_streams_async_responses_and_refusals_replay(cassettes: Path) -> None:
    replay.open(LESSON, "replay")
    assert "".join(chunk.choices[0].delta.content for chunk in ask(stream=True)) == "Hello"
    assert openai.OpenAI(api_key="k").responses.create(model="x", input="Hi").output_text == "Hi"
    with pytest.raises(openai.BadRequestError, match="empty"):
        ask([])

    async def many() -> list[Any]:
        async with openai.AsyncOpenAI(api_key="k") as client:
            calls = [client.chat.completions.create(model="x", messages=ADA) for _ in range(5)]  # type: ignore[arg-type]
            return [text(each) for each in await asyncio.gather(*calls)]

    async def stream() -> str:
        async with openai.AsyncOpenAI(api_key="k") as client:
            chunks = await client.chat.completions.create(model="x", messages=ADA, stream=True)  # type: ignore[arg-type]
            return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks])

    assert asyncio.run(many()) == ["Hello, Ada!"] * 5
    assert asyncio.run(stream()) == "Hello"
    assert [call.reply for call in replay.current().transcript][:2] == ["Hello", "Hi"]  # type: ignore[union-attr]


def test_threads_are_answered(cassettes: Path) -> None:
    replay.open(LESSON, "replay")
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(text(ask()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["Hello, Ada!"] * 8


def test_a_client_made_before_the_tape_is_answered_by_it(cassettes: Path, endpoint: Endpoint) -> None:
    client = openai.OpenAI()
    replay.open(LESSON, "replay")
    assert text(ask(client=client)) == "Hello, Ada!"
    assert endpoint.seen == []


def test_a_miss_is_refused_once_at_once_and_nothing_is_sent(cassettes: Path, endpoint: Endpoint) -> None:
    tape = replay.open(LESSON, "replay")
    with pytest.raises(replay.NotRecorded, match="nothing was sent") as caught:
        ask(OTHER, openai.OpenAI())
    assert isinstance(caught.value, openai.OpenAIError)
    assert len(tape.transcript) == 1, "the SDK must not try again"
    assert endpoint.seen == []
    lines = caught.value._render_traceback_()
    assert isinstance(lines, list) and all(isinstance(line, str) for line in lines) and len(lines) <= 25


def test_other_http_clients_reach_nothing_either(cassettes: Path, endpoint: Endpoint) -> None:
    replay.open(LESSON, "replay")
    with pytest.raises(replay.NotRecorded):
        urllib.request.urlopen(endpoint.url + "/chat/completions", data=b"{}")
    with pytest.raises(replay.NotRecorded):
        httpx2.get(endpoint.url)
    assert endpoint.seen == []


# -- the life of a tape --------------------------------------------------------------------------------


def test_open_replaces_and_close_gives_the_network_back(cassettes: Path, endpoint: Endpoint) -> None:
    before = httpx2.HTTPTransport.handle_request
    for _ in range(3):
        replay.open(LESSON, "replay")
    first = replay.current()
    assert replay.open(LESSON, "replay") is not first
    replay.close()
    replay.close()
    assert httpx2.HTTPTransport.handle_request is before
    assert text(ask(client=openai.OpenAI())) == "live 1"


def test_a_miss_says_that_another_lesson_was_open_in_this_kernel() -> None:
    odd, told = (
        [{"role": "user", "content": "odd"}],
        "if this is the notebook of 04_sliding_windows, run its first cell",
    )
    memory_tutor.start(4)
    memory_tutor.start(5)
    with pytest.raises(replay.NotRecorded, match=told):
        ask(odd)
    memory_tutor.start(5)  # again, which is no other lesson
    with pytest.raises(replay.NotRecorded, match=told):
        ask(odd)
    memory_tutor.start(4)
    with pytest.raises(replay.NotRecorded) as caught:
        ask(odd)
    assert told not in caught.value.message


def test_a_failed_open_blocks_and_never_falls_through(cassettes: Path, endpoint: Endpoint) -> None:
    replay.open(LESSON, "replay")
    (cassettes / f"{LESSON}.yaml").write_bytes(b"")
    with pytest.raises(CassetteError):
        replay.open(LESSON, "replay")
    for _ in range(2):
        with pytest.raises(replay.Blocked, match="damaged"):
            ask(ADA, openai.OpenAI())
    assert endpoint.seen == []


@pytest.mark.parametrize("lesson", ["02_stateless_calls", "stateles_calls", 77])
def test_an_unknown_lesson_blocks_and_suggests(lesson: Any, endpoint: Endpoint) -> None:
    with pytest.raises(course.CourseError, match="There is no lesson"):
        memory_tutor.start(lesson)
    with pytest.raises(replay.Blocked):
        ask(ADA, openai.OpenAI())
    assert endpoint.seen == []


def test_an_unknown_mode_blocks_and_suggests(endpoint: Endpoint) -> None:
    with pytest.raises(TutorError, match="'replay'"):
        memory_tutor.start(LESSON, mode="relpay")
    with pytest.raises(replay.Blocked):
        ask(ADA, openai.OpenAI())
    assert endpoint.seen == []


def test_an_interrupt_inside_a_call_leaves_the_tape_sane(cassettes: Path) -> None:
    replay.open(LESSON, "replay")

    def interrupt(_: Request) -> Response:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), replay.scripted(interrupt):
        ask()
    assert text(ask()) == "Hello, Ada!"


def test_the_end_of_the_process_is_quiet(cassettes: Path) -> None:
    code = "from memory_tutor import replay; replay.open('01_stateless_calls', 'replay')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ.copy())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_cassette_loads_under_an_ascii_locale(cassettes: Path) -> None:
    path = cassettes / f"{LESSON}.yaml"
    request = Request("POST", "/chat/completions", {"messages": [{"role": "user", "content": "Zoë 你好 🦜"}]})
    cassette.save(path, Recording([Interaction(request, Response(200, "application/json", body("é")))]))
    code = f"from memory_tutor import replay; print(len(replay.open({LESSON!r}, 'replay').recording.interactions))"
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout == "1\n", done.stderr


# -- scripted and unplugged ----------------------------------------------------------------------------


def test_a_script_answers_above_the_tape_in_every_mode_and_leaves_no_trace(cassettes: Path, endpoint: Endpoint) -> None:
    seen: list[Request] = []

    def answer(request: Request) -> Response:
        seen.append(request)
        return Response(200, "application/json", body("scripted"))

    for mode in replay.MODES:
        tape = replay.open(LESSON, mode, record_to=cassettes)
        with replay.scripted(answer):
            assert text(ask(OTHER, openai.OpenAI())) == "scripted"
        assert len(tape.transcript) == 0
    assert len(seen) == 4 and endpoint.seen == []


def test_a_script_works_with_no_tape_and_closes_what_it_opened() -> None:
    with replay.scripted(lambda _: Response(200, "application/json", body("scripted"))):
        assert text(ask()) == "scripted"
    assert replay.current() is None


def test_scripted_failures_are_not_tried_again(cassettes: Path) -> None:
    count = 0

    def answer(_: Request) -> Response:
        nonlocal count
        count += 1
        return Response(500, "application/json", '{"error": {"message": "down"}}')

    replay.open(LESSON, "replay")
    with replay.scripted(answer), pytest.raises(openai.InternalServerError):
        ask()
    assert count == 1


def test_unplugged_raises_what_the_sdk_raises_and_ends(cassettes: Path, endpoint: Endpoint) -> None:
    tape = replay.open(LESSON, "replay")
    with replay.unplugged(), pytest.raises(openai.APIConnectionError, match="Connection error"):
        ask()
    assert text(ask()) == "Hello, Ada!"
    assert [call.error for call in tape.transcript] == ["no connection", None]


# -- explore, live, record -----------------------------------------------------------------------------


def test_explore_asks_the_endpoint_for_what_is_not_recorded(cassettes: Path, endpoint: Endpoint) -> None:
    before = (cassettes / f"{LESSON}.yaml").read_bytes()
    replay.open(LESSON, "explore")
    assert text(ask(client=openai.OpenAI())) == "Hello, Ada!"
    assert text(ask(OTHER, openai.OpenAI())) == "live 1"
    replay.close()
    assert len(endpoint.seen) == 1 and (cassettes / f"{LESSON}.yaml").read_bytes() == before


def test_live_always_asks_the_endpoint(cassettes: Path, endpoint: Endpoint) -> None:
    tape = replay.open(LESSON, "live")
    assert [text(ask(client=openai.OpenAI())) for _ in range(2)] == ["live 1", "live 2"]
    assert [call.reply for call in tape.transcript] == ["live 1", "live 2"]


def test_record_asks_once_for_each_request_and_writes_at_once(tmp_path: Path, endpoint: Endpoint) -> None:
    replay.open(LESSON, "record", record_to=tmp_path)
    client = openai.OpenAI()
    assert [text(ask(client=client)), text(ask(OTHER, client)), text(ask(client=client))] == [
        "live 1",
        "live 2",
        "live 1",
    ]
    written = cassette.load(tmp_path / f"{LESSON}.yaml")  # while the kernel still runs
    assert [each.request.path for each in written.interactions] == ["/chat/completions"] * 2
    raw = (tmp_path / f"{LESSON}.yaml").read_text(encoding="utf-8")
    assert "a-key-that-must-not-be-used" not in raw and "secret" not in raw and "127.0.0.1" not in raw


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_never_recorded(tmp_path: Path, endpoint: Endpoint, status: int) -> None:
    endpoint.statuses = [status]
    replay.open(LESSON, "record", record_to=tmp_path)
    assert text(ask(client=openai.OpenAI())) == "live 2"
    assert len(cassette.load(tmp_path / f"{LESSON}.yaml").interactions) == 1


def test_a_refusal_is_recorded(tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.statuses = [400]
    replay.open(LESSON, "record", record_to=tmp_path)
    with pytest.raises(openai.BadRequestError):
        ask(client=openai.OpenAI())
    assert cassette.load(tmp_path / f"{LESSON}.yaml").interactions[0].response.status == 400
