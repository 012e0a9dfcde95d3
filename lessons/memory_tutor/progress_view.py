"""A learner's progress in a notebook: a table to look at, and the whole page as a file."""

from __future__ import annotations

from pathlib import Path

from memory_tutor import progress_page
from memory_tutor.progress import Progress
from memory_tutor.tables import Table


class ProgressView:
    """What `tutor.progress` shows: a row for each lesson, as a table where a notebook can show one.

    Args:
        done: what the learner has done.
        folder: the learner's; None where nothing is kept.
    """

    def __init__(self, done: Progress, folder: Path | None) -> None:
        self._done = done
        self._folder = folder

    def page(self) -> None:
        """Write all of it, exercise by exercise, to `progress.html` beside the notebooks.

        Raises:
            PageError: a file of that name is something else.
        """
        file = progress_page.write((self._folder or Path()) / progress_page.NAME, self._done)
        print(f"Your progress is in {file.name}, beside the notebooks. Open it in a browser.")

    def __repr__(self) -> str:
        return self._table().plain()

    def _repr_html_(self) -> str:
        return self._table().html()

    def _table(self) -> Table:
        rows = self._done.summary()
        points, of = sum(row.points for row in rows), sum(row.of for row in rows)
        return Table(
            f"Your progress: {points} of {of} points",
            ["lesson", "points", "exercises passed", "predictions"],
            [
                [
                    row.lesson,
                    f"{row.points} of {row.of}",
                    f"{row.passed} of {row.exercises}",
                    progress_page.predictions_told(row),
                ]
                for row in rows
            ],
            foot="" if self._folder else "It is kept until the kernel ends: this is no folder of memory-tutor.",
            numbers={1, 2},
        )
