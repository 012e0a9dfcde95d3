"""Is there a model on this machine to play with? Looks on the usual ports, and says how to start with it."""

from __future__ import annotations

import http.client
import json
import os
import queue
import re
import shlex
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_tutor.live import PLACEHOLDER

#: Port to the program that serves there unless it is told otherwise.
PORTS: Mapping[int, str] = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 9931: "llama.cpp"}
#: Seconds that all ports together may take: what answers from this machine answers at once.
PATIENCE = 2.0
#: Bytes; no list of models is longer.
LARGEST = 1_000_000
#: How many models are named.
SHOWN = 10

#: What a name may hold that needs no quotes in any shell.
_PLAIN = re.compile(r"[\w./:@+-]+", re.ASCII)
#: Models that make vectors, not sentences, by their name.
_NO_CHAT = re.compile(r"embed|rerank|whisper|\btts\b", re.IGNORECASE)


@dataclass(frozen=True)
class Endpoint:
    """A server on this machine that lists models as OpenAI does.

    Args:
        program: that usually serves on its port; another may.
        url: for OPENAI_BASE_URL.
        models: their names, those to talk to first; may be empty.
    """

    program: str
    url: str
    models: tuple[str, ...]


def endpoints(ports: Mapping[int, str] = PORTS, patience: float = PATIENCE) -> list[Endpoint]:
    """The endpoints of this machine, in the order of the ports.

    Each port is asked once for its models, on 127.0.0.1, without a key; nothing is sent to it besides. What hangs,
    or answers with something else, is no endpoint.

    Args:
        ports: to look at, each with the program that it is named after.
        patience: seconds until what has not answered is left alone.
    """
    answers: queue.SimpleQueue[tuple[int, tuple[str, ...] | None]] = queue.SimpleQueue()
    deadline = time.monotonic() + patience

    def ask(port: int) -> None:
        try:
            answers.put((port, _models(port, deadline)))
        except Exception:  # whatever somebody else's server brings about
            answers.put((port, None))

    for port in ports:  # daemons: a server that trickles its answer must not keep this process
        threading.Thread(target=ask, args=(port,), daemon=True).start()
    found: dict[int, tuple[str, ...]] = {}
    for _ in ports:
        try:
            port, models = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        if models is not None:
            found[port] = models
    return [Endpoint(ports[port], f"http://127.0.0.1:{port}/v1", found[port]) for port in ports if port in found]


def _models(port: int, deadline: float) -> tuple[str, ...] | None:
    """The models that a port lists; None if it is no such endpoint."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=max(0.05, deadline - time.monotonic()))
    try:
        connection.request("GET", "/v1/models", headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            return None
        data = b""
        while chunk := response.read1(65536):
            data += chunk
            if len(data) > LARGEST or time.monotonic() > deadline:
                return None
    finally:
        connection.close()
    return listed(data)


def listed(data: bytes) -> tuple[str, ...] | None:
    """The names in a list of models, those to talk to first; None if it is no such list.

    Args:
        data: the body of a response. Ollama's `data` is null when it has no models.
    """
    try:
        body: Any = json.loads(data)
    except (ValueError, RecursionError):
        return None
    entries = body.get("data", 0) if isinstance(body, dict) else 0
    if entries is None and body.get("object") == "list":
        return ()
    if not isinstance(entries, list):
        return None
    names = [each.get("id") if isinstance(each, dict) else None for each in entries]
    # A name is shown in a terminal and typed into a shell.
    good = [name for name in names if isinstance(name, str) and name.isprintable() and 0 < len(name) <= 200]
    if entries and not good:
        return None
    return tuple(sorted(dict.fromkeys(good), key=lambda name: bool(_NO_CHAT.search(name))))


def lines(
    found: Sequence[Endpoint], *, platform: str = sys.platform, environment: Mapping[str, str] = os.environ
) -> Iterator[str]:
    """What to tell: which models there are, and the line that starts the course with the first of them.

    Args:
        found: the endpoints.
        platform: whose shells the line is for, as `sys.platform` names it.
        environment: is looked at for a key, which must not go to whatever listens on a port.
    """
    for each in found:
        if each.models:
            more = f" and {len(each.models) - SHOWN} more" if len(each.models) > SHOWN else ""
            yield f"{each.url} (the port of {each.program}) has {', '.join(each.models[:SHOWN])}{more}."
        else:
            first = "for instance: ollama pull llama3.2" if each.program == "Ollama" else "load one there first"
            yield f"{each.url} (the port of {each.program}) answers and has no model yet; {first}"
    chosen = next((each for each in found if each.models), None)
    if chosen:
        settings = {
            "OPENAI_BASE_URL": chosen.url,
            "OPENAI_MODEL": chosen.models[0],
            **({"OPENAI_API_KEY": PLACEHOLDER} if environment.get("OPENAI_API_KEY") else {}),
            "MEMORY_TUTOR_MODE": "explore",
        }
        yield "What a lesson has recorded is answered by the recording, the rest by this model, if you start with:"
        yield from (_windows(settings) if platform == "win32" else [_posix(settings)])
    elif not found:
        yield "No model answers on this machine, and no lesson needs one: the recordings are all that it takes."
        yield "To play freely you could start Ollama (ollama.com), LM Studio's server, or llama.cpp's llama-server,"
        yield "and then try this again."


def _posix(settings: Mapping[str, str]) -> str:
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in settings.items()), "memory-tutor start"])


def _windows(settings: Mapping[str, str]) -> Iterator[str]:
    quoted = {name: "'" + value.replace("'", "''") + "'" for name, value in settings.items()}
    line = "; ".join([*(f"$env:{name}={value}" for name, value in quoted.items()), "memory-tutor start"])
    yield f"PowerShell:      {line}"
    if all(_PLAIN.fullmatch(value) for value in settings.values()):
        line = " && ".join([*(f'set "{name}={value}"' for name, value in settings.items()), "memory-tutor start"])
        yield f"Command Prompt:  {line}"
