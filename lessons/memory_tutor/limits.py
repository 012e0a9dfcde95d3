"""What a learner's process may use of the machine."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass

MB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """For one process each; what is None is not limited.

    Args:
        memory: addresses that it may ask for, bytes.
        seconds: of a processor.
        file: size of the longest file that it may write, bytes.
        files: that it may have open.
        processes: that its user may have, threads counted.
    """

    memory: int | None = 3072 * MB
    seconds: int | None = 120
    file: int | None = 32 * MB
    files: int | None = 256
    processes: int | None = 64

    def apply(self) -> None:
        """Set them for this process and all that it starts, as far as the system has such limits."""
        if sys.platform == "win32":
            return
        import resource

        wanted = {
            "RLIMIT_AS": self.memory,
            "RLIMIT_CPU": self.seconds,
            "RLIMIT_FSIZE": self.file,
            "RLIMIT_NOFILE": self.files,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_CORE": 0,
            "RLIMIT_MSGQUEUE": 0,
            "RLIMIT_MEMLOCK": 0,
        }
        for name, value in wanted.items():
            kind = getattr(resource, name, None)
            if kind is not None and value is not None:
                _, most = resource.getrlimit(kind)
                value = value if most == resource.RLIM_INFINITY else min(value, most)
                with suppress(ValueError, OSError):  # macOS does not take each of them
                    resource.setrlimit(kind, (value, value))
