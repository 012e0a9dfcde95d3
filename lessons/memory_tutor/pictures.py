"""Pictures drawn as SVG, with the same facts as text beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

Row = tuple[str, float]

#: The longest bar and the height of each, in pixels.
WIDTH, HEIGHT = 360, 14
#: The field in which lines are drawn, and the room around it for numbers and names, in pixels.
FIELD_WIDTH, FIELD_HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 400, 200, 64, 170, 12, 36
#: So far a picture and a bar shrink with the page, in pixels; on a narrower one, as at 200 %, the output scrolls.
NARROWEST, NARROWEST_BAR = 480, 120
#: How lines are told apart, without colours: dashes, and marks at the steps.
DASHES = ("none", "7 4", "2 4", "10 3 2 3")


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
            f'preserveAspectRatio="none" style="min-width:{NARROWEST_BAR}px;height:{HEIGHT}px" fill="currentColor">'
            f'<rect width="{width}" height="{HEIGHT}" fill-opacity="0.55"/></svg>'
        )


class Lines:
    """Lines over the same steps: a picture, and a table of the same numbers below it.

    Each line bears its name at its end, and differs from the others by its dashes and marks, not by a
    colour: all take the colour of the text around them. Where a page shows no SVG, the table is left.

    Args:
        title: what there is to see, in a sentence.
        series: the name of each line to its numbers; as many numbers in each, none of them negative.
        unit: of the numbers, "tokens".
        step: what a step is, "request"; they count from 1.

    Raises:
        ValueError: the lines have different lengths, or there are too many to tell apart.
    """

    def __init__(self, title: str, series: Mapping[str, Sequence[float]], unit: str = "", step: str = "step") -> None:
        self.title = title
        self.series = {str(name): list(numbers) for name, numbers in series.items()}
        self.unit = unit
        self.step = step
        if len({len(numbers) for numbers in self.series.values()}) > 1:
            raise ValueError("Every line needs as many numbers as the others.")
        if len(self.series) > len(DASHES):
            raise ValueError(f"More than {len(DASHES)} lines cannot be told apart.")

    @property
    def _steps(self) -> int:
        return max(map(len, self.series.values()), default=0)

    def _rows(self) -> list[list[str]]:
        """The table: a row for each step, a column for each line."""
        columns = self.series.values()
        return [[str(i + 1), *(_number(numbers[i]) for numbers in columns)] for i in range(self._steps)]

    def __repr__(self) -> str:
        head = [self.step, *self.series]
        rows = self._rows()
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        table = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]
        ]
        unit = f" ({self.unit})" if self.unit else ""
        return "\n".join([f"{self.title}{unit}", *(f"  {line}" for line in table)])

    def _repr_html_(self) -> str:
        left, right = ' style="text-align:left"', ' style="text-align:right"'
        head = "".join(f'<th scope="col"{right}>{escape(name)}</th>' for name in [self.step, *self.series])
        rows = "".join(
            f'<tr><th scope="row"{right}>{first}</th>' + "".join(f"<td{right}>{cell}</td>" for cell in cells) + "</tr>"
            for first, *cells in self._rows()
        )
        unit = f" ({escape(self.unit)})" if self.unit else ""
        return (
            f"<div><b>{escape(self.title)}</b>{unit}</div>{on_page(self._picture())}"
            f"<table><caption{left}>The same numbers</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def _picture(self) -> str:
        width, height = LEFT + FIELD_WIDTH + RIGHT, TOP + FIELD_HEIGHT + BOTTOM
        ends = ", ".join(f"{name} ends at {_number(numbers[-1])}" for name, numbers in self.series.items() if numbers)
        name = escape(f"{self.title}: {ends} {self.unit}".strip())
        drawn = "".join(
            self._line(place, numbers, DASHES[place]) for place, numbers in enumerate(self.series.values()) if numbers
        )
        return (
            f'<svg role="img" aria-label="{name}" viewBox="0 0 {width} {height}" '
            f'style="{fitting(width)}" fill="currentColor" stroke="none" '
            f'font-size="12">{self._axes()}{drawn}{self._names()}</svg>'
        )

    def _most(self) -> float:
        return max((number for numbers in self.series.values() for number in numbers), default=0) or 1

    def _x(self, step: int) -> float:
        return round(LEFT + FIELD_WIDTH * (step / (self._steps - 1) if self._steps > 1 else 0.5), 1)

    def _y(self, number: float) -> float:
        return round(TOP + FIELD_HEIGHT * (1 - number / self._most()), 1)

    def _axes(self) -> str:
        """Two axes, three levels with their numbers, the first and the last step."""
        floor, end = TOP + FIELD_HEIGHT, LEFT + FIELD_WIDTH
        levels = "".join(
            f'<path d="M{LEFT} {self._y(level)}H{end}" stroke="currentColor" stroke-opacity="0.2"/>'
            f'<text x="{LEFT - 8}" y="{self._y(level) + 4}" text-anchor="end">{_number(level)}</text>'
            for level in (0, round(self._most() / 2), self._most())
        )
        steps = "".join(
            f'<text x="{self._x(step)}" y="{floor + 18}" text-anchor="middle">{escape(self.step)} {step + 1}</text>'
            for step in sorted({0, self._steps - 1})
            if self._steps
        )
        return f'{levels}<path d="M{LEFT} {TOP}V{floor}H{end}" fill="none" stroke="currentColor"/>{steps}'

    def _line(self, place: int, numbers: Sequence[float], dashes: str) -> str:
        points = [(self._x(step), self._y(number)) for step, number in enumerate(numbers)]
        path = "L".join(f"{x} {y}" for x, y in points)
        marks = "".join(_mark(place, x, y) for x, y in points)
        return (
            f'<path d="M{path}" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="{dashes}"/>{marks}'
        )

    def _names(self) -> str:
        """The names at the ends of their lines, moved apart where they would cover each other."""
        ends = sorted((self._y(numbers[-1]), name) for name, numbers in self.series.items() if numbers)
        names, free = "", 0.0
        for y, name in ends:
            free = max(y + 4, free)
            names += f'<text x="{LEFT + FIELD_WIDTH + 10}" y="{round(free, 1)}">{escape(name)}</text>'
            free += 16
        return names


def fitting(width: int) -> str:
    """The style of a picture that shrinks with the page as long as its words can be read.

    Args:
        width: in pixels, where there is room.
    """
    return f"width:100%;min-width:{NARROWEST}px;max-width:{width}px;height:auto"


def on_page(picture: str) -> str:
    """A picture that a table goes with, for a page.

    A page that takes SVG for unsafe, as JupyterLab does in a notebook that it does not trust, strips the tags and
    keeps the words between them: without size they are not seen, and where the size is stripped too, they are apart.
    """
    return f'<div style="font-size:0">{picture.replace("</text>", "</text> ")}</div>'


def _mark(place: int, x: float, y: float) -> str:
    """A disc, a square, a diamond or a cross, for the first line, the second, ..."""
    shapes = (
        f'<circle cx="{x}" cy="{y}" r="3.5"/>',
        f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"/>',
        f'<path d="M{x} {y - 4:.1f}l4 4l-4 4l-4 -4z"/>',
        f'<path d="M{x - 4:.1f} {y}h8M{x} {y - 4:.1f}v8" stroke="currentColor" stroke-width="2"/>',
    )
    return shapes[place]


def _number(number: float) -> str:
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"
