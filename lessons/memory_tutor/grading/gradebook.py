"""The gradebook: grades.csv for spreadsheets and learning platforms, grades.json for tools.

grades.csv has a row for each student: the name, the id that Moodle or Canvas has written into the file's name (where
there is one), points, remarks. It is UTF-8 with a byte order mark, without which Excel takes it for another encoding;
lines end with CRLF and texts are quoted. An exercise's cell is empty where it was not graded: no submission, or not
gradable. A total counts the rest. A text that a spreadsheet would take for a formula has an apostrophe in front.

grades.json: {"made_by", "scheme", "lessons": [{"name", "of", "exercises": [{"name", "of"}]}], "students": [{"student",
"id", "points", "of", "remarks", "submissions": [{"lesson", "file", "points", "of", "problem", "notes", "isolation",
"intake", "number", "sha256", "fingerprint", "seconds", "results": [{"exercise", "status", "points", "of",
"message"}]}]}], "changes": [{"student", "lesson", "before", "after"}], "notes"}. Points are null where nothing was
graded.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from pathlib import Path
from typing import Any

import memory_tutor
from memory_tutor import files
from memory_tutor.grading.classroom import Classroom
from memory_tutor.grading.marking import SCHEME
from memory_tutor.grading.records import Mark, as_data
from memory_tutor.texts import UNSHOWN

CSV, JSON = "grades.csv", "grades.json"
#: What a spreadsheet takes for the beginning of a formula, also in full width.
_FORMULA = ("=", "+", "-", "@", "|", "%")


def write(out: Path, classroom: Classroom) -> None:
    """Write both files, each whole or not at all.

    Raises:
        OSError: one cannot be written.
    """
    files.replace(out / CSV, table(classroom).encode("utf-8-sig", "backslashreplace"), out)
    text = json.dumps(document(classroom), indent=1, ensure_ascii=False) + "\n"
    files.replace(out / JSON, text.encode("utf-8", "backslashreplace"), out)


def table(classroom: Classroom) -> str:
    """The text of grades.csv."""
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    numbers = {student: classroom.number(student) for student in classroom.students}
    known = any(numbers.values())
    head = ["student", "id"] if known else ["student"]
    for lesson in classroom.lessons:
        head += [*(f"{lesson.name[:2]} {name}" for name in lesson.exercises), f"{lesson.name[:2]} total"]
    writer.writerow([*head, "total", "of", "remarks"])
    for student in classroom.students:
        row: list[object] = [cell(student), cell(numbers[student])] if known else [cell(student)]
        for lesson in classroom.lessons:
            mark = classroom.by_student.get(student, {}).get(lesson.name)
            points = _points(mark) if mark else {}
            row += [points.get(name, "") for name in lesson.exercises]
            row.append(mark.points if mark and mark.graded else "")
        total = classroom.points(student)
        writer.writerow([*row, "" if total is None else total, classroom.of, cell(classroom.remarks(student))])
    return stream.getvalue()


def _points(mark: Mark) -> dict[str, int]:
    """The points of the exercises that were graded."""
    return {result.exercise: result.points for result in mark.results if result.status != "not gradable"}


def cell(text: str) -> str:
    """A text as a cell: on one line, and never a formula."""
    line = UNSHOWN.sub(" ", text)
    return f"'{line}" if unicodedata.normalize("NFKC", line).lstrip().startswith(_FORMULA) else line


def document(classroom: Classroom) -> dict[str, Any]:
    """What grades.json holds."""
    return {
        "made_by": f"memory-tutor {memory_tutor.__version__}",
        "scheme": SCHEME,
        "lessons": [
            {
                "name": lesson.name,
                "of": lesson.points,
                "exercises": [{"name": each.name, "of": each.points} for each in lesson.exercises.values()],
            }
            for lesson in classroom.lessons
        ],
        "students": [
            {
                "student": student,
                "id": classroom.number(student),
                "points": classroom.points(student),
                "of": classroom.of,
                "remarks": classroom.remarks(student),
                "submissions": [
                    _submission(classroom, mark) for _, mark in sorted(classroom.by_student.get(student, {}).items())
                ],
            }
            for student in classroom.students
        ],
        "changes": [
            {
                "student": change.new.student,
                "lesson": change.new.lesson,
                "before": change.old.points,
                "after": change.new.points,
            }
            for change in classroom.changes
        ],
        "notes": classroom.notes,
    }


def _submission(classroom: Classroom, mark: Mark) -> dict[str, Any]:
    data = as_data(mark)
    del data["student"]
    return {**data, "points": mark.points if mark.graded else None, "notes": classroom.notes_on(mark)}
