"""What a check does with an SQLite file that a learner's code has made.

It may be run in another process, beside the learner's, where this module is all that there is of the package: plain
values go in and come out, and why something cannot be done is a text.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from contextlib import closing

#: Steps that SQLite may take to look at a file; pages of one that is copied; seconds to wait for a lock.
STEPS, PAGES, LOCKED = 1_000_000, 2_000, 3.0


def count_rows(path: str) -> list[int] | str:
    """How many rows each table of a file has.

    Returns:
        The numbers, or why they are not to be had.
    """
    steps = iter(range(STEPS // 1000))
    try:
        _must_be_regular(path)
        with closing(sqlite3.connect(path, timeout=1)) as connection:
            connection.execute("PRAGMA query_only = 1")
            # What the learner's code has made of the file must not keep the check busy.
            connection.set_progress_handler(lambda: next(steps, None) is None, 1000)
            return [connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in _tables(connection)]
    except (OSError, sqlite3.Error) as error:
        return _why(error)


def copy(source: str, target: str) -> str:
    """Make one file like another one.

    Returns:
        Why it cannot be done; "" when it is done.
    """
    return _copied(source, target, lambda: None)


def let_writing_fail(path: str, text: str) -> str:
    """Have a file refuse each row that holds a certain text, whatever its tables are.

    Returns:
        Why it cannot be done; "" when it is done.
    """
    try:
        _must_be_regular(path)
        with closing(sqlite3.connect(path, timeout=LOCKED)) as connection:
            for table in _tables(connection):
                columns = [
                    str(row[1]).replace('"', '""') for row in connection.execute(f'PRAGMA table_info("{table}")')
                ]
                holds = " OR ".join(f"instr(NEW.\"{column}\", '{text}')" for column in columns)
                for event in ("INSERT", "UPDATE"):
                    connection.execute(
                        f'CREATE TRIGGER "{table}_{event}_fails" BEFORE {event} ON "{table}" '
                        f"WHEN {holds} BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
                    )
            connection.commit()
    except (OSError, sqlite3.Error) as error:
        return _why(error)
    return ""


class _Rival:
    """Makes one file like another one, and takes its time over it.

    SQLite's backup copies page by page, in one transaction: the writer's place is taken from the first page on.
    """

    def __init__(self, source: str, target: str, seconds: float) -> None:
        self._seconds = seconds
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._write, args=(source, target), daemon=True)
        self._why = ""

    def begin(self) -> None:
        self._thread.start()
        self._begun.wait(LOCKED)

    def end(self) -> str:
        self._thread.join(LOCKED + self._seconds)
        return self._why

    def _write(self, source: str, target: str) -> None:
        try:
            self._why = _copied(source, target, self._pause)
        finally:
            self._begun.set()

    def _pause(self) -> None:
        if not self._begun.is_set():
            self._begun.set()
            time.sleep(self._seconds)


_rivals: list[_Rival] = []


def begin_copy(source: str, target: str, seconds: float) -> bool:
    """Begin to make one file like another one, and go on with it meanwhile; end it with `end_copy`.

    Args:
        seconds: between the first page and the last one.

    Returns:
        Whether anything was begun: a browser has no threads.
    """
    rival = _Rival(source, target, seconds)
    try:
        rival.begin()
    except RuntimeError:
        return False
    _rivals.append(rival)
    return True


def end_copy() -> str:
    """Wait until what was begun is done.

    Returns:
        Why it could not be done; "" when it is done.
    """
    return _rivals.pop().end()


def _copied(source: str, target: str, after_a_page: Callable[[], None]) -> str:
    def progress(_: int, __: int, pages: int) -> None:
        if pages > PAGES:
            raise OSError("it is too large")
        after_a_page()

    try:
        for path in (source, target):
            _must_be_regular(path)
        with (
            closing(sqlite3.connect(source, timeout=LOCKED)) as one,
            closing(sqlite3.connect(target, timeout=LOCKED)) as other,
        ):
            one.backup(other, pages=1, progress=progress, sleep=0.05)
    except (OSError, sqlite3.Error) as error:
        return _why(error)
    return ""


def _must_be_regular(path: str) -> None:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise OSError("it is no regular file")


def _why(error: OSError | sqlite3.Error) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _tables(connection: sqlite3.Connection) -> list[str]:
    """The names of a database's own tables, as they stand between double quotes; not more than a few."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    return [str(name).replace('"', '""') for (name,) in connection.execute(query).fetchmany(20)]
