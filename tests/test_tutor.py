"""The tutor in a notebook: what a cell shows for each outcome, hints, solutions, predictions, start."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

import memory_tutor
from memory_tutor import course, notebooks, solutions
from memory_tutor.course import CourseError
from memory_tutor.errors import TutorError
from memory_tutor.exercises import Exercise
from memory_tutor.progress import MARKER, Progress

LESSON = "01_stateless_calls"
SET_UP = f'''from openai import OpenAI
import memory_tutor

tutor = memory_tutor.start("{LESSON}")
client, model = OpenAI(), tutor.model'''
RIGHT = '''def ask(text):
    response = client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}])
    return response.choices[0].message.content or ""'''
OBJECT = RIGHT.replace('.choices[0].message.content or ""', "")
ADA = 'client.chat.completions.create(model=model, messages=[{"role": "user", "content": "What is my name?"}])'


def run(folder: Path, *cells: str, **env: str) -> list[Any]:
    """The outputs of cells in a fresh kernel, one list a cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    done = notebooks.run_notebook(notebook, folder, notebooks.environment(**env), timeout=60)
    return [cell.outputs for cell in done.cells]


def shown(outputs: list[Any]) -> str:
    """What a cell shows, as text."""
    return "\n".join(
        "\n".join(output.traceback)
        if output.output_type == "error"
        else output.get("text") or output.data["text/plain"]
        for output in outputs
    )


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A learner's folder."""
    (tmp_path / MARKER).mkdir()
    return tmp_path


def test_every_outcome_of_a_check_is_a_short_message_without_a_stack_trace(mine: Path) -> None:
    check = 'tutor.check("ask")'
    stub = "def ask(text):\n    raise NotImplementedError"
    crash = "def ask(text):\n    return text / 0"
    outputs = run(mine, SET_UP, check, stub, check, OBJECT, check, crash, check, RIGHT, check)
    results = [shown(outputs[number]) for number in (1, 3, 5, 7, 9)]
    words = ("NOT ATTEMPTED", "NOT ATTEMPTED", "NOT YET", "STOPPED BY AN ERROR", "PASSED")
    for text, word in zip(results, words, strict=True):
        assert text.startswith(f"{word} ask:"), text
        assert len(text.splitlines()) <= 8 and "Traceback" not in text and "site-packages" not in text
    assert 'tutor.hint("ask")' in results[2] and "tutor.hint" not in results[0]
    assert "return text / 0" in results[3]
    assert results[4] == "PASSED ask: 3 of 3 points"
    (passed,) = outputs[9]
    assert "<details>" in passed.data["text/markdown"]
    progress = Progress(mine)
    best = progress.best("ask")
    assert best is not None and best.passed and progress.failures("ask") == 2
    assert progress.last_lesson() == LESSON


def test_a_check_of_an_older_definition_says_so(mine: Path) -> None:
    check = 'tutor.check("ask")'
    broken = RIGHT.replace("return response", "return return")
    fails_before, fails_after = f"1 / 0\n{RIGHT}", f"{RIGHT}\n1 / 0"
    outputs = run(mine, SET_UP, broken, check, OBJECT, broken, check, fails_after, check, fails_before, check)
    never, object_, ran, older = (shown(outputs[number]).splitlines() for number in (2, 5, 7, 9))
    unfinished = "newest cell that begins `def ask` did not run to its end."
    assert never == ["NOT ATTEMPTED ask: `ask` is not defined yet.", f"The {unfinished}"]
    told = f"Checked was the `ask` that ran last; the {unfinished}"
    assert told in " ".join(object_) and ran == ["PASSED ask: 3 of 3 points"]
    assert " ".join(older) == f"PASSED ask: 3 of 3 points {told}"


def test_a_check_says_which_cell_is_to_be_run(mine: Path) -> None:
    set_up = SET_UP.replace(LESSON, "02_manual_history")
    safely = "def say_safely(history, text):\n    return say(history, text)"
    check = 'tutor.check("say_safely")'
    outputs = run(mine, set_up, check, safely, check, safely.replace("say_safely", "saysafely"), check)
    missing, error, misspelt = (shown(outputs[number]).splitlines() for number in (1, 3, 5))
    assert missing[1:] == ["Run the cell that defines it first."]
    assert "Run the cell that defines `say` first." in error
    assert "The name to define is `say_safely`; a cell that ran later defines `saysafely`." in misspelt


def test_set_up_twice_any_order_and_a_failed_start_between(mine: Path) -> None:
    ask = f"print({ADA}.choices[0].message.content)"
    outputs = run(mine, SET_UP, SET_UP, ask, 'memory_tutor.start("nonsense")', ask, SET_UP, ask)
    first, blocked, again = (shown(outputs[number]) for number in (2, 4, 6))
    assert first == again and "Qwen" in first
    assert "There is no lesson 'nonsense'" in blocked and "Traceback" not in blocked


def test_a_miss_in_a_notebook_is_a_few_lines(mine: Path) -> None:
    text = shown(run(mine, SET_UP, ADA.replace("What is", "What's"), OPENAI_API_KEY="k")[1])
    assert text.startswith("NOT RECORDED") and len(text.splitlines()) <= 25
    assert "you sent     What's my name?" in text and "recorded is  What is my name?" in text


def test_checks_are_not_in_the_transcript_and_need_no_recording(mine: Path) -> None:
    outputs = run(mine, SET_UP, RIGHT, 'tutor.check("ask")', "print(len(tutor.transcript))", ADA, "tutor.transcript")
    assert shown(outputs[3]) == "0\n"
    (table,) = outputs[5]
    assert "What is my name?" in table.data["text/html"] and "What is my name?" in table.data["text/plain"]


def test_an_interrupted_or_failing_cell_leaves_the_tutor_sane(mine: Path) -> None:
    stopped = f"""with tutor.unplugged():
    try:
        {ADA}
    except Exception as error:
        print(type(error).__name__)
    1 / 0"""
    outputs = run(mine, SET_UP, stopped, f"{ADA}.model")
    assert "APIConnectionError" in shown(outputs[1]) and "qwen" in shown(outputs[2])


def test_hints_come_one_by_one_and_survive_a_restart(mine: Path) -> None:
    hint = 'tutor.hint("ask")'
    first = [shown(each) for each in run(mine, SET_UP, hint, hint)[1:]]
    assert [text.count("Hint ") for text in first] == [1, 2]
    assert [shown(each).count("Hint ") for each in run(mine, SET_UP, hint, hint)[1:]] == [3, 3]


# -- without a kernel ----------------------------------------------------------------------------------


@pytest.fixture
def tutor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)
    started = memory_tutor.start(LESSON)
    capsys.readouterr()
    return started


#: Characters of a line that a cell shows in a window of 1280 pixels.
SHOWN = 75


@pytest.mark.parametrize("lesson", [*course.lesson_names(), None])
def test_start_says_in_short_lines_where_answers_come_from(
    lesson: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert memory_tutor.start(lesson).lesson == lesson
    lines = capsys.readouterr().out.splitlines()
    assert "qwen2.5-coder" in lines[0] and lines[-1] == "Nothing is sent; no key is used."
    assert len(lines) == 2 and max(map(len, lines)) <= SHOWN


@pytest.mark.parametrize("lesson", course.lesson_names())
def test_the_set_up_cell_can_be_read_without_scrolling(lesson: str) -> None:
    (cell,) = [cell for cell in notebooks.read(course.path("solutions", lesson)).cells if cell.id == "set-up-run"]
    assert max(map(len, cell.source.splitlines())) <= SHOWN


def test_the_model_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory_tutor.start(1).model == "gpt-6-luna"
    monkeypatch.setenv("OPENAI_MODEL", "another")
    assert memory_tutor.start(1).model == "another"


def test_a_solution_is_shown_after_three_failures_a_pass_or_giving_up(tutor: Any, capsys: Any) -> None:
    from memory_tutor.exercises import Result

    tutor.solution("ask")
    assert "give_up=True" in capsys.readouterr().out
    for number in range(3):
        tutor._progress.record_check(Result("ask", "wrong", 0, 3, f"try {number}"))
    tutor.solution("ask")
    text = capsys.readouterr().out
    assert "def ask" in text and "SOLUTION" not in text
    tutor.solution("count_context", give_up=True)
    assert "def count_context" in capsys.readouterr().out


def test_without_solutions_both_ways_to_one_say_so(tutor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_tutor.course.has", lambda part: part != "solutions")
    for call in (lambda: tutor.solution("ask", give_up=True), lambda: tutor.reference("ask")):
        with pytest.raises(solutions.NoSolution, match="carries no solutions"):
            call()


def test_reference_works_with_the_notebooks_client(tutor: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from openai import OpenAI

    names = {"client": OpenAI(api_key="k"), "model": "m"}
    monkeypatch.setattr("memory_tutor.tutor.notebook_globals", lambda: names)
    assert "Qwen" in tutor.reference("ask")("What is my name?")
    assert "not yours" in capsys.readouterr().out


def test_a_reference_brings_what_its_lesson_gives_unless_the_notebook_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def cell(source: str, **marks: object) -> dict[str, object]:
        return {"cell_type": "code", "source": source, "metadata": {"nbgrader": marks} if marks else {}}

    cells = [
        cell("raise RuntimeError('a demonstration is not run again')"),
        cell("class Conflict(Exception): pass"),
        cell("import json\nWINDOW = 4"),
        cell(
            "def first():\n    ### BEGIN SOLUTION\n    return WINDOW\n    ### END SOLUTION",
            solution=True,
            grade_id="first",
        ),
        cell(
            "def second() -> json.JSONEncoder:\n    return first(), Conflict, model", solution=True, grade_id="second"
        ),
    ]
    path = tmp_path / "01_x.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    monkeypatch.setattr("memory_tutor.course.path", lambda part, lesson: path)
    second = Exercise("second", "01_x", 1, (), lambda learner: None)

    window, conflict, model = solutions.reference(second, {"model": "m", "first": lambda: "the learner's"})()
    assert (window, conflict.__name__, model) == (4, "Conflict", "m")
    assert solutions.reference(second, {"model": "m", "Conflict": OSError})()[1] is OSError


def test_a_store_is_new_each_time_and_needs_nothing(tutor: Any) -> None:
    class Conflict(Exception):
        pass

    ada, turn = ("acme", "ada", "s1"), [{"role": "user", "content": "Zoë"}]
    one, two = tutor.store(conflict=Conflict), tutor.store(conflict=Conflict)
    one.append(ada, turn, 0, pad={"goal": "Rest"})
    assert one.load(ada)[:2] == (turn, {"goal": "Rest"}) and two.load(ada) == ([], {}, 0)
    with pytest.raises(Conflict):
        one.append(ada, turn, 0)


def test_an_answer_to_several_exercises_is_yours_once_all_have_passed(
    tutor: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from memory_tutor import checks
    from memory_tutor.exercises import Result

    names = {"client": None, "model": "m", "Assistant": "mine"}
    monkeypatch.setattr("memory_tutor.tutor.notebook_globals", lambda: names)
    for exercise in checks.lesson("08_capstone").answered_by("Assistant"):
        assert tutor.answer("Assistant") != "mine"
        assert "not yours" in capsys.readouterr().out
        tutor._progress.record_check(Result(exercise.name, "passed", 3, 3, "3 of 3 points"))
    assert tutor.answer("Assistant") == "mine"
    assert capsys.readouterr().out == "Assistant is yours.\n"


def test_a_prediction_is_kept_and_never_in_the_way(tutor: Any, capsys: Any) -> None:
    tutor.predict("second_call")
    tutor.predict("second_call", "z")
    tutor.reveal("second_call")
    nothing, wrong, *reveal = capsys.readouterr().out.splitlines()
    assert nothing.startswith("No choice yet") and "is not one of the choices: a, b, c" in wrong
    assert "your choice" not in "".join(reveal) and sum("right" in line for line in reveal) == 1
    tutor.predict("second_call", " (B) ")
    tutor.reveal("second_call")
    assert "wrong, your choice" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "nearest"),
    [
        (lambda tutor: tutor.check("aks"), "'ask'"),
        (lambda tutor: tutor.hint("make_it_rember"), "'make_it_remember'"),
        (lambda tutor: tutor.solution("count_contxt"), "'count_context'"),
        (lambda tutor: tutor.reveal("second_cal"), "'second_call'"),
    ],
)
def test_a_wrong_name_suggests_the_nearest(tutor: Any, call: Any, nearest: str) -> None:
    with pytest.raises(CourseError, match=nearest):
        call(tutor)


def test_an_exercise_of_this_lesson_is_suggested_first(tutor: Any) -> None:
    with pytest.raises(CourseError, match="Did you mean 'make_it_remember'"):
        tutor.check("remember")
    with pytest.raises(CourseError, match="Did you mean 'trim_messages'"):  # of another lesson, but for a letter
        tutor.check("trim_mesages")
    with pytest.raises(CourseError) as caught:
        tutor.solution("nothing")
    assert caught.value.message.endswith("This lesson has: ask, make_it_remember, count_context.")
    with pytest.raises(CourseError, match=r"This lesson has: second_call, .*token_count\."):
        tutor.reveal("zzz")


def test_without_a_name_the_exercises_of_the_lesson_are_listed(tutor: Any) -> None:
    for call in (tutor.check, tutor.hint, tutor.solution):
        with pytest.raises(CourseError) as caught:
            call()
        said = "Name the exercise, in quotes. This lesson has: ask, make_it_remember, count_context."
        assert caught.value._render_traceback_() == [said]
    with pytest.raises(CourseError, match=r"in quotes\. There are: ask, .*trim_turns, "):
        memory_tutor.start().hint()


def test_a_method_that_there_is_not_is_told_in_a_line(tutor: Any) -> None:
    for name, nearest in (("hnt", "hint"), ("transcripts", "transcript"), ("modl", "model")):
        with pytest.raises(TutorError) as caught:
            getattr(tutor, name)
        assert caught.value._render_traceback_() == [f"The tutor has no {name!r}. Did you mean {nearest!r}?"]
    with pytest.raises(AttributeError, match=r"There are: answer, chart, .*unplugged\.$"):
        _ = tutor.xyzzy


def test_what_python_and_ipython_ask_of_an_object_is_answered(tutor: Any) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    assert not hasattr(tutor, "hnt") and getattr(tutor, "hnt", 3) == 3 and hasattr(tutor, "hint")
    assert copy.copy(tutor).transcript is tutor.transcript
    with pytest.raises(AttributeError) as caught:
        _ = tutor._repr_html_
    assert not isinstance(caught.value, TutorError)
    data, _ = InteractiveShell().display_formatter.format(tutor)
    assert data == {"text/plain": repr(tutor)}


def test_a_tutor_says_what_it_is(tutor: Any) -> None:
    from openai import OpenAI

    assert repr(tutor) == f"<tutor of {LESSON}: mode replay, 0 requests so far>"
    OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "What is my name?"}])
    assert repr(tutor) == f"<tutor of {LESSON}: mode replay, 1 request so far>"
    assert repr(memory_tutor.start()) == "<tutor of all lessons: mode replay, 0 requests so far>"


@pytest.mark.parametrize("wrong", [None, 3, ["ask"], len])
def test_what_is_no_name_is_told_in_a_sentence(tutor: Any, wrong: Any) -> None:
    for call in (tutor.check, tutor.hint, tutor.solution, tutor.reference, tutor.predict, tutor.reveal):
        with pytest.raises(CourseError, match=r'text in quotes, for example "(ask|second_call)"'):
            call(wrong)


def test_a_function_in_place_of_its_name_is_named(tutor: Any) -> None:
    def count_context() -> None: ...

    with pytest.raises(CourseError, match='for example "count_context"'):
        tutor.check(count_context)
    with pytest.raises(CourseError) as caught:
        tutor.check("x" * 3000)
    assert "x" * 100 not in caught.value.message


def test_a_start_that_is_interrupted_leaves_nothing_open(tutor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from openai import OpenAI

    from memory_tutor import cassette, replay

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cassette, "load", interrupt)
    with pytest.raises(KeyboardInterrupt):
        memory_tutor.start(LESSON)
    with pytest.raises(replay.Blocked, match="Run the set-up cell again"):
        OpenAI().models.list()


def test_a_mode_that_is_no_text(tutor: Any) -> None:
    with pytest.raises(TutorError, match="no mode '3'"):
        memory_tutor.start(LESSON, mode=3)  # type: ignore[arg-type]


def test_a_class_that_is_checked_from_several_sides_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    tutor = memory_tutor.start("08_capstone")
    for ask in (tutor.check, tutor.hint, tutor.solution):
        with pytest.raises(CourseError, match=r"Assistant is checked from 5 sides: keeps_apart"):
            ask("Assistant")


def test_no_server_is_started_where_answers_are_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORY_TUTOR_LEARNER", "1")
    tutor = memory_tutor.start("06_persistence")
    assert list(tutor.stores("redis", "postgres", "mongo", conflict=Exception)) == []
    assert "left out where answers are checked" in capsys.readouterr().out


def test_without_solutions_a_cell_that_needs_one_says_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solutions.course, "has", lambda part: False)
    tutor = memory_tutor.start("07_frameworks")
    with pytest.raises(solutions.NoSolution, match="go on with the next cell"):
        tutor.reference("trim_messages")
