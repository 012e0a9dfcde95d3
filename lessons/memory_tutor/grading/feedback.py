"""What a student gets back: one page each, with nothing on it of other students or of what a check expects."""

from __future__ import annotations

from html import escape
from pathlib import Path

from memory_tutor import checks, files, html_page
from memory_tutor.exercises import WORD, Exercise, Lesson, Result
from memory_tutor.grading import words
from memory_tutor.grading.classroom import Classroom
from memory_tutor.grading.marking import SCHEME
from memory_tutor.grading.records import FEEDBACK, Mark

MARK = "<!DOCTYPE html><!-- memory-tutor feedback -->"


def name(student: str) -> str:
    """The name of a student's page."""
    return f"{words.stem(student)}.html"


def write(out: Path, classroom: Classroom) -> None:
    """Write a page for each student that has handed in a notebook.

    Raises:
        OSError: one cannot be written.
    """
    folder = out / FEEDBACK
    folder.mkdir(exist_ok=True)
    for student, marks in classroom.by_student.items():
        made = page(student, [marks[lesson.name] for lesson in classroom.lessons if lesson.name in marks])
        files.replace(folder / name(student), made.encode("utf-8", "replace"), folder)


def page(student: str, marks: list[Mark]) -> str:
    """A student's page.

    Args:
        student: their name.
        marks: of their own submissions.
    """
    graded = [mark for mark in marks if mark.graded]
    points = f"{sum(mark.points for mark in graded)} of {sum(mark.of for mark in graded)} points"
    total = points if graded else "Not graded"
    body = [
        f"<h1>Feedback for {escape(student)}</h1>",
        f"<p>{total}. The rule is {escape(SCHEME)}.</p>",
        *(_lesson(checks.lesson(mark.lesson), mark) for mark in marks),
        *(f"<p>{escape(text)}</p>" for text in sorted({mark.isolation for mark in marks if mark.isolation})),
    ]
    return html_page.page(MARK, f"Feedback for {student}: {total}", body)


def _lesson(lesson: Lesson, mark: Mark) -> str:
    points = f"{mark.points} of {mark.of} points" if mark.graded else "Not graded"
    parts = [
        f'<section id="{escape(lesson.name)}"><h2>{escape(lesson.name[:2])} {escape(lesson.title)}</h2>',
        f"<p>{points}, for <code>{escape(mark.file)}</code>.</p>",
    ]
    if mark.problem:
        parts.append(f"<p>{html_page.text(mark.problem)}</p>")
    if mark.results:
        rows = [
            _result(result, lesson.exercises[result.exercise])
            for result in mark.results
            if result.exercise in lesson.exercises
        ]
        head = ["Exercise", "Outcome", "Points", "What was seen", "A hint"]
        parts.append(html_page.table(f"Exercises of {lesson.title}", head, rows))
    return "\n".join([*parts, "</section>"])


def _result(result: Result, exercise: Exercise) -> list[str]:
    hint = exercise.hints[0] if exercise.hints and result.status in ("not attempted", "wrong", "raised") else ""
    return [
        f"<code>{escape(result.exercise)}</code>",
        escape(told(result)),
        "Not graded" if result.status == "not gradable" else f"{result.points} of {result.of}",
        html_page.text(said(result)),
        html_page.text(hint),
    ]


def told(result: Result) -> str:
    """The outcome in words."""
    return WORD[result.status].capitalize()


def said(result: Result) -> str:
    """What the student is told: why a check could not be made is between the course and the teacher."""
    if result.passed:
        return ""
    if result.status == "not gradable":
        return "This says nothing about your answer. Your teacher can see why."
    return message(result)


def message(result: Result) -> str:
    """A result's message without the words that every such message begins with."""
    return result.message.removeprefix(f"{WORD[result.status]} {result.exercise}:").strip()
