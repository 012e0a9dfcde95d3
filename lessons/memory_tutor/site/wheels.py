"""The packages that run in the browser: which, in the versions that are installed here, as wheels."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import memory_tutor
from memory_tutor import course
from memory_tutor.site.archive import write_wheel, write_zip
from memory_tutor.site.errors import SiteError, run

#: What the lessons import, and the kernel; what these need is found from there.
COURSE, KERNEL = ("openai", "vcrpy", "filelock"), ("ipython", "comm")
#: What is needed in a browser alone, so that its version cannot be that of an installed one.
PINNED = {"httpx2-jsfetch": "1.0"}
#: What has no wheel for Pyodide, but runs there without its compiled part.
UNCOMPILED = ("pyyaml",)
#: Of the packages that Pyodide's own list names, those that we take in its version.
FROM_LOCK = ("micropip",)
#: Parts of packages that nothing here uses: what jedi knows of libraries that are not in the site.
SPARE = {"jedi": ("jedi/third_party/typeshed/stubs/", "jedi/third_party/django-stubs/")}
#: What the course carries beside its code.
PARTS: tuple[course.Part, ...] = ("lessons", "solutions", "cassettes")


def environment(lock: dict[str, Any]) -> dict[str, str]:
    """The markers of PEP 508 as they are in Pyodide, for which pip does not ask.

    Args:
        lock: Pyodide's own list of packages.
    """
    full = str(lock["info"]["python"])
    return {
        "implementation_name": "cpython",
        "implementation_version": full,
        "os_name": "posix",
        "platform_machine": str(lock["info"]["arch"]),
        "platform_python_implementation": "CPython",
        "platform_system": "Emscripten",
        "python_full_version": full,
        "python_version": ".".join(full.split(".")[:2]),
        "sys_platform": "emscripten",
        "extra": "",
    }


def needed(markers: dict[str, str]) -> dict[str, str]:
    """The distributions that the course needs in a browser, with their versions, but for its own.

    Raises:
        SiteError: one is not installed here, and has no version of ours either.
    """
    found: dict[str, str] = {}
    wanted = [*COURSE, *KERNEL]
    while wanted:
        name = canonicalize_name(wanted.pop())
        if name in found:
            continue
        if name in PINNED:
            found[name] = PINNED[name]
            continue
        try:
            here = distribution(name)
        except PackageNotFoundError:
            raise SiteError(f"The site needs {name}, which is not installed here: pip install {name}") from None
        found[name] = here.version
        wanted += requirements(here.requires or [], markers)
    return found


def requirements(lines: list[str], markers: dict[str, str]) -> Iterator[str]:
    """The names that a distribution requires where these markers hold."""
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate(markers):
            yield canonicalize_name(requirement.name)


def fetch(lock: dict[str, Any], folder: Path) -> list[Path]:
    """Fetch the wheels with pip, from wherever this machine's pip gets them.

    Args:
        lock: Pyodide's own list of packages.
        folder: to make, for the wheels.

    Raises:
        SiteError: one cannot be had.
    """
    versions = needed(environment(lock))
    versions |= {name: str(lock["packages"][name]["version"]) for name in FROM_LOCK}
    folder.mkdir(parents=True)
    asked = [f"{name}=={version}" for name, version in sorted(versions.items()) if name not in UNCOMPILED]
    python = environment(lock)["python_version"]
    platform = f"pyemscripten_{lock['info']['abi_version']}_{lock['info']['arch']}"
    command = [sys.executable, "-m", "pip", "download", "-q", "-d", str(folder), "--no-deps", "--only-binary=:all:"]
    command += ["--platform", platform, "--python-version", python, "--implementation", "cp", *asked]
    run(command, "The wheels for the browser cannot be fetched", folder)
    for name in UNCOMPILED:
        uncompiled(distribution(name), folder)
    for name, parts in SPARE.items():
        for wheel in folder.glob(f"{name}-*.whl"):
            trim(wheel, parts)
    return sorted(folder.glob("*.whl"))


def trim(wheel: Path, parts: tuple[str, ...]) -> None:
    """Write a wheel anew without the files whose paths begin with one of these."""
    with zipfile.ZipFile(wheel) as whole:
        kept = {name: whole.read(name) for name in whole.namelist() if not name.startswith(parts)}
    write_zip(wheel, kept)


def uncompiled(installed: Distribution, folder: Path) -> Path:
    """A wheel of an installed distribution without what was compiled for this machine."""
    files = {
        str(file): file.read_binary()
        for file in installed.files or []
        if file.suffix == ".py" and ".." not in file.parts
    }
    return write_wheel(folder, canonicalize_name(installed.name), installed.version, files)


def of_course(folder: Path) -> Path:
    """The wheel of this package with the course's files; without solutions where they are to be left out."""
    package = course.PACKAGE
    code = [*package.rglob("*.py"), *package.rglob("py.typed")]
    files = {f"memory_tutor/{file.relative_to(package).as_posix()}": file.read_bytes() for file in code}
    without = os.environ.get("MEMORY_TUTOR_WITHOUT_SOLUTIONS", "0") not in ("", "0")
    for part in PARTS:
        if part == "solutions" and (without or not course.has(part)):
            continue
        for name in course.lesson_names():
            file = course.path(part, name)
            files[f"memory_tutor/course/{part}/{file.name}"] = file.read_bytes()
    return write_wheel(folder, "memory-tutor", memory_tutor.__version__, files, COURSE)
