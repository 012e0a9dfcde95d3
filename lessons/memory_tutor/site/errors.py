"""Why a site cannot be built, and the tools that build it run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from memory_tutor.errors import TutorError


class SiteError(TutorError):
    """The site cannot be built; nothing is left of it."""


def run(command: list[str], problem: str, folder: Path, **settings: str) -> None:
    """Run a tool.

    Args:
        command: it and its arguments.
        problem: what cannot be done if it fails.
        folder: to run it in.
        settings: of its environment.

    Raises:
        SiteError: it is not there or fails; the message has the last line that it said.
    """
    try:
        done = subprocess.run(command, cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True)
    except FileNotFoundError:
        raise SiteError(f"{problem}: there is no {command[0]} here.") from None
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise SiteError(f"{problem}: {said[-1].strip() if said else 'it does not say why'}")
