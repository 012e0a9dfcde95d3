"""The talk in the terminal: offline through one recorded talk, or live; with the learner's class or the course's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fake_endpoint import Endpoint
from memory_tutor import chat, cli, course, notebooks, sample, stores, workspace
from memory_tutor.chat import ChatError
from memory_tutor.solutions import NoSolution

LESSON = "08_capstone"
MESSAGES = [line for line in sample.LINES if not line.startswith("/")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A learner's folder with the lessons, nothing solved."""
    made = workspace.make(tmp_path / "mine")
    workspace.copy_lessons(made)
    return made


def solve(folder: Path, code: str, *more: str) -> None:
    """Put an answer, and further cells before it, into the learner's notebook."""
    file = workspace.notebook(folder, LESSON)
    notebook = notebooks.read(file)
    at = next(i for i, cell in enumerate(notebook.cells) if cell.id == "assistant-answer")
    notebook.cells[at].source = code
    for number, source in enumerate(more):
        extra = {"cell_type": "code", "id": f"more-{number}", "metadata": {}, "source": source}
        notebook.cells.insert(at, type(notebook.cells[at])(extra, outputs=[], execution_count=None))
    file.write_text(notebooks.text_of(notebook), encoding="utf-8")


@pytest.fixture(scope="module")
def solution() -> str:
    """The course's own answer."""
    cells = notebooks.read(course.path("solutions", LESSON)).cells
    source: str = next(cell.source for cell in cells if cell.id == "assistant-answer")
    return "\n".join(line for line in source.splitlines() if "### " not in line)


#: Gets the function for its window from another cell.
WITH_TRIM = """
class Assistant:
    def __init__(self, store, client, model, window):
        self.store, self.client, self.model, self.window = store, client, model, window

    def chat(self, tenant, user, session, text):
        history, pad, version = self.store.load((tenant, user, session))
        shown = [projection_of(pad)] if pad else []
        question = {"role": "user", "content": text}
        messages = [{"role": "system", "content": SYSTEM_PROMPT}, *shown, *trim_turns(history, self.window), question]
        response = self.client.chat.completions.create(model=self.model, messages=messages)
        answer = {"role": "assistant", "content": response.choices[0].message.content or ""}
        self.store.append((tenant, user, session), [question, answer], version)
        return answer["content"]

    def set_goal(self, tenant, user, session, goal):
        _, pad, version = self.store.load((tenant, user, session))
        self.store.append((tenant, user, session), [], version, pad={**pad, "goal": goal})
"""


def talk(lines: list[str], folder: Path | None = None, **options: Any) -> str:
    """All that is shown while these lines are typed; then there are no more."""
    typed, shown = iter(lines), []

    def read(prompt: str) -> str:
        for line in typed:
            shown.append(f"{prompt}{line}")
            return line
        raise EOFError

    with chat.opened(folder, read=read, write=shown.append, **options) as made:
        made.run()
    return "\n".join(shown)


# -- offline -------------------------------------------------------------------------------------------


def test_the_whole_sample_is_recorded() -> None:
    shown = talk([""] * len(sample.LINES), course_own=True)
    for line in sample.LINES:
        assert f"you> {line}" in shown
    assert shown.count("assistant> ") == len(MESSAGES)
    assert "The goal is kept." in shown
    assert "You talk to the course's own Assistant.\n" in shown
    assert "not finished" not in shown and "Offline, only" not in shown


def test_lines_may_be_typed_as_well() -> None:
    shown = talk(list(sample.LINES), course_own=True)
    assert shown.count("assistant> ") == len(MESSAGES)


def test_the_sample_is_the_talk_of_the_lesson() -> None:
    cells = {cell.id: cell.source for cell in notebooks.read(course.path("lessons", LESSON)).cells}
    for text in [sample.TENANT, sample.USER, sample.SESSION, sample.GOAL, *MESSAGES]:
        assert f'"{text}"' in cells["talk-run"]
    assert f"window={sample.WINDOW})" in cells["talk-run"]
    assert f"/goal {sample.GOAL}" in sample.LINES


def test_the_recorded_talk_comes_to_an_end() -> None:
    shown = talk([*[""] * len(sample.LINES), "", "And now?", "/goal Rest"], course_own=True)
    after = shown.partition(MESSAGES[-1])[2]
    assert "The recorded talk is over; /quit ends. To say what you like: memory-tutor chat --mode live" in after
    assert after.count("Offline, only the recorded talk is answered. To say") == 2


def test_another_line_is_told_kindly_and_the_talk_goes_on() -> None:
    shown = talk(["What is the capital of Norway?", "/goal Rest", *[""] * len(sample.LINES)], course_own=True)
    told = f'Offline, only the recorded talk is answered. The next line that is recorded: "{sample.LINES[0]}"'
    assert shown.count(told) == 2
    assert "memory-tutor chat --mode live" in shown
    assert shown.count("assistant> ") == len(MESSAGES), "nothing of the other lines was kept"


def test_commands() -> None:
    shown = talk(["/sent", "", "/sent", "/help", "/hlep", "/goal", "/goal  ", "/quit", "never read"], course_own=True)
    assert "Nothing has been sent yet." in shown
    assert "Request 1: 2 messages to /chat/completions" in shown
    assert shown.count("/quit        end") == 2 and "There is no command /hlep." in shown
    assert shown.count("Write the goal behind the command") == 2
    assert "never read" not in shown


@pytest.mark.parametrize("error", [EOFError, KeyboardInterrupt])
def test_no_more_lines(error: type[BaseException]) -> None:
    def read(prompt: str) -> str:
        raise error

    shown: list[str] = []
    with chat.opened(None, course_own=True, read=read, write=shown.append) as made:
        made.run()
    assert shown[-1] == ""


# -- whose class ---------------------------------------------------------------------------------------


def test_the_learners_own(folder: Path, solution: str) -> None:
    solve(folder, solution)
    shown = talk([""] * len(sample.LINES), folder)
    assert f"You talk to your Assistant, as saved in {LESSON}.ipynb." in shown
    assert shown.count("assistant> ") == len(MESSAGES)
    assert not list(folder.glob("chat*")), "offline, nothing is kept"


@pytest.mark.parametrize("by", ["reference", "copy"])
def test_a_function_from_another_cell(folder: Path, by: str, capsys: pytest.CaptureFixture[str]) -> None:
    copied = next(
        c for c in notebooks.read(course.path("solutions", "04_sliding_windows")).cells if c.id == "trim-turns-answer"
    )
    cell = 'trim_turns = tutor.reference("trim_turns")' if by == "reference" else copied.source
    solve(folder, WITH_TRIM, cell)
    assert talk([""] * len(sample.LINES), folder).count("assistant> ") == len(MESSAGES)
    assert "not yours" not in capsys.readouterr().out


def test_an_unfinished_one_falls_back(folder: Path, solution: str) -> None:
    shown = talk(["", "/quit"], folder)
    assert "You talk to the course's own Assistant. Yours, of lesson 8, is not finished yet." in shown
    assert shown.count("assistant> ") == 1
    half = solution.replace("def set_goal", "def set_goal(self, *_):\n        raise NotImplementedError\n\n    def x")
    solve(folder, half)
    assert "is not finished yet" in talk([], folder)


def test_the_courses_own_when_it_is_asked_for(folder: Path) -> None:
    solve(folder, "class Assistant:\n    def __init__(self, *parts):\n        raise ZeroDivisionError")
    assert "You talk to the course's own Assistant.\n" in talk([], folder, course_own=True)


def test_other_words_for_the_pad(folder: Path, solution: str) -> None:
    solve(folder, solution.replace("projection_of(pad)", '{"role": "system", "content": json.dumps(pad)}'))
    shown = talk([""] * 3, folder)
    assert "memory-tutor chat --reference" in shown and shown.count("assistant> ") == 1


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "class Assistant:\n    def __init__(self, *p): self.x = p\n    def chat(self, *i): return self.y",
            "return self.y",
        ),
        ("class Assistant:\n    def __init__(self, *parts):\n        self.parts = parts", "AttributeError"),
    ],
)
def test_a_class_that_raises_shows_its_line(folder: Path, code: str, said: str) -> None:
    solve(folder, code)
    shown = talk(["", "", "/quit"], folder)
    assert shown.count("Assistant raised AttributeError") == 2 and said in shown


def test_a_class_that_cannot_be_made(folder: Path) -> None:
    solve(folder, "class Assistant:\n    def __init__(self):\n        pass")
    with pytest.raises(ChatError, match="Assistant raised TypeError"):
        talk([], folder)


def test_a_cell_that_does_not_run(folder: Path) -> None:
    solve(folder, "class Assistant(Missing):\n    pass")
    with pytest.raises(ChatError, match="does not run"):
        talk([], folder)


def test_a_class_without_a_conflict(folder: Path, solution: str) -> None:
    solve(folder, "Conflict = 3\n\n" + solution)
    assert talk(["", "/quit"], folder).count("assistant> ") == 1


def test_without_a_folder_and_without_solutions(monkeypatch: pytest.MonkeyPatch, folder: Path, solution: str) -> None:
    def none(*_: object) -> None:
        raise NoSolution("no solutions")

    monkeypatch.setattr(chat, "reference", none)
    with pytest.raises(ChatError, match="There is no Assistant to talk to yet"):
        talk([], None)
    with pytest.raises(ChatError, match="carries no solutions"):
        talk([], folder)
    solve(folder, solution)
    assert talk(["", "/quit"], folder).count("assistant> ") == 1, "a learner's own needs none"


# -- live ----------------------------------------------------------------------------------------------


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with Endpoint() as made:
        monkeypatch.setenv("OPENAI_BASE_URL", made.url)
        monkeypatch.setenv("OPENAI_MODEL", "fake-1")
        yield made


def test_live_the_talk_goes_on_at_the_next_run(folder: Path, endpoint: Endpoint) -> None:
    first = talk(["I am Ada.", "/goal Rest in Łódź"], folder, mode="live")
    assert f"The talk is kept in {folder / 'chat.db'}" in first and first.count("assistant> ") == 1
    second = talk(["Who am I?"], folder, mode="live")
    assert second.count("assistant> ") == 1
    sent = [message["content"] for message in endpoint.sent()[-1]["messages"]]
    assert "I am Ada." in sent and sent[-1] == "Who am I?"
    assert any('"Rest in Łódź"' in text for text in sent)


def test_live_sessions_are_apart(folder: Path, endpoint: Endpoint) -> None:
    talk(["I am Ada."], folder, mode="live")
    talk(["Who am I?"], folder, mode="live", session="another")
    assert all("Ada" not in message["content"] for message in endpoint.sent()[-1]["messages"])


def test_live_a_failure_is_one_line_and_the_talk_goes_on(folder: Path, endpoint: Endpoint) -> None:
    shown = talk(["This is [too long]", "Hello."], folder, mode="live")
    assert "This message was not answered. BadRequestError" in shown and shown.count("assistant> ") == 1
    assert len(endpoint.sent()[-1]["messages"]) == 2, "the question that failed was not kept"


def test_live_without_a_folder_says_that_nothing_is_kept(endpoint: Endpoint) -> None:
    shown = talk(["Hello."], None, mode="live")
    assert "The talk is not kept" in shown and shown.count("assistant> ") == 1


def test_live_without_solutions_keeps_json(
    folder: Path, solution: str, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., stores.Store] = stores.open

    def opened(address: str, **options: Any) -> stores.Store:
        if address.startswith("sqlite:"):
            raise stores.StoreError("no solutions")
        return real(address, **options)

    monkeypatch.setattr(stores, "open", opened)
    solve(folder, solution)
    assert f"kept in {folder / 'chat'}." in talk(["I am Ada."], folder, mode="live")
    talk(["Who am I?"], folder, mode="live")
    assert "I am Ada." in [message["content"] for message in endpoint.sent()[-1]["messages"]]


def test_live_an_interrupt_ends_the_message_alone(folder: Path) -> None:
    solve(
        folder,
        "class Assistant:\n    def __init__(self, *parts): pass\n"
        "    def chat(self, *ids): raise KeyboardInterrupt\n    def set_goal(self, *ids): pass",
    )
    assert talk(["", ""], folder).count("Stopped. This message was not answered.") == 2


# -- the command ---------------------------------------------------------------------------------------


def command(*arguments: str, typed: str = "") -> Any:
    return CliRunner().invoke(cli.app, ["chat", *arguments], input=typed)


def test_the_command(folder: Path, solution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    told = command("--reference", typed="\n" * len(sample.LINES))
    assert told.exit_code == 0 and told.output.count("assistant> ") == len(MESSAGES)
    assert "Nothing is sent; no key is used." in told.output
    solve(folder, solution)
    told = command("--folder", str(folder), typed="\n/quit\n")
    assert told.exit_code == 0 and "You talk to your Assistant" in told.output
    monkeypatch.chdir(folder)
    assert "You talk to your Assistant" in command(typed="/quit\n").output


def test_the_command_live_with_a_session(folder: Path, endpoint: Endpoint) -> None:
    told = command("--folder", str(folder), "--mode", "live", "--session", "tea", typed="I like tea.\n")
    assert told.exit_code == 0 and "assistant> " in told.output
    command("--folder", str(folder), "--mode", "live", "--session", "tea", typed="What do I like?\n")
    assert "I like tea." in [message["content"] for message in endpoint.sent()[-1]["messages"]]


def test_the_command_says_in_one_line_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (["--folder", str(tmp_path)], ["--mode", "lively", "--reference"], ["--mode", "live"]):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as ended:
            cli.main(["chat", *arguments])
        captured = capsys.readouterr()
        assert ended.value.code == 1 and captured.err and "Traceback" not in captured.out + captured.err


@pytest.mark.parametrize("mode", ["", "record", "offline"])
def test_a_mode_that_is_none_is_told_which_there_are(mode: str) -> None:
    with pytest.raises(chat.ChatError, match="replay, explore, live"), chat.opened(None, mode=mode):
        pass
