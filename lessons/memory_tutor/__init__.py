"""memory-tutor: a course in the short-term memory of LLM applications. A notebook needs `start` alone."""

from __future__ import annotations

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - a checkout can be imported by any Python
    raise ImportError(
        f"memory-tutor needs Python 3.11 or newer, and this is {sys.version_info[0]}.{sys.version_info[1]}. "
        "Make the environment with a newer python3."
    )

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_tutor.tutor import Tutor

__version__ = "0.1.0"
__all__ = ["start"]


def start(lesson: str | int | None = None, mode: str | None = None) -> Tutor:
    """Answer this notebook's API calls from a recording, and return the tutor.

    Args:
        lesson: name or number of the lesson whose recording is opened; None opens all of them.
        mode: "replay" (the default: nothing is sent), "explore" (the recording, else the endpoint),
            "live" (the endpoint) or "record" (for maintainers); None takes MEMORY_TUTOR_MODE, else replay.

    Returns:
        The tutor: `tutor.model`, `tutor.check(name)`, `tutor.hint(name)`, `tutor.transcript`, …

    Raises:
        TutorError: there is no such lesson or mode, the recording is damaged, or a live mode has no key.
            Until a start succeeds, every request is then refused.
    """
    # openai and vcrpy take most of a second to import: only who starts a lesson pays for it.
    if "MEMORY_TUTOR_LEARNER" in os.environ:  # the notebook is being marked: see `process`
        from memory_tutor.inside import start as begin_inside

        return begin_inside(lesson, mode)  # type: ignore[return-value]  # it has the same methods
    from memory_tutor.tutor import start as begin

    return begin(lesson, mode)
