"""Cassette files: a readable format, what may stand in it, and the look-up of a request.

A cassette is YAML in vcrpy's layout. Bodies stand as parsed data, streams as literal blocks; of the
headers only content-type is kept; ids that no later request echoes, times and the like are dropped,
the others are numbered. What the file says of where it comes from stands in its `metadata`.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from vcr.serializers import yamlserializer

from memory_tutor.errors import TutorError

JSON_TYPE = "application/json"

#: Keys of a reply's body that are kept, by where they stand; all others change with every recording,
#: belong to one provider, or name the account that paid.
TOP_KEYS = {
    "object", "model", "choices", "usage", "error", "id", "data", "type", "status", "output", "delta",
    "incomplete_details", "previous_response_id", "response", "item", "part", "text", "index",
    "output_index", "content_index", "item_id", "sequence_number", "has_more", "shutdown_date", "deleted",
}  # fmt: skip
USAGE_KEYS = {"prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"}

#: Keys whose values are ids that a provider makes up.
ID_KEYS = {"id", "item_id"}


class CassetteError(TutorError):
    """A cassette is missing, damaged, or another lesson's; the message names the file and the mend."""


@dataclass(frozen=True)
class Request:
    """What was sent: method, path with its query, and the body as JSON data (else as text, or None)."""

    method: str
    path: str
    body: Any

    @property
    def messages(self) -> list[Any]:
        """The messages of a chat request, or the input of a response request; [] where there are none."""
        if not isinstance(self.body, dict):
            return []
        if isinstance(sent := self.body.get("messages"), list):
            return sent
        given = self.body.get("input")  # the one place where a bare text will do
        return given if isinstance(given, list) else [{"role": "user", "content": given}] if given else []


@dataclass(frozen=True)
class Response:
    """What came back: HTTP status, content type, and the body as text (JSON, or a stream's events)."""

    status: int
    content_type: str
    body: str

    @property
    def streamed(self) -> bool:
        return self.content_type.startswith("text/event-stream")

    def events(self) -> Iterator[Any]:
        """The JSON events of a streamed body, in order."""
        for line in self.body.splitlines():
            if line.startswith("data:") and line[5:].strip() != "[DONE]":
                yield json.loads(line[5:])


@dataclass(frozen=True)
class Interaction:
    """One request and its reply; `provenance` holds what differs from the cassette's metadata."""

    request: Request
    response: Response
    provenance: Mapping[str, Any] | None = None


# -- matching ------------------------------------------------------------------------------------------


def endpoint(path: str) -> str:
    """The part of a path that every endpoint shares: what follows the last version, "/chat/completions"."""
    return re.sub(r"^.*/v\d+[a-z0-9]*(?=/)", "", path)


def fingerprint(request: Request) -> str:
    """The request as canonical text, without path and model name: equal data, equal text.

    0 and 0.0 are the same number; `stop=None` and no `stop` are not the same request.
    """
    body = request.body
    if isinstance(body, dict):
        body = {key: value for key, value in body.items() if key != "model"}
    return request.method.upper() + " " + json.dumps(_plain_numbers(body), sort_keys=True, ensure_ascii=True)


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain_numbers(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(part) for part in value]
    return value


class Recording:
    """Interactions, found by request at a cost that does not grow with their number.

    Args:
        interactions: in the order of recording.
        metadata: where they come from: lesson, model, weights, server, provider, sdk, recorded, licence.
    """

    def __init__(self, interactions: Iterable[Interaction] = (), metadata: Mapping[str, Any] | None = None) -> None:
        self.metadata = dict(metadata or {})
        self.interactions: list[Interaction] = []
        #: For each interaction, its lesson and its number in that lesson's cassette.
        self.places: list[tuple[str, int]] = []
        self._index: defaultdict[str, list[int]] = defaultdict(list)
        for interaction in interactions:
            self.add(interaction)

    def add(self, interaction: Interaction, place: tuple[str, int] | None = None) -> None:
        """Append an interaction."""
        self._index[fingerprint(interaction.request)].append(len(self.interactions))
        self.places.append(place or (str(self.metadata.get("lesson")), len(self.interactions)))
        self.interactions.append(interaction)

    def find(self, request: Request) -> int | None:
        """The number of the first interaction that answers a request, or None.

        It matches on method, body without the model's name, and the path's end: gateways put other
        prefixes before "/chat/completions".
        """
        for number in self._index.get(fingerprint(request), ()):
            if request.path.endswith(self.interactions[number].request.path):
                return number
        return None


def merge(recordings: Iterable[Recording]) -> Recording:
    """All recordings as one; the metadata is that of the first."""
    merged = Recording()
    for recording in recordings:
        merged.metadata = merged.metadata or recording.metadata
        for interaction, place in zip(recording.interactions, recording.places, strict=True):
            merged.add(interaction, place)
    return merged


# -- the file ------------------------------------------------------------------------------------------


ODD_BREAKS = re.compile("[\r\x85\u2028\u2029]")


class _Dumper(yaml.SafeDumper):
    """Literal blocks for text of several lines, lists indented, no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    # YAML takes more characters for line breaks than "\n" and folds them, except between double quotes.
    style = '"' if ODD_BREAKS.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def load(path: Path) -> Recording:
    """Read a cassette.

    Raises:
        CassetteError: the file is missing, cannot be read, is damaged or cut short, or belongs to another
            lesson. It is never taken for an empty one.
    """
    mend = "Install memory-tutor again, or in a checkout: git checkout -- cassettes"
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise CassetteError(f"The recording {path} is missing.\n{mend}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CassetteError(f"The recording {path} cannot be read: {error}.\n{mend}") from None
    try:
        data = yamlserializer.deserialize(text)
        metadata = dict(data["metadata"])
        interactions = [_interaction_from(entry) for entry in data["interactions"]]
        lesson, count = metadata["lesson"], metadata["interactions"]
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise CassetteError(f"The recording {path} is damaged ({type(error).__name__}: {reason}).\n{mend}") from None
    if count != len(interactions):
        raise CassetteError(
            f"The recording {path} is damaged: it holds {len(interactions)} of {count} interactions.\n{mend}"
        )
    if lesson != path.stem:
        raise CassetteError(f"The recording {path} is that of lesson {lesson!r}, not {path.stem!r}.\n{mend}")
    return Recording(interactions, metadata)


def _interaction_from(entry: Mapping[str, Any]) -> Interaction:
    sent, came = entry["request"], entry["response"]
    body = came["body"]["string"]
    text = body if isinstance(body, str) else "" if body is None else json.dumps(body, ensure_ascii=False)
    (content_type,) = came["headers"]["content-type"]
    return Interaction(
        Request(sent["method"], sent["uri"], sent["body"]),
        Response(int(came["status"]["code"]), content_type, text),
        entry.get("provenance"),
    )


def _entry_from(interaction: Interaction) -> dict[str, Any]:
    request, response = interaction.request, interaction.response
    body: Any = response.body
    if response.content_type.startswith(JSON_TYPE):
        body = json.loads(response.body)
    entry: dict[str, Any] = {
        "request": {
            "method": request.method,
            "uri": request.path,
            "body": request.body,
            "headers": {"content-type": [JSON_TYPE]} if request.body is not None else {},
        },
        "response": {
            "status": {"code": response.status},
            "headers": {"content-type": [response.content_type]},
            "body": {"string": body},
        },
    }
    if interaction.provenance:
        entry["provenance"] = dict(interaction.provenance)
    return entry


def save(path: Path, recording: Recording) -> None:
    """Scrub and write a cassette, the whole file or nothing.

    Args:
        path: "<lesson>.yaml".
        recording: its metadata gets the lesson's name and the number of interactions.
    """
    interactions = scrub(recording.interactions)
    metadata = {
        "lesson": path.stem,
        "interactions": len(interactions),
        **{key: value for key, value in recording.metadata.items() if key not in ("lesson", "interactions")},
    }
    data = {"version": 1, "metadata": metadata, "interactions": [_entry_from(each) for each in interactions]}
    text = yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
    handle, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# -- scrubbing -----------------------------------------------------------------------------------------


def scrub(interactions: list[Interaction]) -> list[Interaction]:
    """The interactions without what changes at each recording or belongs to nobody else.

    An id that a later request sends back is numbered, the same everywhere; other ids are dropped.
    """
    names = _echoed_ids(interactions)
    return [_scrub_one(interaction, names) for interaction in interactions]


def _echoed_ids(interactions: list[Interaction]) -> dict[str, str]:
    made: list[str] = []
    for interaction in interactions:
        for body in _bodies(interaction.response):
            made += [text for text in _made_up_ids(body) if text not in made]
    sent = {text for interaction in interactions for text in _strings(interaction.request.body)}
    paths = " ".join(interaction.request.path for interaction in interactions)
    echoed = [text for text in made if text in sent or text in paths]
    return {text: f"{re.split('[-_]', text)[0]}_{number}" for number, text in enumerate(echoed, start=1)}


def _bodies(response: Response) -> Iterator[Any]:
    if response.streamed:
        yield from response.events()
    elif response.content_type.startswith(JSON_TYPE):
        yield json.loads(response.body)


def _made_up_ids(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            if isinstance(part, str) and (key in ID_KEYS or key.endswith("_id")):
                yield part
            else:
                yield from _made_up_ids(part)
    elif isinstance(value, list):
        for part in value:
            yield from _made_up_ids(part)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(part)


def _scrub_one(interaction: Interaction, names: dict[str, str]) -> Interaction:
    request, response = interaction.request, interaction.response
    path = endpoint(request.path)
    for old, new in names.items():
        path = path.replace(old, new)
    body = response.body
    if response.streamed:
        body = "".join(f"data: {_dump(_kept(event, names))}\n\n" for event in response.events())
        if "[DONE]" in response.body:
            body += "data: [DONE]\n\n"
    elif response.content_type.startswith(JSON_TYPE):
        body = _dump(_kept(json.loads(body), names))
    return replace(
        interaction,
        request=Request(request.method, path, _renamed(request.body, names)),
        response=Response(response.status, response.content_type.split(";")[0], body),
    )


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _kept(body: Any, names: dict[str, str]) -> Any:
    if not isinstance(body, dict):
        return _renamed(_without_ids(body, names), names)
    kept = {key: value for key, value in body.items() if key in TOP_KEYS}
    for key, value in kept.items():
        if key == "usage" and isinstance(value, dict):
            kept[key] = {part: count for part, count in value.items() if part in USAGE_KEYS}
        elif key == "response":  # the events of a streamed response carry it whole
            kept[key] = _kept(value, names)
    return _renamed(_without_ids(kept, names), names)


def _without_ids(value: Any, names: dict[str, str]) -> Any:
    """A reply without the ids that no request sends back."""
    if isinstance(value, dict):
        return {
            key: _without_ids(part, names)
            for key, part in value.items()
            if not (key in ID_KEYS and isinstance(part, str) and part not in names and _made_up(part))
        }
    return [_without_ids(part, names) for part in value] if isinstance(value, list) else value


def _made_up(text: str) -> bool:
    """Whether an id is a provider's invention; the id of a model, "gpt-6-luna", is not."""
    return bool(re.match(r"(chatcmpl|resp|msg|call|fc|rs|conv|item|req|gen|run|id)[-_]", text))


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """The value with every echoed id replaced by its number."""
    if isinstance(value, dict):
        return {key: _renamed(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part, names) for part in value]
    return names.get(value, value) if isinstance(value, str) else value
