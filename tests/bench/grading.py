"""What it takes to grade a class, ours and nbgrader's. Run: python tests/bench/grading.py [--lesson 2]

Prints Markdown tables. The first: `nbgrader autograde` and `memory-tutor grade` on the same folder of notebooks, honest
ones, and how many of the marks agree. The second: classes of 30, 100 and 300, honest and damaged notebooks in the same
shares. The third: the class of 300 with everything in it, by kind; the fourth, what each hostile notebook of it costs.

Both graders run as their users run them, as commands, their start included. Memory is the largest sum over a command's
processes at one of the looks at them, what they share counted once (PSS; where the system does not tell it, RSS, which
counts it for each). Trust the ratios, not the seconds.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "classroom"))

import class_of
import nbgrading
from class_of import Member

from memory_tutor import checks, course
from memory_tutor.grading.records import Mark, Records

#: Seconds between two looks at the memory of a command's processes, and until all of them must have ended.
LOOK, END = 0.25, 5.0
MB = 1 << 20
COMMAND = [sys.executable, "-m", "memory_tutor"]


# -- measuring a command ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What a command took.

    Args:
        submissions: that it was given.
        seconds: from its start to its end.
        memory: the most that its processes had together, bytes.
        left: how many of its processes were there after it.
    """

    submissions: int
    seconds: float
    memory: int
    left: int

    @property
    def a_minute(self) -> float:
        return 60 * self.submissions / self.seconds


def measured(command: Sequence[str], submissions: int, **settings: Any) -> Run:
    """Run a command and look at its processes meanwhile.

    Raises:
        subprocess.CalledProcessError: it failed; what it said is printed.
    """
    seen: set[psutil.Process] = set()
    most = 0
    with tempfile.TemporaryFile() as said:
        begun = time.perf_counter()
        popen = subprocess.Popen(command, stdout=said, stderr=said, **settings)
        ours = psutil.Process(popen.pid)
        while True:
            try:
                popen.wait(LOOK)
                break
            except subprocess.TimeoutExpired:
                processes = {ours, *ours.children(recursive=True)}
                most = max(most, sum(map(memory, processes)))
                seen |= processes
        seconds = time.perf_counter() - begun
        if popen.returncode != 0:
            said.seek(0)
            print(said.read().decode("utf-8", "replace"), file=sys.stderr)
            raise subprocess.CalledProcessError(popen.returncode, command)
    _, alive = psutil.wait_procs(seen, timeout=END)
    return Run(submissions, seconds, most, len(alive))


def memory(process: psutil.Process) -> int:
    """Bytes of a process, its share of what it has in common with others; 0 when it has gone."""
    try:
        try:
            full = process.memory_full_info()
            return int(getattr(full, "pss", full.rss))
        except psutil.AccessDenied:
            return int(process.memory_info().rss)
    except psutil.Error:
        return 0


# -- the two graders -------------------------------------------------------------------------------------


def ours(place: Path, out: Path, submissions: int, jobs: int = 2) -> Run:
    options = ["--out", str(out), "--jobs", str(jobs), "--require-sandbox"]
    return measured([*COMMAND, "grade", str(place), *options], submissions)


def theirs(folder: Path, lesson: str, submissions: int) -> Run:
    command = nbgrading.command("autograde", lesson)
    return measured(command, submissions, cwd=folder, env=nbgrading.environment(folder))


# -- the classes -----------------------------------------------------------------------------------------


def spread(members: Sequence[Member], number: int) -> list[Member]:
    """So many of them, evenly, so that each kind keeps its share."""
    return [members[place * len(members) // number] for place in range(number)]


def without(kinds: dict[str, list[Member]], *left_out: str) -> list[Member]:
    return [member for kind, members in kinds.items() if kind not in left_out for member in members]


def both_take(kinds: dict[str, list[Member]], number: int) -> list[Member]:
    """So many honest ones that nbgrader can mark: one of each kind, and wrong answers for the rest."""
    changed = [member for member in kinds["changed"] if member.student.removeprefix("changed-") in nbgrading.TAKES]
    others = [*kinds["right"][:1], *kinds["untouched"], *changed][:number]
    return [*others, *spread(kinds["wrong"], number - len(others))]


def as_it_must(member: Member, mark: Mark) -> bool:
    """Whether the points are those that are known for sure, and the message is there."""
    given = {result.exercise: result.points for result in mark.results}
    said = "\n".join([mark.problem, *(result.message for result in mark.results)])
    return member.points.items() <= given.items() and member.fragment in said


# -- the tables ------------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, [":--", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def compared(folder: Path, sample: Sequence[Member]) -> Run:
    """Both graders on the same notebooks; returns nbgrader's run."""
    lesson = sample[0].lesson
    nbgrading.release(folder, lesson)
    place = nbgrading.hand_in(folder, sample)
    first = theirs(folder, lesson, len(sample))
    runs = {"`nbgrader autograde`": first}
    for jobs in (1, 2):
        runs[f"`memory-tutor grade --jobs {jobs}`"] = ours(place, folder / f"graded-{jobs}", len(sample), jobs)
    head = ["the same notebooks", "submissions", "seconds", "a minute", "ratio", "peak memory, MB"]
    show(table(head, [(name, run.submissions, *_figures(run, first)) for name, run in runs.items()]))
    points = nbgrading.points(folder)
    agree = [mark.student for mark in Records(folder / "graded-2").all() if points.get(mark.student) == mark.points]
    others = sorted({member.student for member in sample} - set(agree))
    show(f"The marks agree for {len(agree)} of {len(sample)}{'; not for ' if others else ''}{', '.join(others)}.\n")
    return first


def _figures(run: Run, first: Run) -> tuple[str, ...]:
    """Seconds, submissions a minute, their ratio to the first run's, memory."""
    ratio = run.a_minute / first.a_minute
    return f"{run.seconds:.1f}", f"{run.a_minute:.1f}", f"{ratio:.1f}", f"{run.memory // MB:,}"


def grown(folder: Path, lesson: str, students: int, first: Run) -> None:
    """Larger and larger classes of the same shares.

    Args:
        first: nbgrader's run, for the ratio.
    """
    members = without(class_of.everyone(lesson, students + len(class_of.HOSTILE)), "hostile")
    rows = []
    before = Run(0, 0.0, 0, 0)
    for number in (students // 10, students // 3, students):  # 30, 100, 300
        place = class_of.handed_in(folder / f"in-{number}", spread(members, number))
        run = ours(place, folder / f"out-{number}", number)
        further = (run.seconds - before.seconds) / (number - before.submissions)
        times = (f"{run.seconds / number:.2f}", f"{further:.2f}")
        rows.append((number, *_figures(run, first), *times))
        before = run
    head = ["students", "seconds", "a minute", "ratio to nbgrader", "peak memory, MB", "s each", "s each one more"]
    show(table(head, rows))


def whole(folder: Path, lesson: str, students: int) -> None:
    """A class with everything in it."""
    kinds = class_of.everyone(lesson, students)
    place = class_of.handed_in(folder / "in", without(kinds))
    run = ours(place, folder / "out", students)
    marks = {mark.student: mark for mark in Records(folder / "out").all()}
    rows = []
    for kind, members in kinds.items():
        taken = [marks[member.student].seconds for member in members]
        right = sum(as_it_must(member, marks[member.student]) for member in members)
        known = "" if kind == "hostile" else f"{right} of {len(members)}"
        rows.append((kind, len(members), known, f"{median(taken):.2f}", f"{max(taken):.2f}"))
    show(table([f"of {students}", "submissions", "marked as they must", "median, s", "longest, s"], rows))
    took = f"{run.seconds:.0f} s in all, {run.a_minute:.0f} a minute, at most {run.memory // MB:,} MB of memory"
    show(f"{took}; {run.left} processes left after it.\n")
    full = checks.lesson(lesson).points
    hostile = [(member.student.removeprefix("hostile-"), marks[member.student]) for member in kinds["hostile"]]
    told = [(name, f"{mark.seconds:.1f}", f"{mark.points} of {full}") for name, mark in hostile]
    show(table(["hostile cell", "seconds", "points for right answers"], told))


def show(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lesson", default="2", help="number or name (%(default)s)")
    parser.add_argument("--students", type=int, default=300, help="in the largest class (%(default)s)")
    parser.add_argument("--sample", type=int, default=8, help="notebooks that nbgrader grades as well (%(default)s)")
    options = parser.parse_args()
    lesson = course.find_lesson(options.lesson)
    kinds = class_of.everyone(lesson, options.students)
    print(f"{lesson}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, ", end="")
    print(f"{os.cpu_count()} processors; load before {_load()}\n", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = compared(folder / "sample", both_take(kinds, options.sample))
        grown(folder / "growth", lesson, options.students, first)
        whole(folder / "whole", lesson, options.students)
    print(f"Load after {_load()}")


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


if __name__ == "__main__":
    main()
