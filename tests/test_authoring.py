"""Lessons are what their solutions make, and every rule of the lint has a case that breaks it."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

import tiny_course
from memory_tutor import authoring, lint, names, notebooks
from memory_tutor.authoring import AuthoringError, Drift, build
from memory_tutor.checkout import Checkout, CheckoutError
from memory_tutor.lint import LintError
from memory_tutor.notebooks import NotebookError
from tiny_course import CHECK, NAME, cell, code, prose

pytest.importorskip("nbgrader", reason="build needs nbgrader")


def quick(checkout: Checkout, check: bool = False) -> list[str]:
    """Build without running the notebooks."""
    return build(check, checkout=checkout, run_answers=False)


# -- build ---------------------------------------------------------------------------------------------


@pytest.fixture
def built(tmp_path: Path) -> Any:
    checkout = tiny_course.make(tmp_path)
    assert quick(checkout) == [NAME]
    return notebooks.read(checkout.lesson(NAME))


def test_a_lesson_has_stubs_and_no_solution(built: Any) -> None:
    assert cell(built, "shout-answer").source == (
        "def shout(text: str) -> str:\n    raise NotImplementedError  # put your code in place of this line"
    )
    assert "SOLUTION" not in notebooks.text_of(built)


def test_a_lesson_lacks_the_cells_that_only_record_and_keeps_the_rest_in_order(built: Any) -> None:
    ids = [each.id for each in tiny_course.notebook().cells]
    ids.remove("edits")
    assert [each.id for each in built.cells] == ids


def test_a_lesson_keeps_tags_and_marks_and_cannot_lose_its_checks(built: Any) -> None:
    check = cell(built, "shout-check").metadata
    assert check.tags == ["raises-exception"]
    assert check.nbgrader.points == 3
    assert check.deletable is False
    assert check.editable is False
    assert cell(built, "shout-answer").metadata.get("editable", True)


def test_a_lesson_has_no_outputs_and_no_trace_of_the_editor(tmp_path: Path) -> None:
    solution = tiny_course.notebook()
    demo = cell(solution, "demo")
    demo.outputs, demo.execution_count = [nbformat.v4.new_output("stream", text="seen")], 7
    demo.metadata["execution"] = {"iopub.status.busy": "2026-11-30T10:00:00Z"}
    solution.metadata["language_info"] = {"name": "python", "version": "3.11.7"}
    checkout = tiny_course.make(tmp_path, solution)
    quick(checkout)
    text = checkout.lesson(NAME).read_text(encoding="utf-8")
    assert "seen" not in text
    assert "2026" not in text
    assert "3.11.7" not in text
    assert {each.get("execution_count") for each in notebooks.read(checkout.lesson(NAME)).cells} == {None}


def test_an_untouched_lesson_is_byte_identical_and_is_not_written_again(tmp_path: Path) -> None:
    checkout = tiny_course.make(tmp_path)
    quick(checkout)
    first = checkout.lesson(NAME).read_bytes()
    assert b"\r" not in first
    assert first.endswith(b"}\n")
    assert quick(checkout) == []
    checkout.lesson(NAME).unlink()
    assert quick(checkout) == [NAME]
    assert checkout.lesson(NAME).read_bytes() == first


def test_building_leaves_the_solution_alone(tmp_path: Path) -> None:
    checkout = tiny_course.make(tmp_path)
    before = checkout.solution(NAME).read_bytes()
    quick(checkout)
    assert checkout.solution(NAME).read_bytes() == before


def _edit(lesson: Path, edit: Callable[[Any], object]) -> None:
    made = notebooks.read(lesson)
    edit(made)
    notebooks.write(lesson, made)


DRIFT: dict[str, tuple[Callable[[Any], object], str]] = {
    "another source": (
        lambda nb: cell(nb, "demo").update(source="print(send('My name is Bob.'))"),
        "cell 4 (demo) differs in its source, line 1: \"print(send('My name is Bob.'))\" stands for",
    ),
    "a tag lost": (lambda nb: cell(nb, "shout-check").metadata.pop("tags"), "(shout-check) differs in its metadata"),
    "an output": (
        lambda nb: cell(nb, "demo").outputs.append(nbformat.v4.new_output("stream", text="x")),
        "(demo) differs in its outputs",
    ),
    "a cell lost": (lambda nb: nb.cells.pop(), "cell 10 (end) is missing"),
    "a cell more": (lambda nb: nb.cells.append(code("more", "1")), "cell 11 (more) is not in the solution"),
    "other metadata": (lambda nb: nb.metadata.update(author="me"), "its metadata differs"),
}


@pytest.mark.parametrize("name", DRIFT)
def test_check_names_the_lesson_and_the_first_cell_that_drifted(tmp_path: Path, name: str) -> None:
    edit, said = DRIFT[name]
    checkout = tiny_course.make(tmp_path)
    quick(checkout)
    assert quick(checkout, check=True) == []
    _edit(checkout.lesson(NAME), edit)
    drifted = checkout.lesson(NAME).read_bytes()
    with pytest.raises(Drift) as caught:
        quick(checkout, check=True)
    assert caught.value.message.startswith(f"lessons/{NAME}.ipynb is not what its solution makes: ")
    assert said in caught.value.message
    assert checkout.lesson(NAME).read_bytes() == drifted


def test_check_sees_other_line_endings(tmp_path: Path) -> None:
    checkout = tiny_course.make(tmp_path)
    quick(checkout)
    lesson = checkout.lesson(NAME)
    lesson.write_bytes(lesson.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(Drift, match="another form"):
        quick(checkout, check=True)


def test_check_says_that_a_lesson_was_never_built(tmp_path: Path) -> None:
    checkout = tiny_course.make(tmp_path)
    with pytest.raises(Drift, match="does not exist"):
        quick(checkout, check=True)
    assert not checkout.lesson(NAME).exists()


def test_without_nbgrader_build_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nbgrader", None)
    with pytest.raises(AuthoringError, match="pip install 'memory-tutor") as caught:
        quick(tiny_course.make(tmp_path))
    assert len(caught.value.message.splitlines()) == 1


def test_nothing_is_written_when_one_of_two_solutions_is_refused(tmp_path: Path) -> None:
    checkout = tiny_course.make(tmp_path)
    checkout.solution("02_broken").write_text("{", encoding="utf-8")
    with pytest.raises(NotebookError, match="02_broken"):
        quick(checkout)
    assert not checkout.lesson(NAME).exists()


def test_what_nbgrader_refuses_is_reported_in_a_line_that_names_the_solution(
    capsys: pytest.CaptureFixture[str],
) -> None:
    solution = tiny_course.notebook()
    cell(solution, "demo").source = "### BEGIN SOLUTION\n1\n### END SOLUTION"
    with pytest.raises(AuthoringError, match=f"solutions/{NAME}.ipynb: nbgrader refuses it"):
        authoring.make_lesson(solution, NAME)
    assert capsys.readouterr() == ("", "")


def test_outside_a_checkout_build_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memory_tutor import course

    monkeypatch.setattr(course, "PACKAGE", tmp_path / "site-packages" / "memory_tutor")
    with pytest.raises(CheckoutError, match="needs a checkout"):
        build()


# -- reading and writing -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is damaged"),
        ('{"cells": [', "is damaged"),
        ("[]", "is damaged"),
        ('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}', "older format"),
        ('{"cells": [], "metadata": {}, "nbformat": 3, "nbformat_minor": 0}', "older format"),
        ('{"cells": [{"id": "a"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "not a valid notebook"),
    ],
)
def test_a_damaged_notebook_is_named_and_never_repaired(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NotebookError, match=said) as caught:
        notebooks.read(path)
    assert str(path) in caught.value.message
    assert path.read_text(encoding="utf-8") == text


def test_two_cells_of_one_id_are_refused_not_renamed(tmp_path: Path) -> None:
    solution = tiny_course.notebook()
    cell(solution, "end").id = "demo"
    with pytest.raises(NotebookError, match=r"cell 11: the id 'demo' is also that of cell 4"):
        quick(tiny_course.make(tmp_path, solution))


def test_a_rename_that_fails_puts_the_others_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, last = tmp_path / "old", tmp_path / "new", tmp_path / "last"
    old.write_text("before", encoding="utf-8")
    rename = Path.replace

    def fail_at_last(self: Path, target: Path) -> Path:
        if Path(target) == last:
            raise PermissionError(13, "is open elsewhere")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", fail_at_last)
    with pytest.raises(NotebookError, match=r"last cannot be written: is open elsewhere. Nothing was changed"):
        notebooks.replace_all({old: "after", new: "after", last: "after"})
    assert old.read_text(encoding="utf-8") == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_folder_that_is_gone_stops_the_writing_before_the_first_file(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("before", encoding="utf-8")
    with pytest.raises(NotebookError, match="Nothing was changed"):
        notebooks.replace_all({old: "after", tmp_path / "gone" / "x": "after"})
    assert old.read_text(encoding="utf-8") == "before"


def test_a_traceback_loses_the_frames_that_show_files_of_this_machine(tmp_path: Path) -> None:
    nb = nbformat.v4.new_notebook(cells=[code("x", "import json\njson.loads('{')", "raises-exception")])
    notebooks.run_notebook(nb, tmp_path, notebooks.environment())
    (output,) = nb.cells[0].outputs
    assert output.ename == "JSONDecodeError"
    text = "\n".join(output.traceback)
    assert "Cell" in text
    assert str(Path(sys.prefix)) not in text
    assert "json/decoder.py" not in text


def test_a_kernel_is_of_this_interpreter_and_gets_nothing_but_what_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not for kernels")
    monkeypatch.setenv("MEMORY_TUTOR_LEARNER", "1")
    source = 'import os, sys\nprint(sys.executable, [n for n in os.environ if n.startswith(("OPENAI", "MEMORY"))])'
    seen: list[int] = []
    nb = nbformat.v4.new_notebook(cells=[prose("p", "text"), code("x", source), code("bad", "1/0"), code("y", "2")])
    env = notebooks.environment(MEMORY_TUTOR_MODE="replay")
    notebooks.run_notebook(nb, tmp_path, env, lambda index, cell: seen.append(index))
    assert nb.cells[1].outputs == [
        {"output_type": "stream", "name": "stdout", "text": f"{sys.executable} ['MEMORY_TUTOR_MODE']\n"}
    ]
    assert seen == [0, 1, 2, 3]
    assert [each.get("execution_count") for each in nb.cells] == [None, 1, 2, 3]
    assert notebooks.failures(nb, "f") == ["f, cell 3 (bad): ZeroDivisionError: division by zero"]


@pytest.mark.parametrize(
    ("source", "said"), [("import os\nos._exit(1)", "the kernel died"), ("while True: pass", "did not end in 1 s")]
)
def test_a_kernel_that_dies_or_hangs_is_reported_with_its_cell(tmp_path: Path, source: str, said: str) -> None:
    nb = nbformat.v4.new_notebook(cells=[code("fine", "1"), code("bad", source)])
    with pytest.raises(NotebookError, match=said) as caught:
        notebooks.run_notebook(nb, tmp_path, notebooks.environment(), timeout=1 if "while" in source else 60)
    assert "cell 2 (bad)" in caught.value.message


# -- lint ----------------------------------------------------------------------------------------------


def _marks(nb: Any, id_: str, **marks: Any) -> None:
    cell(nb, id_).metadata["nbgrader"].update(marks)


def _source(nb: Any, id_: str, source: str) -> None:
    cell(nb, id_).source = source


def _insert(nb: Any, *cells: Any) -> None:
    nb.cells[4:4] = cells


def _drop(nb: Any, *ids: str) -> None:
    nb.cells = [each for each in nb.cells if each.id not in ids]


FAULTS: dict[str, tuple[Callable[[Any], object], str]] = {
    "no markers": (
        lambda nb: _source(nb, "shout-answer", "def shout(text):\n    return text"),
        "cell 9 (shout-answer): a marker is missing",
    ),
    "no end marker": (
        lambda nb: _source(nb, "shout-answer", tiny_course.ANSWER.replace("### END SOLUTION", "")),
        "cell 9 (shout-answer): a marker is missing",
    ),
    "markers the wrong way round": (
        lambda nb: _source(nb, "shout-answer", "def shout(text):\n    ### END SOLUTION\n    ### BEGIN SOLUTION\n    1"),
        "cell 9 (shout-answer): a marker is missing",
    ),
    "a marker in a demonstration": (
        lambda nb: _source(nb, "demo", "### BEGIN SOLUTION\n1\n### END SOLUTION"),
        "cell 4 (demo): a solution marker in a cell that is not an answer cell",
    ),
    "an answer that defines something else": (
        lambda nb: _source(nb, "shout-answer", tiny_course.ANSWER.replace("shout", "whisper")),
        "cell 9 (shout-answer): it does not define 'shout'",
    ),
    "an answer to nothing": (
        lambda nb: _insert(nb, code("more", tiny_course.ANSWER, grade_id="cry", solution=True)),
        "(more): an answer to 'cry', which is no exercise",
    ),
    "no task cell": (lambda nb: _drop(nb, "shout-task"), "(shout-answer): exercise shout has no task cell"),
    "a task cell that is not locked": (
        lambda nb: cell(nb, "shout-task").metadata.pop("nbgrader"),
        "(shout-answer): exercise shout has no task cell",
    ),
    "no check cell": (lambda nb: _drop(nb, "shout-check"), "(shout-answer): exercise shout has no check cell"),
    "no answer cell": (lambda nb: _drop(nb, "shout-answer"), "exercise shout: no answer cell has this grade_id"),
    "a check before the answer": (
        lambda nb: nb.cells.insert(0, nb.cells.pop(9)),
        "cell 1 (shout-check): the check of shout stands before the answer",
    ),
    "other points": (
        lambda nb: _marks(nb, "shout-check", points=4),
        "(shout-check): its metadata gives 4 points, its check 3",
    ),
    "a check cell of two lines": (
        lambda nb: _source(nb, "shout-check", 'tutor.check("shout")\n1'),
        '(shout-check): a check cell must be exactly one line, tutor.check("name")',
    ),
    "a check cell without its tag": (
        lambda nb: cell(nb, "shout-check").metadata.pop("tags"),
        "(shout-check): it lacks the tag raises-exception",
    ),
    "a check cell without its marks": (
        lambda nb: cell(nb, "shout-check").metadata.pop("nbgrader"),
        "(shout-check): a check cell must be graded and locked",
    ),
    "a check of nothing": (
        lambda nb: _source(nb, "shout-check", 'tutor.check("shuot")'),
        "(shout-check): it checks 'shuot', which is no exercise",
    ),
    "a check twice": (
        lambda nb: nb.cells.append(
            code("again", 'tutor.check("shout")', "raises-exception", **{**CHECK, "grade_id": "other"})
        ),
        "(again): 'shout' is checked in solutions/01_tiny.ipynb, cell 10 (shout-check) already",
    ),
    "a check among other code": (
        lambda nb: _source(nb, "demo", 'x = 1\ntutor.check("shout")'),
        "(demo): a check must be alone in its cell",
    ),
    "a grade_id twice": (
        lambda nb: _marks(nb, "shout-check", grade_id="shout"),
        "(shout-check): its grade_id 'shout' is also that of",
    ),
    "half of the marks": (
        lambda nb: cell(nb, "shout-task").metadata["nbgrader"].pop("task"),
        "(shout-task): its nbgrader metadata lacks task",
    ),
    "a demonstration that defines the exercise": (
        lambda nb: _source(nb, "demo", "def shout(text):\n    return text"),
        "(demo): it defines 'shout', the name of an exercise",
    ),
    "a demonstration that imports it": (
        lambda nb: _source(nb, "demo", "from os import getcwd as shout"),
        "(demo): it defines 'shout'",
    ),
    "a solution-only cell that deletes it": (
        lambda nb: _source(nb, "edits", "del shout"),
        "(edits): it defines 'shout'",
    ),
    "not Python": (lambda nb: _source(nb, "demo", "print("), "(demo): it is not valid Python"),
    "a prediction without its reveal": (
        lambda nb: _drop(nb, "reveal-same"),
        "(predict-same): the prediction 'same' has no reveal after it",
    ),
    "a reveal before its prediction": (
        lambda nb: nb.cells.insert(0, nb.cells.pop(4)),
        "cell 1 (reveal-same): it reveals 'same' before it is asked",
    ),
    "an unknown prediction": (
        lambda nb: _source(nb, "predict-same", 'tutor.predict("some", "a")'),
        "(predict-same): 'some' is no prediction",
    ),
    "a prediction that is not asked": (
        lambda nb: _drop(nb, "predict-same", "reveal-same"),
        "the prediction 'same' is not asked",
    ),
    "a prediction asked twice": (
        lambda nb: _insert(nb, code("again", 'tutor.predict("same", "b")')),
        "(again): 'same' is asked in solutions/01_tiny.ipynb, cell 3 (predict-same) already",
    ),
    "a hint for nothing": (
        lambda nb: _source(nb, "demo", 'tutor.hint("shuot")'),
        "(demo): tutor.hint('shuot') names no exercise",
    ),
    "a solution-only cell of prose": (
        lambda nb: _insert(nb, _tagged(prose("note", "for authors"), "solution-only")),
        "(note): a solution-only cell must be code",
    ),
}


def _tagged(made: Any, tag: str) -> Any:
    made.metadata["tags"] = [tag]
    return made


def problems(checkout: Checkout) -> list[str]:
    """What the lint says, and that nothing was written."""
    with pytest.raises(LintError) as caught:
        quick(checkout)
    assert not checkout.lesson(NAME).exists()
    return caught.value.problems


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found_and_names_the_notebook_and_the_cell(tmp_path: Path, name: str) -> None:
    spoil, said = FAULTS[name]
    solution = tiny_course.notebook()
    spoil(solution)
    found = problems(tiny_course.make(tmp_path, solution))
    assert any(said in each for each in found), found
    assert all(each.startswith(f"solutions/{NAME}.ipynb") for each in found)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hints": ("one", "two")}, "exercise shout: it needs 3 hints and has 2"),
        ({"hints": ("one", " ", "three")}, "exercise shout: it needs 3 hints and has 2"),
        ({"points": 0}, "exercise shout: it gives no points"),
    ],
)
def test_an_exercise_without_hints_or_points_is_found(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    asks = tiny_course.lesson()
    asks.exercises["shout"] = replace(asks.exercises["shout"], **change)
    assert any(said in each for each in problems(tiny_course.make(tmp_path, asks=asks)))


def test_an_exercise_that_no_notebook_asks_is_found(tmp_path: Path) -> None:
    asks = tiny_course.lesson()
    asks.exercises["cry"] = replace(asks.exercises["shout"], name="cry", answer="cry")
    found = problems(tiny_course.make(tmp_path, asks=asks))
    assert f"solutions/{NAME}.ipynb, exercise cry: no answer cell has this grade_id." in found


def test_one_answer_may_be_checked_from_several_sides(tmp_path: Path) -> None:
    asks = tiny_course.lesson()
    asks.exercises["loud"] = replace(asks.exercises["shout"], name="loud", answer="shout")
    lacking = problems(tiny_course.make(tmp_path, asks=asks))
    assert f"solutions/{NAME}.ipynb, cell 9 (shout-answer): exercise loud has no check cell." in lacking
    assert not any("grade_id" in each for each in lacking)

    nb = tiny_course.notebook()
    second = copy.deepcopy(tiny_course.cell(nb, "shout-check"))
    second.id, second.source, second.metadata.nbgrader.grade_id = "loud-check", 'tutor.check("loud")', "check_loud"
    nb.cells.insert(-1, second)
    assert not any("notebook" in each or "cell" in each for each in problems(tiny_course.make(tmp_path, nb, asks)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# shout", "needs 1 wrong answer(s) to it in WRONG"),
        ('WRONG = {}\nRIGHT = {"shout": [1, 2]}', "needs 1 wrong answer(s) to it in WRONG"),
        ('WRONG = {"shout": []}\nRIGHT = {"shout": [1, 2]}', "needs 1 wrong answer(s) to it in WRONG"),
        ('WRONG: dict = {"shout": [1]}\nRIGHT = {"shout": [1]}', "needs 2 right answer(s) to it in RIGHT"),
        ('WRONG: dict = {"shout": [1]}', "needs 2 right answer(s) to it in RIGHT"),
        ("WRONG = {", "cannot be read"),
    ],
)
def test_an_exercise_without_misconceptions_is_found(tmp_path: Path, text: str, said: str) -> None:
    checkout = tiny_course.make(tmp_path)
    checkout.misconceptions(NAME).write_text(text, encoding="utf-8")
    found = problems(checkout)
    assert said in found[0]
    assert "tests/misconceptions/test_01_tiny.py" in found[0]


def test_a_lesson_without_a_module_of_misconceptions_is_found(tmp_path: Path) -> None:
    checkout = tiny_course.make(tmp_path)
    checkout.misconceptions(NAME).unlink()
    assert "cannot be read" in problems(checkout)[0]


@pytest.mark.parametrize("name", ["solutions/draft.ipynb", "lessons/09_gone.ipynb", "cassettes/01_tiny.yaml~"])
def test_a_stray_file_is_found(tmp_path: Path, name: str) -> None:
    checkout = tiny_course.make(tmp_path)
    (tmp_path / name).write_text("", encoding="utf-8")
    assert problems(checkout) == [f"{name}: a stray file, no lesson has this name. Delete or rename it."]


def test_what_git_ignores_is_no_stray_file(tmp_path: Path) -> None:
    checkout = tiny_course.make(tmp_path)
    for name in ("solutions/.ipynb_checkpoints", "lessons/my-lessons", "cassettes/__pycache__"):
        (tmp_path / name).mkdir()
    (tmp_path / "solutions" / "README.md").write_text("", encoding="utf-8")
    assert quick(checkout) == [NAME]


def test_a_lesson_without_exercises_module_is_found(tmp_path: Path) -> None:
    def none(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    checkout = replace(tiny_course.make(tmp_path), lesson_of=none)
    assert "it has no exercises, the module is missing" in problems(checkout)[0]


def test_one_name_in_two_lessons_is_found(tmp_path: Path) -> None:
    checkout = tiny_course.make(tmp_path)
    other = copy.deepcopy(tiny_course.notebook())
    notebooks.write(checkout.solution("02_other"), other)
    checkout.misconceptions("02_other").write_text('WRONG = RIGHT = {"shout": [1, 2]}', encoding="utf-8")
    checkout = replace(checkout, lesson_of=tiny_course.lesson)
    assert problems(checkout) == [
        f"solutions/02_other.ipynb, exercise shout: solutions/{NAME}.ipynb has an exercise of this name too."
    ]


def test_no_solutions_at_all_is_a_fault(tmp_path: Path) -> None:
    checkout = tiny_course.make(tmp_path)
    checkout.solution(NAME).unlink()
    assert problems(checkout) == ["solutions/: there is no solution to make a lesson from."]


# -- stubs and solutions -------------------------------------------------------------------------------


def test_a_course_whose_stub_fails_and_whose_solution_passes_is_built(tmp_path: Path) -> None:
    checkout = tiny_course.make(tmp_path)
    assert build(checkout=checkout) == [NAME]


ANSWERS = {
    "a solution that fails": (
        "def shout(text):\n    ### BEGIN SOLUTION\n    return text\n    ### END SOLUTION",
        f"solutions/{NAME}.ipynb, cell 9 (shout-answer): its check should say 'passed', and says: NOT YET shout: "
        "It is not loud.",
    ),
    "a stub that passes": (
        'def shout(text):\n    return text + "!"\n    ### BEGIN SOLUTION\n    ### END SOLUTION',
        f"lessons/{NAME}.ipynb, cell 8 (shout-answer): its check should say 'not attempted', and says: PASSED",
    ),
    "a stub that is wrong, not unattempted": (
        'def shout(text):\n    if text:\n        return text + "?"\n    ### BEGIN SOLUTION\n    ### END SOLUTION',
        f"lessons/{NAME}.ipynb, cell 8 (shout-answer): its check should say 'not attempted', and says: NOT YET",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_stub_and_a_solution_must_say(tmp_path: Path, name: str) -> None:
    source, said = ANSWERS[name]
    solution = tiny_course.notebook()
    cell(solution, "shout-answer").source = source
    checkout = tiny_course.make(tmp_path, solution)
    with pytest.raises(LintError) as caught:
        build(checkout=checkout)
    assert any(each.startswith(said) for each in caught.value.problems), caught.value.problems
    assert not checkout.lesson(NAME).exists()


# -- names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "def ask(): ...",
        "async def ask(): ...",
        "class ask: ...",
        "ask = 1",
        "ask: int = 1",
        "ask += 1",
        "a, (b, *ask) = x",
        "import ask",
        "import ask.part",
        "import x as ask",
        "from x import y as ask",
        "for ask in x: ...",
        "with x as ask: ...",
        "try: ...\nexcept E as ask: ...",
        "if x:\n    ask = 1",
        "while (ask := f()): ...",
        "[ask := y for y in z]",
        "match x:\n    case {'a': ask}: ...",
        "match x:\n    case [*ask]: ...",
        "match x:\n    case {**ask}: ...",
        "def f():\n    global ask\n    ask = 1",
        "del ask",
        "%time 1\nask = await x",
        "async with x as ask: ...",
        "async for ask in x: ...",
    ],
)
def test_every_way_to_define_a_global_name_is_seen(source: str) -> None:
    assert "ask" in names.bound_names(source)


@pytest.mark.parametrize(
    "source",
    ["ask()", "x.ask = 1", "x['ask'] = 1", "def f(ask):\n    ask = 1", "class A:\n    ask = 1", "[1 for ask in x]"],
)
def test_what_is_no_global_name_is_left_alone(source: str) -> None:
    assert "ask" not in names.bound_names(source)


def test_rules_are_all_applied() -> None:
    own = {value for name, value in vars(lint).items() if name.startswith("rule_")}
    assert own == set(lint.RULES)
    assert len(own) == len(lint.RULES)
