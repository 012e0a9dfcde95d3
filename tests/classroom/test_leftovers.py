"""What a killed process leaves in the temporary folder is removed by the next batch, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memory_tutor import leftovers
from memory_tutor.grading import pool
from memory_tutor.grading.sandbox import Sandbox

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there, nothing is removed")

#: Shows a folder of a learner's, and waits.
HOLDS = """
import shutil, sys
from memory_tutor.grading.sandbox import open_sandbox
if "sandbox" not in sys.argv:
    shutil.which = lambda _: None
with open_sandbox(require="sandbox" in sys.argv) as sandbox, sandbox.learner(["x = 1"]) as learner:
    print(learner.folder(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left_by(process: int, temporary: Path) -> list[Path]:
    """What is left of a process, folders and links that lead nowhere alike."""
    return [path for place in (Path("/tmp"), temporary) for path in place.glob(f"memory-tutor-{process}-*")]


def begin_a_batch() -> None:
    assert list(pool.run([], 1, 9)) == []


@pytest.mark.parametrize("where", ["open", "sandbox"])
def test_what_a_killed_process_has_left_is_removed(where: str, temporary: Path, sandbox: Sandbox) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        begin_a_batch()
        assert folder.is_dir(), "a process that lives needs what it has made"
        process.kill()
    assert left_by(process.pid, temporary)
    begin_a_batch()
    assert not left_by(process.pid, temporary)


@pytest.fixture
def gone() -> int:
    """The number of a process that there is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_only_what_is_known_to_be_left_is_removed(temporary: Path, gone: int) -> None:
    ours = leftovers.prefix()
    left = ours.replace(str(os.getpid()), str(gone), 1)
    stay = [
        f"{ours}of_a_living_process",
        f"memory-tutor-{gone}-{'0' * 8}-another_machines",
        "memory-tutor-abc123",
        "memory-tutor-servers-0",
        f"memory-tutor-{gone}",
    ]
    for name in [f"{left}a", *stay]:
        (temporary / name / "in").mkdir(parents=True)
    (temporary / f"{left}b").symlink_to("/proc/1/nowhere")
    (temporary / f"{left}c").symlink_to(temporary / stay[0])
    (temporary / f"{left}d").touch()  # we make no files
    begin_a_batch()
    assert sorted(path.name for path in temporary.iterdir()) == sorted([*stay, f"{left}d"])
    assert (temporary / stay[0] / "in").is_dir(), "a link is removed, not what it leads to"


@pytest.mark.skipif(sys.platform != "win32" and os.geteuid() != 0, reason="only root can give folders away")
def test_what_others_have_left_stays(temporary: Path, gone: int) -> None:
    theirs = temporary / f"{leftovers.prefix().replace(str(os.getpid()), str(gone), 1)}a"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    begin_a_batch()
    assert theirs.is_dir()
