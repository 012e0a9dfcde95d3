"""What a class has handed in: one notebook a student and lesson, found by one rule (see `naming`), and what was not.

Of several notebooks of one student and lesson, the latest counts: by the platform's number or moment, else by the
number of the copy ("02 (1)"), else the one that lies higher, else by the file's date, else the last in the alphabet.
The others are named. Backups, checkpoints and hidden files are no submissions. Nothing is guessed: a file that looks
like an answer and is no notebook gets a line for the teacher.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from memory_tutor import checks, course
from memory_tutor.grading import naming, words
from memory_tutor.grading.listing import File, Place, Unreadable
from memory_tutor.workspace import BACKUPS

#: Whose a notebook is, and which of several counts, for reports.
RULE = (
    "A notebook is whose Moodle, Canvas or nbgrader say in its path, else whose the first folder says, else whose the "
    "file's name says. Of several of one student and lesson, the latest counts."
)

#: How `memory-tutor reset` and `update` call the copy that they keep.
_BACKUP = re.compile(r"\.\d{4}-\d\d-\d\d-\d{6}(-\d+)?\.ipynb$")
_ARCHIVE = re.compile(r"\.(zip|rar|7z|tar|gz|tgz|bz2|xz)$", re.IGNORECASE)
_SCRIPT = re.compile(r"\.py$", re.IGNORECASE)
#: What stands around the folders of all students: nbgrader's, GitHub Classroom's, and what people call it.
_AROUND = re.compile(r"(?:(?P<assignment>.+)-)?(?:submissions?|submitted|autograded)", re.IGNORECASE)
#: A lesson's first line, and a definition, in a notebook's JSON or in a script.
_START = re.compile(rb"""start\(\s*\\?["'](\d\d_\w+)""")
_DEFINED = re.compile(rb"\b(?:def|class)\s+(\w+)")


@dataclass(frozen=True)
class Submission:
    """What one student has handed in for one lesson.

    Args:
        student: their name.
        lesson: its name.
        file: that counts.
        notes: for the teacher, one line each.
        problem: why the file cannot be marked, if that is known before it is read.
        number: that the learning platform gives to the student or the submission; "" if none.
    """

    student: str
    lesson: str
    file: File
    notes: tuple[str, ...] = ()
    problem: str = ""
    number: str = ""


@dataclass
class Intake:
    """All that was handed in.

    Args:
        submissions: sorted by student and lesson.
        notes: what was passed over, one line each.
        empty: students that have handed in files, but no notebook, and what one can say of it.
    """

    submissions: list[Submission] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    empty: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Found:
    """A file, what its path says, whether its lesson is sure, and whether anything was written into it."""

    file: File
    name: naming.Name
    sure: bool = True
    edited: bool = True

    @property
    def order(self) -> tuple[object, ...]:
        return (self.sure, self.edited, self.name.order, self.file.modified, self.file.path.name)


def find(place: Place, lesson: str = "") -> Intake:
    """Look through a place.

    Args:
        place: a folder or a zip.
        lesson: the only one to take; a notebook that names none is taken for it. "" takes all.

    Raises:
        OSError: the place cannot be read.
        PlaceError: it holds too much.
    """
    files = [
        file for file in place.files() if BACKUPS not in file.path.parts[:-1] and not _BACKUP.search(str(file.path))
    ]
    around, assignment = _around([file.path for file in files if naming.NOTEBOOK.search(file.path.name)], place.name)
    intake = Intake(notes=list(place.notes))
    notebooks: list[_Found] = []
    scripts: list[_Found] = []
    rest: dict[str, list[str]] = defaultdict(list)
    for file in files:
        below = PurePosixPath(*file.path.parts[around:]) if len(file.path.parts) > around else file.path
        name = naming.read(below, assignment)
        name = replace(name, student=words.person(name.student) or words.person(place.name) or "student")
        shown = words.shown(file.path)
        if naming.NOTEBOOK.search(file.path.name):
            notebooks += _known(place, _Found(file, name), lesson, intake.notes)
        elif _SCRIPT.search(file.path.name):
            scripts += _known(place, _Found(file, name), lesson, [])
        elif _ARCHIVE.search(file.path.name):
            intake.notes.append(f"{shown} is an archive and was not opened. Unpack it in its place, then grade again.")
        elif naming.lesson_in(below.name, bare=False):
            intake.notes.append(f"{shown} is no notebook and was not marked. Ask for the .ipynb file.")
        if name.number or len(below.parts) > 1:
            rest[name.student].append(file.path.name)
    told_apart = _told_apart([*notebooks, *scripts], intake.notes)
    intake.submissions = sorted(
        _chosen(place, told_apart[: len(notebooks)], told_apart[len(notebooks) :]), key=_sorted_by
    )
    handed_in = {found.name.student for found in told_apart} | {found.name.student for found in notebooks}
    for student, names in rest.items():
        if student not in handed_in and not any(naming.NOTEBOOK.search(name) for name in names):
            some = ", ".join(words.shown(name, 60) for name in names[:3]) + (", …" if len(names) > 3 else "")
            intake.empty[student] = f"There is no notebook, but {some}."
    return intake


def _sorted_by(submission: Submission) -> tuple[str, str, str]:
    return submission.student.casefold(), submission.student, submission.lesson


def _around(notebooks: list[PurePosixPath], name: str) -> tuple[int, str]:
    """How many folders stand around all students', and how GitHub Classroom calls the assignment.

    A folder that holds everything is passed over if its name says so, or if the students' folders are in it.
    """
    found = _AROUND.fullmatch(name)
    assignment, depth = (found["assignment"] or "" if found else ""), 0
    while len({path.parts[depth] for path in notebooks}) == 1 and all(
        len(path.parts) > depth + 1 for path in notebooks
    ):
        outer = notebooks[0].parts[depth]
        found = _AROUND.fullmatch(outer)
        inner = {path.parts[depth + 1] for path in notebooks if len(path.parts) > depth + 2} - naming.OWN
        students = len(inner) > 1 and not any(map(naming.lesson_in, inner))
        if not found and outer != name and not (students and all(len(path.parts) > depth + 2 for path in notebooks)):
            break
        assignment = (found["assignment"] or "") if found else assignment
        depth += 1
    return depth, assignment


def _known(place: Place, found: _Found, wanted: str, notes: list[str]) -> list[_Found]:
    """The file with its lesson, if that is known and wanted; its name says it, else its content."""
    if not found.name.lesson:
        try:
            name = replace(found.name, lesson=lesson_of(place.read(found.file)))
        except Unreadable as error:
            notes.append(f"{words.shown(found.file.path)}: {error.message}")
            return []
        found = replace(found, name=name)
    if not found.name.lesson and wanted and naming.NOTEBOOK.search(found.file.path.name):
        found = replace(found, name=replace(found.name, lesson=wanted), sure=False)
    if not found.name.lesson:
        notes.append(f"{words.shown(found.file.path)} is of no lesson that one could tell. Name it, with --lesson.")
        return []
    return [found] if wanted in ("", found.name.lesson) else []


def lesson_of(data: bytes) -> str:
    """The lesson that a notebook or script starts, else that most of its definitions belong to; "" for none."""
    names = course.lesson_names()
    started: list[str] = [name for text in _START.findall(data) if (name := text.decode()) in names]
    if started:
        return started[0]
    defined = {text.decode("utf-8", "replace") for text in _DEFINED.findall(data)}
    counts = Counter({lesson.name: len(lesson.answers & defined) for lesson in checks.lessons()}).most_common(2)
    if not counts or not counts[0][1] or (len(counts) > 1 and counts[0][1] == counts[1][1]):
        return ""
    best: str = counts[0][0]
    return best


def _untouched(place: Place, found: _Found) -> bool:
    """Whether a notebook's code is that of the lesson, as students get it."""
    try:
        return _code(place.read(found.file)) == _code(course.path("lessons", found.name.lesson).read_bytes())
    except (Unreadable, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False


def _code(data: bytes) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]


def _told_apart(found: list[_Found], notes: list[str]) -> list[_Found]:
    """The same, where two students of one name have the platform's number in it."""
    numbers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in found:
        if each.name.number:
            numbers[each.name.student, each.name.lesson].add(each.name.number)
    doubles = {student for (student, _), several in numbers.items() if len(several) > 1}
    for student in sorted(doubles):
        notes.append(f"There are several students called {student}: the platform's number stands behind the name.")
    return [
        replace(each, name=replace(each.name, student=f"{each.name.student} ({each.name.number})"))
        if each.name.student in doubles and each.name.number
        else each
        for each in found
    ]


def _chosen(place: Place, notebooks: Iterable[_Found], scripts: Iterable[_Found]) -> Iterable[Submission]:
    """One submission a student and lesson."""
    groups: dict[tuple[str, str], list[_Found]] = defaultdict(list)
    beside: dict[tuple[str, str], list[_Found]] = defaultdict(list)
    for found in notebooks:
        groups[found.name.student, found.name.lesson].append(found)
    for found in scripts:
        beside[found.name.student, found.name.lesson].append(found)
    for (student, lesson), group in groups.items():
        if len(group) > 1:  # a copy that nobody has written into counts only where there is no other
            group = [replace(found, edited=not _untouched(place, found)) for found in group]
        *others, counts = sorted(group, key=lambda found: found.order)
        notes = [f"This notebook counts; not marked: {words.shown(found.file.path)}." for found in others]
        for script in beside.pop((student, lesson), []):
            notes.append(f"Beside the notebook lies {words.shown(script.file.path)}; what is in it was not marked.")
        if not counts.sure:
            notes.append("The notebook names no lesson: it was taken for this one.")
        yield Submission(student, lesson, counts.file, tuple(notes), number=counts.name.number)
    for (student, lesson), group in beside.items():
        script = max(group, key=lambda found: found.order)
        problem = f"{words.shown(script.file.path)} is a Python file. The notebook is needed, the .ipynb file."
        yield Submission(student, lesson, script.file, problem=problem, number=script.name.number)
