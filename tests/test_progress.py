"""Progress: events that nothing loses, and what they come to."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_tutor import checks, events, progress
from memory_tutor.exercises import Exercise, Lesson, Prediction, Result, Status
from memory_tutor.progress import FILE, MARKER, Progress, find_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / MARKER).mkdir()
    return tmp_path


def result(name: str, status: Status = "wrong", points: int = 0, of: int = 3) -> Result:
    return Result(name, status, points, of, f"{status} {name}")


def lesson(name: str, *exercises: str, prediction: str = "") -> Lesson:
    made = Lesson(name, name.title(), 1, 25)
    for each in exercises:
        made.exercises[each] = Exercise(each, name, 3, ("a hint",), lambda learner: None)
    if prediction:
        made.predictions[prediction] = Prediction(prediction, {"a": "yes"}, "a", {"a": "because"})
    return made


@pytest.fixture
def course_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    lessons = [lesson("01_one", "ask", "count", prediction="guess"), lesson("02_two", "say")]
    monkeypatch.setattr(checks, "lessons", lambda: lessons)


def test_the_nearest_marked_folder_is_found_from_below(folder: Path) -> None:
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    assert find_folder(below) == folder.resolve()
    (folder / "a" / MARKER).mkdir()
    assert find_folder(below) == (folder / "a").resolve()


def test_no_folder_is_found_where_none_is_marked(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text("a file marks nothing", encoding="utf-8")
    assert find_folder(tmp_path) is None


def test_a_current_folder_that_is_gone_is_no_learners_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> Path:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "cwd", gone)
    assert find_folder() is None


@pytest.mark.parametrize("in_memory", [True, False])
def test_what_was_recorded_comes_back(folder: Path, in_memory: bool) -> None:
    done = Progress(None if in_memory else folder)
    assert done.record_hint("ask") == 1
    assert done.record_hint("ask") == 2
    done.record_prediction("guess", "a")
    done.record_prediction("guess", "c")
    done.record_check(result("ask", "not attempted"))
    done.record_check(result("ask", "wrong"))
    done.record_check(result("ask", "raised"))
    done.record_check(result("ask", "passed", 3))
    done.record_check(result("ask", "wrong"))
    done.record_solution("ask", gave_up=True)
    done.record_lesson_opened("02_two")
    again = done if in_memory else Progress(folder)
    assert again.hints_seen("ask") == 2
    assert again.hints_seen("say") == 0
    assert again.choice("guess") == "c"
    assert again.choice("other") is None
    assert again.failures("ask") == 3
    best = again.best("ask")
    assert best == result("ask", "passed", 3)
    assert again.best("say") is None
    assert again.last_lesson() == "02_two"
    assert (folder / MARKER / FILE).exists() is not in_memory


def test_a_reset_begins_anew_and_keeps_the_events(folder: Path) -> None:
    done = Progress(folder)
    for name in ("ask", "say"):
        done.record_check(result(name, "passed", 3))
        done.record_hint(name)
    done.record_prediction("guess", "a")
    done.record_reset(["ask", "guess"])
    assert (done.best("ask"), done.hints_seen("ask"), done.choice("guess")) == (None, 0, None)
    assert done.best("say") == result("say", "passed", 3)
    assert done.hints_seen("say") == 1
    assert len((folder / MARKER / FILE).read_bytes().splitlines()) == 6


def test_a_torn_last_line_is_passed_over_and_the_next_event_has_a_line_of_its_own(folder: Path) -> None:
    file = folder / MARKER / FILE
    Progress(folder).record_hint("ask")
    whole = file.read_bytes()
    file.write_bytes(whole + whole[: len(whole) // 2])
    done = Progress(folder)
    assert done.hints_seen("ask") == 1
    assert done.record_hint("ask") == 2
    assert file.read_bytes().startswith(whole + whole[: len(whole) // 2] + b"\n{")


def test_foreign_lines_do_no_harm_and_stay(folder: Path) -> None:
    file = folder / MARKER / FILE
    foreign = (
        b'{"event": "badge", "exercise": "ask", "names": 3}\n'
        b'\xff\xfe not text\n[1, 2]\n{"event": 7}\n\n'
        b'{"event": "check", "exercise": "ask", "status": "perfect", "points": 99, "of": 3}\n'
        b'{"event": "check", "exercise": "ask", "status": "passed", "points": "3", "of": 3}\n'
        b'{"event": "prediction", "prediction": "guess"}\n' + b"[" * 100_000 + b"\n"
    )
    file.write_bytes(foreign)
    done = Progress(folder)
    assert (done.best("ask"), done.choice("guess"), done.last_lesson()) == (None, None, None)
    done.record_hint("ask")
    assert done.hints_seen("ask") == 1
    assert file.read_bytes().startswith(foreign)


def test_any_text_can_be_recorded(folder: Path) -> None:
    message = "Zoë 你好 🦜 \ud800 \n" + "x" * 5000
    Progress(folder).record_check(Result("ask", "wrong", 0, 3, message))
    best = Progress(folder).best("ask")
    assert best is not None
    assert best.message == message[: progress.KEPT]
    assert (folder / MARKER / FILE).read_bytes().count(b"\n") == 1


APPEND = """
import sys
from pathlib import Path
from memory_tutor.progress import Progress

done = Progress(Path(sys.argv[1]))
input()
for _ in range(200):
    done.record_hint(sys.argv[2])
"""


def test_two_kernels_lose_none_of_each_others_events(folder: Path) -> None:
    kernels = [
        subprocess.Popen(
            [sys.executable, "-c", APPEND, str(folder), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("ask", "say")
    ]
    for kernel in kernels:  # both are waiting in input() by now, or will be, and so start close together
        assert kernel.stdin is not None
        kernel.stdin.write("\n")
        kernel.stdin.flush()
    for kernel in kernels:
        kernel.communicate()
        assert kernel.returncode == 0
    lines = (folder / MARKER / FILE).read_text(encoding="utf-8").splitlines()
    assert all(json.loads(line) for line in lines if line)
    done = Progress(folder)
    assert (done.hints_seen("ask"), done.hints_seen("say")) == (200, 200)


def test_a_full_disk_is_said_once_and_the_session_remembers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(handle: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    done = Progress(folder)
    done.record_hint("ask")
    with monkeypatch.context() as patch:
        patch.setattr(events.os, "write", full)
        assert done.record_hint("ask") == 2
        done.record_check(result("ask", "passed", 3))
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "No space left" in said[0]
    assert done.best("ask") == result("ask", "passed", 3)
    assert Progress(folder).hints_seen("ask") == 1


def test_half_a_write_is_not_taken_for_a_whole_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = os.write
    done = Progress(folder)
    with monkeypatch.context() as patch:
        patch.setattr(events.os, "write", lambda handle, data: write(handle, data[: len(data) // 2]))
        done.record_hint("ask")
    assert "No space left" in capsys.readouterr().err
    assert Progress(folder).hints_seen("ask") == 0
    assert Progress(folder).record_hint("ask") == 1


def test_a_folder_in_the_files_place_is_said_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / MARKER / FILE).mkdir()
    done = Progress(folder)
    assert done.record_hint("ask") == 1
    assert done.record_hint("ask") == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.usefixtures("course_of_two")
def test_the_summary_counts_points_passes_and_predictions(folder: Path) -> None:
    done = Progress(folder)
    done.record_check(result("ask", "passed", 3))
    done.record_check(result("count", "wrong"))
    done.record_prediction("guess", "a")
    first, second = done.summary()
    assert (first.points, first.of, first.passed, first.exercises) == (3, 6, 1, 2)
    assert (first.predicted, first.predictions, first.complete) == (1, 1, False)
    assert (second.points, second.of, second.passed, second.predictions) == (0, 3, 0, 0)


@pytest.mark.usefixtures("course_of_two")
def test_going_on_where_the_learner_stopped() -> None:
    done = Progress()
    assert done.next_lesson() == "01_one"
    done.record_lesson_opened("02_two")
    assert done.next_lesson() == "02_two"
    done.record_check(result("say", "passed", 3))
    assert done.next_lesson() == "01_one"
    for name in ("ask", "count"):
        done.record_check(result(name, "passed", 3))
    assert done.next_lesson() == "02_two"
    done.record_lesson_opened("09_gone")
    assert done.next_lesson() == "01_one"


def test_a_course_without_lessons_has_nowhere_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "lessons", list)
    assert Progress().next_lesson() is None
