"""The audit finds everything that must not be published, and proves that recordings and notebooks agree."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import tiny_course
from memory_tutor import audit, cassette
from memory_tutor.audit import cassette_problems
from memory_tutor.cassette import Interaction, Recording, Request, Response
from memory_tutor.checkout import Checkout
from tiny_course import NAME, cell

WEIGHTS = "2ab4e1ad5b2f4cd14ebdcf9a6ed4e4c3d4b6a1e2f0d9c8b7a6958473625140ff"
METADATA = {
    "model": "fake-1",
    "weights": WEIGHTS,
    "server": "fake 1",
    "provider": None,
    "sdk": "openai 3.57.0",
    "recorded": "2026-11-30",
    "licence": "Apache-2.0",
}


def interaction(text: str, reply: str = "Noted.") -> Interaction:
    body = (
        f'{{"model": "fake-1", "choices": [{{"index": 0, "message": {{"role": "assistant", "content": "{reply}"}}}}]}}'
    )
    request = Request("POST", "/chat/completions", {"model": "any", "messages": [{"role": "user", "content": text}]})
    return Interaction(request, Response(200, "application/json", body))


def saved(path: Path, *texts: str) -> str:
    """Write a clean cassette and return its text."""
    cassette.save(path, Recording([interaction(text) for text in texts], METADATA))
    return path.read_text(encoding="utf-8")


@pytest.fixture
def clean(tmp_path: Path) -> Any:
    """A clean cassette as data."""
    text = saved(tmp_path / f"{NAME}.yaml", "one", "two")
    assert list(cassette_problems(text, NAME)) == []
    return yaml.safe_load(text)


def found(data: Any) -> list[str]:
    return list(cassette_problems(yaml.safe_dump(data, allow_unicode=True), NAME))


def _request(data: Any) -> Any:
    return data["interactions"][1]["request"]


def _response(data: Any) -> Any:
    return data["interactions"][1]["response"]


def _reply(data: Any) -> Any:
    return _response(data)["body"]["string"]


FAULTS: dict[str, tuple[Callable[[Any], object], str]] = {
    "a key in the request's headers": (
        lambda data: _request(data)["headers"].update(Authorization=["none"]),
        "interaction 2: the request keeps the header 'Authorization'",
    ),
    "a cookie in the reply's headers": (
        lambda data: _response(data)["headers"].update({"set-cookie": ["x"]}),
        "interaction 2: the response keeps the header 'set-cookie'",
    ),
    "a harmless header": (
        lambda data: _response(data)["headers"].update({"Date": ["x"]}),
        "the response keeps the header 'Date'",
    ),
    "a host": (
        lambda data: _request(data).update(uri="http://10.0.0.7:8080/v1/chat/completions"),
        "interaction 2: the address 'http://10.0.0.7:8080/v1/chat/completions' names a host",
    ),
    "a time": (lambda data: _reply(data).update(created=1), "interaction 2: the reply keeps 'created'"),
    "timings": (lambda data: _reply(data).update(timings={"ms": 1}), "the reply keeps 'timings'"),
    "a fingerprint": (lambda data: _reply(data).update(system_fingerprint="x"), "keeps 'system_fingerprint'"),
    "an id that nobody sends back": (
        lambda data: _reply(data).update(id="chatcmpl-1"),
        "interaction 2: the reply keeps the id 'chatcm…', which no request sends back",
    ),
    "an id in a stream": (
        lambda data: _response(data)["body"].update(string='data: {"id": "x-1", "choices": []}\n\ndata: [DONE]\n\n'),
        "interaction 2: the reply keeps the id 'x-1'",
    ),
    "a 429": (lambda data: _response(data)["status"].update(code=429), "interaction 2: its status is 429"),
    "a 500": (lambda data: _response(data)["status"].update(code=500), "interaction 2: its status is 500"),
    "a duration beside the parts": (
        lambda data: _response(data).update(elapsed=1.5),
        "interaction 2: response holds 'elapsed', which has no place there",
    ),
    "a note beside the interaction": (
        lambda data: data["interactions"][1].update(recorded_at="x"),
        "interaction 2: it holds 'recorded_at'",
    ),
    "foreign provenance": (
        lambda data: data["interactions"][1].update(provenance={"account": "x"}),
        "interaction 2: provenance holds 'account'",
    ),
    "the same request twice": (
        lambda data: _request(data)["body"].update(messages=[{"role": "user", "content": "one"}], model="other"),
        "interaction 2: it is the same request as interaction 1",
    ),
    "another count": (lambda data: data["metadata"].update(interactions=3), "counts 3 interactions, and it holds 2"),
    "another lesson": (lambda data: data["metadata"].update(lesson="02_x"), "its metadata names lesson '02_x'"),
    "no model": (lambda data: data["metadata"].update(model=None), "its metadata does not say its model"),
    "no licence key": (lambda data: data["metadata"].pop("licence"), "its metadata lacks licence"),
    "no origin": (lambda data: data["metadata"].update(weights=None), "neither the weights nor the provider"),
    "no hash": (lambda data: data["metadata"].update(weights="abc"), "the weights in its metadata are not a SHA-256"),
    "no date": (lambda data: data["metadata"].update(recorded="today"), "does not say when it was recorded"),
    "more metadata": (lambda data: data["metadata"].update(machine="x"), "its metadata holds machine"),
    "another top level": (lambda data: data.update(account="x"), "its top level must hold"),
    "a scalar for an interaction": (
        lambda data: data["interactions"].insert(0, 1),
        "interaction 1: it is not a request",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_of_a_cassette_is_found(clean: Any, name: str) -> None:
    spoil, said = FAULTS[name]
    spoil(clean)
    problems = found(clean)
    assert any(said in each for each in problems), problems


# Put together here, so that no scanner takes this file itself for a leak.
SECRETS = {
    "an OpenAI key": ("s" + "k-proj-Ab12Cd34Ef56", "a key"),
    "a bearer token": ("Bea" + "rer abcdefgh12345678", "a key"),
    "a Google key": ("AI" + "zaSyA1234567890abcdefghijk", "a key"),
    "an Amazon key": ("AK" + "IAIOSFODNN7EXAMPLE", "a key"),
    "a GitHub token": ("gh" + "p_0123456789abcdefghij0123", "a key"),
    "a hub token": ("h" + "f_abcdefghijklmnopqrstuv", "a key"),
    "a web token": ("ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3In0", "a key"),
    "random hexadecimal": ("0123456789abcdef" * 2, "a key or a hash"),
    "a cookie": ("__cf" + "_bm", "a cookie"),
    "a cookie header": ("Set-" + "Cookie", "a cookie"),
    "an organization": ("or" + "g-aBcDeFgHiJkL", "an organization or project"),
    "a project": ("pro" + "j_aBcDeFgHiJkL", "an organization or project"),
    "an e-mail address": ("ada.lovelace@" + "mail.org", "an e-mail address"),
    "a Linux home": ("/home/" + "ada/notes.txt", "a home path"),
    "a root home": ("/roo" + "t/x", "a home path"),
    "a macOS home": ("/Use" + "rs/ada", "a home path"),
    "a Windows home": ("C:\\Use" + "rs\\ada", "a home path"),
}


@pytest.mark.parametrize("name", SECRETS)
def test_what_looks_like_a_secret_is_found_wherever_it_stands_and_not_repeated(clean: Any, name: str) -> None:
    secret, kind = SECRETS[name]
    _reply(clean)["choices"][0]["message"]["content"] = f"It is {secret}, I think."
    problems = found(clean)
    assert [each for each in problems if f"what looks like {kind}" in each], problems
    if len(secret) > 12:
        assert secret not in "\n".join(problems)


def test_a_secret_in_a_comment_or_behind_escapes_is_found(clean: Any) -> None:
    secret = SECRETS["an OpenAI key"][0]
    text = yaml.safe_dump(clean)
    assert any("a key" in each for each in cassette_problems(f"# {secret}\n{text}", NAME))
    escaped = '"' + "".join(f"\\x{ord(letter):02x}" for letter in secret) + '"'
    hidden = re.sub(r"content: Noted\.", lambda _: f"content: {escaped}", text, count=1)
    assert secret not in hidden
    assert any("a key" in each for each in cassette_problems(hidden, NAME))


@pytest.mark.parametrize(
    "innocent",
    [
        "Write to ada@example.org or bob@mail.example.com.",
        "A task-force of risk-averse users met at home/work.",
        "cookies are sweet; the organization is new; I lost my key.",
        "gpt-4o-mini-2024-07-18 and Qwen2.5-Coder-1.5B-Instruct",
        "OPENAI_API_KEY is not set",
    ],
)
def test_ordinary_text_is_no_secret(clean: Any, innocent: str) -> None:
    _reply(clean)["choices"][0]["message"]["content"] = innocent
    assert found(clean) == []


def test_the_value_of_a_key_in_the_environment_is_found(clean: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "open sesame please")
    _reply(clean)["choices"][0]["message"]["content"] = "It said: open sesame please."
    assert found(clean) == ["it holds the value of the environment variable SOME_API_KEY."]


def test_an_id_that_is_sent_back_may_stay(clean: Any) -> None:
    _reply(clean)["id"] = "resp_1"
    clean["interactions"].append(
        {
            "request": {
                "method": "POST",
                "uri": "/responses",
                "headers": {"content-type": ["application/json"]},
                "body": {"input": "x", "previous_response_id": "resp_1"},
            },
            "response": {"status": {"code": 400}, "headers": {}, "body": {"string": {"error": {"message": "no"}}}},
        }
    )
    clean["metadata"]["interactions"] = 3
    assert found(clean) == []


@pytest.mark.parametrize("text", ["a: [", "", "[]", "\x00", "version: 1\nmetadata: 1\ninteractions: 2"])
def test_a_damaged_cassette_is_a_finding(text: str) -> None:
    assert len(list(cassette_problems(text, NAME))) == 1


# -- the folders ---------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = tiny_course.make(tmp_path)
    saved(made.cassette(NAME), "My name is Ada.", "one", "two")
    return made


def test_a_sound_course_has_no_finding(checkout: Checkout) -> None:
    told: list[str] = []
    report = audit.audit(checkout=checkout, on_lesson=told.append)
    assert report.findings == []
    assert report.clean
    assert told == [NAME]
    size = checkout.cassette(NAME).stat().st_size
    assert report.rows == [audit.Row(NAME, 3, 3, 0, 0, size, "fake-1")]


def test_a_request_that_is_not_recorded_is_found_with_its_cell(checkout: Checkout) -> None:
    saved(checkout.cassette(NAME), "My name is Ada.", "one")
    report = audit.audit(checkout=checkout)
    missing = f"solutions/{NAME}.ipynb, cell 6 (edits): sends a request that is not recorded, ending in 'two'."
    assert missing in report.findings
    assert any("cell 6 (edits): NotRecorded" in each for each in report.findings)
    assert (report.rows[0].requests, report.rows[0].missing) == (3, 1)


def test_a_recording_that_nothing_uses_is_found(checkout: Checkout) -> None:
    saved(checkout.cassette(NAME), "My name is Ada.", "stale", "one", "two")
    report = audit.audit(checkout=checkout)
    assert report.findings == [f"cassettes/{NAME}.yaml: interaction 2 is used by no notebook."]
    assert report.rows[0].unused == 1


def test_a_check_that_fails_is_found_although_its_cell_may_fail_in_a_lesson(tmp_path: Path) -> None:
    solution = tiny_course.notebook()
    cell(
        solution, "shout-answer"
    ).source = "def shout(text):\n    ### BEGIN SOLUTION\n    return text\n    ### END SOLUTION"
    checkout = tiny_course.make(tmp_path, solution)
    saved(checkout.cassette(NAME), "My name is Ada.", "one", "two")
    (finding,) = audit.audit(checkout=checkout).findings
    assert finding.startswith(f"solutions/{NAME}.ipynb, cell 10 (shout-check): ZeroDivisionError")


def test_a_lesson_without_a_cassette_and_a_cassette_without_a_lesson_are_found(checkout: Checkout) -> None:
    checkout.cassette(NAME).unlink()
    saved(checkout.cassette("02_gone"), "one")
    assert audit.audit(checkout=checkout, run=False).findings == [
        f"cassettes/{NAME}.yaml: missing, lesson {NAME} has no recording.",
        "cassettes/02_gone.yaml: a recording without a lesson.",
    ]


def test_a_damaged_cassette_does_not_stop_the_audit(checkout: Checkout) -> None:
    checkout.cassette(NAME).write_bytes(b"\xff\xfe")
    findings = audit.audit(checkout=checkout, run=False).findings
    assert any("cannot be read" in each for each in findings)


def test_a_cut_cassette_is_found(checkout: Checkout) -> None:
    file = checkout.cassette(NAME)
    text = file.read_text(encoding="utf-8")
    file.write_text(text[: text.rindex("  - request:")], encoding="utf-8")
    assert any("counts 3 interactions, and it holds 2" in each for each in audit.static(checkout))


def test_too_much_is_found(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MOST", 1000)
    (finding,) = audit.static(checkout)
    assert re.fullmatch(r"cassettes: [\d,]+ bytes in all; there may be 1,000\.", finding)


def test_a_secret_in_the_output_of_a_solution_is_found(checkout: Checkout) -> None:
    import nbformat

    from memory_tutor import notebooks

    solution = notebooks.read(checkout.solution(NAME))
    home = "/home/" + "ada"
    cell(solution, "demo").outputs = [nbformat.v4.new_output("stream", text=f"{home}/notes.py:1: DeprecationWarning")]
    notebooks.write(checkout.solution(NAME), solution)
    (finding,) = audit.static(checkout)
    assert finding == f"solutions/{NAME}.ipynb, cell 4 (demo): it holds what looks like a home path: '/home/a'."
