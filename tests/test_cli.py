"""The command: what it prints, what it exits with, and that nobody ever sees a stack trace."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from memory_tutor import cassette, checks, cli, launch, workspace
from memory_tutor.cassette import Request, Response
from memory_tutor.notebooks import text_of
from memory_tutor.progress import MARKER, Progress, find_folder
from small_course import NAMES, small_course
from tiny_course import cell

__all__ = ["small_course"]


class Ran:
    """What one run of the command gave."""

    def __init__(self, code: Any, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        assert "Traceback" not in out + err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments))
        captured = capsys.readouterr()
        return Ran(ended.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_course: Path) -> Path:
    """The current folder of a newcomer; the course is the small one."""
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, str, bool]]:
    """What would have been opened in JupyterLab."""
    calls = []

    def open_lab(folder: Path, lesson: str, *, browser: bool) -> int:
        calls.append((folder, lesson, browser))
        return 7

    monkeypatch.setattr(launch, "open_lab", open_lab)
    return calls


# -- the command itself --------------------------------------------------------------------------------


def test_help_names_every_command_and_puts_teachers_and_maintainers_apart(run: Any) -> None:
    told = run("--help")
    assert told.code == 0
    others, maintainers = told.out.split("For maintainers")
    learners, teachers = others.split("For teachers")
    assert " grade " in teachers and "class.html" in run("grade", "--help").out
    for name in ("start", "doctor", "check", "hint", "progress", "reset", "update"):
        assert f" {name} " in learners
    for name in ("build", "record", "audit"):
        assert f" {name} " in maintainers
        assert run(name, "--help").code == 0


def test_help_imports_nothing_slow() -> None:
    code = (
        "import sys\nfrom memory_tutor.cli import main\n"
        "try:\n    main(['start', '--help'])\nexcept SystemExit:\n    pass\n"
        "slow = {'openai', 'vcr', 'nbclient', 'nbformat', 'jupyter_client', 'IPython'} & set(sys.modules)\n"
        "assert not slow, slow"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_version(run: Any) -> None:
    assert run("--version").out == "memory-tutor 0.1.0\n"


@pytest.mark.parametrize(
    "arguments", [["strat"], ["hint"], ["reset"], ["start", "--lessons", "1"], ["start", "a", "b"], ["check", "--nope"]]
)
def test_a_usage_error_exits_with_2(run: Any, arguments: list[str]) -> None:
    told = run(*arguments)
    assert told.code == 2
    assert told.err


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, "The disk is full"),
        (errno.EACCES, "may not be read or written"),
        (errno.EROFS, "may not be read or written"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_an_error_of_the_system_is_a_sentence(
    run: Any, home: Path, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    def refuse(self: Path, *_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    told = run("start")
    assert told.code == 1
    assert says in told.err
    assert "my-lessons" in told.err
    assert len(told.err.splitlines()) == 1


# -- start ---------------------------------------------------------------------------------------------


def test_start_makes_the_folder_and_opens_the_first_lesson(run: Any, home: Path, opened: Any) -> None:
    told = run("start", "--no-browser")
    mine = (home / "my-lessons").resolve()
    assert opened == [(mine, "01_loud", False)]
    assert told.code == 7
    assert "2 copied" in told.out
    assert find_folder(mine) == mine
    assert sorted(file.name for file in mine.glob("*.ipynb")) == ["01_loud.ipynb", "02_quiet.ipynb"]


def test_start_goes_on_where_the_learner_stopped(run: Any, home: Path, opened: Any, monkeypatch: Any) -> None:
    run("start", "here", "--lesson", "2")
    run("start", "here")
    monkeypatch.chdir(home / "here")
    run("start")
    run("start", "--lesson", "loud")
    assert [lesson for _, lesson, _ in opened] == ["02_quiet", "02_quiet", "02_quiet", "01_loud"]
    assert {folder.name for folder, _, _ in opened} == {"here"}
    assert Progress(home / "here").last_lesson() == "01_loud"


def test_start_overwrites_nothing(run: Any, home: Path, opened: Any) -> None:
    run("start")
    mine = home / "my-lessons" / "01_loud.ipynb"
    mine.write_bytes(b"my answers")
    told = run("start")
    assert mine.read_bytes() == b"my answers"
    assert "copied" not in told.out


def test_a_lesson_that_is_none_changes_nothing(run: Any, home: Path, opened: Any) -> None:
    told = run("start", "--lesson", "quiat")
    assert (told.code, opened, list(home.iterdir())) == (1, [], [])
    assert "There is no lesson 'quiat'" in told.err


@pytest.mark.parametrize("kind", ["a file", "other things"])
def test_a_folder_in_the_way_is_left_alone(run: Any, home: Path, opened: Any, kind: str) -> None:
    if kind == "a file":
        (home / "my-lessons").write_text("mine", encoding="utf-8")
    else:
        (home / "my-lessons").mkdir()
        (home / "my-lessons" / "thesis.docx").write_text("mine", encoding="utf-8")
    told = run("start")
    assert (told.code, opened) == (1, [])
    assert "my-lessons" in told.err


def test_a_course_without_lessons_says_so(run: Any, home: Path, opened: Any, small_course: Path) -> None:
    for file in (small_course / "lessons").iterdir():
        file.unlink()
    told = run("start")
    assert (told.code, opened) == (1, [])
    assert "Install memory-tutor again" in told.err


def test_jupyter_listens_on_this_machine_only_and_asks_nothing(home: Path) -> None:
    folder = workspace.make(home / "mine")
    line = launch.command(folder, "01_loud", browser=False)
    assert line[0] == sys.executable
    assert "--ServerApp.ip=127.0.0.1" in line
    assert f"--ServerApp.root_dir={folder}" in line
    assert "--LabApp.default_url=/lab/tree/01_loud.ipynb" in line
    assert not [option for option in line if "token" in option or "password" in option]


def test_the_learners_own_jupyter_settings_stay_in_force(home: Path) -> None:
    folder = workspace.make(home / "mine")
    made = launch.environment(folder, {"JUPYTER_CONFIG_PATH": "/their/own", "OTHER": "x"})
    assert made["JUPYTER_CONFIG_PATH"] == os.pathsep.join([str(folder / MARKER / "jupyter"), "/their/own"])
    assert (made["OTHER"], made["JUPYTER_PREFER_ENV_PATH"]) == ("x", "1")
    assert launch.environment(None, {"JUPYTER_PREFER_ENV_PATH": "0"}) == {"JUPYTER_PREFER_ENV_PATH": "0"}


def _once_it_listens(address: str) -> str:
    """A page of a server that has printed its address, which Jupyter does before it listens."""
    for _ in range(300):
        try:
            return str(urllib.request.urlopen(address).read().decode())
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.1)
    raise AssertionError(f"nothing listens at {address}")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are told apart on POSIX only")
@pytest.mark.parametrize("before", ["", "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"])
def test_jupyterlab_opens_with_a_token_and_without_news_and_ends_when_asked(home: Path, before: str) -> None:
    folder = workspace.make(home / "mine")
    workspace.copy_lessons(folder)
    code = (
        # A script in the background has what it starts ignore the interrupt.
        f"{before}\nimport sys\nfrom pathlib import Path\nfrom memory_tutor import launch\n"
        f"sys.exit(launch.open_lab(Path({str(folder)!r}), '01_loud', browser=False))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as started:
        try:
            assert started.stderr is not None
            lines = iter(started.stderr.readline, "")
            address = next(found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+/\S+", line)))
            assert "/lab/tree/01_loud.ipynb?token=" in address
            page = _once_it_listens(address)
            settings = json.loads(re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
            assert launch.ANNOUNCEMENTS in settings["disabledExtensions"]
            server, token = address.split("/lab/")[0], address.split("token=")[1]
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(f"{server}/api/contents")
            listed = json.load(urllib.request.urlopen(f"{server}/api/contents?token={token}"))
            assert {entry["name"] for entry in listed["content"]} == {"01_loud.ipynb", "02_quiet.ipynb"}
            # To this process alone, as `kill` does it; a terminal's Ctrl-C goes the same way.
            started.send_signal(signal.SIGINT)
            started.communicate(timeout=60)
            assert started.returncode == 0
            with pytest.raises(urllib.error.URLError):
                urllib.request.urlopen(server)
        finally:
            started.terminate()
            try:
                started.wait(timeout=30)
            except subprocess.TimeoutExpired:
                started.kill()


# -- hint, progress, reset -----------------------------------------------------------------------------


@pytest.fixture
def mine(home: Path) -> Path:
    """A learner's folder, and the current one."""
    made = workspace.make(home / "my-lessons")
    workspace.copy_lessons(made)
    return made


def test_one_more_hint_at_each_call(run: Any, mine: Path) -> None:
    assert run("hint", "shout").out == "Hint 1 of 3: What is asked?\n"
    assert len(run("hint", "shout").out.splitlines()) == 2
    assert len(run("hint", "shout", "--folder", str(mine)).out.splitlines()) == 3
    assert len(run("hint", "shout").out.splitlines()) == 3
    assert run("hint", "whisper").out == "Hint 1 of 3: What is asked?\n"
    assert Progress(mine).hints_seen("shout") == 4


def test_a_hint_for_a_name_that_is_none_suggests_the_nearest(run: Any, mine: Path) -> None:
    told = run("hint", "whsiper")
    assert (told.code, told.err) == (1, "There is no exercise 'whsiper'. Did you mean 'whisper'?\n")


@pytest.mark.parametrize("arguments", [["hint", "shout"], ["progress"], ["check"], ["reset", "1"]])
def test_without_a_folder_of_lessons_a_command_says_how_to_make_one(run: Any, home: Path, arguments: list[str]) -> None:
    told = run(*arguments)
    assert told.code == 1
    assert "memory-tutor start my-lessons" in told.err
    assert list(home.iterdir()) == []


def test_progress_is_a_table_with_a_total(run: Any, mine: Path) -> None:
    from memory_tutor.exercises import Result

    done = Progress(mine)
    done.record_check(Result("shout", "passed", 3, 3, "PASSED"))
    done.record_prediction("guess_loud", "a")
    told = run("progress")
    assert told.code == 0
    words = [" ".join(line.replace("│", " ").split()) for line in told.out.splitlines()]
    assert "01_loud 3 of 6 1 of 2 1 right, 0 wrong, of 1" in words
    assert "02_quiet 0 of 3 0 of 1 0 right, 0 wrong, of 1" in words
    assert "Total 3 of 9" in words
    assert "Go on with 01_loud" in told.out
    for name in ("call", "whisper"):
        done.record_check(Result(name, "passed", 3, 3, "PASSED"))
    assert "Every exercise is passed." in run("progress").out


def test_reset_says_where_the_copy_is(run: Any, mine: Path) -> None:
    file = workspace.notebook(mine, NAMES[0])
    before = file.read_bytes()
    Progress(mine).record_hint("shout")
    told = run("reset", "1", "shout")
    assert told.code == 0
    (copy,) = (mine / workspace.BACKUPS).iterdir()
    assert str(copy) in told.out
    assert copy.read_bytes() == before
    assert Progress(mine).hints_seen("shout") == 0
    assert run("reset", "loud").code == 0
    assert len(list((mine / workspace.BACKUPS).iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "says"), [(["9"], "There is no lesson '9'"), (["1", "shuot"], "Did you mean 'shout'")]
)
def test_reset_of_what_is_not_there(run: Any, mine: Path, arguments: list[str], says: str) -> None:
    told = run("reset", *arguments)
    assert told.code == 1
    assert says in told.err
    assert not (mine / workspace.BACKUPS).exists()


# -- check ---------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(small_course: Path) -> None:
    """Recordings of the small course: one reply, which a cell of a learner's may ask for."""
    for name in NAMES:
        request = Request("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello."}]})
        reply = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Hi, Ada."}}]}
        response = Response(200, "application/json", json.dumps(reply))
        recording = cassette.Recording(metadata={"lesson": name, "model": "any", "recorded": "2026-11-30"})
        recording.add(cassette.Interaction(request, response))
        cassette.save(small_course / "cassettes" / f"{name}.yaml", recording)


def put(mine: Path, lesson: str, name: str, *lines: str) -> None:
    """Write an answer as a learner would."""
    file = workspace.notebook(mine, lesson)
    book = workspace.read_notebook(file)
    cell(book, f"{name}-answer").source = "\n".join(lines)
    file.write_text(text_of(book), encoding="utf-8", newline="\n")


def rows(told: Ran) -> list[str]:
    return [" ".join(line.replace("│", " ").split()) for line in told.out.splitlines()]


@pytest.mark.usefixtures("recorded")
def test_check_marks_all_that_the_learner_has(run: Any, mine: Path) -> None:
    put(mine, "01_loud", "shout", "def shout(text):", "    return 'shout ' + text")
    put(mine, "01_loud", "call", "def call(text):", "    return text")
    before = {file.name: file.read_bytes() for file in mine.glob("*.ipynb")}
    told = run("check")
    assert told.code == 0
    assert "01_loud 3 of 6" in rows(told)
    assert "shout 3 of 3 PASSED shout: 3 of 3 points" in rows(told)
    assert "call 0 of 3 NOT YET call: [call] was not said." in rows(told)
    assert any(row.startswith("whisper 0 of 3 NOT ATTEMPTED whisper") for row in rows(told))
    assert "Total 3 of 9" in rows(told)
    done = Progress(mine)
    assert [row.points for row in done.summary()] == [3, 0]
    assert (done.failures("call"), done.failures("whisper")) == (1, 0)
    assert {file.name: file.read_bytes() for file in mine.glob("*.ipynb")} == before


@pytest.mark.usefixtures("recorded")
def test_check_of_one_lesson_leaves_the_others_alone(run: Any, mine: Path) -> None:
    told = run("check", "2", "quiet")
    assert "01_loud" not in told.out
    assert "Total" not in told.out
    assert told.out.count("whisper: ") == 1
    assert run("check", "9").code == 1


@pytest.mark.usefixtures("recorded")
def test_check_takes_any_folder_of_lessons_and_keeps_nothing_in_it(run: Any, mine: Path, tmp_path: Path) -> None:
    put(mine, "02_quiet", "whisper", "def whisper(text):", "    return 'whisper ' + text")
    repository = tmp_path / "repository"
    repository.mkdir()
    shutil.copy(workspace.notebook(mine, "02_quiet"), repository)
    told = run("check", "--folder", repository, "--strict")
    assert "whisper 3 of 3 PASSED whisper: 3 of 3 points" in rows(told)
    assert (told.code, [file.name for file in repository.iterdir()]) == (0, ["02_quiet.ipynb"])
    shutil.copy(workspace.notebook(mine, "01_loud"), repository)
    assert run("check", "--folder", repository, "--strict").code == 1
    assert run("check", "--folder", repository).code == 0


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("damage", [b"", b'{"cells": [', b"[]"])
def test_a_damaged_notebook_is_one_line_and_the_others_go_on(run: Any, mine: Path, damage: bytes) -> None:
    workspace.notebook(mine, "01_loud").write_bytes(damage)
    put(mine, "02_quiet", "whisper", "def whisper(text):", "    return 'whisper ' + text")
    told = run("check")
    assert told.code == 0
    assert [row for row in rows(told) if row.startswith("01_loud 0 of 6 01_loud.ipynb is") and "reset 01_loud" in row]
    assert "Total 3 of 9" in rows(told)


@pytest.mark.usefixtures("recorded")
def test_a_lesson_that_is_asked_for_and_not_there(run: Any, mine: Path) -> None:
    workspace.notebook(mine, "01_loud").unlink()
    assert "There is no 01_loud.ipynb" in run("check", "1").out
    assert "01_loud" not in run("check").out


@pytest.mark.usefixtures("recorded")
def test_a_cell_is_answered_by_the_recording_and_nothing_is_sent(run: Any, mine: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-used")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("MEMORY_TUTOR_MODE", "live")
    put(
        mine,
        "02_quiet",
        "whisper",
        "from openai import OpenAI",
        "client = OpenAI(api_key='unused')",
        "heard = []",
        "for text in ['Hello.', 'Something else.']:",
        "    try:",
        "        reply = client.chat.completions.create(model='m', messages=[{'role': 'user', 'content': text}])",
        "        heard.append(reply.choices[0].message.content)",
        "    except Exception as error:",
        "        heard.append(type(error).__name__)",
        "def whisper(text):",
        "    return heard",
    )
    shown = {}
    look = checks.lesson("02_quiet").exercises["whisper"].check

    def spy(learner: Any) -> None:
        shown["heard"] = learner.call("whisper", "hi").value
        look(learner)

    exercise = checks.lesson("02_quiet").exercises["whisper"]
    monkeypatch.setitem(checks.lesson("02_quiet").exercises, "whisper", dataclasses.replace(exercise, check=spy))
    run("check", "2")
    assert shown["heard"] == ["Hi, Ada.", "OpenAIError"]


@pytest.mark.usefixtures("recorded")
def test_an_answer_that_does_not_run_says_why(run: Any, mine: Path) -> None:
    put(mine, "02_quiet", "whisper", "def whisper(text):", "    return text", "1 / 0")
    put(mine, "01_loud", "shout", "def shout(text):", "    return (text")
    told = run("check")
    assert "Cell 3 stopped: ZeroDivisionError: division by zero" in told.out
    assert re.search(r"Cell 3 stopped: SyntaxError: .*\(line \d\)", told.out)
    assert "ipython-input" not in told.out


@pytest.mark.usefixtures("recorded")
def test_marked_cells_may_be_gone(run: Any, mine: Path) -> None:
    put(mine, "02_quiet", "whisper", "def whisper(text):", "    return 'whisper ' + text")
    file = workspace.notebook(mine, "02_quiet")
    book = workspace.read_notebook(file)
    book.cells = [each for each in book.cells if each.cell_type == "code" and "check(" not in each.source]
    for each in book.cells:
        each.metadata.clear()
    file.write_text(text_of(book), encoding="utf-8", newline="\n")
    assert "whisper 3 of 3 PASSED whisper: 3 of 3 points" in rows(run("check", "2"))


def test_without_a_recording_the_lesson_says_so(run: Any, mine: Path) -> None:
    told = run("check", "1")
    assert told.code == 0
    assert "01_loud.yaml" in told.out


def test_a_narrow_terminal_loses_nothing(run: Any, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for command in ("progress", "check"):
        ran = run(command)
        assert ran.code == 0 and "…" not in ran.out
        assert all(len(line) <= 40 for line in ran.out.splitlines() if line[:1] in "│┃")


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is in use stays there")
def test_a_current_folder_that_is_gone_is_told_in_a_sentence(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_course: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ran = run("start", "--no-browser")
    assert ran.code == 1 and "The folder that you are in is gone" in ran.err


def test_who_presses_ctrl_c_while_it_is_imported_sees_one_word(capfd: pytest.CaptureFixture[str]) -> None:
    code = """
import runpy, sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
runpy.run_module("memory_tutor", run_name="__main__")
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 130
    assert capfd.readouterr() == ("", "Stopped.\n")
