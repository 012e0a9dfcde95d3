"""What the path of a submitted file says: whose it is, of which lesson, and which of several is the latest.

THE RULE of whose it is, the first that applies:

1. Moodle, Canvas and nbgrader write the student's name into every file or folder that they hand out.
2. Else the first folder names the student. GitHub Classroom calls it like the assignment and the student
   ("lesson-2-ada", in a folder "lesson-2-submissions"): what the assignment's name says is taken off.
3. Else, where there is no folder, the file's name without what names the lesson: "ada_02_manual_history.ipynb".
4. Else the file is of the student whom the whole place is named after.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from memory_tutor import course

#: A file that may be a notebook; browsers add the second ending when they save one from a page.
NOTEBOOK = re.compile(r"\.ipynb(\.txt|\.json)?$", re.IGNORECASE)

# How those that hand out a class's files name them. Group `rest` is what the student called the file, or the lesson.
#: Moodle: "Ada Lovelace_12345_assignsubmission_file/02.ipynb", or the same before the file's name.
_MOODLE = re.compile(r"(?P<student>[^_]+)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<rest>.*)")
#: Canvas, for files in no folder: "lovelaceada_LATE_12345_67890_02-1.ipynb": the student's number, then the file's.
_CANVAS = re.compile(r"(?P<student>[^_]+)_(?:LATE_)?(?P<number>[1-9]\d*)_(?P<order>[1-9]\d*)_(?P<rest>.+)")
#: nbgrader's exchange, for folders: "ada+02_manual_history+2026-12-03 08:30:00 UTC" and perhaps a random end.
_EXCHANGE = re.compile(
    r"(?P<student>[^+]+)\+(?P<rest>[^+]+)\+(?P<order>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^+]*)(?:\+[^+]*)?"
)
#: A copy's number, as browsers and learning platforms add it: "02 (1)", "02-1".
_COPY = re.compile(r"\s*(?:\((\d{1,3})\)|-(\d{1,3}))$")
#: Folders that the course itself makes, and that are no student's.
OWN = frozenset({"lessons", "my-lessons", "source", "release"})
#: What may stand between two words of a name.
_GAP = r"[\s_.+-]*"


@dataclass(frozen=True)
class Name:
    """What a path says.

    Args:
        student: whose it is; "" if it does not say.
        number: that a learning platform gives to the student or the submission; "" if none.
        lesson: its name; "" if it does not say.
        order: sorts several of one student and lesson, the latest last.
    """

    student: str
    number: str
    lesson: str
    order: tuple[object, ...]


def read(path: PurePosixPath, assignment: str = "") -> Name:
    """Read a path by the rule.

    Args:
        path: of a file, below what stands around all of them.
        assignment: its name, where GitHub Classroom puts it before the student's: "lesson-2".
    """
    stem, copy = _without_copy(NOTEBOOK.sub("", path.name))
    folders = path.parts[:-1]
    order = (copy, -len(folders))
    for place, part in enumerate((*folders, stem)):
        patterns = (_MOODLE, _EXCHANGE) if place < len(folders) else (_MOODLE,) if folders else (_MOODLE, _CANVAS)
        if found := next((match.groupdict() for each in patterns if (match := each.fullmatch(part))), None):
            inside = (*folders[place + 1 :], stem) if place < len(folders) else ()
            lesson = _lesson_of([*reversed(inside), found["rest"] or ""])
            return Name(found["student"], found.get("number") or "", lesson, (_sortable(found), *order))
    if not folders:
        lesson = lesson_in(stem)
        return Name(_without(stem, lesson), "", lesson, ("", *order))
    student = folders[0]
    if student in OWN:  # of the one whom the whole place is named after
        return Name("", "", _lesson_of([stem]), ("", *order))
    lesson = _lesson_of([stem, *reversed(folders[1:])]) or lesson_in(student, bare=False)
    if assignment and student.startswith(f"{assignment}-"):
        student = student.removeprefix(f"{assignment}-")
    return Name(_without(student, lesson_in(student, bare=False)) or student, "", lesson, ("", *order))


def _sortable(groups: dict[str, str | None]) -> str:
    """A number or a moment so that it sorts as a text."""
    return (groups.get("order") or "").rjust(30, "0")


def _without_copy(stem: str) -> tuple[str, int]:
    """A file's name without the number of a copy, and that number; 0 for the first.

    "-2" counts as one only behind what names a lesson: "student-2" is another student.
    """
    found = _COPY.search(stem)
    if found and (found[1] or lesson_in(stem[: found.start()])):
        return stem[: found.start()], int(found[1] or found[2])
    return stem, 0


# -- lessons -------------------------------------------------------------------------------------------


def lesson_in(text: str, *, bare: bool = True) -> str:
    """The lesson that a name of a file or folder speaks of: "" if it speaks of none, or of several.

    It does so by the lesson's title, by its number as "lesson 2", and by the bare number as "02" in front or "2" alone.

    Args:
        text: the name.
        bare: whether a bare number counts. It may be a student's own.
    """
    for patterns in _patterns(tuple(course.lesson_names()))[: 3 if bare else 2]:
        found = [lesson for lesson, pattern in patterns.items() if pattern.search(text)]
        if found:
            return found[0] if len(found) == 1 else ""
    return ""


@cache
def _patterns(lessons: tuple[str, ...]) -> tuple[dict[str, re.Pattern[str]], ...]:
    """By lesson, what its title looks like with or without its number, its number with a word, and its number alone."""
    titles, counted, bare = {}, {}, {}
    for lesson in lessons:
        number, words = int(lesson[:2]), _GAP.join(map(re.escape, lesson[3:].split("_")))
        word = rf"(?<![0-9a-z])(?:lesson|notebook|nb|l){_GAP}0*{number}(?![0-9])"
        titles[lesson] = re.compile(rf"(?:(?:{word}|(?<![0-9a-z])0*{number}){_GAP})?{words}", re.IGNORECASE)
        counted[lesson] = re.compile(rf"{word}(?![a-z])", re.IGNORECASE)
        bare[lesson] = re.compile(rf"^(?:0*{number}$|0{number}(?![0-9a-z]))", re.IGNORECASE)
    return titles, counted, bare


def _lesson_of(texts: list[str]) -> str:
    """The lesson that the first of these texts names, if one does."""
    return next((lesson for text in texts if (lesson := lesson_in(text))), "")


def _without(text: str, lesson: str) -> str:
    """What remains of a name when what names the lesson is taken off: the part before it, else the part after."""
    for patterns in _patterns(tuple(course.lesson_names())) if lesson else ():
        if found := patterns[lesson].search(text):
            before, after = (part.strip(" _-+.") for part in (text[: found.start()], text[found.end() :]))
            return before or after
    return text
