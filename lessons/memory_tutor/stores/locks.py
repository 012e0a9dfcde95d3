"""A lock that a fork does not inherit."""

from __future__ import annotations

import os
import threading


class Lock:
    """A lock of this process, as a context manager.

    A fork copies a lock as it is: held for ever, if another thread held it in that moment. Here the child begins
    with a lock of its own.
    """

    def __init__(self) -> None:
        self._lock, self._process = threading.Lock(), os.getpid()

    def __enter__(self) -> None:
        if self._process != os.getpid():  # right after a fork there is one thread only
            self._lock, self._process = threading.Lock(), os.getpid()
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()
