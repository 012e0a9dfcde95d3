"""What a part of the course needs beyond the base installation, and how to get it."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from memory_tutor.errors import TutorError

#: The extra of this package to what it is called, and the modules that it brings.
EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "langchain": (
        "LangChain",
        ("langchain", "langchain_classic", "langchain_openai", "langgraph", "langgraph.checkpoint.sqlite"),
    ),
    "redis": ("Redis", ("redis",)),
    "postgres": ("PostgreSQL", ("psycopg",)),
    "mongo": ("MongoDB", ("pymongo",)),
}


class MissingExtra(TutorError):
    """An extra is not installed; the message holds the line that installs it."""


def need(extra: str) -> None:
    """Go on if all modules of an extra can be imported.

    Args:
        extra: "langchain", "redis", "postgres" or "mongo".

    Raises:
        MissingExtra: one cannot.
    """
    title, modules = EXTRAS[extra]
    if not all(_found(module) for module in modules):
        if sys.platform == "emscripten":
            raise MissingExtra(f"This part needs {title}, which no browser can run. You may leave this part out.")
        raise MissingExtra(
            f"This part needs {title}, which is not installed. Nothing is broken: you may leave this part out.\n"
            f'To install it, run this in a new cell, then restart the kernel: %pip install "memory-tutor[{extra}]"'
        )


def _found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False
