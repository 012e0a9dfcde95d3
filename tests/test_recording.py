"""Recording from a live endpoint on this machine: everything is stored in one go, or nothing is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tiny_course
from fake_endpoint import MODEL, PRIVATE, Endpoint
from memory_tutor import audit, cassette, live, notebooks, recording
from memory_tutor.authoring import make_lesson
from memory_tutor.cassette import Interaction, Recording, Request, Response
from memory_tutor.checkout import Checkout, CheckoutError
from memory_tutor.lint import LintError
from memory_tutor.notebooks import NotebookError, text_of
from memory_tutor.recording import Progress, RecordError, Source, record
from tiny_course import NAME, cell

pytest.importorskip("nbgrader", reason="record builds the lessons, which needs nbgrader")

SOURCE = Source(weights="ab" * 32, server="fake 1.0", licence="Apache-2.0")


def state(checkout: Checkout) -> dict[str, bytes]:
    """Every file of the course and what it holds."""
    return {str(path): path.read_bytes() for path in checkout.root.rglob("*") if path.is_file()}


def ask(text: str) -> dict[str, Any]:
    """The body of the tiny lesson's request."""
    return {"messages": [{"role": "user", "content": text}], "model": "any"}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return tiny_course.make(tmp_path)


def test_a_recording_stores_cassette_outputs_and_lesson(checkout: Checkout) -> None:
    told: list[Progress] = []
    with Endpoint(cost=0.5) as endpoint:
        (report,) = record(base_url=endpoint.url, source=SOURCE, on_progress=told.append, checkout=checkout)
        assert endpoint.sent() == [ask("My name is Ada."), ask("one"), ask("two")]
    assert (report.lesson, report.interactions, report.model, report.notes) == (NAME, 3, MODEL, [])
    assert (report.spent.prompt_tokens, report.spent.completion_tokens, report.spent.cost) == (6, 27, 1.5)
    assert [(each.phase, each.cell, each.tokens) for each in told if each.cell in (3, 4, 11)] == [
        ("live", 3, 0),
        ("live", 4, 15),
        ("live", 11, 33),
        ("replay", 3, 33),
        ("replay", 4, 33),
        ("replay", 11, 33),
    ]
    solution = notebooks.read(checkout.solution(NAME))
    assert cell(solution, "demo").outputs[0].text == "You sent 1 message(s); the last says: My name is Ada.\n"
    assert cell(solution, "setup").outputs[0].text == f"recorded from {MODEL}\n", "the outputs are the replay's"
    assert cell(solution, "shout-check").outputs[0].text == "PASSED\n"
    lesson = text_of(make_lesson(solution, NAME))
    assert checkout.lesson(NAME).read_text(encoding="utf-8") == lesson
    assert audit.audit(checkout=checkout).findings == []


def test_nothing_private_reaches_a_file(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the right key")
    with Endpoint(key="the right key", cost=0.5) as endpoint:
        record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
    everything = b"\n".join(state(checkout).values()).decode()
    secrets = [*PRIVATE, "the right key", "chatcmpl-", "created", "timings", "127.0.0.1", "cost"]
    assert [each for each in secrets if each in everything] == []


def test_recording_twice_changes_nothing(checkout: Checkout) -> None:
    with Endpoint() as endpoint:
        record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
        first = state(checkout)
        # The same model again is from the same place: nobody has to say so twice.
        (report,) = record(["tiny"], base_url=endpoint.url, checkout=checkout)
        assert len(endpoint.sent()) == 6, "what is recorded anew is asked anew"
    assert report.notes == []
    assert state(checkout) == first


def test_the_metadata_says_where_the_replies_come_from(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_TUTOR_LICENCE", "MIT")
    with Endpoint() as endpoint:
        (report,) = record(base_url=endpoint.url, source=Source(provider="us"), model="asked", checkout=checkout)
    metadata = cassette.load(checkout.cassette(NAME)).metadata
    assert metadata["model"] == MODEL
    assert (metadata["provider"], metadata["licence"], metadata["server"]) == ("us", "MIT", None)
    assert metadata["sdk"].startswith("openai ")
    assert report.notes == ["nobody gave its server; the audit will ask for it."]


# -- refusals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, "", " ", "none", live.PLACEHOLDER])
def test_without_a_key_only_this_machine_is_asked(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    before = state(checkout)
    with pytest.raises(RecordError, match="set OPENAI_API_KEY"):
        record(base_url="https://api.example.com/v1", checkout=checkout)
    with pytest.raises(RecordError, match="must begin with http"):
        record(base_url="127.0.0.1:8080/v1", checkout=checkout)
    assert state(checkout) == before


def test_a_wrong_key_stores_nothing_and_is_one_clear_line(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a wrong key")
    before = state(checkout)
    with Endpoint(key="the right key") as endpoint, pytest.raises(RecordError) as caught:
        record(base_url=endpoint.url, checkout=checkout)
    first, last = caught.value.message.splitlines()
    assert first.startswith(f"solutions/{NAME}.ipynb, cell 4 (demo): AuthenticationError: Error code: 401")
    assert last == "Nothing was stored."
    assert "a wrong key" not in caught.value.message
    assert state(checkout) == before


def test_an_unknown_lesson_is_refused_with_the_nearest(checkout: Checkout) -> None:
    with pytest.raises(CheckoutError, match="Did you mean '01_tiny'"):
        record(["01_tini"], base_url="http://127.0.0.1:9/v1", checkout=checkout)


def test_a_solution_that_breaks_a_rule_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    solution = tiny_course.notebook()
    cell(solution, "shout-check").metadata.pop("tags")
    with Endpoint() as endpoint:
        with pytest.raises(LintError, match="raises-exception"):
            record(base_url=endpoint.url, checkout=tiny_course.make(tmp_path, solution))
        assert endpoint.requests == []


# -- nothing at all ------------------------------------------------------------------------------------

FAILURES = {
    "a cell fails": (lambda nb: cell(nb, "edits").update(source="1 / 0"), "cell 6 (edits): ZeroDivisionError", "live"),
    "a check fails": (
        lambda nb: cell(nb, "shout-answer").update(
            source="def shout(text):\n    ### BEGIN SOLUTION\n    return text\n    ### END SOLUTION"
        ),
        "cell 10 (shout-check): ZeroDivisionError",
        "live",
    ),
    "the endpoint is broken": (
        lambda nb: cell(nb, "edits").update(source='print(send("[broken]"))'),
        "cell 6 (edits): InternalServerError: Error code: 500",
        "live",
    ),
    "a cell fails in the replay": (
        lambda nb: cell(nb, "edits").update(source='assert mode == "record", "only live"'),
        "cell 6 (edits): AssertionError: only live",
        "replay",
    ),
    "a request differs each time": (
        lambda nb: cell(nb, "edits").update(source="import time\nprint(send(str(time.time_ns())))"),
        "cell 6 (edits): NotRecorded",
        "replay",
    ),
    "such a request is hidden by the cell": (
        lambda nb: cell(nb, "edits").update(
            source="import time\ntry:\n    send(str(time.time_ns()))\nexcept Exception:\n    pass"
        ),
        "cell 6 (edits): sends a request that is not recorded",
        "A request that differs at each run cannot be recorded",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_nothing_is_stored_when_a_cell_fails_in_either_run(tmp_path: Path, name: str) -> None:
    spoil, said, phase = FAILURES[name]
    solution = tiny_course.notebook()
    spoil(solution)
    checkout = tiny_course.make(tmp_path, solution)
    before = state(checkout)
    with Endpoint() as endpoint, pytest.raises(RecordError) as caught:
        record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
    assert caught.value.message.startswith(f"solutions/{NAME}.ipynb, {said}"), caught.value.message
    assert phase in caught.value.message
    assert caught.value.message.endswith("\nNothing was stored.")
    assert state(checkout) == before


def test_a_live_run_stops_at_the_first_cell_that_fails(tmp_path: Path) -> None:
    solution = tiny_course.notebook()
    cell(solution, "demo").source = "1 / 0"
    with Endpoint() as endpoint:
        with pytest.raises(RecordError, match="demo"):
            record(base_url=endpoint.url, checkout=tiny_course.make(tmp_path, solution))
        assert endpoint.sent() == []


def _with_other(checkout: Checkout, demo: str) -> Checkout:
    """The course with a second lesson, which asks nothing of the learner."""
    other = tiny_course.notebook()
    other.cells = [each for each in other.cells if "shout" not in each.id and "same" not in each.id]
    cell(other, "setup").source = tiny_course.SETUP.replace("01_tiny", "02_other").rstrip()
    cell(other, "demo").source = demo
    notebooks.write(checkout.solution("02_other"), other)
    checkout.misconceptions("02_other").write_text("", encoding="utf-8")
    empty = tiny_course.lesson("02_other")
    empty.exercises.clear()
    empty.predictions.clear()
    return replace(checkout, lesson_of=lambda name: tiny_course.lesson() if name == NAME else empty)


def test_nothing_is_stored_of_one_lesson_when_another_fails(checkout: Checkout) -> None:
    checkout = _with_other(checkout, "1 / 0")
    before = state(checkout)
    with Endpoint() as endpoint:
        with pytest.raises(RecordError, match="02_other"):
            record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
        assert len(endpoint.sent()) == 3, "the first lesson was recorded"
    assert state(checkout) == before


def test_a_file_that_cannot_be_replaced_leaves_all_as_they_were(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state(checkout)
    rename = Path.replace

    def refuse(self: Path, target: Path) -> Path:
        if Path(target) == checkout.lesson(NAME):
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with Endpoint() as endpoint, pytest.raises(NotebookError, match="Nothing was changed"):
        record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
    assert state(checkout) == before


# -- what an endpoint may do ---------------------------------------------------------------------------


def _with_demo(tmp_path: Path, source: str) -> Checkout:
    solution = tiny_course.notebook()
    cell(solution, "demo").source = source
    cell(solution, "edits").source = "pass"
    return tiny_course.make(tmp_path, solution)


def test_a_429_is_waited_out_and_never_kept(tmp_path: Path) -> None:
    checkout = _with_demo(tmp_path, 'print(send("[busy] hello"))')
    with Endpoint() as endpoint:
        record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
        assert len(endpoint.sent()) == 2
    (only,) = cassette.load(checkout.cassette(NAME)).interactions
    assert only.response.status == 200


def test_a_stream_is_recorded_and_replayed(tmp_path: Path) -> None:
    checkout = _with_demo(
        tmp_path,
        'parts = client.chat.completions.create(model="any", stream=True, stream_options={"include_usage": True},\n'
        '    messages=[{"role": "user", "content": "hello"}])\n'
        'print("".join(part.choices[0].delta.content or "" for part in parts if part.choices))',
    )
    with Endpoint() as endpoint:
        (report,) = record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
    assert report.spent.tokens == 9
    assert "You sent 1 message(s)" in cell(notebooks.read(checkout.solution(NAME)), "demo").outputs[0].text
    assert audit.audit(checkout=checkout).findings == []


def test_the_same_request_is_sent_and_paid_once(tmp_path: Path) -> None:
    checkout = _with_demo(tmp_path, 'for _ in range(3):\n    print(send("hello"))')
    with Endpoint() as endpoint:
        (report,) = record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
        assert len(endpoint.sent()) == 1
    assert report.interactions == 1
    assert audit.audit(checkout=checkout).rows[0].requests == 3


OVERFLOW = """\
from openai import BadRequestError
history = ["[too long]"]
try:
    history.append(send("[too long]"))
except BadRequestError as error:
    print("refused:", error.status_code)
print(send(" / ".join(history)[-20:]))
"""


def test_a_failure_that_the_lesson_shows_is_recorded(tmp_path: Path) -> None:
    checkout = _with_demo(tmp_path, OVERFLOW.replace('" / ".join(history)[-20:]', '"on we go"'))
    with Endpoint() as endpoint:
        (report,) = record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
    assert report.notes == []
    assert report.interactions == 2
    shown = cell(notebooks.read(checkout.solution(NAME)), "demo").outputs[0].text
    assert shown.startswith("refused: 400\nYou sent 1")
    assert audit.audit(checkout=checkout).findings == []


def _old_cassette(checkout: Checkout) -> None:
    refusal = Response(400, "application/json", '{"error": {"message": "Too long for the old one.", "code": 400}}')
    old = Interaction(Request("POST", "/chat/completions", ask("[too long]")), refusal)
    stale = Interaction(Request("POST", "/chat/completions", ask("gone from the lesson")), refusal)
    metadata = {
        "model": "old-1",
        "weights": "cd" * 32,
        "server": "old 0.9",
        "provider": None,
        "sdk": "openai 3.16.0",
        "recorded": "2026-01-02",
        "licence": "MIT",
    }
    cassette.save(checkout.cassette(NAME), Recording([old, stale], metadata))


def test_an_old_failure_is_kept_where_this_endpoint_does_not_fail(tmp_path: Path) -> None:
    source = OVERFLOW.replace('send(" / ".join(history)[-20:])', 'send(f"we are {len(history)}")')
    checkout = _with_demo(tmp_path, source)
    _old_cassette(checkout)
    with Endpoint(strict=False) as endpoint:
        (report,) = record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
        sent = [body["messages"][0]["content"] for body in endpoint.sent()]
    # What follows a failure is asked again as it is after the failure; nothing is asked twice.
    assert sent == ["[too long]", "we are 2", "we are 1"]
    assert report.spent.prompt_tokens == 2 + 3 + 3, "what was asked in vain was paid too"
    assert report.notes == ["this endpoint answers where the lesson needs a failure; the old 400 was kept."]
    first, second = cassette.load(checkout.cassette(NAME)).interactions
    assert first.response.status == 400
    assert "Too long for the old one." in first.response.body
    assert first.provenance is not None
    assert (first.provenance["model"], first.provenance["recorded"]) == ("old-1", "2026-01-02")
    assert second.request.body == ask("we are 1")
    assert second.provenance is None
    shown = cell(notebooks.read(checkout.solution(NAME)), "demo").outputs[0].text
    assert shown.startswith("refused: 400\nYou sent 1")
    assert audit.audit(checkout=checkout).findings == []
    # Once more: the failure is still the old one, and says so.
    with Endpoint(strict=False) as endpoint:
        (report,) = record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
    assert len(report.notes) == 1
    again = cassette.load(checkout.cassette(NAME)).interactions[0]
    assert again.provenance == first.provenance


def test_an_old_failure_helps_a_cell_that_cannot_go_on_without_it(tmp_path: Path) -> None:
    source = (
        'try:\n    send("[too long]")\nexcept Exception as error:\n    print(type(error).__name__)\nelse:\n    1 / 0'
    )
    checkout = _with_demo(tmp_path, source)
    _old_cassette(checkout)
    with Endpoint(strict=False) as endpoint:
        (report,) = record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
    assert "the old 400 was kept" in report.notes[0]
    assert cell(notebooks.read(checkout.solution(NAME)), "demo").outputs[0].text == "BadRequestError\n"


def test_a_new_failure_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    checkout = _with_demo(tmp_path, OVERFLOW.replace('send(" / ".join(history)[-20:])', '"on we go"'))
    _old_cassette(checkout)
    with Endpoint() as endpoint:
        (report,) = record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
    assert report.notes == ["nobody gave its model; the audit will ask for it."]
    (only,) = cassette.load(checkout.cassette(NAME)).interactions
    assert "The request is longer than the context." in only.response.body


def test_a_reply_of_another_model_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fake_endpoint

    complete = fake_endpoint._Handler._completion

    def of_two_models(self: Any, text: str, body: Any) -> dict[str, Any]:
        return {**complete(self, text, body), "model": "fake-2" if text == "two" else MODEL}

    monkeypatch.setattr(fake_endpoint._Handler, "_completion", of_two_models)
    checkout = tiny_course.make(tmp_path)
    with Endpoint() as endpoint:
        (report,) = record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
    interactions = cassette.load(checkout.cassette(NAME)).interactions
    assert report.model == MODEL
    assert [each.provenance for each in interactions] == [None, None, {"model": "fake-2"}]


def test_what_only_the_live_run_asks_is_not_kept(tmp_path: Path) -> None:
    checkout = _with_demo(tmp_path, 'if mode == "record":\n    send("only live")\nprint(send("always"))')
    with Endpoint() as endpoint:
        record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
    (only,) = cassette.load(checkout.cassette(NAME)).interactions
    assert only.request.body == ask("always")


def test_a_weights_hash_that_is_none_is_refused(checkout: Checkout) -> None:
    with pytest.raises(RecordError, match="64"):
        record(base_url="http://127.0.0.1:9/v1", source=Source(weights="abc"), checkout=checkout)


def test_a_lesson_may_open_the_recordings_of_the_others(checkout: Checkout) -> None:
    count = 'if mode == "replay":\n    print(len(replay.open(None, "replay").recording.interactions))'
    checkout = _with_other(checkout, count)
    with Endpoint() as endpoint:
        record([1], base_url=endpoint.url, source=SOURCE, checkout=checkout)
        before = checkout.cassette(NAME).read_bytes()
        record([2], base_url=endpoint.url, source=SOURCE, checkout=checkout)
    # The first lesson's three. They answer what follows in the second one too, which so keeps none of its own.
    assert cell(notebooks.read(checkout.solution("02_other")), "demo").outputs[0].text == "3\n"
    assert cassette.load(checkout.cassette("02_other")).interactions == []
    assert checkout.cassette(NAME).read_bytes() == before


def test_the_defaults_come_from_the_environment(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    with Endpoint(key="right") as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        (report,) = recording.record(source=SOURCE, checkout=checkout)
    assert report.model == MODEL


# -- the same recordings, other outputs ----------------------------------------------------------------


def test_rerun_stores_what_a_changed_sentence_shows_and_sends_nothing(checkout: Checkout) -> None:
    with Endpoint() as endpoint:
        record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
        recorded, asked = checkout.cassette(NAME).read_bytes(), len(endpoint.requests)
        book = notebooks.read(checkout.solution(NAME))
        cell(book, "demo").source += '\nprint("A changed sentence.")'
        notebooks.write(checkout.solution(NAME), book)
        assert recording.rerun(checkout=checkout) == [NAME]
        assert len(endpoint.requests) == asked
    book = notebooks.read(checkout.solution(NAME))
    assert cell(book, "demo").outputs[0].text.endswith("My name is Ada.\nA changed sentence.\n")
    assert checkout.lesson(NAME).read_text(encoding="utf-8") == text_of(make_lesson(book, NAME))
    assert checkout.cassette(NAME).read_bytes() == recorded


def test_rerun_of_a_changed_request_stores_nothing(checkout: Checkout) -> None:
    with Endpoint() as endpoint:
        record(base_url=endpoint.url, source=SOURCE, checkout=checkout)
    book = notebooks.read(checkout.solution(NAME))
    cell(book, "demo").source = cell(book, "demo").source.replace("My name is Ada.", "My name is Eve.")
    notebooks.write(checkout.solution(NAME), book)
    before = state(checkout)
    with pytest.raises(RecordError, match="demo"):
        recording.rerun(checkout=checkout)
    assert state(checkout) == before
