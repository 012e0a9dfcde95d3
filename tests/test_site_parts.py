"""The parts of a site that need neither a network nor JupyterLite; `tests/browser/test_site.py` has the rest."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from memory_tutor import checks, course, site
from memory_tutor.site import archive, errors, jupyterlite, pyodide, start_page, wheels

LOCK: dict[str, Any] = {
    "info": {"abi_version": "2026_0", "arch": "wasm32", "platform": "emscripten_5_0_3", "python": "3.14.2"},
    "packages": {"numpy": {"name": "numpy", "file_name": "numpy.whl"}},
}


def members(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_what_is_needed_is_what_a_browser_needs() -> None:
    needed = wheels.needed(wheels.environment(LOCK))
    assert {"openai", "vcrpy", "pyyaml", "pydantic-core", "jiter", "httpx2", "httpx2-jsfetch"} <= needed.keys()
    # Sockets and terminals, which httpx2 and IPython need elsewhere.
    assert not {"httpcore2", "truststore", "pexpect", "psutil"} & needed.keys()


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "COURSE", ("no-such-distribution",))
    with pytest.raises(site.SiteError, match="no-such-distribution"):
        wheels.needed({})


def test_the_courses_wheel_holds_the_course(tmp_path: Path) -> None:
    held = members(wheels.of_course(tmp_path))
    assert held["memory_tutor/__init__.py"] == (course.PACKAGE / "__init__.py").read_bytes()
    for part in wheels.PARTS:
        for name in course.lesson_names():
            file = course.path(part, name)
            assert held[f"memory_tutor/course/{part}/{file.name}"] == file.read_bytes()
    (about,) = (data.decode() for name, data in held.items() if name.endswith("METADATA"))
    assert "Requires-Dist: openai\n" in about


def test_a_class_gets_no_solutions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_TUTOR_WITHOUT_SOLUTIONS", "1")
    held = members(wheels.of_course(tmp_path))
    assert any(name.startswith("memory_tutor/course/lessons/") for name in held)
    assert not any("solutions/" in name for name in held)


def test_a_wheel_is_the_same_bytes_whatever_the_order(tmp_path: Path) -> None:
    files = {"a/one.py": b"1\n", "a/two.py": b"2\n"}
    (tmp_path / "other").mkdir()
    first = archive.write_wheel(tmp_path, "a-name", "1.0", files)
    again = archive.write_wheel(tmp_path / "other", "a-name", "1.0", dict(reversed(files.items())))
    assert first.name == "a_name-1.0-py3-none-any.whl"
    assert first.read_bytes() == again.read_bytes()


def test_a_wheel_is_trimmed_of_what_it_is_told(tmp_path: Path) -> None:
    wheel = archive.write_wheel(
        tmp_path, "one", "1", {"one/kept.py": b"1", "one/spare/a.py": b"2", "one/spare.py": b"3"}
    )
    wheels.trim(wheel, ("one/spare/",))
    assert [name for name in members(wheel) if name.startswith("one/")] == ["one/kept.py", "one/spare.py"]


def test_the_list_of_packages_names_those_of_the_site_alone(tmp_path: Path) -> None:
    runtime = tmp_path / "npm"
    runtime.mkdir()
    for name in pyodide.FILES:
        (runtime / name).write_text(name, encoding="utf-8")
    one = archive.write_wheel(tmp_path, "One", "1.0", {"one_module.py": b"", "one/__init__.py": b""}, ["two", "three"])
    two = archive.write_wheel(tmp_path, "two", "2.0", {"two/__init__.py": b""}, ["win; sys_platform == 'win32'"])
    pyodide.lay(tmp_path / "laid", runtime, LOCK, [two, one])
    with pytest.raises(site.SiteError, match=r"has no pyodide-lock\.json"):
        pyodide.read_lock(runtime)
    laid = pyodide.read_lock(tmp_path / "laid")
    assert laid["info"] == LOCK["info"]
    packages = laid["packages"]
    assert packages.keys() == {"one", "two"}
    assert packages["one"]["depends"] == ["two"] and packages["two"]["depends"] == []
    assert packages["one"]["imports"] == ["one", "one_module"]
    assert all((tmp_path / "laid" / each["file_name"]).is_file() for each in packages.values())


def test_the_start_page_leads_to_every_lesson_and_nowhere_else(tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    start_page.write(file, list(checks.lessons()))
    page = file.read_text(encoding="utf-8")
    links = re.findall(r'(?:href|src)="([^"]*)"', page)
    lessons = [f"notebooks/index.html?path={name}.ipynb" for name in course.lesson_names()]
    assert links == [*lessons, "tree/index.html"]
    assert start_page.RECORDED.keys() <= set(course.lesson_names())
    assert start_page.CONFIG in page, "the notebook does not open without it"


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(site.SiteError, match="nothing was changed"):
        site.build(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_without_jupyterlite_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jupyterlite, "find_spec", lambda name: None)
    with pytest.raises(site.SiteError, match=r"memory-tutor\[site\]"):
        site.build(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_tool_that_is_missing_or_fails_is_told_with_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(site.SiteError, match="It cannot be: there is no no-such-tool here"):
        errors.run(["no-such-tool"], "It cannot be", tmp_path)
    with pytest.raises(site.SiteError, match="It cannot be: the reason"):
        errors.run(["sh", "-c", "echo first; echo the reason; exit 3"], "It cannot be", tmp_path)
