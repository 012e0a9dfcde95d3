"""The command `memory-tutor`, also `python -m memory_tutor`, from its first import on."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command; who presses Ctrl-C while it is still being imported gets a word and no traceback."""
    try:
        from memory_tutor.cli import main as command

        command()
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
