"""Record the lessons from a live endpoint: cassettes, outputs and lessons in one go, or nothing at all.

A solution is run twice: live, where every reply is kept, then offline against what was kept. What is stored
is the outputs of the second run, so that a learner's notebook shows what the solution shows.
"""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memory_tutor import audit, authoring, cassette, lint, live, notebooks
from memory_tutor.cassette import Interaction, Recording
from memory_tutor.checkout import Checkout
from memory_tutor.errors import TutorError
from memory_tutor.notebooks import environment, read, run_notebook, scratch, text_of
from memory_tutor.transcript import Call

#: What people write where a key is asked for and none is needed.
NO_KEY = {"", "none", live.PLACEHOLDER}
#: How long one cell may take live, in seconds.
PATIENCE = 600.0
#: What an interaction says of itself where it is not from where the others are.
PROVENANCE = ("model", "weights", "server", "provider", "sdk", "recorded", "licence")


class RecordError(TutorError):
    """Nothing was recorded: no key, a cell that failed, or files that cannot be written."""


@dataclass(frozen=True)
class Source:
    """Where the replies come from, for the cassette's metadata. Each has an environment variable.

    Args:
        weights: SHA-256 of the model's file, for a model that one can have; MEMORY_TUTOR_WEIGHTS_SHA256.
        server: program and version that ran it, or the service; MEMORY_TUTOR_SERVER.
        provider: of the service, for a model that one cannot have; MEMORY_TUTOR_PROVIDER.
        licence: of the model; MEMORY_TUTOR_LICENCE.
    """

    weights: str | None = None
    server: str | None = None
    provider: str | None = None
    licence: str | None = None

    def completed(self) -> Source:
        """With what the environment says where nothing was given."""
        names = {"weights": "WEIGHTS_SHA256", "server": "SERVER", "provider": "PROVIDER", "licence": "LICENCE"}
        return Source(
            **{key: getattr(self, key) or os.environ.get(f"MEMORY_TUTOR_{name}") or None for key, name in names.items()}
        )


@dataclass(frozen=True)
class Progress:
    """How far a recording is.

    Args:
        lesson: its name.
        phase: "live" or "replay".
        cell: that has run, counted from 1.
        cells: of the lesson in all.
        tokens: used so far by this lesson, prompt and completion.
    """

    lesson: str
    phase: str
    cell: int
    cells: int
    tokens: int


@dataclass
class Spent:
    """What the endpoint counted for one lesson, of replies that were kept or thrown away.

    Args:
        prompt_tokens: sent.
        completion_tokens: received.
        cost: in the provider's currency, usually US dollars; 0 where it reports none.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def add(self, counted: dict[str, Any]) -> None:
        """Add what mode record wrote down."""
        self.prompt_tokens += int(counted.get("prompt_tokens") or 0)
        self.completion_tokens += int(counted.get("completion_tokens") or 0)
        self.cost += float(counted.get("cost") or 0)


@dataclass
class Recorded:
    """What became of one lesson.

    Args:
        lesson: its name.
        interactions: recorded.
        model: that answered, by its own account.
        spent: tokens and cost.
        notes: one line for each old failure that was kept because this endpoint does not fail there, and for
            metadata that nobody gave.
    """

    lesson: str
    interactions: int
    model: str
    spent: Spent
    notes: list[str] = field(default_factory=list)


@dataclass
class _Staged:
    """A lesson that is recorded and waits to be stored."""

    report: Recorded
    notebook: Any


OnProgress = Callable[[Progress], None]


def record(
    lessons: Sequence[str | int] = (),
    *,
    base_url: str | None = None,
    model: str | None = None,
    source: Source | None = None,
    on_progress: OnProgress | None = None,
    checkout: Checkout | None = None,
) -> list[Recorded]:
    """Record lessons from an endpoint, and store cassettes, solutions' outputs and lessons.

    Args:
        lessons: names or numbers; none means all.
        base_url: of the endpoint; by default OPENAI_BASE_URL, else the one of the SDK.
        model: to ask for; by default OPENAI_MODEL, else the lessons' own. The cassette names the one that answered.
        source: what the cassettes' metadata cannot learn from the replies.
        on_progress: is told after every cell.
        checkout: where the course is; by default the checkout that this package runs from.

    Returns:
        One report a lesson.

    Raises:
        CheckoutError: there is no checkout, or no such lesson.
        LintError: a solution breaks a rule; nothing was sent.
        RecordError: no key for an endpoint that is not on this machine; or a cell failed, live or in the
            replay. Nothing was stored.
        NotebookError: a kernel died, or a file could not be written. Nothing was stored.
    """
    checkout = checkout or Checkout.here()
    names = [checkout.find(lesson) for lesson in lessons] or checkout.names()
    source = (source or Source()).completed()
    if source.weights and not re.fullmatch("[0-9a-f]{64}", source.weights):
        raise RecordError("The SHA-256 of the weights must be 64 hexadecimal digits, in lower case.")
    settings = _settings(base_url, model)
    solutions = {name: read(checkout.solution(name)) for name in checkout.names()}
    lint.check(checkout, solutions)
    for name in dict.fromkeys(names):  # a solution that nbgrader refuses should fail before it costs anything
        authoring.make_lesson(solutions[name], name)
    with scratch() as folder:
        staging = folder / "cassettes"
        staging.mkdir()
        for other in checkout.cassettes.glob("*.yaml"):
            if other.stem not in names:
                shutil.copy(other, staging)
        staged = []
        for name in dict.fromkeys(names):
            run = _Run(checkout, name, solutions[name], settings, source, staging, on_progress)
            try:
                staged.append(run.record())
            except RecordError as error:
                raise RecordError(f"{error.message}\nNothing was stored.") from error
        _store(checkout, staged, staging)
    return [each.report for each in staged]


def rerun(
    lessons: Sequence[str | int] = (), *, on_progress: OnProgress | None = None, checkout: Checkout | None = None
) -> list[str]:
    """Run solutions against the recordings that there are, and store their outputs and the lessons.

    For a change that alters what a notebook shows and nothing that it sends: a message, a picture.

    Args:
        lessons, on_progress, checkout: as for `record`.

    Returns:
        The names of the lessons.

    Raises:
        RecordError: a cell failed, or sent what is not recorded. Nothing was stored.
        CheckoutError, LintError, NotebookError: as for `record`.
    """
    checkout = checkout or Checkout.here()
    names = [checkout.find(lesson) for lesson in lessons] or checkout.names()
    solutions = {name: read(checkout.solution(name)) for name in checkout.names()}
    lint.check(checkout, solutions)
    files: dict[Path, str] = {}
    for name in names:
        run = _Run(checkout, name, solutions[name], {}, Source(), checkout.cassettes, on_progress)
        files |= _files(checkout, name, run.replay()[0])
    notebooks.replace_all(files)
    return names


def _settings(base_url: str | None, model: str | None) -> dict[str, str]:
    """The SDK's environment variables for the live run.

    Raises:
        RecordError: the address is none, or the endpoint needs a key and there is none.
    """
    where = base_url or live.base_url()
    if not where.startswith(("http://", "https://")):
        raise RecordError(f"The base URL {where!r} must begin with http:// or https://.")
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if key.lower() in NO_KEY:
        if not live.is_loopback(where):
            raise RecordError(
                f"To record from {where}, set OPENAI_API_KEY. Only an endpoint on this machine needs no key."
            )
        key = live.PLACEHOLDER
    settings = {"OPENAI_BASE_URL": where, "OPENAI_API_KEY": key}
    if chosen := model or os.environ.get("OPENAI_MODEL"):
        settings["OPENAI_MODEL"] = chosen
    return settings


def _store(checkout: Checkout, staged: list[_Staged], staging: Path) -> None:
    files: dict[Path, str] = {}
    for each in staged:
        name = each.report.lesson
        files[checkout.cassette(name)] = (staging / f"{name}.yaml").read_text(encoding="utf-8")
        files |= _files(checkout, name, each.notebook)
    notebooks.replace_all(files)


def _files(checkout: Checkout, name: str, notebook: Any) -> dict[Path, str]:
    """What is stored of a solution that has run: itself, and the lesson made from it."""
    lesson = authoring.make_lesson(notebook, name)
    return {checkout.solution(name): text_of(notebook), checkout.lesson(name): text_of(lesson)}


class _Run:
    """The recording of one lesson into the staging folder.

    Args:
        checkout, source, on_progress: as for `record`.
        name: of the lesson.
        solution: is left as it is.
        settings: environment variables of the live run.
        staging: folder for the cassette; it holds those of all lessons that are not being recorded.
    """

    def __init__(
        self,
        checkout: Checkout,
        name: str,
        solution: Any,
        settings: dict[str, str],
        source: Source,
        staging: Path,
        on_progress: OnProgress | None,
    ) -> None:
        self.name, self.solution, self.settings, self.source = name, solution, settings, source
        self.shown = checkout.shown(checkout.solution(name))
        self.staging, self.file = staging, staging / f"{name}.yaml"
        self.on_progress = on_progress
        self.spent = Spent()
        self.old = _load(checkout.cassette(name))
        self.kept: dict[str, Interaction] = {}

    def record(self) -> _Staged:
        """Run live, put in old failures that this endpoint does not repeat, replay, drop what is unused.

        Raises:
            RecordError: a cell failed in either run, or a request differs each time that it is made.
        """
        problem = self._live()
        while self._keep_old_failures():
            # What came after a failure that did not happen may differ: what is recorded is not asked again.
            problem = self._live()
        if problem:
            raise RecordError(problem)
        recording = Recording(self._with_provenance(_load(self.file)), self._metadata(_load(self.file)))
        cassette.save(self.file, recording)
        notebook, usage = self.replay()
        used = [each for number, each in enumerate(recording.interactions) if usage.uses[self.name, number]]
        if len(used) < len(recording.interactions):
            recording = Recording(used, recording.metadata)
            cassette.save(self.file, recording)
            notebook, _ = self.replay()
        return _Staged(self._report(recording), notebook)

    def _live(self) -> str | None:
        """Run the solution against the endpoint as far as it goes; says what stopped it."""
        notebook = copy.deepcopy(self.solution)
        counted = self.file.with_suffix(".usage.json")
        before = self.spent

        def count() -> int:
            self.spent = replace(before)
            if counted.exists():
                self.spent.add(json.loads(counted.read_text(encoding="utf-8")))
            return self.spent.tokens

        with scratch() as cwd:
            env = environment(MEMORY_TUTOR_MODE="record", MEMORY_TUTOR_RECORD_TO=self.staging, **self.settings)
            try:
                run_notebook(notebook, cwd, env, self._after("live", notebook, count), timeout=PATIENCE)
            except RecordError as error:
                return error.message
            finally:
                count()
                counted.unlink(missing_ok=True)
        return None

    def replay(self) -> tuple[Any, audit.Usage]:
        """Run the solution against the staged cassette: the notebook with its outputs, and what it used.

        Raises:
            RecordError: a cell failed, or a request is not recorded.
        """
        notebook, usage = copy.deepcopy(self.solution), audit.Usage()
        after = self._after("replay", notebook, lambda: self.spent.tokens)
        audit.replay(notebook, self.name, usage, self.staging, after)
        if missing := usage.missing.get(self.name):
            raise RecordError(f"{missing[0]} A request that differs at each run cannot be recorded.")
        return notebook, usage

    def _after(self, phase: str, notebook: Any, tokens: Callable[[], int]) -> notebooks.OnCell:
        """What happens after each cell: progress is told, and a cell that failed and may not ends the run."""

        def after(index: int, cell: Any) -> None:
            if self.on_progress:
                self.on_progress(Progress(self.name, phase, index + 1, len(notebook.cells), tokens()))
            if problems := notebooks.cell_failures(index, cell, self.shown):
                raise RecordError(f"{problems[0]} ({phase} run)")

        return after

    def _keep_old_failures(self) -> bool:
        """Put old failures in place of replies that did not fail; whether there were any."""
        recording = _load(self.file)
        interactions = list(recording.interactions)
        before = len(self.kept)
        for each in self.old.interactions:
            number = recording.find(each.request)
            if each.response.status < 400 or number is None or interactions[number].response.status >= 400:
                continue
            made = {**self.old.metadata, **(each.provenance or {})}
            differing = {key: made.get(key) for key in PROVENANCE}
            interactions[number] = replace(each, provenance=differing)
            self.kept[cassette.fingerprint(each.request)] = interactions[number]
        if len(self.kept) > before:
            cassette.save(self.file, Recording(interactions, recording.metadata))
        return len(self.kept) > before

    def _metadata(self, recording: Recording) -> dict[str, Any]:
        own = [each for each in recording.interactions if cassette.fingerprint(each.request) not in self.kept]
        models = Counter(filter(None, map(_model, own)))
        model = models.most_common(1)[0][0] if models else None
        url = self.settings["OPENAI_BASE_URL"]
        host = None if live.is_loopback(url) else urlsplit(url).hostname
        # The same model recorded again is from the same place, unless it is said otherwise.
        old = self.old.metadata if model and model == self.old.metadata.get("model") else {}
        return {
            "model": model,
            "weights": self.source.weights or old.get("weights"),
            "server": self.source.server or host or old.get("server"),
            "provider": self.source.provider or host or old.get("provider"),
            "sdk": f"openai {version('openai')}",
            "recorded": date.today().isoformat(),
            "licence": self.source.licence or old.get("licence"),
        }

    def _with_provenance(self, recording: Recording) -> list[Interaction]:
        """The interactions; one that another model answered says so."""
        main = self._metadata(recording)["model"]
        return [
            each if each.provenance or _model(each) in ("", main) else replace(each, provenance={"model": _model(each)})
            for each in recording.interactions
        ]

    def _report(self, recording: Recording) -> Recorded:
        metadata = recording.metadata
        report = Recorded(self.name, len(recording.interactions), str(metadata["model"] or ""), self.spent)
        for each in recording.interactions:
            if cassette.fingerprint(each.request) in self.kept:
                report.notes.append(
                    f"this endpoint answers where the lesson needs a failure; the old {each.response.status} was kept."
                )
        lacking = [key for key in ("model", "server", "licence") if not metadata[key]]
        lacking += [] if metadata["weights"] or metadata["provider"] else ["weights or provider"]
        if lacking:
            report.notes.append(f"nobody gave its {', '.join(lacking)}; the audit will ask for it.")
        return report


def _load(file: Path) -> Recording:
    """A cassette; empty if there is none, as before the first recording of a lesson that sends nothing."""
    return cassette.load(file) if file.exists() else Recording(metadata={"lesson": file.stem})


def _model(interaction: Interaction) -> str:
    """The model that answered, by its own account; "" where the reply does not say."""
    return Call(0, interaction.request, interaction.response).model
