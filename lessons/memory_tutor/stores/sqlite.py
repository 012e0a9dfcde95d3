"""Conversations in an SQLite file: the `SqliteStore` of lesson 6's solution, with deletion and a lifetime."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from memory_tutor import checks
from memory_tutor.solutions import NoSolution, reference
from memory_tutor.stores import Conversation, Message, Store, StoreDamaged, StoreDown, StoreError
from memory_tutor.stores.keys import as_json, checked, checked_last, checked_turn, conversation_ids, known_version

SCHEMA = """
CREATE TABLE IF NOT EXISTS expiry (
    tenant TEXT, user TEXT, session TEXT, at REAL NOT NULL, PRIMARY KEY (tenant, user, session)
);
"""
#: Done by the database itself, in the transaction of the append: a killed writer leaves no gap.
EXPIRE = """
CREATE TEMP TRIGGER expire AFTER INSERT ON main.conversations BEGIN
    INSERT OR REPLACE INTO expiry
    VALUES (NEW.tenant, NEW.user, NEW.session, (julianday('now') - 2440587.5) * 86400 + {lifetime});
END;
"""
LAST_FOR_EVER = """
CREATE TEMP TRIGGER expire AFTER INSERT ON main.conversations BEGIN
    DELETE FROM expiry WHERE tenant = NEW.tenant AND user = NEW.user AND session = NEW.session;
END;
"""
#: Seconds to wait for a file that is being closed or recovered.
PATIENCE = 5.0
USERS = "tenant = ? AND user = ?"
ONES = f"{USERS} AND session = ?"


def open(address: str, *, lifetime: float | None, conflict: type[Exception]) -> Store:
    """See `stores.open`."""
    if ":memory:" in address:
        raise StoreError("SQLite's :memory: keeps nothing from one call to the next. Name a file.")
    try:
        lessons_own = reference(checks.find_answer("SqliteStore"), {"Conflict": conflict})
    except NoSolution:
        raise StoreError(
            'This installation carries no solutions, and SqliteStore is one. Use an address like "json:FOLDER".'
        ) from None
    # The lesson's class opens its file by the function that the lesson gives.
    given = lessons_own.load.__globals__
    given["connect"] = _with_expiry(given["connect"], lifetime)
    made: Store = type(
        "SqliteStore", (_WithExpiry, lessons_own), {"_connect": staticmethod(given["connect"]), "_conflict": conflict}
    )(address.partition(":")[2])
    return made


def _with_expiry(connect: Callable[[str], sqlite3.Connection], lifetime: float | None) -> Callable[[str], Any]:
    def connect_(path: str) -> sqlite3.Connection:
        connection = _opened(connect, path)
        try:
            connection.executescript(SCHEMA)
            connection.execute(LAST_FOR_EVER if lifetime is None else EXPIRE.format(lifetime=float(lifetime)))
        except BaseException:
            connection.close()
            raise
        return connection

    return connect_


def _opened(connect: Callable[[str], sqlite3.Connection], path: str) -> sqlite3.Connection:
    """A connection, also where the last other one is just closing: SQLite then says "locked" at once, whatever its
    timeout (its page on WAL names the case). Nothing has been asked yet, so it may be tried again.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return connect(path)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


class _WithExpiry:
    """What the stores do beyond lesson 6; the class of the solution stands behind it.

    Versions count up from 1 for each conversation. So a version of a conversation that was deleted or has expired
    may fit its successor: whoever deletes should make sure that nobody is answering.
    """

    path: str
    _connect: Callable[[str], sqlite3.Connection]
    _conflict: type[Exception]

    def load(self, conversation: Conversation, last: int | None = None) -> tuple[list[Message], dict[str, Any], int]:
        ids, last = _bindable(conversation_ids(conversation)), checked_last(last)
        with _told(self.path):
            if self._expired(ids):
                return [], {}, 0
            loaded: tuple[list[Message], dict[str, Any], int] = super().load(ids, last)  # type: ignore[misc]
            return loaded

    def append(
        self, conversation: Conversation, messages: list[Message], version: int, pad: dict[str, Any] | None = None
    ) -> int:
        ids = _bindable(conversation_ids(conversation))
        messages, pad = checked_turn(messages, pad)
        as_json([messages, pad])
        with _told(self.path):
            if not known_version(version):
                raise self._conflict(f"version {version!r} was loaded, and it is none of this store's")
            if self._expired(ids):
                self.delete(conversation)
            new: int = super().append(ids, messages, version, pad)  # type: ignore[misc]
            return new

    def delete(self, conversation: Conversation) -> bool:
        return self._delete(ONES, _bindable(conversation_ids(conversation))) > 0

    def delete_user(self, tenant: str, user: str) -> int:
        return self._delete(USERS, _bindable(checked(tenant, user)))

    def close(self) -> None:
        """Nothing is kept open."""

    def _delete(self, where: str, ids: tuple[str, ...]) -> int:
        """Delete what has expired and what has not; returns how many of the latter there were."""
        with _told(self.path), closing(self._connect(self.path)) as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            count = f"SELECT count(*) FROM conversations LEFT JOIN expiry USING (tenant, user, session) WHERE {where}"
            (alive,) = connection.execute(f"{count} AND (at IS NULL OR at > ?)", [*ids, time.time()]).fetchone()
            for table in ("messages", "conversations", "expiry"):
                connection.execute(f"DELETE FROM {table} WHERE {where}", ids)
        return int(alive)

    def _expired(self, ids: tuple[str, ...]) -> bool:
        with closing(self._connect(self.path)) as connection:
            row = connection.execute(f"SELECT at FROM expiry WHERE {ONES}", ids).fetchone()
        return row is not None and row[0] <= time.time()


def _bindable(ids: tuple[str, ...]) -> tuple[str, ...]:
    """The ids, if SQLite can store them: it writes text as UTF-8, which has no half characters."""
    for each in ids:
        try:
            each.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"an id must be text that UTF-8 can write, not {each[:20]!r}") from None
    return ids


@contextmanager
def _told(path: str) -> Iterator[None]:
    """What SQLite says, as the stores say it."""
    shown = os.fspath(path)
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise StoreDown(f"{shown} is in use by another writer. Nothing was written: try again.") from error
        raise StoreError(f"{shown} cannot be used: {error}.") from error
    except sqlite3.IntegrityError:
        raise  # a fault of ours
    except sqlite3.DatabaseError as error:
        raise StoreDamaged(f"{shown} is damaged, or no database ({error}). It was left as it is.") from error
