"""A small HTTP server on 127.0.0.1 that behaves like an OpenAI-like endpoint, for tests of the live modes.

Its replies are made from the request, so that they are the same every time; everything that a real provider
adds, and that must not reach a cassette, is there and differs each time: ids, times, headers, cost.
"""

from __future__ import annotations

import itertools
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

MODEL = "fake-1"
#: What the server puts in headers and bodies; none of it may be found in what is recorded.
PRIVATE = ["org-0123456789abcdefACME", "__cf_bm=c00kie", "req_9f8e7d6c5b4a", "fp_volatile"]


@dataclass
class Endpoint:
    """`with Endpoint(key="right") as endpoint: …  endpoint.url`

    A message that holds one of these words changes what comes back: "[busy]" 429 once and then a reply,
    "[broken]" always 500, "[too long]" 400 (unless `strict` is False: then a reply).

    Args:
        key: that requests must bring; None accepts any.
        strict: whether "[too long]" fails.
        cost: that the usage names for each reply, or None.
    """

    key: str | None = None
    strict: bool = True
    cost: float | None = None
    requests: list[tuple[str, Any]] = field(default_factory=list)
    busy: set[str] = field(default_factory=set)

    def __enter__(self) -> Endpoint:
        endpoint, numbers = self, itertools.count(1)

        class Handler(_Handler):
            server_state = endpoint
            counter = numbers

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """What OPENAI_BASE_URL should be."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/gateway/v1"

    def sent(self) -> list[Any]:
        """The bodies of the chat requests, in order."""
        return [body for path, body in self.requests if path.endswith("/chat/completions")]


class _Handler(BaseHTTPRequestHandler):
    server_state: Endpoint
    counter: itertools.count[int]

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test's output is not the place."""

    def do_GET(self) -> None:
        self.server_state.requests.append((self.path, None))
        if self._allowed():
            models = [
                {"id": MODEL, "object": "model", "created": 1, "owned_by": "us", "shutdown_date": None},
                {"id": "fake-0", "object": "model", "created": 1, "owned_by": "us", "shutdown_date": "2027-01-14"},
            ]
            self._json(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server_state.requests.append((self.path, body))
        if not self._allowed():
            return
        if not self.path.endswith("/chat/completions"):
            self._refuse(404, f"There is no {self.path} here.")
            return
        text = str(body["messages"][-1]["content"])
        if "[busy]" in text and text not in self.server_state.busy:
            self.server_state.busy.add(text)
            self._refuse(429, "Slow down.", {"retry-after-ms": "10"})
        elif "[broken]" in text:
            self._refuse(500, "Out of order.", {"retry-after-ms": "1"})
        elif "[too long]" in text and self.server_state.strict:
            self._refuse(400, "The request is longer than the context.")
        elif body.get("stream"):
            self._stream(text, bool((body.get("stream_options") or {}).get("include_usage")), body)
        else:
            self._json(200, self._completion(text, body))

    def _allowed(self) -> bool:
        key = self.server_state.key
        if key is None or self.headers.get("authorization") == f"Bearer {key}":
            return True
        self._refuse(401, "Incorrect API key provided.")
        return False

    def _usage(self, text: str, body: Any) -> dict[str, Any]:
        """Counts as if a word were a token."""
        prompt = sum(len(str(message.get("content")).split()) for message in body["messages"])
        reply = len(_reply(text, body).split())
        usage = {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}
        return usage if self.server_state.cost is None else {**usage, "cost": self.server_state.cost}

    def _completion(self, text: str, body: Any) -> dict[str, Any]:
        number = next(self.counter)
        return {
            "id": f"chatcmpl-{number:08d}",
            "object": "chat.completion",
            "created": 1_790_000_000 + number,
            "model": MODEL,
            "system_fingerprint": PRIVATE[3],
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": _reply(text, body)}}
            ],
            "usage": self._usage(text, body),
            "timings": {"predicted_ms": number * 1.5},
        }

    def _stream(self, text: str, usage: bool, body: Any) -> None:
        head = {"id": f"chatcmpl-{next(self.counter):08d}", "object": "chat.completion.chunk", "model": MODEL}
        deltas = [
            {"role": "assistant", "content": ""},
            *({"content": f"{word} "} for word in _reply(text, body).split()),
        ]
        events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        if usage:
            events.append({**head, "choices": [], "usage": self._usage(text, body)})
        lines = [f"data: {json.dumps(event)}\n\n" for event in events] + ["data: [DONE]\n\n"]
        self._send(200, "text/event-stream; charset=utf-8", "".join(lines))

    def _refuse(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        self._json(status, {"error": error}, headers)

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, "application/json", json.dumps(body), headers)

    def _send(self, status: int, content_type: str, text: str, headers: dict[str, str] | None = None) -> None:
        data = text.encode()
        self.send_response(status)
        own = {"openai-organization": PRIVATE[0], "set-cookie": PRIVATE[1], "x-request-id": PRIVATE[2]}
        for name, value in {
            "content-type": content_type,
            "content-length": str(len(data)),
            **own,
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _reply(text: str, body: Any) -> str:
    return f"You sent {len(body['messages'])} message(s); the last says: {text}"
