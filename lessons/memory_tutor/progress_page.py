"""A learner's progress as one page of HTML: no script, nothing from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from html import escape
from pathlib import Path

from memory_tutor import checks, files
from memory_tutor.errors import TutorError
from memory_tutor.exercises import Exercise, Lesson, Prediction
from memory_tutor.history import ExerciseHistory
from memory_tutor.progress import LessonProgress, Progress

NAME = "progress.html"
#: What a page of ours begins with, so that no other file is written over.
MARK = "<!DOCTYPE html><!-- memory-tutor progress -->"

_STYLE = """\
:root { color-scheme: light dark; --line: #8a8a8a; --soft: #eef1f4; --bar: #1f6feb; }
@media (prefers-color-scheme: dark) { :root { --line: #7d8590; --soft: #22272e; --bar: #58a6ff; } }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 60rem; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 2.5rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { border: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top;
  overflow-wrap: break-word; }
thead th, tfoot th, tfoot td { background: var(--soft); }
.bar { display: block; width: 100%; min-width: 4rem; height: .5rem; border: 1px solid var(--line); }
.bar rect { fill: var(--bar); }
ul { margin: 0; padding-left: 1.2rem; }
@media print { .table { overflow: visible; } }"""


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
    parts = [
        MARK,
        '<html lang="en-GB"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Your progress: {points} of {of} points</title>",
        f"<style>\n{_STYLE}\n</style></head><body><main>",
        "<h1>Your progress in memory-tutor</h1>",
        f"<p>{points} of {of} points{_up_to(done.latest())}.</p>",
        _overview(rows, points, of),
        *(_lesson(lessons[row.lesson], done) for row in rows),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


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
            f"{row.points} of {row.of}{_bar(row.points, row.of)}",
            f"{row.passed} of {row.exercises}",
            escape(predictions_told(row)),
        ]
        for row in rows
    ]
    head = ["Lesson", "Points", "Exercises passed", "Predictions"]
    return _table("Lesson by lesson", head, body, ["Total", f"{points} of {of}{_bar(points, of)}", "", ""])


def _lesson(lesson: Lesson, done: Progress) -> str:
    exercises = [_exercise(exercise, done.exercise(name)) for name, exercise in lesson.exercises.items()]
    predictions = [_prediction(each, done.choices(name)) for name, each in lesson.predictions.items()]
    parts = [f'<section id="{escape(lesson.name)}"><h2>{escape(lesson.name[:2])} {escape(lesson.title)}</h2>']
    head = ["Exercise", "Status", "Points", "Tries", "Hints seen", "Solution", "Misconceptions met"]
    parts.append(_table(f"Exercises of {lesson.title}", head, exercises))
    if predictions:
        head = ["Prediction", "Outcome", "Chosen"]
        parts.append(_table(f"Predictions of {lesson.title}", head, predictions))
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


def _bar(points: int, of: int) -> str:
    """A picture of the number that stands above it; for the eye alone."""
    share = round(100 * min(points, of) / of) if of else 0
    return (
        '<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{share}" height="1"/></svg>'
    )


def _table(caption: str, head: list[str], body: Iterable[list[str]], foot: list[str] | None = None) -> str:
    """A table whose first column names its rows; cells are HTML, the rest is text.

    It scrolls on its own, also by keyboard, where the window is narrow or the type large.
    """
    columns = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    rows = "\n".join(_row(cells) for cells in body)
    last = f"<tfoot>{_row(foot)}</tfoot>" if foot else ""
    return (
        f'<div class="table" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f"<table><caption>{escape(caption)}</caption>\n<thead><tr>{columns}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>{last}</table></div>"
    )


def _row(cells: list[str]) -> str:
    first, *others = cells
    return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in others)}</tr>'
