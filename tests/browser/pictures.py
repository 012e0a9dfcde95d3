"""Make the README's pictures anew: `python tests/browser/pictures.py` keeps those that the browser tests take."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def wanted() -> list[str]:
    """The names of the pictures that the README shows."""
    return re.findall(r"\]\(\.github/([\w-]+\.png)\)", (ROOT / "README.md").read_text(encoding="utf-8"))


def main() -> int:
    """Run the browser tests, and copy the README's pictures to where it looks for them.

    Returns:
        The exit code: that of the tests.
    """
    with tempfile.TemporaryDirectory() as album:
        os.environ["MEMORY_TUTOR_PICTURES"] = album
        if code := pytest.main(["-n0", str(ROOT / "tests" / "browser")]):
            return int(code)
        for name in wanted():
            shutil.copyfile(Path(album) / name, ROOT / ".github" / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
