"""Which answer a request gets: a check's script, the recording, the endpoint, or a clear refusal.

One tape is open at a time, for the life of the kernel. vcrpy routes the HTTP clients of this process
through it, so clients made before or after it was opened are all answered here:

1. inside `scripted(...)`, in every mode, by a check's own answers;
2. inside `unplugged()`, by the error that the SDK raises when the network is gone;
3. else by the mode: **replay** (the recording or a refusal: nothing is sent), **explore** (the recording,
   else the endpoint), **live** (the endpoint), **record** (the endpoint, once for each request, and kept).
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import httpx2
import openai
from vcr.cassette import Cassette
from vcr.filters import decode_response
from vcr.patch import CassettePatcherBuilder
from vcr.record_mode import RecordMode

from memory_tutor import cassette, course, miss
from memory_tutor.cassette import Interaction, Recording, Request, Response
from memory_tutor.errors import TutorError
from memory_tutor.transcript import Call, Transcript

Mode = Literal["replay", "explore", "live", "record"]
MODES: tuple[Mode, ...] = get_args(Mode)
Answer = Callable[[Request], Response]


class ReplayError(TutorError, openai.OpenAIError):
    """A refusal of the tape. As an OpenAIError it reaches the caller at once: no retry, no wrapping."""


class NotRecorded(ReplayError):
    """The recording holds no answer to a request; the message shows how it differs from the nearest."""


class Blocked(ReplayError):
    """The recording could not be opened, so every request is refused with the reason."""


class Tape(Cassette):  # type: ignore[misc]
    """What stands between the HTTP clients of this process and the network.

    vcrpy asks a cassette three things: can it play a request, what does it play, and will it keep the
    reply that came from the network. All policy of the course is in these three answers.

    Args:
        path: name for messages.
        mode: see the module.
        recording: the interactions to answer from.
        keep_in: mode record: the file to write after every reply.
        blocked: why every request outside `scripted` is refused: the recording did not load.
        answer: gives the answers in place of the recording, where that is elsewhere.

    `before` names the other lesson that was open in this process, if any: its notebook may still ask.
    """

    def __init__(
        self,
        path: str,
        mode: Mode,
        recording: Recording,
        keep_in: Path | None = None,
        blocked: str | None = None,
        answer: Answer | None = None,
    ) -> None:
        offline = mode == "replay"
        super().__init__(
            path,
            record_mode=RecordMode.NONE if offline else RecordMode.NEW_EPISODES,
            allow_playback_repeats=True,
        )
        self.name = path
        self.mode = mode
        self.recording = recording
        self.keep_in = keep_in
        self.blocked = blocked
        self.answer = answer
        self.before = ""
        self.transcript = Transcript()
        self._spent: dict[str, float] = {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0}

    def _load(self) -> None:
        """Nothing: the recording is given."""

    def _save(self, force: bool = False) -> None:
        """Nothing: a reply is kept as soon as it has come, since a kernel may end at any time."""

    def can_play_response_for(self, sent: Any) -> bool:
        request = _request_from(sent)
        if _scripts:
            sent.played = _scripts[-1](request)
            return True
        sent.call = call = self.transcript.begin(request)
        if _unplugged:
            call.error = "no connection"
            raise openai.APIConnectionError(request=httpx2.Request(sent.method, sent.uri))
        if self.answer is not None:
            call.error = "refused"  # unless it is answered
            sent.played = call.response = self.answer(request)
            call.error = None
            return True
        if self.blocked is not None:
            call.error = "refused"
            raise Blocked(self.blocked)
        number = None if self.mode == "live" else self.recording.find(request)
        if self.mode in ("replay", "explore"):
            self._note(number, request)
        if number is not None:
            sent.played = call.response = self.recording.interactions[number].response
            call.source = "recorded" if self.mode == "explore" else ""
            return True
        if self.mode == "replay":
            call.error = "not recorded"
            raise NotRecorded(miss.explain(request, self.recording, self.name, self.before))
        return False

    def play_response(self, sent: Any) -> dict[str, Any]:
        response: Response = sent.played
        return {
            "status": {"code": response.status, "message": None},
            # The SDK would sleep and try again after a 429 or a 5xx; a played one will not get better.
            "headers": {"content-type": [response.content_type], "x-should-retry": ["false"]},
            "body": {"string": response.body.encode("utf-8", "surrogatepass")},
        }

    def append(self, sent: Any, came: dict[str, Any]) -> None:
        came = decode_response({**came, "body": dict(came["body"])})
        headers = {name.lower(): values for name, values in came["headers"].items()}
        (content_type, *_) = headers.get("content-type", [""])
        body = came["body"]["string"]
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body or "")
        response = Response(int(came["status"]["code"]), content_type, text)
        call: Call = sent.call
        call.response = response
        call.source = "live" if self.mode == "explore" else ""
        # A passing failure is no lesson: replayed, it would only make the SDK try again.
        if self.mode == "record" and response.status != 429 and response.status < 500:
            self._keep(Interaction(call.request, response))

    def _keep(self, interaction: Interaction) -> None:
        self.recording.add(interaction)
        if self.keep_in is None:
            return
        usage = Call(0, interaction.request, interaction.response).usage
        for key in self._spent:
            self._spent[key] += usage.get(key) or 0
        cassette.save(self.keep_in, self.recording)
        self.keep_in.with_suffix(".usage.json").write_text(json.dumps(self._spent), encoding="utf-8")

    def _note(self, number: int | None, request: Request) -> None:
        """For the audit: which interaction answered, or that none did."""
        if folder := os.environ.get("MEMORY_TUTOR_AUDIT"):
            lesson, index = (self.name, None) if number is None else self.recording.places[number]
            line = {"lesson": lesson, "index": index, "request": request.body}
            with (Path(folder) / f"{self.name}.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def _request_from(sent: Any) -> Request:
    """vcrpy's request as ours."""
    body: Any = sent.body
    if isinstance(body, bytes | bytearray):
        try:
            body = json.loads(body) if body else None
        except ValueError:
            body = bytes(body).decode("utf-8", "replace")
    query = sent.parsed_uri.query
    return Request(sent.method, sent.path + (f"?{query}" if query else ""), body)


# -- the one open tape ---------------------------------------------------------------------------------

_tape: Tape | None = None
_patches = ExitStack()
_scripts: list[Answer] = []
_unplugged = 0
#: The lessons that have been opened, in the order in which they last were.
_opened: list[str] = []


def open(lesson: str | None, mode: Mode, *, record_to: Path | None = None) -> Tape:
    """Open the tape of a lesson and close the one that was open.

    Args:
        lesson: its full name, or None for the recordings of all lessons.
        mode: one of MODES.
        record_to: mode record: the folder in which "<lesson>.yaml" is written after each reply.

    Raises:
        CassetteError: the recording cannot be used. A tape that refuses every request is then open:
            a failed start must not let later cells reach the network.
    """
    name = lesson or "all lessons"
    keep_in = record_to / f"{lesson}.yaml" if mode == "record" and record_to and lesson else None
    try:
        if keep_in is not None and keep_in.exists():  # begun by an earlier start
            recording = cassette.load(keep_in)
        else:
            recording = Recording(metadata={"lesson": name}) if mode in ("live", "record") else _load(lesson)
    except TutorError as error:
        open_blocked(error.message)
        raise
    tape = Tape(name, mode, recording, keep_in)
    if lesson:  # without one, all recordings are open
        _opened[:] = [*(each for each in _opened if each != lesson), lesson]
        tape.before = "".join(_opened[-2:-1])
    return _enter(tape)


def open_empty() -> Tape:
    """Open a tape without recordings: every request outside `scripted` is refused."""
    return open_blocked("No recording is open: nothing is sent.")


def open_blocked(reason: str) -> Tape:
    """Open a tape that refuses every request outside `scripted`.

    Args:
        reason: that every refusal gives.
    """
    return _enter(Tape("no lesson", "replay", Recording(), blocked=reason))


def _load(lesson: str | None) -> Recording:
    elsewhere = os.environ.get("MEMORY_TUTOR_CASSETTES")
    place = Path(elsewhere) if elsewhere else course.folder("cassettes")
    if lesson:
        return cassette.load(place / f"{lesson}.yaml")
    return cassette.merge(cassette.load(file) for file in sorted(place.glob("[0-9][0-9]_*.yaml")))


def _enter(tape: Tape) -> Tape:
    global _tape, _patches
    close()
    with ExitStack() as patches:
        for patcher in CassettePatcherBuilder(tape).build():
            patches.enter_context(patcher)
        _tape, _patches = tape, patches.pop_all()
    return tape


def close() -> None:
    """Close the open tape and give the HTTP clients back to the network; harmless when none is open."""
    global _tape
    _tape = None
    _patches.close()


atexit.register(close)


def current() -> Tape | None:
    """The open tape."""
    return _tape


@contextmanager
def scripted(answer: Answer) -> Iterator[None]:
    """Answer every request by a function, above the tape: nothing is sent, recorded or shown.

    Args:
        answer: gets the request; returns the response, or raises what the caller is to see (an
            OpenAIError reaches it unwrapped).
    """
    opened = open_empty() if _tape is None else None
    _scripts.append(answer)
    try:
        yield
    finally:
        _scripts.remove(answer)
        if opened is not None and _tape is opened:
            close()


@contextmanager
def unplugged() -> Iterator[None]:
    """Every request inside raises openai.APIConnectionError, as when the network is gone, but at once."""
    global _unplugged
    _unplugged += 1
    try:
        yield
    finally:
        _unplugged -= 1
