"""The errors that a learner sees: sentences to act on, without a stack trace in a notebook."""

from __future__ import annotations

import textwrap

#: Characters of a line that a notebook shows on a laptop; it breaks longer ones in the middle of a word.
WIDTH = 92


def wrapped(text: str) -> list[str]:
    """The lines of a text, long ones broken between words and indented like their beginning."""
    lines = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip(" ")))
        lines += textwrap.wrap(
            line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
        ) or [""]
    return lines


class TutorError(Exception):
    """A problem that the reader can mend. Its text says what happened and what to do.

    A notebook shows the lines of the message alone; plain Python shows the usual traceback.

    Args:
        message: what happened and what to do, one fact a line.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def _render_traceback_(self) -> list[str]:
        # IPython's hook. It must return a list of str and must never raise: otherwise the kernel
        # reports no error at all, and a failing cell would look like one that ran.
        return wrapped(str(self.message)) or [type(self).__name__]
