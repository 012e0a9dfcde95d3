"""The wheel: carries the course, with or without solutions, and works far from any checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from memory_tutor import course

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(not course.lesson_names(), reason="this checkout has no lessons yet")


def build(target: str, folder: Path, **settings: str) -> Path:
    """Build from the checkout with the hatchling that is installed; no network."""
    command = [sys.executable, "-m", "build", f"--{target}", "--no-isolation", "-o", str(folder), str(ROOT)]
    subprocess.run(command, check=True, env={**os.environ, **settings}, capture_output=True)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def without_solutions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("without"), MEMORY_TUTOR_WITHOUT_SOLUTIONS="1")


def carried(wheel: Path) -> set[str]:
    """The course's files in a wheel, below memory_tutor/course."""
    names = zipfile.ZipFile(wheel).namelist()
    return {name.removeprefix("memory_tutor/course/") for name in names if name.startswith("memory_tutor/course/")}


def expected(*parts: str) -> set[str]:
    suffix = {"lessons": "ipynb", "solutions": "ipynb", "cassettes": "yaml"}
    files = {f"{part}/{name}.{suffix[part]}" for part in parts for name in course.lesson_names()}
    return files | {f"{part}/README.md" for part in parts if (ROOT / part / "README.md").is_file()}


def test_the_wheel_carries_every_part_of_every_lesson(wheel: Path) -> None:
    assert carried(wheel) == expected("lessons", "solutions", "cassettes")
    archive = zipfile.ZipFile(wheel)
    for name in carried(wheel):
        assert archive.read(f"memory_tutor/course/{name}") == (ROOT / name).read_bytes()


def test_a_wheel_for_classes_holds_no_solution(without_solutions: Path) -> None:
    assert carried(without_solutions) == expected("lessons", "cassettes")
    archive = zipfile.ZipFile(without_solutions)
    marker = b"### BEGIN " + b"SOLUTION"
    notebooks = [name for name in archive.namelist() if name.endswith(".ipynb")]
    assert not [name for name in notebooks if marker in archive.read(name)]


def test_the_metadata(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    folder = next(name.partition("/")[0] for name in archive.namelist() if ".dist-info/" in name)
    told = message_from_bytes(archive.read(f"{folder}/METADATA"))
    assert (told["Name"], told["License-Expression"]) == ("memory-tutor", "MIT AND CC-BY-4.0")
    assert told["Requires-Python"] == ">=3.11"
    assert "memory-tutor = memory_tutor.__main__:main" in archive.read(f"{folder}/entry_points.txt").decode()
    assert f"{folder}/licenses/LICENSE" in archive.namelist()
    assert not [name for name in archive.namelist() if not name.startswith(("memory_tutor/", folder))]


def test_an_editable_install_uses_the_checkouts_own_files(tmp_path: Path) -> None:
    code = f"from hatchling.build import build_editable; print(build_editable({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    (made,) = tmp_path.iterdir()
    assert carried(made) == set()
    assert str(ROOT / "lessons") in zipfile.ZipFile(made).read("_memory_tutor.pth").decode()


def test_a_wheel_can_be_built_from_the_source_archive(tmp_path: Path, wheel: Path) -> None:
    archive = build("sdist", tmp_path / "sdist")
    shutil.unpack_archive(archive, tmp_path / "unpacked", **({"filter": "data"} if sys.version_info >= (3, 12) else {}))
    (source,) = (tmp_path / "unpacked").iterdir()
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(tmp_path / "wheel"), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    (again,) = (tmp_path / "wheel").iterdir()
    assert zipfile.ZipFile(again).namelist() == zipfile.ZipFile(wheel).namelist()


# -- installed, outside any checkout -------------------------------------------------------------------


class Installed:
    """A wheel unpacked by pip into a folder; this environment lends the packages that it depends on.

    Args:
        wheel: to install.
        place: an empty folder, far from the checkout.
    """

    def __init__(self, wheel: Path, place: Path) -> None:
        self.place, self.packages = place, place / "packages"
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile"]
        subprocess.run([*command, "--target", str(self.packages), str(wheel)], check=True)

    def run(self, code: str) -> subprocess.CompletedProcess[str]:
        """Run Python code for which the installed package goes before the checkout's."""
        environment = {**os.environ, "PYTHONPATH": str(self.packages), "COLUMNS": "300"}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, cwd=self.place, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(wheel, tmp_path_factory.mktemp("installed"))


def test_the_doctor_finds_an_installed_course_well(installed: Installed) -> None:
    told = installed.run("from memory_tutor.cli import main; main(['doctor'])")
    assert told.returncode == 0, told.stdout + told.stderr
    assert str(installed.packages / "memory_tutor" / "course" / "lessons") in told.stdout
    assert "answered from the recording" in told.stdout


def test_an_installed_course_gives_a_learner_their_lessons(installed: Installed) -> None:
    code = (
        "from memory_tutor import launch\n"
        "launch.open_lab = lambda folder, lesson, browser: print('opens', lesson) or 0\n"
        "from memory_tutor.cli import main\n"
        "main(['start', '--no-browser'])"
    )
    told = installed.run(code)
    assert told.returncode == 0, told.stderr
    assert f"opens {course.lesson_names()[0]}" in told.stdout
    for name in course.lesson_names():
        copied = installed.place / "my-lessons" / f"{name}.ipynb"
        assert copied.read_bytes() == (ROOT / "lessons" / f"{name}.ipynb").read_bytes()


def test_an_installed_course_refuses_its_own_folder_and_the_maintainers_commands(installed: Installed) -> None:
    own = installed.packages / "memory_tutor" / "course" / "lessons"
    for arguments, says in ((["start", str(own)], "the course's own folder"), (["build"], "needs a checkout")):
        told = installed.run(f"from memory_tutor.cli import main; main({arguments!r})")
        assert told.returncode == 1
        assert says in told.stderr


def test_without_solutions_the_course_knows_it(without_solutions: Path, tmp_path: Path) -> None:
    installed = Installed(without_solutions, tmp_path)
    told = installed.run(
        "from memory_tutor import course\nprint(course.has('solutions'), course.has('lessons'))\n"
        "from memory_tutor.cli import main\nmain(['doctor'])"
    )
    assert told.stdout.splitlines()[0] == "False True"
    assert told.returncode == 0, told.stdout + told.stderr
    assert "without solutions" in told.stdout
