"""What students get: it is whole, it works, and no solution is in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import class_of
import pytest
import yaml

from memory_tutor import releasing, workspace
from memory_tutor.checkout import Checkout, CheckoutError
from memory_tutor.releasing import ReleaseError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> releasing.Release:
    return releasing.release(tmp_path_factory.mktemp("class") / "week-1", ["2", "sliding_windows"])


def files(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def test_the_chosen_notebooks_a_wheel_and_instructions(released: releasing.Release) -> None:
    notebooks = {"lessons/02_manual_history.ipynb", "lessons/04_sliding_windows.ipynb"}
    assert files(released.folder) == {*notebooks, released.wheel, "README.md"}
    for name in notebooks:
        assert (released.folder / name).read_bytes() == (ROOT / name).read_bytes()
    assert [path.name for path in released.folder.parent.iterdir()] == ["week-1"], "something was left beside it"


def test_the_instructions_name_what_is_there(released: releasing.Release) -> None:
    told = (released.folder / "README.md").read_text(encoding="utf-8")
    assert told.count(released.wheel) >= 3
    assert "`02_manual_history.ipynb` (12 points)" in told and "01_" not in told
    assert "memory-tutor start lessons --lesson 2" in told and "the other lessons of the course" in told
    assert "{" not in told and "langchain" not in told


def test_lesson_7_is_installed_with_its_frameworks(tmp_path: Path) -> None:
    made = releasing.release(tmp_path / "week-7", ["7"])
    told = (made.folder / "README.md").read_text(encoding="utf-8")
    assert told.count(f'pip install "{made.wheel}[langchain]"') == 2, "on Linux, on Windows"
    assert f"upload `{made.wheel}` into" in told, "a file's name, as it is"


def test_the_instructions_lead_to_the_notebook_that_is_handed_in(released: releasing.Release, tmp_path: Path) -> None:
    """`start lessons` takes the folder that was released: what is written there is what is graded."""
    folder = shutil.copytree(released.folder, tmp_path / "unpacked") / "lessons"
    answered = (folder / "02_manual_history.ipynb").read_bytes().replace(b"raise NotImplementedError", b"return 1")
    (folder / "02_manual_history.ipynb").write_bytes(answered)
    assert workspace.make(folder) == folder
    copied = workspace.copy_lessons(folder)
    assert {"02_manual_history", "04_sliding_windows", *copied} == set(Checkout.here().names())
    assert (folder / "02_manual_history.ipynb").read_bytes() == answered


def test_the_wheel_starts_a_lesson_and_says_kindly_that_it_has_no_solution(
    released: releasing.Release, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile", "--target"]
    subprocess.run([*command, str(tmp_path / "packages"), str(released.folder / released.wheel)], check=True)
    code = """
import memory_tutor
tutor = memory_tutor.start("02_manual_history")
try:
    tutor.solution("say", give_up=True)
except Exception as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "packages")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Nothing is sent; no key is used." in done.stdout
    assert "Ask your teacher" in done.stdout


def test_every_solution_is_looked_for(released: releasing.Release) -> None:
    exercises = {answer for name in Checkout.here().names() for answer in Checkout.here().lesson_of(name).answers}
    looked_for = releasing.solution_texts(Checkout.here())
    assert all(any(f", {name} (" in place for place in looked_for) for name in exercises)
    assert released.solutions == len(looked_for) and released.texts > 50


def test_solutions_are_found_in_every_solved_notebook_and_in_a_full_wheel(tmp_path: Path) -> None:
    looked_for = releasing.solution_texts(Checkout.here())
    for name in Checkout.here().names():
        (tmp_path / name).mkdir()
        (tmp_path / name / "copy.ipynb").write_bytes(Checkout.here().solution(name).read_bytes())
        with pytest.raises(ReleaseError, match=f"copy.ipynb holds the solution {name}"):
            releasing.prove(tmp_path / name, looked_for)
    (tmp_path / "wheel").mkdir()
    with zipfile.ZipFile(tmp_path / "wheel" / "memory_tutor-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("memory_tutor/fine.py", "x = 1")
        wheel.writestr("memory_tutor/course/x.ipynb", Checkout.here().solution("01_stateless_calls").read_bytes())
    with pytest.raises(ReleaseError, match=r"whl: memory_tutor/course/x.ipynb holds the solution 01_stateless_calls"):
        releasing.prove(tmp_path / "wheel", looked_for)


@pytest.mark.parametrize("kept", ["# mine\n{}", "def f():\n        {}"], ids=["beside a comment", "indented further"])
def test_a_solution_is_found_in_another_form(kept: str, tmp_path: Path) -> None:
    place, solution = next(iter(releasing.solution_texts(Checkout.here()).items()))
    (tmp_path / "notes.txt").write_text(kept.format(solution.replace("\n", "\n\n        # so\n        ")))
    with pytest.raises(ReleaseError, match=r"notes\.txt holds the solution"):
        releasing.prove(tmp_path, {place: solution})


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(ReleaseError, match="not empty"):
        releasing.release(tmp_path)
    with pytest.raises(ReleaseError, match="not empty"):
        releasing.release(tmp_path / "mine.txt")
    with pytest.raises(CheckoutError, match="There is no solution for '12'"):
        releasing.release(tmp_path / "new", ["12"])
    assert files(tmp_path) == {"mine.txt"}


def test_a_wheelhouse_that_cannot_be_fetched_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ReleaseError, match=r"^The wheels for a room without internet cannot be fetched: ERROR: .*"):
        releasing.release(tmp_path / "new", ["1"], wheelhouse=True)
    assert files(tmp_path) == set()


def test_the_guides_workflow_marks_what_was_pushed(tmp_path: Path) -> None:
    """Its last line, in a release with right answers, with one wrong answer, and untouched."""
    guide = (ROOT / "solutions" / "README.md").read_text(encoding="utf-8")
    workflow = yaml.safe_load(guide.partition("```yaml\n")[2].partition("```")[0])
    *_, install, check = [step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step]
    made = releasing.release(tmp_path / "repository", ["1"])
    assert list(made.folder.glob(install.removeprefix("pip install ./")))
    notebook = made.folder / "lessons" / "01_stateless_calls.ipynb"
    answers = {
        "passed": class_of.answered("01_stateless_calls"),
        "not yet": class_of.answered("01_stateless_calls", ask="def ask(client, text):\n    return text"),
    }
    codes = {"untouched": _run(check, made.folder)}
    for name, book in answers.items():
        notebook.write_bytes(class_of.data(book))
        codes[name] = _run(check, made.folder)
    assert codes == {"untouched": 1, "passed": 0, "not yet": 1}


def _run(line: str, folder: Path) -> int:
    """The exit code of a shell's line, with this Python's programs."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(line, shell=True, cwd=folder, env={**os.environ, "PATH": programs}).returncode
