"""What our pages of HTML have in common: no script, nothing from elsewhere, light and dark, readable aloud."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_STYLE = """\
:root { color-scheme: light dark; --line: #8a8a8a; --soft: #eef1f4; --bar: #1f6feb; }
@media (prefers-color-scheme: dark) { :root { --line: #7d8590; --soft: #22272e; --bar: #58a6ff; } }
html { background: Canvas; color: CanvasText; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 60rem; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 2.5rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { border: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top;
  overflow-wrap: break-word; }
td code { overflow-wrap: anywhere; }
thead th, tfoot th, tfoot td { background: var(--soft); }
.bar { display: block; width: 100%; min-width: 4rem; height: .5rem; border: 1px solid var(--line); }
.bar rect { fill: var(--bar); }
ul { margin: 0; padding-left: 1.2rem; }
@media print { .table { overflow: visible; } }"""


def page(mark: str, title: str, body: Iterable[str]) -> str:
    """A whole page.

    Args:
        mark: what its file begins with, a doctype and a comment that says whose it is.
        title: text.
        body: HTML, a piece a line.
    """
    return "\n".join(
        [
            mark,
            '<html lang="en-GB"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{_STYLE}\n</style></head><body><main>",
            *body,
            "</main></body></html>\n",
        ]
    )


def text(words: str) -> str:
    """A message as HTML: its lines, and what stands between backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(words)).replace("\n", "<br>")


def table(caption: str, head: list[str], body: Iterable[list[str]], foot: list[str] | None = None) -> str:
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


def bar(points: int, of: int) -> str:
    """A picture of the number that stands above it; for the eye alone."""
    share = round(100 * min(points, of) / of) if of else 0
    return (
        '<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{share}" height="1"/></svg>'
    )
