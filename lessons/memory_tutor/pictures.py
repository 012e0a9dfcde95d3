"""Pictures drawn as SVG, with the same facts as text beside them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Row = tuple[str, float]

#: The longest bar and the height of each, in pixels.
WIDTH, HEIGHT = 360, 14


class Chart:
    """Horizontal bars: a table of labels, bars and numbers.

    The bars alone are a picture. Where a page shows none, as JupyterLab does in a notebook that it does not
    trust, the labels and numbers are still a table. The bars take the colour of the text around them, so
    they show on light and dark pages.

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
        left, right = ' style="text-align:left"', ' style="text-align:right"'
        rows = "".join(
            f'<tr><th scope="row"{left}>{escape(label)}</th><td{left}>{self._bar(label, number)}</td>'
            f"<td{right}>{_number(number)}</td></tr>"
            for label, number in self.rows
        )
        return (
            f'<table><caption{left}><b>{escape(self.title)}</b></caption><thead><tr><th scope="col"></th>'
            f'<th scope="col"></th><th scope="col"{right}>{escape(self.unit)}</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )

    def _bar(self, label: str, number: float) -> str:
        name = escape(f"{label}: {_number(number)} {self.unit}".strip())
        width = round(WIDTH * self._share(number), 1)
        return (
            f'<svg role="img" aria-label="{name}" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'fill="currentColor"><rect width="{width}" height="{HEIGHT}" fill-opacity="0.55"/></svg>'
        )


def _number(number: float) -> str:
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"
