"""Pictures drawn as SVG, each with its numbers as a text table beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Row = tuple[str, float]

WIDTH, ROW, LABEL, VALUE = 560, 22, 130, 70  # pixels of the drawing


class Chart:
    """Horizontal bars, one a row. In a notebook a picture and its table; in plain text the table with bars.

    The bars take the colour of the text around them, so they show on light and dark pages.

    Args:
        title: what there is to see, in a sentence.
        rows: (label, number) pairs; the numbers are not negative.
        unit: of the numbers, "tokens".
    """

    def __init__(self, title: str, rows: Sequence[Row], unit: str = "") -> None:
        self.title = title
        self.rows = [(str(label), number) for label, number in rows]
        self.unit = unit

    def _share(self, number: float) -> float:
        most = max((number for _, number in self.rows), default=0)
        return number / most if most else 0

    def __repr__(self) -> str:
        labels = max((len(label) for label, _ in self.rows), default=0)
        values = max((len(_number(number)) for _, number in self.rows), default=0)
        lines = []
        for label, number in self.rows:
            bar = "█" * round(30 * self._share(number))
            lines.append(f"  {label:<{labels}}  {_number(number):>{values}} {self.unit}  {bar}".rstrip())
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        height = ROW * len(self.rows) + 6
        room = WIDTH - LABEL - VALUE
        bars = []
        for index, (label, number) in enumerate(self.rows):
            y = index * ROW + 3
            width = round(room * self._share(number), 1)
            bars.append(
                f'<text x="{LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(label)}</text>'
                f'<rect x="{LABEL}" y="{y + 2}" width="{width}" height="{ROW - 6}" fill-opacity="0.55"/>'
                f'<text x="{LABEL + width + 6}" y="{y + 15}">{_number(number)}</text>'
            )
        cells = "".join(
            f'<tr><td style="text-align:left">{escape(label)}</td>'
            f'<td style="text-align:right">{_number(number)}</td></tr>'
            for label, number in self.rows
        )
        title = escape(self.title)
        return (
            f'<figure style="margin:0"><figcaption><b>{title}</b></figcaption>'
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'style="max-width:100%;height:auto;color:inherit" fill="currentColor" font-size="13">'
            f"<title>{title}</title>{''.join(bars)}</svg>"
            f'<details><summary>The numbers</summary><table><thead><tr><th scope="col"></th>'
            f'<th scope="col">{escape(self.unit)}</th></tr></thead><tbody>{cells}</tbody></table></details></figure>'
        )


def _number(number: float) -> str:
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"
