"""A model on this machine: found on its port, told from whatever else listens there, and never sent a key."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fake_endpoint import MODEL
from fake_endpoint import Endpoint as Fake
from memory_tutor import cli, local
from memory_tutor.local import Endpoint

KEY = "sk-not-to-be-sent"


class AtRoot(Fake):
    """The fake endpoint, whose paths may begin with anything."""

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port on which something else answers; it is what the function sends."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

        def talk(connection: socket.socket) -> None:
            with connection:
                try:
                    connection.recv(65536)
                    answer(connection)
                except OSError:
                    pass  # the other side had enough

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR) if sys.platform == "linux" else None


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def response(body: bytes, *, status: str = "200 OK", kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


# -- found ---------------------------------------------------------------------------------------------


def test_an_endpoint_is_found_without_a_key_and_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    heard = []

    def answer(connection: socket.socket) -> None:
        connection.sendall(response(b'{"object": "list", "data": [{"id": "m"}]}'))

    with AtRoot() as fake, serving(answer) as other:
        found = local.endpoints({free_port(): "LM Studio", fake.port: "Ollama", other: "llama.cpp"})
        heard = [path for path, _ in fake.requests]
    assert found == [
        Endpoint("Ollama", f"http://127.0.0.1:{fake.port}/v1", (MODEL, "fake-0")),
        Endpoint("llama.cpp", f"http://127.0.0.1:{other}/v1", ("m",)),
    ]
    assert heard == ["/v1/models"]


def test_no_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with AtRoot(key=KEY) as fake:  # would answer if it got the key
        assert local.endpoints({fake.port: "Ollama"}) == []


def refuses(connection: socket.socket) -> None:
    connection.sendall(response(b'{"object": "list", "data": []}', status="401 Unauthorized"))


def redirects(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/v1/models\r\nContent-Length: 0\r\n\r\n")


def html(connection: socket.socket) -> None:
    connection.sendall(response(b"<!DOCTYPE html><title>Tomcat</title>", kind="text/html"))


def garbage(connection: socket.socket) -> None:
    connection.sendall(b"\x00\xff\x16\x03SSH-2.0-OpenSSH\r\n" * 10)


def closes(connection: socket.socket) -> None:
    return


def hangs(connection: socket.socket) -> None:
    time.sleep(30)


def trickles(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X: y\r\n")
        time.sleep(0.05)


def huge(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        connection.sendall(b'{"data": [' + b" " * 65536)


@pytest.mark.parametrize("answer", [refuses, redirects, html, garbage, closes, hangs, trickles, huge])
def test_something_else_on_the_port_is_no_endpoint(answer: Any) -> None:
    before = time.monotonic()
    with serving(answer) as port:
        assert local.endpoints({port: "llama.cpp"}, patience=0.7) == []
    assert time.monotonic() - before < 5


def test_what_hangs_does_not_hide_the_others() -> None:
    with AtRoot() as fake, serving(hangs) as port:
        assert [each.program for each in local.endpoints({port: "a", fake.port: "b"}, patience=1.5)] == ["b"]


@pytest.mark.parametrize(
    ("body", "models"),
    [
        (b'{"object": "list", "data": [{"id": "b"}, {"id": "a"}, {"id": "b"}]}', ("b", "a")),
        (b'{"data": [{"id": "nomic-embed-text"}, {"id": "qwen"}]}', ("qwen", "nomic-embed-text")),
        (b'{"object": "list", "data": null}', ()),
        (b'{"object": "list", "data": []}', ()),
        (b'{"data": [{"id": "a"}, {"id": 7}, 3, {"id": "x\\u001b[2J"}, {"id": ""}]}', ("a",)),
        (b'{"data": [{"name": "a"}]}', None),
        (b'{"data": null}', None),
        (b'{"data": {"id": "a"}}', None),
        (b"[]", None),
        (b"null", None),
        (b"", None),
        (b"[" * 100_000, None),
        (b"\xff\xfe", None),
    ],
)
def test_what_a_list_of_models_is(body: bytes, models: tuple[str, ...] | None) -> None:
    assert local.listed(body) == models


# -- said ----------------------------------------------------------------------------------------------


def told(*found: Endpoint, platform: str = "linux", key: str = "") -> list[str]:
    return list(local.lines(found, platform=platform, environment={"OPENAI_API_KEY": key}))


OLLAMA = Endpoint("Ollama", "http://127.0.0.1:11434/v1", ("llama3.2:latest", "other"))


def test_the_line_starts_the_course_with_the_first_model() -> None:
    first, _, line = told(Endpoint("LM Studio", "http://127.0.0.1:1234/v1", ()), OLLAMA)[-3:]
    assert "llama3.2:latest, other" in first
    assert line == (
        "OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=llama3.2:latest MEMORY_TUTOR_MODE=explore "
        "memory-tutor start"
    )


def test_a_key_of_the_learners_does_not_go_to_whatever_listens() -> None:
    line = told(OLLAMA, key=KEY)[-1]
    assert "OPENAI_API_KEY=not-needed " in line and KEY not in line


def test_windows_has_two_shells() -> None:
    power, prompt = told(OLLAMA, platform="win32")[-2:]
    assert power.endswith("$env:OPENAI_MODEL='llama3.2:latest'; $env:MEMORY_TUTOR_MODE='explore'; memory-tutor start")
    assert 'set "OPENAI_MODEL=llama3.2:latest" && ' in prompt
    odd = Endpoint("Ollama", OLLAMA.url, ("it's 100%",))
    assert "'it''s 100%'" in told(odd, platform="win32")[-1] and "set " not in told(odd, platform="win32")[-1]


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a POSIX shell")
@pytest.mark.parametrize("name", ["a b", "$(touch x)", "it's", 'say "hi"; true', "C:\\models\\q.gguf"])
def test_a_shell_takes_any_name_as_it_is(name: str) -> None:
    line = told(Endpoint("llama.cpp", "http://127.0.0.1:8080/v1", (name,)))[-1]
    probe = (
        line.removesuffix("memory-tutor start")
        + f"{sys.executable} -c 'import os; print(os.environ[\"OPENAI_MODEL\"])'"
    )
    ran = subprocess.run(["sh", "-c", probe], capture_output=True, text=True, env=dict(os.environ))
    assert ran.stdout == name + "\n"


def test_many_models_and_none() -> None:
    many = Endpoint("Ollama", OLLAMA.url, tuple(f"m{number}" for number in range(25)))
    assert "m9 and 15 more." in told(many)[0]
    assert "ollama pull" in told(Endpoint("Ollama", OLLAMA.url, ()))[-1]
    assert "no lesson needs one" in told()[0]


@pytest.mark.parametrize("there", [True, False])
def test_the_command_never_fails(
    there: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with AtRoot() as fake:
        ports = {fake.port: "Ollama"} if there else {free_port(): "Ollama"}
        monkeypatch.setattr(local.endpoints, "__defaults__", (ports, 2.0))
        with pytest.raises(SystemExit) as ended:
            cli.main(["doctor", "--local"])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert (f"OPENAI_MODEL={MODEL}" in out) == there
    assert ("ollama.com" in out) != there


def test_the_usual_ports() -> None:
    assert json.loads(json.dumps(dict(local.PORTS))) == {
        "11434": "Ollama", "1234": "LM Studio", "8080": "llama.cpp", "9931": "llama.cpp",
    }  # fmt: skip
