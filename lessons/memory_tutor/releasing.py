"""What a teacher gives to a class: notebooks, a wheel without solutions, how to begin; and no solution in any of it."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_tutor import authoring, notebooks
from memory_tutor.checkout import Checkout
from memory_tutor.errors import TutorError

#: Folders of a release: notebooks, the wheels of everything that the course needs, and nbgrader's own.
NOTEBOOKS, WHEELS, SOURCE = "lessons", "wheels", "source"
#: Extras of the package that a lesson cannot do without.
EXTRAS = {"07_frameworks": "langchain"}
#: What stands around a solution in the answer cell of a solved notebook.
REGION = re.compile(r"^[ \t]*### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION$", re.MULTILINE | re.DOTALL)
#: The README.md of a release.
INSTRUCTIONS = """# {title}

You need Python 3.11 or newer. Nothing else: no API key, no account, and, once it is installed, no network.

## Begin

Open a terminal in this folder and type, line by line:

```sh
python3 -m venv .venv
.venv/bin/pip install {install}
.venv/bin/memory-tutor start {notebooks} --lesson {number}
```

On Windows `py -m venv .venv`, then `.venv\\Scripts\\pip install {install}`, then
`.venv\\Scripts\\memory-tutor start {notebooks} --lesson {number}`.{fits}

The last line opens JupyterLab in the folder `{notebooks}`. Work there; the same line opens it again tomorrow.{others}

**In Google Colab**: open a notebook of `{notebooks}` there, upload `{wheel}` into the session
(the folder at the left), and run this in a new cell at the top:

```
%pip install -q {asked}
```

## While you work

| you want to | in the notebook |
|---|---|
| check an answer, as often as you like | `tutor.check("{exercise}")` |
| have a hint, one more each time | `tutor.hint("{exercise}")` |

## Hand in

Save the notebook (Ctrl+S), and hand in the file itself, with the name that it has:

{files}

You need not run it from the top before, and it does not matter what its outputs show: your functions are found by
their names and run again. Do not rename them.
"""
_OTHERS = " It adds\nthe other lessons of the course, which you need not touch."


class ReleaseError(TutorError):
    """A release cannot be made; nothing is left of it."""


@dataclass(frozen=True)
class Release:
    """A release that was made and looked through.

    Args:
        folder: in which it is.
        wheel: name of the package for the class.
        lessons: whose notebooks are in it.
        solutions: how many solutions were looked for in it.
        texts: in how many texts they were looked for: files, and what is in the wheel.
    """

    folder: Path
    wheel: str
    lessons: tuple[str, ...]
    solutions: int
    texts: int


def release(
    folder: Path, lessons: Iterable[str | int] = (), *, wheelhouse: bool = False, checkout: Checkout | None = None
) -> Release:
    """Make the folder that students get: all of it, or nothing.

    Args:
        folder: to make; it may exist, but be empty.
        lessons: names or numbers of the notebooks; all by default. The wheel carries all lessons in any case.
        wheelhouse: also fetch the wheels of all that the course needs, for rooms without internet; they fit the
            system and the Python on which the release is made.
        checkout: where the course is; by default the checkout that this package runs from.

    Raises:
        ReleaseError: the folder is in use, the wheel cannot be built, or a solution is in what would be released.
        CheckoutError: there is no checkout, or no such lesson.
    """
    checkout = checkout or Checkout.here()
    names = [checkout.find(lesson) for lesson in lessons] or checkout.names()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ReleaseError(f"{folder} is there already, and not empty. Name a new folder: nothing was changed.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        made = Path(scratch) / "release"
        (made / NOTEBOOKS).mkdir(parents=True)
        for name in names:
            shutil.copyfile(checkout.lesson(name), made / NOTEBOOKS / f"{name}.ipynb")
        wheel = _build(checkout, made)
        extras = ",".join(EXTRAS[name] for name in names if name in EXTRAS)
        asked = f"{wheel.name}[{extras}]" if extras else wheel.name
        if wheelhouse:
            _fetch(asked, made)
        _instruct(made, wheel.name, asked, names, checkout, wheelhouse)
        solutions = solution_texts(checkout)
        looked_at = prove(made, solutions)
        if folder.exists():
            folder.rmdir()
        made.rename(folder)
    return Release(folder, wheel.name, tuple(names), len(solutions), looked_at)


def nbgrader_course(folder: Path, lessons: Iterable[str | int] = (), *, checkout: Checkout | None = None) -> list[str]:
    """Add lessons to the folder of an nbgrader course: what its `generate_assignment` begins with.

    Args:
        folder: of the course; made where it is missing. `source/LESSON/LESSON.ipynb` holds solutions.
        lessons: names or numbers; all by default.
        checkout: as for `release`.

    Returns:
        The names of the assignments, which are those of the lessons.

    Raises:
        ReleaseError: an assignment of that name is there already.
        CheckoutError: there is no checkout, or no such lesson.
    """
    checkout = checkout or Checkout.here()
    names = [checkout.find(lesson) for lesson in lessons] or checkout.names()
    for name in names:
        if (place := folder / SOURCE / name).exists():
            raise ReleaseError(f"{place} is there already. Remove it, or leave it as it is: nothing was changed.")
    for name in names:
        (folder / SOURCE / name).mkdir(parents=True)
        notebooks.write(
            folder / SOURCE / name / f"{name}.ipynb",
            authoring.make_assignment(notebooks.read(checkout.solution(name)), name),
        )
    config = folder / "nbgrader_config.py"
    if not config.exists():
        config.write_text(
            "c = get_config()  # noqa: F821 - nbgrader gives it\n"
            "# A check knows this line for an answer that was not attempted.\n"
            f'c.ClearSolutions.code_stub = {{"python": {authoring.STUB!r}}}\n',
            encoding="utf-8",
        )
    return names


# -- the parts -----------------------------------------------------------------------------------------


def _build(checkout: Checkout, folder: Path) -> Path:
    """The wheel of the course without solutions."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(folder), str(checkout.root)]
    done = _run(command, "The wheel cannot be built", MEMORY_TUTOR_WITHOUT_SOLUTIONS="1")
    found = sorted(folder.glob("*.whl"))
    if not found:
        raise ReleaseError(f"The wheel cannot be built: {done.strip().splitlines()[-1:] or 'there is none'}")
    return found[0]


def _fetch(asked: str, folder: Path) -> None:
    """The wheels of what the course needs, and a copy of its own.

    Args:
        asked: the file of the course's wheel, with its extras.
        folder: in which it lies, and in which a folder with the wheels is made.
    """
    options = ["-q", "--only-binary=:all:", "-d", str(folder / WHEELS)]
    command = [sys.executable, "-m", "pip", "download", *options, str(folder / asked)]
    _run(command, "The wheels for a room without internet cannot be fetched")


def _run(command: list[str], problem: str, **settings: str) -> str:
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        missing = any("No module named" in line for line in said)
        mend = "\nInstall what it takes: pip install 'memory-tutor[classroom]'" if missing else ""
        raise ReleaseError(f"{problem}: {said[-1].strip() if said else 'it does not say why'}{mend}")
    return done.stdout


def _instruct(folder: Path, wheel: str, asked: str, names: list[str], checkout: Checkout, wheelhouse: bool) -> None:
    asked = f'"{asked}"' if asked != wheel else wheel  # shells take brackets for something else
    lessons = [checkout.lesson_of(name) for name in names]
    text = INSTRUCTIONS.format(
        title=lessons[0].title if len(lessons) == 1 else "Short-term memory of LLM applications",
        install=f"--no-index --find-links {WHEELS} {asked}" if wheelhouse else asked,
        notebooks=NOTEBOOKS,
        wheel=wheel,
        asked=asked,
        number=int(names[0][:2]),
        others=_OTHERS if len(names) < len(checkout.names()) else "",
        fits=_fits() if wheelhouse else "",
        exercise=next(iter(lessons[0].exercises)),
        files="\n".join(f"- `{lesson.name}.ipynb` ({lesson.points} points)" for lesson in lessons),
    )
    (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")


def _fits() -> str:
    """Where the wheels can be installed: on systems like this one."""
    python = ".".join(map(str, sys.version_info[:2]))
    return (
        f" What is installed comes from `{WHEELS}`, without a network. It fits\nPython {python} on "
        f"{platform.system()} ({platform.machine()}); `python3 --version` says which Python you have."
    )


# -- the proof -----------------------------------------------------------------------------------------


def solution_texts(checkout: Checkout) -> dict[str, str]:
    """What a release must not hold: for each place in a solved notebook, its solution in normal form.

    A solution of one line counts with the line above it: by itself it may stand in a lesson for another reason.
    """
    found = {}
    for name in checkout.names():
        for cell in notebooks.read(checkout.solution(name)).cells:
            for number, match in enumerate(REGION.finditer(cell.source), start=1):
                text = _normal(match[1])
                if "\n" not in text:
                    text = "\n".join([*_normal(cell.source[: match.start()]).splitlines()[-1:], text])
                found[f"{name}, {notebooks.grading(cell).get('grade_id', cell.id)} ({number})"] = text
    return found


def prove(folder: Path, solutions: dict[str, str]) -> int:
    """Look for solutions in all files of a release, and in those of a wheel of the course.

    Args:
        folder: of the release.
        solutions: as `solution_texts` gives them.

    Returns:
        How many texts were looked through.

    Raises:
        ReleaseError: one holds a solution.
    """
    looked_at = 0
    for where, text in _texts(folder):
        looked_at += 1
        normal = f"\n{_normal(text)}\n"
        for solution, wanted in solutions.items():
            if f"\n{wanted}\n" in normal:
                raise ReleaseError(f"{where} holds the solution {solution}. Nothing was released.")
    return looked_at


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.rglob("*")):
        if file.suffix == ".whl":
            if file.parent.name == WHEELS and not file.name.startswith("memory_tutor-"):
                continue  # of another project
            with zipfile.ZipFile(file) as archive:
                for member in archive.namelist():
                    yield f"{file.name}: {member}", _text(member, archive.read(member))
        elif file.is_file():
            yield file.relative_to(folder).as_posix(), _text(file.name, file.read_bytes())


def _text(name: str, data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    if name.endswith(".ipynb"):
        return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text


def _normal(code: str) -> str:
    """Code without indentation, blank lines and comments."""
    lines = (line.strip() for line in code.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))
