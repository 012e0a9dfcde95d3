"""A limit on the time that a learner's code takes, which leaves no stray interrupt behind."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")
#: Seconds after which code that swallowed the interrupt gets another.
AGAIN = 0.5


class TimeLimitReached(BaseException):
    """The code did not return in time. No `except Exception` of a learner's code catches it."""


class Interrupted(KeyboardInterrupt):
    """The user pressed Ctrl-C, as opposed to a KeyboardInterrupt that the learner's code raises."""


def within(seconds: float, action: Callable[[], T]) -> T:
    """Run a learner's code for so long at most.

    The limit holds on the main thread: elsewhere, and where no thread can be started, the code runs
    without one.

    Args:
        seconds: until the code is interrupted, and again each half second while it swallows that.
        action: what to run.

    Returns:
        What the action returned.

    Raises:
        TimeLimitReached: it did not return in time, or swallowed the interrupt and returned late.
        Interrupted: the user interrupted it.
        BaseException: whatever the action raised.
    """
    if threading.current_thread() is not threading.main_thread():
        return action()
    with _Limit(seconds):
        return _guarded(action)


def _guarded(action: Callable[[], T]) -> T:
    """Interrupts are raised while this function is at work, and nowhere else: see `_on_interrupt`."""
    return action()


#: The limits at work on the main thread, the innermost last: a check may call while it is being called.
_limits: list[_Limit] = []


def _on_interrupt(_signal: int, frame: FrameType | None) -> None:
    """SIGINT, of the watchdog or of the user, while a limit is at work."""
    ours = any(limit.expired for limit in _limits)
    if not ours:
        for limit in _limits:
            limit.interrupted = True
    # Whether the learner's code was hit or ours, which may not be torn: the nearest of the two tells.
    # A signal that comes too late thus does nothing at all.
    while frame is not None and frame.f_code is not within.__code__:
        if frame.f_code is _guarded.__code__:
            raise TimeLimitReached if ours else Interrupted
        frame = frame.f_back


class _Limit:
    """One limit at work: a watchdog thread, and the handler of the interrupts that it sends."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.expired = False
        self.interrupted = False
        self._over = threading.Event()
        self._sending = threading.Lock()
        self._watchdog = threading.Thread(target=self._watch, name="time limit", daemon=True)

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGINT, _on_interrupt)
        _limits.append(self)
        try:
            self._watchdog.start()
        except RuntimeError:  # a browser has no threads
            self._over.set()

    def _watch(self) -> None:
        pause = self.seconds
        while not self._over.wait(pause):
            with self._sending:
                if self._over.is_set():
                    return
                self.expired = True
                _interrupt_main()
            pause = AGAIN

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._sending:
            self._over.set()
        # Setting a handler first runs the old one for what is pending, so nothing is left for the next.
        signal.signal(signal.SIGINT, _on_interrupt)
        _limits.remove(self)
        signal.signal(signal.SIGINT, signal.SIG_DFL if self._before is None else self._before)
        if kind is not None and issubclass(kind, TimeLimitReached | Interrupted):
            return  # it goes on, and tells the line at which it came
        if self.interrupted:
            raise Interrupted
        if self.expired:
            raise TimeLimitReached


def _interrupt_main() -> None:
    if hasattr(signal, "pthread_kill"):
        # Unlike interrupt_main, this also ends a sleep.
        ident = threading.main_thread().ident
        assert ident is not None
        signal.pthread_kill(ident, signal.SIGINT)
    else:
        _thread.interrupt_main()
