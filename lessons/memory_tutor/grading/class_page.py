"""The teacher's page: how the class did, which misconceptions are how frequent, who is stuck where, what to look at."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from html import escape
from pathlib import Path
from urllib.parse import quote

from memory_tutor import files, html_page
from memory_tutor.exercises import WORD, Result, Status
from memory_tutor.grading import feedback
from memory_tutor.grading.classroom import Change, Classroom
from memory_tutor.grading.marking import SCHEME
from memory_tutor.grading.records import FEEDBACK, Mark
from memory_tutor.grading.submissions import RULE
from memory_tutor.tables import count

NAME = "class.html"
MARK = "<!DOCTYPE html><!-- memory-tutor class -->"
NOT_GRADED = "What could not be graded has no points, and not zero: a damaged file, a time limit, a missing part."
#: In how many ranges of equal width points are counted.
_RANGES = 5
#: How many students are named with a misconception.
_NAMED = 12
_STATUSES: tuple[Status, ...] = ("passed", "wrong", "raised", "not attempted", "not gradable")


def write(out: Path, classroom: Classroom) -> None:
    """Write the page.

    Raises:
        OSError: it cannot be written.
    """
    files.replace(out / NAME, page(classroom).encode("utf-8", "replace"), out)


def page(classroom: Classroom) -> str:
    """The page, as text."""
    marks = classroom.marks()
    graded = [mark for mark in marks if mark.graded]
    body = [
        "<h1>The class</h1>",
        f"<p>{count(len(classroom.students), 'student')}, {count(len(marks), 'submission')}, "
        f"{len(marks) - len(graded)} of them not marked.</p>",
        *_to_look_at(classroom, marks),
        *_distribution(classroom, graded),
        *_exercises(classroom, graded),
        *_misconceptions(graded),
        *_students(classroom),
        f"<h2>The rules</h2>{_list([f'Points: {SCHEME}.', RULE, NOT_GRADED, *classroom.isolation])}",
    ]
    return html_page.page(MARK, f"The class: {count(len(marks), 'submission')}", body)


# -- what needs the teacher ----------------------------------------------------------------------------


def _to_look_at(classroom: Classroom, marks: list[Mark]) -> list[str]:
    rows = []
    for mark in marks:
        failed = [f"{result.exercise}: {feedback.message(result)}" for result in mark.results if _unsaid(mark, result)]
        lines = [*mark.problem.splitlines(), *failed, *classroom.notes_on(mark)]
        if lines:
            rows.append([escape(mark.student), escape(mark.lesson), f"<code>{escape(mark.file)}</code>", _list(lines)])
    parts = []
    if rows:
        head = ["Student", "Lesson", "File", "What there is to know"]
        parts.append(html_page.table("Submissions to look at", head, rows))
    if classroom.changes:
        changed = [
            [
                escape(each.new.student),
                escape(each.new.lesson),
                str(each.old.points),
                str(each.new.points),
                _between(each),
            ]
            for each in classroom.changes
        ]
        head = ["Student", "Lesson", "Points before", "Points now", "What changed"]
        parts.append(html_page.table("Marks that another version of the checks has changed", head, changed))
    notes = [*(f"{name}: {says}" for name, says in classroom.empty.items()), *classroom.notes]
    if notes:
        parts.append(f"<h3>Files</h3>{_list(notes)}")
    return ["<h2>To look at</h2>", *parts] if parts else []


def _unsaid(mark: Mark, result: Result) -> bool:
    return result.status == "not gradable" and feedback.message(result) not in mark.problem


def _between(change: Change) -> str:
    old = {name: status for name, status, _ in change.old.outcome}
    new = {name: status for name, status, _ in change.new.outcome}
    return _list(
        [
            f"{name}: {_word(old.get(name))}, now {_word(new.get(name))}"
            for name in dict.fromkeys([*old, *new])
            if old.get(name) != new.get(name)
        ]
    )


def _word(status: str | None) -> str:
    return next((word.lower() for known, word in WORD.items() if known == status), "not there")


def _list(lines: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{html_page.text(line)}</li>' for line in lines)}</ul>"


# -- numbers -------------------------------------------------------------------------------------------


def _distribution(classroom: Classroom, graded: list[Mark]) -> list[str]:
    parts = ["<h2>Points</h2>"] if graded else []
    for lesson in classroom.lessons:
        points = [mark.points for mark in graded if mark.lesson == lesson.name]
        if not points:
            continue
        ranges = Counter(min(each * _RANGES // max(lesson.points, 1), _RANGES - 1) for each in points)
        rows = []
        for step in range(_RANGES):
            low, high = _edges(step, lesson.points)
            label = str(low) if low == high else f"{low} to {high}"
            rows.append([label, f"{ranges[step]}{html_page.bar(ranges[step], len(points))}"])
        points.sort()
        middle = (points[(len(points) - 1) // 2] + points[len(points) // 2]) / 2
        mean = sum(points) / len(points)
        foot = ["All", f"{len(points)}; mean {mean:.1f}, median {middle:g}, of {lesson.points} points"]
        caption = f"{lesson.name[:2]} {lesson.title}: how many students have how many points"
        parts.append(html_page.table(caption, ["Points", "Students"], rows, foot))
    return parts


def _edges(step: int, of: int) -> tuple[int, int]:
    """The fewest and the most points of a range."""
    low = -(-step * of // _RANGES)
    high = of if step == _RANGES - 1 else -(-(step + 1) * of // _RANGES) - 1
    return low, max(low, high)


def _exercises(classroom: Classroom, graded: list[Mark]) -> list[str]:
    rows = []
    for lesson in classroom.lessons:
        for name in lesson.exercises:
            results = [result for mark in graded for result in mark.results if result.exercise == name]
            counts = Counter(result.status for result in results)
            rows.append([f"{lesson.name[:2]} <code>{escape(name)}</code>", *(str(counts[each]) for each in _STATUSES)])
    head = ["Exercise", *(WORD[status].capitalize() for status in _STATUSES)]
    return ["<h2>Exercises</h2>", html_page.table("How many students stand where", head, rows)] if graded else []


def _misconceptions(graded: list[Mark]) -> list[str]:
    met: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for mark in graded:
        for result in mark.results:
            if result.status == "wrong":
                lines = feedback.message(result).splitlines() or ["(no message)"]
                met[result.exercise, kind(lines)].append((mark.student, " ".join(lines[:2])))
    if not met:
        return []
    rows = []
    for (exercise, _), cases in sorted(met.items(), key=lambda item: -len(item[1])):
        names = [name for name, _ in cases]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        example = Counter(text for _, text in cases).most_common(1)[0][0]
        rows.append(
            [
                f"<code>{escape(exercise)}</code>",
                str(len(cases)),
                html_page.text(example),
                escape(", ".join(names[:_NAMED]) + more),
            ]
        )
    head = ["Exercise", "Students", "What most of them were told", "Who"]
    return ["<h2>Misconceptions</h2>", html_page.table("Wrong answers, the most frequent first", head, rows)]


def kind(lines: list[str]) -> str:
    """What two messages have in common that speak of one misconception.

    The first line tells what was seen, which differs by answer; the second what it means.
    """
    return re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\d+", "…", lines[1] if len(lines) > 1 else lines[0])


def _students(classroom: Classroom) -> list[str]:
    rows = []
    for student in classroom.students:
        marks = classroom.by_student.get(student, {})
        shown = escape(student)
        if marks:
            shown = f'<a href="{FEEDBACK}/{quote(feedback.name(student))}">{shown}</a>'
        points = classroom.points(student)
        stuck = [
            f"{result.exercise} ({WORD[result.status].lower()})"
            for _, mark in sorted(marks.items())
            for result in mark.results
            if not result.passed
        ]
        cells = [
            str(marks[lesson.name].points) if lesson.name in marks and marks[lesson.name].graded else ""
            for lesson in classroom.lessons
        ]
        remarks = [classroom.remarks(student)] if not stuck and classroom.remarks(student) else []
        rows.append([shown, *cells, "" if points is None else str(points), escape(", ".join(stuck + remarks))])
    head = ["Student", *(lesson.name[:2] for lesson in classroom.lessons), f"Total of {classroom.of}", "Stuck at"]
    return ["<h2>Students</h2>", html_page.table("Who is stuck where", head, rows)] if rows else []
