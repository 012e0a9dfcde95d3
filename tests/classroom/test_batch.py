"""A class is graded in worker processes: in full, once, and whatever single submissions do."""

from __future__ import annotations

import contextlib
import csv
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from textwrap import dedent
from typing import Any

import class_of
import pytest
from class_of import Member, answered, code_cell, data, handed_in

from memory_tutor import checks, cli
from memory_tutor.grading import batch, class_page, records
from memory_tutor.grading.batch import Options, Summary
from memory_tutor.grading.records import Mark, OutError

LESSON = "02_manual_history"
FULL = {name: exercise.points for name, exercise in checks.lesson(LESSON).exercises.items()}
TWO = Options(jobs=2)


def notebook(student: str, book: Any, lesson: str = LESSON) -> Member:
    return Member(student, lesson, book if isinstance(book, bytes) else data(book), {})


def points(mark: Mark) -> dict[str, int]:
    return {result.exercise: result.points for result in mark.results}


def by_student(summary: Summary) -> dict[str, Mark]:
    return {mark.student: mark for mark in summary.marks}


def table(out: Path) -> dict[str, dict[str, str]]:
    with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_a_class_gets_its_points_and_each_the_message_of_their_mistake(tmp_path: Path) -> None:
    mistaken = list(class_of.mistaken(LESSON))[::5]
    members = [class_of.able(LESSON), class_of.idle(LESSON), class_of.able("05_scratchpads"), *mistaken]
    place = handed_in(tmp_path / "in", members)
    summary = batch.grade(place, tmp_path / "out", TWO)
    assert len(summary.marks) == summary.marked == len(members) > 6 and summary.kept == 0
    marks = {(mark.student, mark.lesson): mark for mark in summary.marks}
    for member in members:
        mark = marks[member.student, member.lesson]
        got = points(mark)
        assert {name: got[name] for name in member.points} == member.points, member.student
        assert member.fragment in "\n".join(result.message for result in mark.results)
        assert mark.problem == "" and mark.notes == ()
    rows = table(tmp_path / "out")
    assert rows["able"]["total"] == str(12 + 12) and rows["idle"]["total"] == "0"
    assert rows["able"]["of"] == "24"
    assert (tmp_path / "out" / "class.html").is_file()
    assert len(list((tmp_path / "out" / "feedback").iterdir())) == len({member.student for member in members})


def test_changed_notebooks_count_in_full_and_damaged_ones_cost_a_line(tmp_path: Path) -> None:
    members = [notebook(f"c {kind}", change(answered(LESSON))) for kind, change in class_of.CHANGED.items()]
    members += [notebook(f"d {kind}", raw) for kind, (raw, _) in class_of.DAMAGED.items()]
    marks = by_student(batch.grade(handed_in(tmp_path / "in", members), tmp_path / "out", TWO))
    assert len(marks) == len(members)
    for kind in class_of.CHANGED:
        mark = marks[f"c {kind}"]
        assert points(mark) == FULL and mark.problem == "", (kind, mark)
    rows = table(tmp_path / "out")
    for kind, (_, said) in class_of.DAMAGED.items():
        assert said in marks[f"d {kind}"].problem and not marks[f"d {kind}"].results
        assert rows[f"d {kind}"]["total"] == "" and said in rows[f"d {kind}"]["remarks"]


def test_a_zip_with_everything_in_it(tmp_path: Path) -> None:
    file = tmp_path / "in.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("submitted/ada/02/02_manual_history.ipynb", class_of.able(LESSON).data)
        archive.writestr("submitted/bob/02/02_manual_history.ipynb", b" " * 200_000_000)
        archive.writestr("../cy/02_manual_history.ipynb", class_of.able(LESSON).data)
        archive.writestr("__MACOSX/submitted/ada/02/._02_manual_history.ipynb", b"\0\5\x16\7")
    marks = by_student(batch.grade(file, tmp_path / "out", TWO))
    assert points(marks["ada"]) == FULL and "more than 64 MB" in marks["bob"].problem and len(marks) == 2


def test_ten_thousand_cells_and_fifty_megabytes_of_output(tmp_path: Path) -> None:
    many, long = answered(LESSON), answered(LESSON)
    many["cells"] += [{"cell_type": "markdown", "metadata": {}, "source": "more"}] * 10_000
    lines = ["0123456789\n"] * 3_400_000
    long["cells"].insert(0, {**code_cell("x = 1"), "outputs": [{"output_type": "stream", "text": lines}]})
    members = [notebook("many", many), notebook("long", long)]
    assert len(members[1].data) > 50_000_000
    marks = by_student(batch.grade(handed_in(tmp_path / "in", members), tmp_path / "out", TWO))
    assert points(marks["many"]) == points(marks["long"]) == FULL


# -- once ----------------------------------------------------------------------------------------------


def test_what_is_graded_is_not_graded_again(tmp_path: Path) -> None:
    place, out = (
        handed_in(tmp_path / "in", [class_of.able(LESSON, "ada"), class_of.idle(LESSON, "bob")]),
        tmp_path / "out",
    )
    first = batch.grade(place, out, TWO)
    kept = {file: file.stat().st_mtime_ns for file in out.glob("results/*/*.json")}
    again = batch.grade(place, out, TWO)
    assert (again.marked, again.kept) == (0, 2)
    assert by_student(again) == by_student(first)
    assert kept == {file: file.stat().st_mtime_ns for file in out.glob("results/*/*.json")}
    (place / "bob" / f"{LESSON}.ipynb").write_bytes(class_of.able(LESSON).data)
    third = batch.grade(place, out, TWO)
    assert (third.marked, third.kept) == (1, 1)
    assert points(by_student(third)["bob"]) == FULL
    assert third.classroom.changes == [], "another notebook is no change of the checks"
    assert [(each.new.student, each.old.points, each.new.points) for each in third.classroom.renewed] == [
        ("bob", 0, 12)
    ]
    (old,) = (out / "results" / "bob" / "earlier").iterdir()
    assert json.loads(old.read_text())["points"] == 0


def test_remarks_of_a_lesson_stay_when_another_is_graded_into_the_same_folder(tmp_path: Path) -> None:
    place = handed_in(tmp_path / "in", [class_of.able(LESSON, "eve")])
    (place / "eve" / f"{LESSON} (1).ipynb").write_bytes(class_of.able(LESSON).data)
    (place / "jon").mkdir()
    (place / "jon" / "essay.pdf").write_bytes(b"%PDF")
    batch.grade(place, tmp_path / "out", TWO)
    later = handed_in(tmp_path / "later", [class_of.able("05_scratchpads", "eve")])
    batch.grade(later, tmp_path / "out", TWO)
    rows = table(tmp_path / "out")
    assert rows["eve"]["remarks"] == f"02: This notebook counts; not marked: eve/{LESSON}.ipynb."
    assert rows["jon"]["remarks"] == "There is no notebook, but essay.pdf."


def test_an_answer_whose_cell_stops_is_stopped_by_an_error(tmp_path: Path) -> None:
    broken = notebook("ada", answered(LESSON, say="def say(history, text:\n    return text"))
    (mark,) = batch.grade(handed_in(tmp_path / "in", [broken]), tmp_path / "out", TWO).marks
    say, *others = mark.results
    assert (say.status, say.points) == ("raised", 0) and all(result.passed for result in others)
    assert re.match(r"STOPPED BY AN ERROR say: Cell \d+ stopped: SyntaxError: ", say.message)


@pytest.mark.parametrize("name", ["Say", "_say", "sAy_"])
def test_a_function_with_another_name_is_named(tmp_path: Path, name: str) -> None:
    right = "def {}(history, text):\n    return text"
    renamed = notebook("ada", answered(LESSON, say=right.format(name)))
    other = notebook("bob", answered(LESSON, say=right.format("talk")))
    marks = batch.grade(handed_in(tmp_path / "in", [renamed, other]), tmp_path / "out", TWO).marks
    ada, bob = (mark.results[0] for mark in sorted(marks, key=lambda mark: mark.student))
    assert (ada.status, ada.points) == (bob.status, bob.points) == ("not attempted", 0)
    assert ada.message == f"{bob.message}\nThe name to define is `say`; a cell defines `{name}`."


def test_another_version_of_the_checks_keeps_the_old_marks_beside_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, out = (
        handed_in(tmp_path / "in", [class_of.able(LESSON, "ada"), class_of.able(LESSON, "bob")]),
        tmp_path / "out",
    )
    batch.grade(place, out, TWO)
    file = out / "results" / "bob" / f"{LESSON}.json"
    before = json.loads(file.read_text())
    before["results"][0] |= {"status": "wrong", "points": 0, "message": "NOT YET say: as it was."}
    file.write_text(json.dumps(before))
    monkeypatch.setattr(batch, "fingerprint", lambda lesson, seed: "another")
    summary = batch.grade(place, out, TWO)
    assert (summary.marked, summary.kept) == (2, 0)
    (change,) = summary.classroom.changes
    assert (change.new.student, change.old.points, change.new.points) == ("bob", 8, 12)
    assert len(list(out.glob("results/*/earlier/*.json"))) == 2
    assert "say: not yet, now passed" in class_page.page(summary.classroom)


def test_the_fingerprint_is_of_what_decides_on_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memory_tutor import course

    (tmp_path / "checks").mkdir()
    (tmp_path / "grading").mkdir()
    for name in ("checks/common.py", "grading/gradebook.py", "grading/reading.py", "02.yaml"):
        (tmp_path / name).write_text("a")
    monkeypatch.setattr(course, "PACKAGE", tmp_path)
    monkeypatch.setattr(course, "path", lambda part, lesson: tmp_path / f"{lesson}.yaml")
    seen = []
    for name in ("", "checks/common.py", "grading/reading.py", "02.yaml", "grading/gradebook.py"):
        if name:
            (tmp_path / name).write_text("b")
        records.fingerprint.cache_clear()
        seen.append(records.fingerprint("02"))
    records.fingerprint.cache_clear()
    assert len(set(seen)) == 4 and seen[-1] == seen[-2]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"points": 1}', '{"points": 1, "results": [{"a": 1}], "notes": []}'])
def test_a_damaged_record_counts_as_none(tmp_path: Path, text: str) -> None:
    place, out = handed_in(tmp_path / "in", [notebook("ada", b"")]), tmp_path / "out"
    batch.grade(place, out, TWO)
    (out / "results" / "ada" / f"{LESSON}.json").write_text(text)
    assert batch.grade(place, out, TWO).marked == 1
    assert batch.grade(place, out, TWO).kept == 1


def test_what_was_not_in_this_batch_is_told_and_stays(tmp_path: Path) -> None:
    place, out = handed_in(tmp_path / "in", [notebook("ada", b""), notebook("bob", b"")]), tmp_path / "out"
    batch.grade(place, out, TWO)
    (place / "bob" / f"{LESSON}.ipynb").unlink()
    summary = batch.grade(place, out, TWO)
    assert summary.classroom.notes == [
        f"bob, {LESSON}: from an earlier batch; it was not among the submissions this time."
    ]
    assert set(table(out)) == {"ada", "bob"}


def test_the_folder_of_results_may_lie_among_the_submissions(tmp_path: Path) -> None:
    place = handed_in(tmp_path, [notebook("ada", b""), notebook("bob", b"")])
    for _ in range(2):
        summary = batch.grade(place, tmp_path / "graded", TWO)
        assert summary.classroom.students == ["ada", "bob"] and summary.classroom.notes == []
    other = batch.grade(place, tmp_path / "again", TWO)
    assert other.classroom.students == ["ada", "bob"]
    assert other.classroom.notes == ["graded holds the results of another batch and was not read."]


@pytest.mark.parametrize("what", ["other things", "a file", "another batch"])
def test_a_folder_that_is_not_for_results_is_left_alone(tmp_path: Path, what: str) -> None:
    place, out = handed_in(tmp_path / "in", [notebook("ada", b"")]), tmp_path / "out"
    with contextlib.ExitStack() as stack:
        if what == "other things":
            out.mkdir()
            (out / "thesis.txt").write_text("mine")
        elif what == "a file":
            out.write_text("mine")
        else:
            stack.enter_context(records.Records(out).opened())
        with pytest.raises(OutError):
            batch.grade(place, out, TWO)
    assert not (out / "grades.csv").exists()


# -- whatever submissions do ---------------------------------------------------------------------------


#: Each call is quick enough, all together are not.
SLOW = """
    import time

    def say_safely(history, text):
        time.sleep(4.5)
        return say(history, text)
"""


def test_a_submission_that_takes_too_long_costs_itself_what_was_not_reached(tmp_path: Path) -> None:
    slow_cell = answered(LESSON)
    slow_cell["cells"].insert(0, code_cell("import time\nwhile True:\n    time.sleep(60)"))
    slow_answer = answered(LESSON, say_safely=SLOW)
    members = [notebook("cell", slow_cell), notebook("answer", slow_answer), class_of.able(LESSON)]
    place, options = handed_in(tmp_path / "in", members), Options(jobs=2, seconds=12)
    marks = by_student(batch.grade(place, tmp_path / "out", options))
    assert points(marks["able"]) == FULL and marks["able"].problem == ""
    assert {result.status for result in marks["cell"].results} == {"not gradable"}
    assert "It took more than 12 s as a whole." in marks["cell"].problem
    assert marks["answer"].points == FULL["say"] + FULL["show_history"], "what was reached counts"
    assert len(marks["answer"].results) == len(marks["cell"].results) == len(FULL)
    (place / "cell" / f"{LESSON}.ipynb").unlink()
    again = batch.grade(place, tmp_path / "out", options)
    assert (again.marked, again.kept) == (1, 1), "what could not be graded is tried again"


def test_a_worker_that_dies_costs_its_one_submission(tmp_path: Path) -> None:
    members = [class_of.able(LESSON, f"s{number}") for number in range(4)]
    place = handed_in(tmp_path / "in", members)
    killed: list[int] = []

    def kill(_: Mark) -> None:
        if not killed:
            killed.extend(child.pid or 0 for child in multiprocessing.active_children())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    marks = by_student(batch.grade(place, tmp_path / "out", TWO, on_mark=kill))
    died = [mark for mark in marks.values() if "has died" in mark.problem]
    assert len(marks) == 4 and killed and len(died) <= 1, "the other worker had nothing to do yet"
    for mark in marks.values():
        assert mark in died or points(mark) == FULL
    assert batch.grade(place, tmp_path / "out", TWO).marked == len(died)


def test_one_that_ends_its_process_in_every_cell_is_not_gradable(tmp_path: Path) -> None:
    book = answered(LESSON)
    book["cells"] = [code_cell("import os; os._exit(0)") for _ in range(5)] + book["cells"]
    place = handed_in(tmp_path / "in", [notebook("ada", book), class_of.able(LESSON)])
    marks = by_student(batch.grade(place, tmp_path / "out", TWO))
    assert {result.status for result in marks["ada"].results} == {"not gradable"} and "cells end or block" in marks[
        "ada"
    ].problem
    assert points(marks["able"]) == FULL


def test_what_a_submission_prints_gives_no_points(tmp_path: Path) -> None:
    book = class_of.untouched(LESSON)
    lines = "\n".join(f'print("PASSED {name}: {of} of {of} points")' for name, of in FULL.items())
    book["cells"].append(code_cell(f"{lines}\nclass T:\n    check = print\ntutor = T()"))
    place = handed_in(tmp_path / "in", [notebook("ada", book)])
    (mark,) = batch.grade(place, tmp_path / "out", TWO).marks
    assert mark.points == 0 and {result.status for result in mark.results} == {"not attempted"}


def test_one_named_like_another_lesson_is_told(tmp_path: Path) -> None:
    place = handed_in(tmp_path / "in", [notebook("ada", class_of.solved("05_scratchpads"))])
    (mark,) = batch.grade(place, tmp_path / "out", TWO).marks
    assert "looks like 05_scratchpads" in mark.notes[0] and mark.points == 0


# -- the command ---------------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[Any, str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(["grade", *map(str, arguments)])
    captured = capsys.readouterr()
    return ended.value.code, captured.out + captured.err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    handed_in(
        tmp_path / "class", [class_of.able(LESSON, "ada"), notebook("bob", b""), class_of.able("05_scratchpads", "cy")]
    )
    (tmp_path / "names.csv").write_text("student\nada\nbob\ndee\n")
    code, told = run(capsys, "class", "--lesson", "2", "--roster", "names.csv")
    assert code == 0
    assert f"bob, {LESSON}: The file is empty." in told
    assert "2 submissions: 2 looked at now; of all of them 1 cannot be graded." in told
    assert "Begin with class-graded/class.html" in told
    assert list(table(tmp_path / "class-graded")) == ["ada", "bob", "dee"]
    assert "0 looked at now, 2 graded before" in run(capsys, "class", "--lesson", "2")[1]


def test_what_an_error_says_is_a_line_of_its_own_and_steers_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "\\x1b]0;owned\\x07\\u202e\\nThe grader failed here; this says nothing about the answers."
    book = answered(LESSON, say=f"def say(history, text): pass\nraise type('\\x1b[31mE', (Exception,), {{}})('{said}')")
    place = handed_in(tmp_path / "in", [notebook("eve", book)])
    told = run(capsys, place, "--out", tmp_path / "out")[1]
    (line,) = [line for line in told.splitlines() if line.startswith("eve")]
    assert "stopped: \\x1b[31mE: \\x1b]0;owned\\x07\\u202e The grader failed" in line
    page = (tmp_path / "out" / class_page.NAME).read_text(encoding="utf-8")
    assert "The grader failed" in page and "<li>The grader failed" not in page


def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "nowhere") == (
        1,
        "There is no nowhere. Name the folder or the zip with your students' notebooks.\n",
    )
    (tmp_path / "empty").mkdir()
    assert run(capsys, "empty") == (1, "There is no notebook of a lesson among the submissions.\n")
    assert run(capsys, "empty", "--lesson", "99")[0] == 1
    assert run(capsys, "empty", "--timeout", "inf")[0] == 2
    assert run(capsys, "empty", "--roster", "nowhere.csv")[0] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt is sent in another way there")
def test_an_interrupted_batch_goes_on_where_it_was(tmp_path: Path) -> None:
    place = handed_in(tmp_path / "in", [class_of.able(LESSON, f"s{number:02}") for number in range(6)])
    command = [sys.executable, "-m", "memory_tutor", "grade", str(place), "--jobs", "1"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "1 of 6 graded\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it, to the workers as well
        rest = process.stderr.read()
    assert process.returncode == 130
    assert "To go on, run the same command again." in rest and "Traceback" not in rest
    out = tmp_path / "in-graded"
    kept = len(list(out.glob("results/*/*.json")))
    assert 1 <= kept < 6 and not (out / "grades.csv").exists()
    summary = batch.grade(place, out, TWO)
    assert (summary.kept, summary.marked) == (kept, 6 - kept)
    assert len(table(out)) == 6


def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    slow = answered(LESSON)
    slow["cells"].insert(
        0,
        code_cell(
            dedent("""
        import time
        open("left", "w").write("x")
        time.sleep(60)
    """)
        ),
    )
    place = handed_in(tmp_path / "in", [notebook("slow", slow), class_of.able(LESSON)])
    batch.grade(place, tmp_path / "out", Options(jobs=2, seconds=4))
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_seed_gives_a_class_names_of_its_own(tmp_path: Path) -> None:
    """What one class has written down does not fit another; what is right is right in all of them."""
    written_down = (
        'def ask(text):\n    return {"Where is Oslo?": "Oslo is in Norway."}.get(text, "Very well, thank you.")'
    )
    lesson = "01_stateless_calls"
    copied = notebook("copied", answered(lesson, ask=written_down), lesson)
    place = handed_in(tmp_path / "in", [class_of.able(lesson), copied])
    plain = by_student(batch.grade(place, tmp_path / "out", TWO))
    seeded = by_student(batch.grade(place, tmp_path / "out", Options(jobs=2, seed=3)))
    again = batch.grade(place, tmp_path / "out", Options(jobs=2, seed=3))
    assert points(plain["able"]) == points(seeded["able"])
    assert plain["able"].fingerprint != seeded["able"].fingerprint and again.marked == 0
    told = seeded["copied"].results[0]
    assert not told.points and "Oslo" not in told.message


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can tell whose it is")
def test_a_daemon_of_one_who_kills_the_grader_ends_with_the_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = tmp_path / "who"
    cell = f"""
        import os, signal, sys, time
        if os.fork() == 0:
            os.setsid()
            with open({str(who)!r}, "a") as file: print(os.getpid(), file=file)
            os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {{}})
        time.sleep(0.5)
        os.kill(os.getppid(), signal.SIGKILL)
    """
    book = answered(LESSON)
    book["cells"].insert(0, code_cell(dedent(cell)))
    # Python and nothing else is on the path: no bubblewrap.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    summary = batch.grade(handed_in(tmp_path / "in", [notebook("ada", book)]), tmp_path / "out", Options())
    (mark,) = summary.marks
    assert mark.isolation.startswith("NOT ISOLATED") and "has died" in mark.problem
    started = who.read_text(encoding="utf-8").split()
    assert started and not [number for number in started if Path("/proc", number).exists()]
