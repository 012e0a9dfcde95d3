"""Proof that the recordings are complete, used, small, traceable and free of secrets.

The static part reads the YAML itself, not through the loader of `cassette`, so that a fault of the loader
or of the scrubbing cannot hide what the files hold. The other part runs every solution offline and compares
what it asked for with what is recorded.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from memory_tutor import cassette, notebooks
from memory_tutor.checkout import Checkout
from memory_tutor.errors import TutorError
from memory_tutor.notebooks import environment, failures, read, run_notebook, scratch, where

#: All cassettes together may be this big, in bytes.
MOST = 1_000_000

METADATA = ("lesson", "interactions", "model", "weights", "server", "provider", "sdk", "recorded", "licence")
#: The keys that may stand in an interaction; whatever else is there came from a provider unseen.
PARTS: dict[str, set[str]] = {
    "": {"request", "response", "provenance"},
    "request": {"method", "uri", "body", "headers"},
    "response": {"status", "headers", "body"},
}
#: Keys of a reply that differ at every recording, or that belong to whoever paid for it.
VOLATILE = {
    "created", "created_at", "completed_at", "timings", "system_fingerprint", "service_tier", "request_id",
    "organization", "user", "safety_identifier", "prompt_cache_key", "provider", "cost",
}  # fmt: skip

SECRETS: dict[str, re.Pattern[str]] = {
    "a key": re.compile(
        r"\bsk-[A-Za-z0-9_-]{8,}|\bBearer\s+(?!\$|\{)[A-Za-z0-9._~+/-]{8,}|\bAIza[A-Za-z0-9_-]{20,}|\bAKIA[A-Z0-9]{12,}"
        r"|\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bhf_[A-Za-z0-9]{20,}|\bgsk_[A-Za-z0-9]{20,}"
        r"|\bxox[abps]-[A-Za-z0-9-]{10,}|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}"
        r"|\b(?:authorization|x-api-key|api[-_]key)[\"']?\s*[:=]\s*[\"']?[A-Za-z0-9]{16,}",
        re.IGNORECASE,
    ),
    "a cookie": re.compile(r"\bset-cookie\b|\bcookie[\"']?\s*[:=]|\b__cf_bm\b|\b_cfuvid\b", re.IGNORECASE),
    "an organization or project": re.compile(
        r"\borg-[A-Za-z0-9]{8,}|\bproj_[A-Za-z0-9]{8,}|\bopenai-(?:organization|project)\b|\bx-request-id\b"
        r"|\buser-[A-Za-z0-9]{16,}",
        re.IGNORECASE,
    ),
    # Addresses at example.org and the like belong to nobody (RFC 2606).
    "an e-mail address": re.compile(
        r"[A-Za-z0-9._%+-]+@(?!(?:[A-Za-z0-9-]+\.)*example(?:\.(?:com|net|org))?\b)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"
    ),
    "a home path": re.compile(r"/home/\w|/Users/\w|/(?:root)/|\b[A-Za-z]:\\+Users\\|/var/folders/\w", re.IGNORECASE),
}
#: Long runs of letters and digits are keys or hashes, in any provider's form; only cassettes are searched.
RANDOM = re.compile(r"\b(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{32,}\b")

#: Environment variables whose values must stand nowhere, if they are long enough to be told from a word.
OURS = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
LONG_ENOUGH = 8


@dataclass
class Row:
    """What the audit saw of one lesson; the numbers of the run are None if it was not made.

    Args:
        lesson: its name.
        interactions: recorded.
        requests: made by the solution outside checks; the same one twice counts as two.
        missing: of them, not recorded.
        unused: recorded and never asked for.
        size: of the cassette, in bytes.
        model: that answered, by the cassette's own account.
    """

    lesson: str
    interactions: int
    requests: int | None
    missing: int | None
    unused: int | None
    size: int
    model: str


@dataclass
class Audit:
    """What an audit found.

    Args:
        findings: one line each, beginning with the file; empty when all is well.
        rows: one a lesson, for a table.
    """

    findings: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not self.findings


@dataclass
class Usage:
    """What notebooks asked of the recordings.

    Args:
        uses: how often each interaction answered, by (lesson, index).
        requests: how many requests each notebook made.
        missing: one line for each request that is not recorded, by notebook.
    """

    uses: Counter[tuple[str, int]] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    missing: dict[str, list[str]] = field(default_factory=dict)


def audit(
    *,
    checkout: Checkout | None = None,
    run: bool = True,
    on_lesson: Callable[[str], None] | None = None,
) -> Audit:
    """Audit all cassettes, and the solutions that use them.

    Args:
        checkout: where the course is; by default the checkout that this package runs from.
        run: also run every solution, offline, each in a fresh kernel; a few seconds each.
        on_lesson: is told the name of each lesson before it is run.

    Returns:
        The findings, and a row for each lesson. It raises nothing for what it finds.

    Raises:
        CheckoutError: there is no checkout.
        NotebookError: a kernel does not start.
    """
    checkout = checkout or Checkout.here()
    found = Audit(list(static(checkout)))
    names = checkout.names()
    usage = Usage()
    for name in names if run else ():
        if on_lesson:
            on_lesson(name)
        found.findings += run_lesson(checkout, name, usage)
    for name in names:
        row, findings = _row(checkout, name, usage, run)
        found.rows.append(row)
        found.findings += findings
    return found


# -- the static part -----------------------------------------------------------------------------------


def static(checkout: Checkout) -> Iterator[str]:
    """What is wrong with the files as they stand."""
    names = checkout.names()
    files = sorted(checkout.cassettes.glob("*.yaml"))
    for name in names:
        if checkout.cassette(name) not in files:
            yield f"{checkout.shown(checkout.cassette(name))}: missing, lesson {name} has no recording."
    total = sum(file.stat().st_size for file in files)
    if total >= MOST:
        yield f"{checkout.shown(checkout.cassettes)}: {total:,} bytes in all; there may be {MOST:,}."
    for file in files:
        shown = checkout.shown(file)
        if file.stem not in names:
            yield f"{shown}: a recording without a lesson."
        try:
            text = file.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            yield f"{shown}: cannot be read: {error}."
            continue
        yield from (f"{shown}: {problem}" for problem in cassette_problems(text, file.stem))
    for name in names:
        yield from _solution_secrets(checkout, name)


def cassette_problems(text: str, lesson: str) -> Iterator[str]:
    """What is wrong with a cassette.

    Args:
        text: of the file.
        lesson: that it should belong to.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        yield f"damaged: {' '.join(str(error).split())[:160]}"
        return
    if not isinstance(data, dict) or set(data) != {"version", "metadata", "interactions"}:
        yield "its top level must hold version, metadata and interactions, and nothing else."
        return
    metadata, interactions = data["metadata"], data["interactions"]
    if not isinstance(metadata, dict) or not isinstance(interactions, list):
        yield "metadata must be a mapping, and interactions a list."
        return
    yield from _metadata_problems(metadata, lesson, len(interactions))
    echoed = _sent(interactions)
    seen: dict[str, int] = {}
    for number, entry in enumerate(interactions, start=1):
        for problem in _interaction_problems(entry, echoed, seen, number):
            yield f"interaction {number}: {problem}"
    # The text itself, for its comments, and every value, for what is written with escapes.
    everything = "\n".join([text, *_texts(data)])
    yield from dict.fromkeys(_secrets(everything, allowed=str(metadata.get("weights"))))


def _metadata_problems(metadata: Mapping[str, Any], lesson: str, count: int) -> Iterator[str]:
    lacking = [key for key in METADATA if key not in metadata]
    if lacking:
        yield f"its metadata lacks {', '.join(lacking)}."
    strange = [str(key) for key in metadata if key not in METADATA]
    if strange:
        yield f"its metadata holds {', '.join(strange)}, which has no place there."
    if metadata.get("lesson") != lesson:
        yield f"its metadata names lesson {metadata.get('lesson')!r}."
    if metadata.get("interactions") != count:
        yield f"its metadata counts {metadata.get('interactions')} interactions, and it holds {count}."
    for key in ("model", "server", "sdk", "licence"):
        if count == 0:
            break  # nothing was asked, so there is nothing to say of who answered
        if not isinstance(metadata.get(key), str) or not metadata[key].strip():
            yield f"its metadata does not say its {key}."
    if not metadata.get("weights") and not metadata.get("provider"):
        yield "its metadata names neither the weights nor the provider."
    weights = metadata.get("weights")
    if weights and not re.fullmatch(r"[0-9a-f]{64}", str(weights)):
        yield "the weights in its metadata are not a SHA-256."
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", str(metadata.get("recorded"))):
        yield "its metadata does not say when it was recorded (YYYY-MM-DD)."


def _interaction_problems(entry: Any, echoed: set[str], seen: dict[str, int], number: int) -> Iterator[str]:
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), dict) for key in ("request", "response")):
        yield "it is not a request and a response."
        return
    request, response = entry["request"], entry["response"]
    for where_, allowed in PARTS.items():
        part = entry[where_] if where_ else entry
        for key in sorted(map(str, set(part) - allowed)):
            yield f"{where_ or 'it'} holds {key!r}, which has no place there."
    for key in sorted(map(str, set(entry.get("provenance") or {}) - set(METADATA))):
        yield f"provenance holds {key!r}, which has no place there."
    for name, side in (("request", request), ("response", response)):
        for header in side.get("headers") or {}:
            if header != "content-type":
                yield f"the {name} keeps the header {header!r}; only content-type may stay."
    uri = str(request.get("uri"))
    if not uri.startswith("/") or uri.startswith("//"):
        yield f"the address {uri!r} names a host; only the path may stay."
    status = (response.get("status") or {}).get("code")
    if not isinstance(status, int) or status == 429 or status >= 500:
        yield f"its status is {status}: a passing failure must not be replayed."
    for body in _reply_bodies(response):
        for key in sorted(set(_keys(body)) & VOLATILE):
            yield f"the reply keeps {key!r}, which differs at every recording."
        for id_ in _ids(body):
            if id_ not in echoed:
                yield f"the reply keeps the id {_masked(id_)!r}, which no request sends back."
    same = json.dumps([request.get("method"), uri, _without_model(request.get("body"))], sort_keys=True)
    if same in seen:
        yield f"it is the same request as interaction {seen[same]}, and is never found."
    seen.setdefault(same, number)


def _without_model(body: Any) -> Any:
    return {key: part for key, part in body.items() if key != "model"} if isinstance(body, dict) else body


def _reply_bodies(response: Mapping[str, Any]) -> Iterator[Any]:
    """The reply as data; a stream is a text, with an event on each line."""
    body = (response.get("body") or {}).get("string")
    if not isinstance(body, str):
        yield body
        return
    for line in body.splitlines():
        try:
            yield json.loads(line.removeprefix("data:"))
        except ValueError:
            continue  # "[DONE]", a blank line, or plain text


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield str(key)
            yield from _keys(part)
    elif isinstance(value, list):
        for part in value:
            yield from _keys(part)


def _ids(value: Any) -> Iterator[str]:
    """The ids in a reply that a provider made up; the names of models in a list of models are not."""
    if isinstance(value, dict):
        made_up = value.get("object") != "model"
        for key, part in value.items():
            if isinstance(part, str) and made_up and (key == "id" or str(key).endswith("_id")):
                yield part
            else:
                yield from _ids(part)
    elif isinstance(value, list):
        for part in value:
            yield from _ids(part)


def _sent(interactions: list[Any]) -> set[str]:
    """All texts that requests send, and the parts of their paths."""
    found: set[str] = set()
    for entry in interactions:
        request = entry.get("request") if isinstance(entry, dict) else None
        if isinstance(request, dict):
            found.update(_texts(request.get("body")))
            found.update(re.split(r"[/?&=]", str(request.get("uri"))))
    return found


def _texts(value: Any) -> Iterator[str]:
    """All texts in data, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts(key)
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def _solution_secrets(checkout: Checkout, name: str) -> Iterator[str]:
    """The same search in what a solved notebook says and shows, pictures aside."""
    shown = checkout.shown(checkout.solution(name))
    try:
        notebook = read(checkout.solution(name))
    except TutorError as error:
        yield error.message
        return
    for index, cell in enumerate(notebook.cells):
        cell = {**cell, "outputs": [_without_pictures(output) for output in cell.get("outputs", [])]}
        for problem in dict.fromkeys(_secrets("\n".join(_texts(cell)))):
            yield f"{shown}, cell {index + 1} ({cell['id']}): {problem}"


def _without_pictures(output: Mapping[str, Any]) -> dict[str, Any]:
    data = {kind: part for kind, part in output.get("data", {}).items() if not kind.startswith("image/")}
    return {**output, "data": data}


def _secrets(text: str, allowed: str | None = None) -> Iterator[str]:
    """What in a text should not be published.

    Args:
        allowed: for a cassette: the only long run of letters and digits that is no key, the weights' hash.
            In a notebook such runs are not searched for.
    """
    for what, pattern in SECRETS.items():
        for match in pattern.finditer(text):
            yield f"it holds what looks like {what}: {_masked(match[0])!r}."
    for match in RANDOM.finditer(text) if allowed is not None else ():
        if match[0] != allowed:
            yield f"it holds what looks like a key or a hash: {_masked(match[0])!r}."
    for name, value in os.environ.items():
        if OURS.search(name) and len(value) >= LONG_ENOUGH and value in text:
            yield f"it holds the value of the environment variable {name}."
    home = str(Path.home())
    if len(home) > len("/root") and home in text:
        yield "it holds the path of the home folder."


def _masked(text: str) -> str:
    """Enough of a secret to find it, too little to use it."""
    return text if len(text) <= 8 else f"{text[:6]}…"


# -- the run -------------------------------------------------------------------------------------------


def run_lesson(checkout: Checkout, name: str, usage: Usage, cassettes: Path | None = None) -> list[str]:
    """Run a solution from the recordings and note what it asks for.

    Args:
        checkout: where the solution is.
        name: of the lesson.
        usage: is added to.
        cassettes: folder of the recordings; by default the checkout's.

    Returns:
        Findings: cells that failed and may not.
    """
    try:
        notebook = read(checkout.solution(name))
    except TutorError:
        return []  # the static part has said so
    replay(notebook, name, usage, cassettes or checkout.cassettes)
    return failures(notebook, checkout.shown(checkout.solution(name)))


def replay(notebook: Any, name: str, usage: Usage, cassettes: Path, on_cell: notebooks.OnCell | None = None) -> Any:
    """Run a notebook offline, from these recordings alone.

    Args:
        notebook: is changed: its outputs become those of this run.
        name: of the lesson, for what is missing.
        usage: is added to.
        cassettes: folder of the recordings.
        on_cell: as for `run_notebook`.

    Returns:
        The same notebook.
    """
    with scratch() as folder:
        log, cwd = folder / "log", folder / "cwd"
        log.mkdir()
        cwd.mkdir()
        read_so_far = 0

        def after(index: int, cell: Any) -> None:
            nonlocal read_so_far
            lines = [line for file in sorted(log.glob("*.jsonl")) for line in _lines(file)]
            for line in lines[read_so_far:]:
                _count(json.loads(line), where(f"solutions/{name}.ipynb", index, cell))
            read_so_far = len(lines)
            if on_cell:
                on_cell(index, cell)

        def _count(line: Mapping[str, Any], place: str) -> None:
            usage.requests[name] += 1
            if line["index"] is None:
                asked = cassette.Request("POST", "", line["request"]).messages
                last = asked[-1].get("content") if asked and isinstance(asked[-1], dict) else line["request"]
                text = f"{place}: sends a request that is not recorded, ending in {str(last)[:60]!r}."
                usage.missing.setdefault(name, []).append(text)
            else:
                usage.uses[line["lesson"], line["index"]] += 1

        env = environment(MEMORY_TUTOR_MODE="replay", MEMORY_TUTOR_CASSETTES=cassettes, MEMORY_TUTOR_AUDIT=log)
        return run_notebook(notebook, cwd, env, after)


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _row(checkout: Checkout, name: str, usage: Usage, ran: bool) -> tuple[Row, list[str]]:
    """A lesson's row in the table, and what the run showed of its recording."""
    file = checkout.cassette(name)
    row = Row(name, 0, None, None, None, file.stat().st_size if file.exists() else 0, "")
    findings: list[str] = []
    try:
        recording = cassette.load(file)
        row.interactions, row.model = len(recording.interactions), str(recording.metadata.get("model"))
    except TutorError as error:
        if file.exists():
            findings.append(error.message.splitlines()[0])
        return row, findings
    if ran:
        unused = [number for number in range(row.interactions) if not usage.uses[name, number]]
        row.requests, row.unused = usage.requests[name], len(unused)
        row.missing = len(usage.missing.get(name, []))
        findings += usage.missing.get(name, [])
        shown = checkout.shown(file)
        findings += [f"{shown}: interaction {number + 1} is used by no notebook." for number in unused]
    return row, findings
