"""The course as it stands: lessons made from their solutions, sound cassettes, stubs that are not attempted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from memory_tutor import checks, course, notebooks
from memory_tutor.audit import audit
from memory_tutor.authoring import build
from memory_tutor.checkout import Checkout

LESSONS = course.lesson_names()


def test_there_are_lessons() -> None:
    assert LESSONS[:2] == ["01_stateless_calls", "02_manual_history"]


def test_every_lesson_is_what_its_solution_makes_and_the_lint_finds_nothing() -> None:
    pytest.importorskip("nbgrader", reason="build needs nbgrader")
    assert build(check=True) == []


def test_the_audit_of_the_cassettes_is_clean() -> None:
    assert audit().findings == []


@pytest.mark.parametrize("name", LESSONS)
def test_an_unsolved_lesson_runs_to_its_end_and_each_check_says_not_attempted(name: str, tmp_path: Path) -> None:
    notebook = notebooks.read(course.path("lessons", name))
    # With the settings of somebody who has a key and an endpoint: neither may be used.
    env = notebooks.environment(OPENAI_API_KEY="not-to-be-used", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    done = notebooks.run_notebook(notebook, tmp_path, env, timeout=60)
    said = {}
    for cell in done.cells:
        errors = [output for output in cell.get("outputs", ()) if output.output_type == "error"]
        if checked := notebooks.checked_name(cell):
            (error,) = errors
            said[checked] = error.traceback[0].partition(":")[0]
        else:
            assert errors == [], f"{name}, cell {cell.id}: {errors}"
    assert said == {exercise: f"NOT ATTEMPTED {exercise}" for exercise in checks.lesson(name).exercises}


@pytest.mark.parametrize("name", LESSONS)
def test_points_and_minutes_in_the_syllabus_are_those_of_the_lesson(name: str) -> None:
    lesson = checks.lesson(name)
    row = next(
        line for line in (course.folder("lessons") / "README.md").read_text("utf-8").splitlines() if name in line
    )
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    for number in (lesson.level, lesson.minutes, lesson.points):
        assert str(number) in cells, f"{number} is not in {row}"


@pytest.mark.parametrize("name", ["README.md", ".github/CONTRIBUTING.md", "lessons/README.md", "cassettes/README.md"])
def test_every_link_in_the_pages_leads_to_a_file(name: str) -> None:
    page = Checkout.here().root / name
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_nothing_but_the_course_stands_at_the_top() -> None:
    root = Checkout.here().root
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    top = {Path(name).parts[0] for name in listed if name}
    extra = {name for name in top if not name.startswith(".")}
    assert extra <= {"lessons", "solutions", "tests", "cassettes", "pyproject.toml", "README.md", "LICENSE"}


def test_an_older_python_is_told_in_one_sentence() -> None:
    code = "import sys; sys.version_info = (3, 10, 4); import memory_tutor"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: memory-tutor needs Python 3.11 or newer, and this is 3.10. "
        "Make the environment with a newer python3."
    )
