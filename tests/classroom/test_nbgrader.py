"""nbgrader's own pipeline, from the lessons to its gradebook: it takes them as they are, and marks as we do."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memory_tutor import headless, notebooks, releasing
from memory_tutor.checkout import Checkout
from memory_tutor.releasing import ReleaseError

LESSON = "02_manual_history"
#: What each student has in place of a stub; the first is the solution.
ANSWERS: dict[str, dict[str, str]] = {
    "ada": {},
    "bob": {"say": "def say(history, text):\n    history.append({'role': 'user', 'content': text})\n    return 'OK.'"},
    "chen": {"show_history": "def show_history(history):\n    return str(history)"},
    "dora": {"say": "def say(history, text:\n    return"},
    "emil": {name: f"def {name}(*args):\n    raise NotImplementedError" for name in ("say", "show_history")},
}


def nbgrader(course: Path, *arguments: str) -> None:
    code = "import sys; from nbgrader.apps.nbgraderapp import main; sys.exit(main())"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "MEMORY_"))}
    # Its kernels and databases keep to the course's folder.
    environment |= {"HOME": str(course), "JUPYTER_CONFIG_DIR": str(course / "config")}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course in which every student's notebook has been graded."""
    folder = tmp_path_factory.mktemp("nbgrader")
    assert releasing.nbgrader_course(folder, ["2"]) == [LESSON]
    nbgrader(folder, "generate_assignment", LESSON)
    for student, answers in ANSWERS.items():
        submitted = folder / "submitted" / student / LESSON
        submitted.mkdir(parents=True)
        shutil.copy(folder / "release" / LESSON / f"{LESSON}.ipynb", submitted)
        notebook = notebooks.read(submitted / f"{LESSON}.ipynb")
        solved = {cell.id: cell.source for cell in notebooks.read(Checkout.here().solution(LESSON)).cells}
        for cell in notebook.cells:
            if notebooks.grading(cell).get("solution"):
                cell.source = answers.get(notebooks.grading(cell)["grade_id"], solved[cell.id])
        notebooks.write(submitted / f"{LESSON}.ipynb", notebook)
    nbgrader(folder, "autograde", LESSON)
    nbgrader(folder, "generate_feedback", LESSON)
    nbgrader(folder, "export")
    return folder


def test_what_it_releases_is_our_lesson(course: Path) -> None:
    theirs = notebooks.read(course / "release" / LESSON / f"{LESSON}.ipynb").cells
    ours = notebooks.read(Checkout.here().lesson(LESSON)).cells
    assert [(cell.id, cell.source) for cell in theirs] == [(cell.id, cell.source) for cell in ours]


def test_its_marks_are_ours(course: Path) -> None:
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        theirs = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    ours = {
        student: headless.check(course / "submitted" / student / LESSON / f"{LESSON}.ipynb", LESSON).points
        for student in ANSWERS
    }
    assert theirs == ours
    assert theirs["ada"] == 12 and len(set(theirs.values())) > 2


def test_there_is_feedback_for_each(course: Path) -> None:
    for student in ANSWERS:
        page = (course / "feedback" / student / LESSON / f"{LESSON}.html").read_text(encoding="utf-8")
        assert ("NOT YET" in page or "STOPPED BY AN ERROR" in page or "NOT ATTEMPTED" in page) == (student != "ada")


def test_an_assignment_is_not_written_over(course: Path) -> None:
    with pytest.raises(ReleaseError, match="is there already"):
        releasing.nbgrader_course(course, ["1", "2"])
    assert not (course / "source" / "01_stateless_calls").exists()
