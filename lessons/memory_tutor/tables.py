"""A table in HTML and the same in plain text: one set of words, so that neither form says more than the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """Rows of words.

    Args:
        title: what there is to see.
        head: name of each column.
        rows: as many cells in each as there are columns.
        foot: a line about all of it.
        numbers: columns that are aligned to the right.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    foot: str = ""
    numbers: Collection[int] = ()

    def plain(self) -> str:
        """The table as text, every line but the title indented."""
        rows = [self.head, *self.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self.head))]
        if len(widths) - 1 not in self.numbers:
            widths[-1] = 0  # a last column of text is as long as it likes
        lines = [
            " ".join(
                f"{cell:>{width}}" if column in self.numbers else f"{cell:<{width}}"
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([self.title, *(f"  {line}" for line in lines), *([f"  {self.foot}"] if self.foot else [])])

    def html(self, *, titled: bool = True) -> str:
        """The table for a page. It says nothing of colours, so that it shows on light and dark ones.

        Args:
            titled: whether the title stands above it; a page may have it already.
        """
        about = [f"<b>{escape(self.title)}</b>"] * titled + [escape(self.foot)] * bool(self.foot)
        sides = ["right" if column in self.numbers else "left" for column in range(len(self.head))]

        def cells(row: Sequence[str], tag: str, scope: str = "") -> str:
            pairs = zip(row, sides, strict=True)
            return "".join(f'<{tag}{scope} style="text-align:{side}">{escape(cell)}</{tag}>' for cell, side in pairs)

        head = cells(self.head, "th", ' scope="col"')

        body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in self.rows)
        return (
            f'<table><caption style="text-align:left">{"<br/>".join(about)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def count(number: int, noun: str) -> str:
    """ "1 message", "2 messages", "1,200 messages"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
