"""A learner's progress as one page of HTML: no script, nothing from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from html import escape
from pathlib import Path

from memory_tutor import checks, files, html_page
from memory_tutor.errors import TutorError
from memory_tutor.exercises import Exercise, Lesson, Prediction
from memory_tutor.history import ExerciseHistory
from memory_tutor.progress import LessonProgress, Progress

NAME = "progress.html"
#: What a page of ours begins with, so that no other file is written over.
MARK = "<!DOCTYPE html><!-- memory-tutor progress -->"


class PageError(TutorError):
    """The page cannot be written where it was asked for; nothing was changed."""


def write(file: Path, done: Progress) -> Path:
    """Write the page, whole or not at all, and never over a file that is something else.

    Returns:
        Its absolute path.

    Raises:
        PageError: the name belongs to something else, or its folder does not exist.
        OSError: it cannot be written.
    """
    file = file.absolute()
    if not file.parent.is_dir():
        raise PageError(f"There is no folder {file.parent}. Name a file in one that there is.")
    if file.exists() and not _is_ours(file):
        raise PageError(f"{file} is something else and is as it was. Name another file.")
    files.replace(file, page(done).encode("utf-8", "replace"), file.parent)
    return file


def _is_ours(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(len(MARK)) == MARK.encode()


def page(done: Progress) -> str:
    """The page, as text; it says up to when it holds by the learner's last event, not by the clock."""
    rows = done.summary()
    points, of = sum(row.points for row in rows), sum(row.of for row in rows)
    lessons = {lesson.name: lesson for lesson in checks.lessons()}
    body = [
        "<h1>Your progress in memory-tutor</h1>",
        f"<p>{points} of {of} points{_up_to(done.latest())}.</p>",
        _overview(rows, points, of),
        *(_lesson(lessons[row.lesson], done) for row in rows),
    ]
    return html_page.page(MARK, f"Your progress: {points} of {of} points", body)


def _up_to(latest: str | None) -> str:
    try:
        moment = datetime.fromisoformat(latest or "")
    except ValueError:
        return ""
    return f', up to <time datetime="{escape(moment.isoformat())}">{moment:%Y-%m-%d %H:%M}</time>'


def predictions_told(row: LessonProgress) -> str:
    """How a lesson's predictions went, in words: "2 right, 1 wrong, of 3; 1 changed"."""
    told = f"{row.right} right, {row.wrong} wrong, of {row.predictions}"
    return f"{told}; {row.changed} changed" if row.changed else told


def status_told(exercise: ExerciseHistory) -> str:
    """Where a learner stands with an exercise, in words."""
    if exercise.passed:
        return "passed"
    if exercise.last is None:
        return "not checked"
    return {"wrong": "not yet", "raised": "stopped by an error"}.get(exercise.last.status, exercise.last.status)


def solution_told(exercise: ExerciseHistory) -> str:
    """Whether the solution was seen first after a pass, after failed checks, or by giving up."""
    return {
        "": "no",
        "seen": "seen after a pass",
        "tried": "seen after failed checks",
        "gave up": "gave up: seen before a pass",
    }[exercise.solution]


def misconceptions_told(exercise: ExerciseHistory) -> list[str]:
    """The misconceptions that were met, and whether each was overcome."""
    return [f"{text} ({'overcome' if over else 'not overcome yet'})" for text, over in exercise.misconceptions.items()]


# -- tables --------------------------------------------------------------------------------------------


def _overview(rows: Iterable[LessonProgress], points: int, of: int) -> str:
    body = [
        [
            f'<a href="#{escape(row.lesson)}">{escape(row.lesson[:2])} {escape(row.title)}</a>',
            f"{row.points} of {row.of}{html_page.bar(row.points, row.of)}",
            f"{row.passed} of {row.exercises}",
            escape(predictions_told(row)),
        ]
        for row in rows
    ]
    head = ["Lesson", "Points", "Exercises passed", "Predictions"]
    return html_page.table(
        "Lesson by lesson", head, body, ["Total", f"{points} of {of}{html_page.bar(points, of)}", "", ""]
    )


def _lesson(lesson: Lesson, done: Progress) -> str:
    exercises = [_exercise(exercise, done.exercise(name)) for name, exercise in lesson.exercises.items()]
    predictions = [_prediction(each, done.choices(name)) for name, each in lesson.predictions.items()]
    parts = [f'<section id="{escape(lesson.name)}"><h2>{escape(lesson.name[:2])} {escape(lesson.title)}</h2>']
    head = ["Exercise", "Status", "Points", "Tries", "Hints seen", "Solution", "Misconceptions met"]
    parts.append(html_page.table(f"Exercises of {lesson.title}", head, exercises))
    if predictions:
        head = ["Prediction", "Outcome", "Chosen"]
        parts.append(html_page.table(f"Predictions of {lesson.title}", head, predictions))
    return "\n".join([*parts, "</section>"])


def _exercise(exercise: Exercise, history: ExerciseHistory) -> list[str]:
    met = "".join(f"<li>{escape(text)}</li>" for text in misconceptions_told(history))
    points = history.best.points if history.best else 0
    return [
        f"<code>{escape(exercise.name)}</code>",
        escape(status_told(history)),
        f"{points} of {exercise.points}",
        str(history.tries),
        f"{min(history.hints, len(exercise.hints))} of {len(exercise.hints)}",
        escape(solution_told(history)),
        f"<ul>{met}</ul>" if met else "none",
    ]


def _prediction(prediction: Prediction, choices: list[str]) -> list[str]:
    if not choices:
        return [f"<code>{escape(prediction.name)}</code>", "not made", ""]
    outcome = "right" if choices[-1] == prediction.right else "wrong"
    changed = ", changed" if len(choices) > 1 else ""
    chosen = ", then ".join(f"({choice})" for choice in choices)
    said = prediction.choices.get(choices[-1], "")
    return [f"<code>{escape(prediction.name)}</code>", outcome + changed, escape(f"{chosen} {said}".strip())]
