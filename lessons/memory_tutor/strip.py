"""A picture of several requests: a row for each, a block for each message; and the same numbers as a table."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from memory_tutor.pictures import fitting, on_page
from memory_tutor.tables import Table, count

#: What is said where there are no requests to show.
EMPTY = "No requests have been made yet."
#: The field of the blocks, the room beside it for words, and a row, in pixels.
FIELD, LEFT, RIGHT, HEIGHT, STEP = 480, 84, 110, 14, 20
#: The narrowest block, and what stands between two.
NARROW, GAP = 2.0, 1.0
#: A colour that shows on light and on dark pages, and a pattern that tells the roles apart without it.
LOOKS = {
    "system": ("#8a63d2", ""),
    "user": ("#2f7ed8", '<path d="M-1 7L7 -1M-1 13L13 -1" stroke="{colour}" stroke-width="1.6"/>'),
    "assistant": ("#2e9e5b", '<circle cx="3" cy="3" r="1.5" fill="{colour}"/>'),
    "tool": ("#c7762b", '<path d="M0 3H6M3 0V6" stroke="{colour}" stroke-width="1.2"/>'),
}
#: What messages that are not sent any more are called.
LEFT_OUT = "left out"
#: What a picture of no requests says.
EMPTY = "No requests have been made yet."
#: How many rows the text alternative of the picture tells; the table has them all.
TOLD = 6


@dataclass(frozen=True)
class Row:
    """One request.

    Args:
        number: of the request.
        messages: role and characters of each.
        left_out: characters of each message of the conversation that was sent before and is not any more.
        prompt, completion: tokens, None where they were not counted.
        total: tokens of this request and of all before it.
    """

    number: int
    messages: Sequence[tuple[str, int]]
    left_out: Sequence[int]
    prompt: int | None
    completion: int | None
    total: int


class Strip:
    """What each request held, and what it left out.

    Args:
        rows: the requests, oldest first.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)

    def __repr__(self) -> str:
        return self._table().plain() if self.rows else EMPTY

    def _repr_html_(self) -> str:
        return f"{on_page(self._picture())}{self._table().html()}" if self.rows else f"<p>{EMPTY}</p>"

    def _table(self) -> Table:
        roles = self._roles()
        head = ("request", "messages", *roles, LEFT_OUT, "prompt", "completion", "so far")
        rows = []
        for row in self.rows:
            characters = [sum(length for role, length in row.messages if _look(role) == each) for each in roles]
            tokens = ["?" if number is None else f"{number:,}" for number in (row.prompt, row.completion)]
            counts = (len(row.messages), *characters, len(row.left_out))
            rows.append([str(row.number), *(f"{number:,}" for number in counts), *tokens, f"{row.total:,}"])
        foot = f"{', '.join(roles)}: characters; {LEFT_OUT}: messages; prompt, completion, so far: tokens"
        return Table("What each request held", head, rows, foot, range(len(head)))

    def _roles(self) -> list[str]:
        there = {_look(role) for row in self.rows for role, _ in row.messages}
        return [role for role in LOOKS if role in there]

    def _picture(self) -> str:
        body = "".join(self._row(place, row) for place, row in enumerate(self.rows)) + self._legend()
        # Pictures of one page must not use each other's patterns: the page may hide one of them.
        mark = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()[:8]
        patterns = "".join(
            f'<pattern id="{role}-{mark}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<rect width="6" height="6" fill="{colour}" fill-opacity="{0.35 if pattern else 1}"/>'
            f"{pattern.format(colour=colour)}</pattern>"
            for role, (colour, pattern) in LOOKS.items()
        )
        width, height = LEFT + FIELD + RIGHT, STEP * (len(self.rows) + 2)
        return (
            f'<svg role="img" aria-label="{escape(self._told())}" viewBox="0 0 {width} {height}" '
            f'style="{fitting(width)}" fill="currentColor" font-size="12">'
            f"<defs>{patterns}</defs>{body.replace('#MARK', f'-{mark}')}</svg>"
        )

    def _told(self) -> str:
        lines = [
            f"request {row.number}: {count(len(row.messages), 'message')}, {len(row.left_out)} left out, "
            f"{'tokens not counted' if row.prompt is None else count(row.prompt, 'token')}"
            for row in self.rows[:TOLD]
        ]
        more = f"; and {len(self.rows) - TOLD} more, in the table below" if len(self.rows) > TOLD else ""
        return "A row for each request, a block for each message. " + "; ".join(lines) + more + "."

    def _scale(self) -> float:
        """Pixels for a character: the longest row fills the field."""
        room, most = float(FIELD), 1
        for row in self.rows:
            blocks = len(row.messages) + len(row.left_out)
            room = min(room, max(FIELD - blocks * (GAP + NARROW), FIELD / 4))
            most = max(most, sum(length for _, length in row.messages) + sum(row.left_out))
        return room / most

    def _row(self, place: int, row: Row) -> str:
        y, scale = place * STEP + 2, self._scale()
        # Instructions stay in front; behind them the oldest messages were left out first.
        looks = [(_look(role), length) for role, length in row.messages]
        front = next((at for at, (look, _) in enumerate(looks) if look != "system"), len(looks))
        blocks = [*looks[:front], *((LEFT_OUT, length) for length in row.left_out), *looks[front:]]
        x, paths = float(LEFT), dict[str, str]()
        for look, length in blocks:
            width = NARROW + length * scale
            paths[look] = paths.get(look, "") + f"M{x:.1f} {y}h{width:.1f}v{HEIGHT}h-{width:.1f}z"
            x += width + GAP
        drawn = "".join(f'<path d="{path}" {_fill(look)}/>' for look, path in paths.items())
        tokens = "" if row.prompt is None else f"{row.prompt:,} tokens"
        return (
            f'<text x="{LEFT - 8}" y="{y + 11}" text-anchor="end">request {row.number}</text>{drawn}'
            f'<text x="{LEFT + FIELD + RIGHT}" y="{y + 11}" text-anchor="end">{tokens}</text>'
        )

    def _legend(self) -> str:
        x, y, drawn = LEFT, STEP * len(self.rows) + 8, ""
        names = [*self._roles(), *([LEFT_OUT] if any(row.left_out for row in self.rows) else [])]
        for name in names:
            block = f'<rect x="{x}" y="{y}" width="22" height="{HEIGHT}" {_fill(name)}/>'
            drawn += f'{block}<text x="{x + 28}" y="{y + 11}">{name}</text>'
            x += 100
        return drawn


def _fill(look: str) -> str:
    """How a block is drawn; what was left out is hollow."""
    if look == LEFT_OUT:
        return 'fill="none" stroke="currentColor" stroke-opacity="0.5"'
    return f'fill="url(#{look}#MARK)"'


def _look(role: str) -> str:
    """The role whose look a role has."""
    return {"developer": "system", "function": "tool"}.get(role, role if role in LOOKS else "tool")
