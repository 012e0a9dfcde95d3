"""What a browser cannot do is told in a line and shown as recorded; here a plain IPython stands for the browser's."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from memory_tutor import extras, in_browser
from memory_tutor.exercises import NotGradable

PROCESS = "raise OSError(138, 'emscripten does not support processes.')"
CELLS = [
    (f"made = 1\n{PROCESS}", [{"output_type": "stream", "name": "stdout", "text": ["recorded once\n"]}]),
    ("print(made_later)", [{"output_type": "stream", "name": "stdout", "text": "of the same text, first\n"}]),
    (PROCESS, []),
    ("print(made_later)", [{"output_type": "stream", "name": "stdout", "text": "of the same text, second\n"}]),
]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Any:
    """IPython with a kernel's parent message, in a browser, with a lesson of four recorded cells."""
    made = InteractiveShell()
    made.kernel = SimpleNamespace(get_parent=lambda: {"metadata": {"tags": made.tags}})
    made.tags, made.reported = [], []
    monkeypatch.setattr(InteractiveShell, "_showtraceback", lambda self, *told: self.reported.append(told))
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: made)
    monkeypatch.setattr(in_browser, "IN_BROWSER", True)
    monkeypatch.setattr(in_browser, "_stand_in", None)
    monkeypatch.setattr(in_browser, "_recorded", lambda lesson: CELLS if lesson else [])
    return made


def run(shell: InteractiveShell, capsys: pytest.CaptureFixture[str], cell: str) -> str:
    capsys.readouterr()
    shell.run_cell(cell, store_history=True)
    return capsys.readouterr().out.replace("\033[2K\r", "")


def test_what_cannot_be_done_is_said_in_a_line_above_what_is_recorded(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    in_browser.prepare("a lesson")
    told = run(shell, capsys, CELLS[0][0] + "\n")
    assert told == (
        "A browser cannot start a second process. Where the course was recorded, this cell showed:\nrecorded once\n"
    )
    assert run(shell, capsys, PROCESS) == "A browser cannot start a second process.\n"
    assert shell.reported == []


def test_a_cell_that_was_edited_is_told_where_it_runs(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    in_browser.prepare("a lesson")
    assert "needs the installed course.\n" in run(shell, capsys, f"x = 1\n{PROCESS}")
    in_browser.prepare(None)
    assert "needs the installed course.\n" in run(shell, capsys, CELLS[0][0])


def test_a_cell_that_needs_what_could_not_run_is_shown_too_and_of_two_alike_the_next(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    in_browser.prepare("a lesson")
    run(shell, capsys, "print(made_later)")
    assert [kind for kind, *_ in shell.reported] == [NameError], "nothing above has failed yet"
    run(shell, capsys, f"{PROCESS}\nmade_later = 1")
    assert run(shell, capsys, "print(made_later)").endswith("of the same text, first\n")
    run(shell, capsys, PROCESS)
    assert run(shell, capsys, "print(made_later)").endswith("of the same text, second\n")
    run(shell, capsys, "print(a_misspelt_name)")
    assert [kind for kind, *_ in shell.reported] == [NameError, NameError]


def test_requests_that_could_not_be_sent_are_not_told_as_none(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    in_browser.prepare("a lesson")
    in_browser.need_requests()
    run(shell, capsys, f"{PROCESS}\nreply = 1")
    with pytest.raises(in_browser.NoRequest):
        in_browser.need_requests()


def test_no_check_is_ever_shown_as_recorded(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    in_browser.prepare("a lesson")
    shell.user_ns["failed"] = NotGradable("This part needs LangChain, which no browser can run.")
    assert run(shell, capsys, "raise failed") == ""
    assert [kind for kind, *_ in shell.reported] == [NotGradable]


def test_a_cell_that_may_fail_lets_the_others_run(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    in_browser.prepare("a lesson")
    shell.tags = ["raises-exception"]
    shell.run_cell("1 / 0")
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert shell.reported == []
    shell.tags = []
    shell.run_cell("1 / 0")
    assert [kind for kind, *_ in shell.reported] == [ZeroDivisionError]


def test_elsewhere_nothing_changes(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_browser, "IN_BROWSER", False)
    in_browser.prepare("a lesson")
    assert shell.custom_exceptions == ()
    shell.run_cell(PROCESS)
    assert [kind for kind, *_ in shell.reported] == [OSError]


def test_a_browser_is_not_told_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.setitem(extras.EXTRAS, "langchain", ("LangChain", ("no_such_package",)))
    with pytest.raises(extras.MissingExtra) as caught:
        extras.need("langchain")
    assert "pip" not in caught.value.message
    assert any(words in caught.value.message for _, words, _ in in_browser.LIMITS if words.startswith("This part"))


def test_a_live_mode_asks_for_an_endpoint_and_forgets_one_that_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL")
    for name in names:
        monkeypatch.setenv(name, "")  # so that it is put back
    typed = iter([" http://127.0.0.1:1/v1 ", "tiny", "http://127.0.0.1:2/v1", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    monkeypatch.setattr(in_browser.getpass, "getpass", lambda _: "")
    in_browser.ask_for_endpoint()
    assert os.environ["OPENAI_BASE_URL"] == "", "elsewhere nobody is asked"
    monkeypatch.setattr(in_browser, "IN_BROWSER", True)
    in_browser.ask_for_endpoint()
    in_browser.ask_for_endpoint()
    assert [os.environ.get(name) for name in names] == ["http://127.0.0.1:1/v1", "", "tiny"]
    in_browser.forget_endpoint()
    assert not {*names} & {*os.environ}
    in_browser.ask_for_endpoint()
    assert [os.environ.get(name) for name in names] == ["http://127.0.0.1:2/v1", None, None]
