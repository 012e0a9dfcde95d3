"""What stands in the process of a notebook that is marked: the same tutor to the eye, and nothing to be told."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_tutor import course, inside
from memory_tutor.grading.sandbox import MODULES
from memory_tutor.inside import NotLent, QuietTutor
from memory_tutor.tutor import Tutor


def public(kind: type) -> dict[str, str]:
    """The public methods of a class, with their arguments."""
    found = {}
    for name in dir(kind):
        if not name.startswith("_"):
            what = inspect.getattr_static(kind, name)
            found[name] = "" if isinstance(what, property) else str(inspect.signature(what))
    return found


def test_both_tutors_have_the_same_methods_with_the_same_arguments() -> None:
    assert public(QuietTutor) == public(Tutor)


def test_what_speaks_to_a_learner_is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(inside, "ask", None)
    tutor = inside.start("01_stateless_calls")
    for method in (tutor.check, tutor.hint, tutor.solution, tutor.predict, tutor.reveal):
        assert method("no such exercise") is None  # type: ignore[func-returns-value]
    assert capsys.readouterr().out == ""
    with pytest.raises(NotLent, match="ask is not to be had here"):
        tutor.reference("ask")


def test_the_modules_that_go_inside_need_no_others(tmp_path: Path) -> None:
    """Copied alone, they start, open a store, and end; and none of them is there for nothing."""
    for name in MODULES:
        file = name.replace(".", "/") + ".py"
        (tmp_path / "memory_tutor" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "memory_tutor" / file).write_bytes((course.PACKAGE / file).read_bytes())
    code = """
import sys, memory_tutor, memory_tutor.process
if sys.platform == "linux": import memory_tutor.warm
tutor = memory_tutor.start("06_persistence")
tutor.store(conflict=ValueError).append(("a", "b", "c"), [{"role": "user", "content": "x"}], 0)
tutor.chart("x", [("a", 1)])
import memory_tutor.miss
print(*sorted(name for name in sys.modules if name.startswith("memory_tutor")))
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "MEMORY_TUTOR_LEARNER": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    used = {name.removeprefix("memory_tutor").removeprefix(".") or "__init__" for name in done.stdout.split()}
    used = {"stores.__init__" if name == "stores" else name for name in used}
    assert used == set(MODULES) if sys.platform == "linux" else used <= set(MODULES)
