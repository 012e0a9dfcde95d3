"""What a learner is offered: hints after a failure, a solution, another way after a pass, and what progress says."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest

import memory_tutor
from memory_tutor import checks, course, notebooks, progress_page
from memory_tutor.cli import main
from memory_tutor.exercises import Exercise, Lesson, run_check
from memory_tutor.learner import KernelLearner
from memory_tutor.progress import MARKER, Progress
from memory_tutor.tutor import CheckStopped

LESSON = "01_stateless_calls"
SET_UP = f'from openai import OpenAI\nimport memory_tutor\n\ntutor = memory_tutor.start("{LESSON}")\n'
SET_UP += "client, model = OpenAI(), tutor.model"
WRONG = "def ask(text):\n    return text"
CRASH = "def ask(text):\n    return text / 0"
STUB = "def ask(text):\n    raise NotImplementedError"
RIGHT = '''def ask(text):
    response = client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}])
    return response.choices[0].message.content or ""'''
EXERCISES = [exercise for lesson in checks.lessons() for exercise in lesson.exercises.values()]


class Desk:
    """A learner's folder and a tutor in it."""

    def __init__(self, folder: Path, names: dict[str, Any], read: Callable[[], str]) -> None:
        self.folder = folder
        self.names = names
        self.read = read
        self.tutor = memory_tutor.start(LESSON)
        read()

    def write(self, code: str) -> None:
        exec(code, self.names)

    def check(self) -> str:
        """What the check cell shows."""
        try:
            self.tutor.check("ask")
        except CheckStopped as stopped:
            return "\n".join(stopped._render_traceback_())
        return self.read()

    def solution(self, **how: bool) -> str:
        self.tutor.solution("ask", **how)
        return self.read()

    def told(self) -> str:
        """What progress says of the solution: the same in a terminal and on the page."""
        with pytest.raises(SystemExit):
            main(["progress", "1", "--folder", str(self.folder)])
        terminal = " ".join(re.sub(r"[│┃]", " ", self.read()).split())
        rows = progress_page.page(Progress(self.folder)).split("<tr>")
        (page,) = [row for row in rows if row.startswith('<th scope="row"><code>ask</code>')]
        said = re.findall(r"<td>(.*?)</td>", page)[4]
        assert said in terminal
        return said


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    from openai import OpenAI

    (tmp_path / MARKER).mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    names: dict[str, Any] = {"client": OpenAI(api_key="k"), "model": "m", "__name__": "__main__"}
    monkeypatch.setattr("memory_tutor.tutor.notebook_globals", lambda: names)
    return Desk(tmp_path, names, lambda: capsys.readouterr().out)


def test_every_failure_offers_the_next_hint_and_the_third_a_solution(desk: Desk) -> None:
    desk.write(STUB)
    assert desk.check().startswith("NOT ATTEMPTED") and "tutor." not in desk.check()
    desk.write(WRONG)
    assert desk.check().splitlines()[-1] == 'For hint 1 of 3: tutor.hint("ask")'
    desk.tutor.hint("ask")
    assert desk.read().startswith("Hint 1 of 3: ")
    desk.write(CRASH)
    assert desk.check().splitlines()[-1] == 'For hint 2 of 3: tutor.hint("ask")'
    assert desk.check().splitlines()[-2:] == [
        'For hint 2 of 3: tutor.hint("ask")',
        'To see a solution: tutor.solution("ask")',
    ]
    desk.tutor.hint("ask")
    desk.tutor.hint("ask")
    assert desk.check().splitlines()[-1] == 'To see a solution: tutor.solution("ask")'
    assert "tutor.hint" not in desk.check()


def test_after_the_last_hint_what_is_offered_works(desk: Desk) -> None:
    for _ in range(3):
        desk.tutor.hint("ask")
    desk.write(WRONG)
    offered = desk.check().splitlines()[-1]
    assert offered == 'To see a solution at once: tutor.solution("ask", give_up=True)'
    desk.read()
    exec(offered.partition(": ")[2], {"tutor": desk.tutor})
    assert "def ask" in desk.read()


def test_a_pass_says_its_points_and_offers_nothing(desk: Desk) -> None:
    desk.write(RIGHT)
    assert desk.check() == "PASSED ask: 3 of 3 points\n"


def test_every_hint_can_be_read_on_a_laptop(desk: Desk) -> None:
    for exercise in EXERCISES:
        for _ in exercise.hints:
            desk.tutor.hint(exercise.name)
        lines = desk.read().splitlines()
        assert max(map(len, lines)) <= 92 and lines[0].startswith("Hint 1 of 3: "), exercise.name


def test_a_solution_before_its_time_says_how_many_tries_are_left(desk: Desk) -> None:
    for code, left in ((STUB, 3), (WRONG, 2), (CRASH, 1)):
        desk.write(code)
        desk.check()
        said = desk.solution()
        assert f": {left} to go." in said and "give_up=True" in said and "def ask" not in said
        assert desk.told() == "no"
    desk.check()
    assert "def ask" in desk.solution()


def test_the_ways_to_a_solution_are_told_apart_in_progress(desk: Desk) -> None:
    desk.write(WRONG)
    desk.check()
    assert "def ask" in desk.solution(give_up=True)
    assert desk.told() == "gave up: seen before a pass"
    desk.write(RIGHT)
    desk.check()
    desk.solution()
    assert desk.told() == "gave up: seen before a pass", "what was seen before the pass stays so"


def test_a_solution_after_three_failures_is_not_giving_up(desk: Desk) -> None:
    desk.write(WRONG)
    for _ in range(3):
        desk.check()
    desk.solution(give_up=True)
    assert desk.told() == "seen after failed checks"


def test_a_solution_after_a_pass_is_told_so(desk: Desk) -> None:
    desk.write(RIGHT)
    desk.check()
    assert "def ask" in desk.solution()
    assert desk.told() == "seen after a pass"


# -- another right way, after a pass -------------------------------------------------------------------

#: What stands around the code of another way: what its sentence leaves out.
AROUND = {
    "ask": "def ask(text):\n    messages = [{{'role': 'user', 'content': text}}]\n"
    "    response = client.chat.completions.create(model=model, messages=messages)\n{code}",
    "complete_step": "def complete_step(session, step):\n    if not step.strip():\n"
    "        raise ValueError('A step needs words.')\n{code}",
}


def code_of(exercise: Exercise) -> list[str]:
    """The blocks of code in another way."""
    return re.findall(r"```python\n(.*?)```", exercise.another_way, re.DOTALL)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_another_way_says_when_it_is_better_and_its_code_passes(exercise: Exercise) -> None:
    assert len(exercise.another_way.split()) >= 20
    assert "better" in exercise.another_way
    blocks = code_of(exercise)
    assert (exercise.name in AROUND) == bool(blocks), "code that no test runs"
    for block in blocks:
        names: dict[str, Any] = {"__name__": "__main__"}
        exec('from openai import OpenAI\nclient, model = OpenAI(api_key="k"), "m"', names)
        exec(AROUND[exercise.name].format(code=textwrap.indent(block, "    ")), names)
        with KernelLearner(names) as learner:
            result = run_check(exercise, learner)
        assert result.passed, result.message


# -- predictions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lesson", checks.lessons(), ids=lambda lesson: lesson.name)
def test_the_answer_repeats_the_choices_as_the_lesson_words_them(lesson: Lesson) -> None:
    cells = notebooks.read(course.path("solutions", lesson.name)).cells
    text = " ".join(re.sub(r"^> ?", "", line) for cell in cells for line in cell.source.splitlines())
    told = " ".join(text.replace("`", "").split())
    choices = [item for prediction in lesson.predictions.values() for item in prediction.choices.items()]
    assert choices
    missing = [
        f"({letter}) {choice}" for letter, choice in choices if f"({letter}) {choice.replace('`', '')}" not in told
    ]
    assert not missing


# -- what a lesson says ---------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(course.folder("solutions").glob("[0-9]*.ipynb")), ids=lambda file: file.stem)
def test_keys_work_from_within_a_cell_and_one_is_no_plural(file: Path) -> None:
    cells = notebooks.read(file).cells
    assert not [cell.source for cell in cells if re.search(r"[Pp]ress [A-Z]\b", cell.source)]
    printed = [output.text for cell in cells for output in cell.get("outputs", []) if output.output_type == "stream"]
    assert printed and not [text for text in printed if re.search(r"(?<![\d.,])1 conversations\b", text)]


def test_what_the_strip_of_lesson_2_asks_is_answered_below_it() -> None:
    cells = notebooks.read(course.path("solutions", "02_manual_history")).cells
    (at,) = [place for place, cell in enumerate(cells) if cell.id == "cost-growth-strip"]
    before, strip, after = cells[at - 1 : at + 2]
    assert "Which blocks" in before.source and "Every block but the last two" in after.source
    rows = [line.split() for line in strip.outputs[0].data["text/plain"].splitlines()[2:-1]]
    sent = [int(row[1]) for row in rows]
    assert all(int(row[5]) == 0 for row in rows), "nothing of the row above is gone"
    assert [now - then for then, now in pairwise(sent)] == [2] * 7


# -- what CI compares ----------------------------------------------------------------------------------


def test_what_a_cell_shows_hangs_on_no_progress(tmp_path: Path) -> None:
    """The same cells after failures, hints and a solution: nbval compares the solved notebooks' outputs."""

    def shown(name: str, *before: str) -> list[Any]:
        folder = tmp_path / name
        (folder / MARKER).mkdir(parents=True)
        cells = [SET_UP, *before, RIGHT, 'tutor.check("ask")', "len(tutor.transcript)"]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        done = notebooks.run_notebook(notebook, folder, notebooks.environment(), timeout=60)
        outputs = [cell.outputs for cell in [done.cells[0], *done.cells[-2:]]]
        for output in [each for cell in outputs for each in cell]:
            output.pop("execution_count", None)
        return outputs

    anew = shown("anew")
    check = 'tutor.check("ask")'
    hint, solution = 'tutor.hint("ask")', 'tutor.solution("ask")'
    assert shown("after a lot", WRONG, check, check, check, hint, hint, hint, solution) == anew
    assert "PASSED" in str(anew[1])


@pytest.mark.parametrize("file", sorted(course.folder("lessons").glob("[0-9]*.ipynb")), ids=lambda file: file.stem)
def test_no_cell_of_the_course_shows_a_hint_or_a_solution_and_lessons_hold_no_outputs(file: Path) -> None:
    """nbval compares the cells that have been run: none of a lesson's, all of a solution's."""
    lesson = [cell for cell in notebooks.read(file).cells if cell.cell_type == "code"]
    assert all(cell.execution_count is None and cell.outputs == [] for cell in lesson)
    solved = [cell for cell in notebooks.read(course.path("solutions", file.stem)).cells if cell.cell_type == "code"]
    assert not [cell.source for cell in lesson + solved if re.search(r"tutor\.(hint|solution)\(", cell.source)]
    passed = [cell for cell in solved if notebooks.checked_name(cell)]
    assert passed and all("PASSED" in cell.outputs[0].data["text/plain"] for cell in passed)
