"""The doctor: every fault that stops a lesson is found, with its mend, and nothing secret is shown."""

from __future__ import annotations

import errno
import json
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from memory_tutor import cli, course, doctor, live, workspace
from memory_tutor.doctor import Finding
from small_course import small_course

__all__ = ["small_course"]

KEY = "sk-not-to-be-shown"
LESSONS = pytest.mark.skipif(not course.lesson_names(), reason="this checkout has no lessons yet")


def foreign_kernel(folder: Path, *argv: str) -> None:
    """Describe a kernel in the place where Jupyter looks first."""
    place = folder / "kernels" / "python3"
    place.mkdir(parents=True)
    spec = {"argv": list(argv), "display_name": "Another", "language": "python"}
    (place / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")


def kernel_finding() -> Finding:
    with doctor._kernel() as kernel:
        return kernel.finding


# -- a kernel ------------------------------------------------------------------------------------------


def test_the_kernel_is_this_python() -> None:
    before = dict(os.environ)
    found = kernel_finding()
    assert found.state == "ok", found
    assert sys.executable in found.says
    assert dict(os.environ) == before


def test_a_kernel_of_another_python_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A real kernel that says it lives elsewhere, as one of another environment would.
    pretend = "import sys; sys.prefix = '/elsewhere'; from ipykernel.kernelapp import launch_new_instance as go; go()"
    foreign_kernel(tmp_path, sys.executable, "-c", pretend, "-f", "{connection_file}")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    found = kernel_finding()
    assert found.state == "problem"
    assert str(tmp_path / "kernels" / "python3") in found.says
    assert "kernelspec remove python3" in found.mend


@pytest.mark.parametrize("argv", [["/not/there/python", "-f", "{connection_file}"], [sys.executable, "-c", "1 / 0"]])
def test_a_kernel_that_does_not_start_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    foreign_kernel(tmp_path, *argv)
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    found = kernel_finding()
    assert found.state == "problem"
    assert "does not start" in found.says
    assert str(tmp_path) in found.says
    assert "kernelspec remove python3" in found.mend


def test_a_users_own_kernel_does_not_stand_before_this_pythons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (Path(sys.prefix) / "share" / "jupyter" / "kernels" / "python3").is_dir():
        pytest.skip("ipykernel has left no description in this environment")
    foreign_kernel(tmp_path, "/not/there/python")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    assert kernel_finding().state == "ok"


# -- what is installed ---------------------------------------------------------------------------------


def versions() -> dict[str, Finding]:
    return {found.what: found for found in doctor._versions()}


def test_what_is_asked_for_is_what_the_package_says() -> None:
    found = versions()
    assert {"openai", "vcrpy", "jupyter", "typer", "rich", "filelock", "jupyterlab", "ipykernel"} == set(found)
    assert {each.state for each in found.values()} == {"ok"}


def test_a_package_that_is_too_old_or_missing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    version = metadata.version

    def older(name: str) -> str:
        if name == "vcrpy":
            raise metadata.PackageNotFoundError(name)
        return "3.8.0" if name == "openai" else version(name)

    monkeypatch.setattr(metadata, "version", older)
    found = versions()
    assert found["openai"].state == found["vcrpy"].state == "problem"
    assert "3.8.0, but >=3.16 is needed" in found["openai"].says
    assert 'pip install "openai>=3.16"' in found["openai"].mend
    assert 'pip install "vcrpy>=9.4"' in found["vcrpy"].mend


def test_a_damaged_cassette_is_found(small_course: Path) -> None:
    (small_course / "cassettes" / "01_loud.yaml").write_bytes(b"interactions: [")
    found = doctor._course_files()
    assert found.state == "problem"
    assert "01_loud.yaml" in found.says


def test_no_lessons_is_a_problem(small_course: Path) -> None:
    for file in (small_course / "lessons").iterdir():
        file.unlink()
    assert doctor._course_files().state == "problem"


# -- the folder and the environment --------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace.make(tmp_path / "mine"))
    assert doctor._writable_folder().state == "ok"

    def refuse(**_: object) -> Any:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)
    found = doctor._writable_folder()
    assert found.state == "problem"
    assert os.strerror(errno.EACCES) in found.says
    assert str(tmp_path) in found.says


def environment() -> dict[str, Finding]:
    return {found.what: found for found in doctor._environment()}


def test_nothing_set_is_well() -> None:
    assert {each.state for each in environment().values()} == {"ok"}


def test_a_key_is_named_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://me:{KEY}@models.example/v1")
    found = environment()
    assert found["API key"].state == "ok"
    assert "not used in replay" in found["API key"].says
    assert "models.example" in found["Endpoint"].says
    assert KEY not in str(found)


def test_a_mode_that_costs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_TUTOR_MODE", "live")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asked = []
    monkeypatch.setattr(live, "check_endpoint", lambda *request: asked.append(request) or ["It knows no such model."])
    found = environment()
    assert found["Mode"].state == found["API key"].state == "note"
    assert "may cost" in found["Mode"].says
    assert "It knows no such model." in found["Mode"].says
    assert [mode for mode, _ in asked] == ["live"]


def test_a_live_mode_without_a_key_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_TUTOR_MODE", "explore")
    found = environment()["Mode"]
    assert found.state == "problem"
    assert "OPENAI_API_KEY is not set" in found.says


def test_an_endpoint_that_does_not_answer_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_TUTOR_MODE", "live")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:{KEY}@127.0.0.1:9/v1")
    found = environment()
    assert found["Mode"].state == "problem"
    assert "Nothing answers at 127.0.0.1:9" in found["Mode"].says
    assert KEY not in str(found)


def test_a_mode_that_is_none_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_TUTOR_MODE", "reply")
    found = environment()["Mode"]
    assert found.state == "problem"
    assert "Unset MEMORY_TUTOR_MODE" in found.mend


# -- all of it -----------------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str]) -> tuple[Any, str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(["doctor"])
    captured = capsys.readouterr()
    return ended.value.code, captured.out + captured.err


@LESSONS
def test_a_lesson_will_run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    # Nobody is at this address: a request that was sent would fail.
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    code, told = run(capsys)
    assert code == 0, told
    assert "answered from the recording" in told
    assert "A lesson will run here." in told
    assert KEY not in told
    assert list(tmp_path.iterdir()) == []


@LESSONS
def test_a_problem_is_told_with_its_mend_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign_kernel(tmp_path, "/not/there/python")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    code, told = run(capsys)
    assert code == 1
    assert "Kernel: " in told
    assert "A lesson will not run here yet." in told
