"""A learner's progress as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Column, Table
from rich.text import Text

from memory_tutor.exercises import Lesson
from memory_tutor.progress import LessonProgress, Progress
from memory_tutor.progress_page import misconceptions_told, predictions_told, solution_told, status_told


def of_course(rows: Sequence[LessonProgress]) -> Table:
    """One row a lesson."""
    table = Table(*folded("Lesson", "Points", "Exercises passed", "Predictions"))
    for row in rows:
        table.add_row(
            row.lesson, f"{row.points} of {row.of}", f"{row.passed} of {row.exercises}", predictions_told(row)
        )
    table.add_section()
    table.add_row("Total", f"{sum(row.points for row in rows)} of {sum(row.of for row in rows)}", "", "")
    return table


def of_lesson(lesson: Lesson, done: Progress) -> Table:
    """One row an exercise."""
    table = Table(*folded("Exercise", "Status", "Tries", "Hints", "Solution", "Misconceptions met"), show_lines=True)
    for name, exercise in lesson.exercises.items():
        history = done.exercise(name)
        table.add_row(
            name,
            status_told(history),
            str(history.tries),
            f"{min(history.hints, len(exercise.hints))} of {len(exercise.hints)}",
            solution_told(history),
            Text("\n".join(misconceptions_told(history)) or "none"),  # no markup: it may hold brackets
        )
    return table


def folded(*names: str) -> list[Column]:
    """Columns that lose nothing in a narrow terminal: a word that is too long goes on in the next line."""
    return [Column(name, overflow="fold") for name in names]
