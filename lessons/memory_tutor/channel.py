"""Messages over a pipe: one JSON object a line, read and written by threads of their own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress

# By its own name: what a learner's code puts into the module in its place must not stand for it.
from json import dumps
from typing import IO, Any

#: The longest line, in bytes. No message comes near it: a codec's bounds see to that.
LINE = 16 << 20


class Channel:
    """One end of a pipe. An interrupt of the main thread never tears a message: threads carry them.

    Args:
        incoming: what to read from.
        outgoing: what to write to.
        arrived: gets each line, and None when the other end has gone; called on the reading thread.
    """

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes], arrived: Callable[[bytes | None], None]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._arrived = arrived
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        for work in (self._read, self._write):
            threading.Thread(target=work, name="channel", daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        """Queue a message; one to an end that has gone is lost without a word, as `arrived` tells."""
        self._unsent.put(dumps(message).encode("ascii") + b"\n")

    def close(self) -> None:
        """Let the writing thread end once all is written; the reading one ends with the other side."""
        self._unsent.put(None)

    def _read(self) -> None:
        with suppress(OSError), self._incoming:
            while line := self._incoming.readline(LINE):
                self._arrived(line)
        self._arrived(None)

    def _write(self) -> None:
        with suppress(OSError), self._outgoing:
            while (line := self._unsent.get()) is not None:
                self._outgoing.write(line)
                self._outgoing.flush()
