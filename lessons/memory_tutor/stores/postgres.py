"""Conversations in PostgreSQL: a row for each conversation, with its version, and a row for each message.

An append is one transaction. The row of the conversation is changed first and on condition of its version, so
that appends to one conversation wait for each other there, and their messages get numbers in that order.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from memory_tutor import extras
from memory_tutor.stores import Conversation, Message, StoreDown, StoreError
from memory_tutor.stores.keys import (
    as_json,
    checked,
    checked_last,
    checked_turn,
    conversation_ids,
    hashed,
    known_version,
    new_version,
)
from memory_tutor.stores.locks import Lock

extras.need("postgres")
import psycopg  # noqa: E402

T = TypeVar("T")

#: Seconds to wait for a server that does not answer, where the address says nothing else.
PATIENCE = 5
NO_ADDRESS = (
    "this is no address that PostgreSQL understands. One looks like postgresql://user:password@host:5432/database; "
    "in a password, write / as %2F, @ as %40 and : as %3A"
)
#: Any number: what makes the tables takes this lock, since two that make one table at once disturb each other.
MAKING_TABLES = 7_220_164_893
SCHEMA = """
CREATE TABLE IF NOT EXISTS memory_tutor_conversations (
    key text PRIMARY KEY, owner text NOT NULL, version bigint NOT NULL, pad text NOT NULL, expires timestamptz
);
CREATE INDEX IF NOT EXISTS memory_tutor_by_owner ON memory_tutor_conversations (owner);
CREATE TABLE IF NOT EXISTS memory_tutor_messages (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL REFERENCES memory_tutor_conversations ON DELETE CASCADE,
    message text NOT NULL
);
CREATE INDEX IF NOT EXISTS memory_tutor_by_conversation ON memory_tutor_messages (key, seq);
"""
# SQL never deletes by itself, so each statement looks at the clock.
ALIVE = "(expires IS NULL OR expires > clock_timestamp())"
UNTIL = "clock_timestamp() + make_interval(secs => %(lifetime)s)"  # no lifetime, no end: NULL
CREATE = f"""
INSERT INTO memory_tutor_conversations (key, owner, version, pad, expires)
VALUES (%(key)s, %(owner)s, %(new)s, coalesce(%(pad)s, '{{}}'), {UNTIL}) ON CONFLICT DO NOTHING
"""
CHANGE = f"""
UPDATE memory_tutor_conversations SET version = %(new)s, pad = coalesce(%(pad)s, pad), expires = {UNTIL}
WHERE key = %(key)s AND version = %(version)s
"""
ADD = """
INSERT INTO memory_tutor_messages (key, message)
SELECT %s, message FROM unnest(%s::text[]) WITH ORDINALITY AS each (message, place) ORDER BY place
"""


def open(address: str, *, lifetime: float | None, conflict: type[Exception]) -> PostgresStore:
    """See `stores.open`."""
    return PostgresStore(address, lifetime=lifetime, conflict=conflict)


class PostgresStore:
    """See `stores.Store`. One connection, opened when it is needed, which threads take turns at.

    Ids are stored as hashes: PostgreSQL's texts hold no NUL, and an index no text of 10,000 characters.

    Args:
        address: "postgresql://user:password@host:port/database". The tables are made at first use.
    """

    def __init__(self, address: str, *, lifetime: float | None, conflict: type[Exception]) -> None:
        self._address = address
        self._lifetime = lifetime
        self._conflict = conflict
        self._lock = Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._process = 0

    def load(self, conversation: Conversation, last: int | None = None) -> tuple[list[Message], dict[str, Any], int]:
        key = hashed(*conversation_ids(conversation))
        last = checked_last(last)

        def work(connection: psycopg.Connection[Any]) -> tuple[list[Message], dict[str, Any], int]:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            query = f"SELECT version, pad FROM memory_tutor_conversations WHERE key = %s AND {ALIVE}"
            state = connection.execute(query, [key]).fetchone()
            if state is None:
                return [], {}, 0
            query = "SELECT message FROM memory_tutor_messages WHERE key = %s ORDER BY seq DESC LIMIT %s"
            rows = connection.execute(query, [key, last]).fetchall()
            return [json.loads(message) for (message,) in reversed(rows)], json.loads(state[1]), state[0]

        return self._run(work)

    def append(
        self, conversation: Conversation, messages: list[Message], version: int, pad: dict[str, Any] | None = None
    ) -> int:
        ids = conversation_ids(conversation)
        key, new = hashed(*ids), new_version()
        messages, pad = checked_turn(messages, pad)
        rows = [as_json(message) for message in messages]
        values = {
            "key": key,
            "owner": hashed(*ids[:2]),
            "version": version,
            "new": new,
            "pad": None if pad is None else as_json(pad),
            "lifetime": self._lifetime,
        }

        def work(connection: psycopg.Connection[Any]) -> bool:
            gone = "DELETE FROM memory_tutor_conversations WHERE key = %s AND NOT " + ALIVE
            connection.execute(gone, [key])
            if connection.execute(CHANGE if version else CREATE, values).rowcount != 1:
                return False
            connection.execute(ADD, [key, rows])
            return True

        if not known_version(version) or not self._run(work, writes=True):
            raise self._conflict(f"version {version!r} was loaded, and it is not the newest any more")
        return new

    def delete(self, conversation: Conversation) -> bool:
        key = hashed(*conversation_ids(conversation))
        return self._delete("key = %s", key) > 0

    def delete_user(self, tenant: str, user: str) -> int:
        return self._delete("owner = %s", hashed(*checked(tenant, user)))

    def close(self) -> None:
        with self._lock:
            self._hang_up()

    def _delete(self, where: str, value: str) -> int:
        def work(connection: psycopg.Connection[Any]) -> int:
            query = f"DELETE FROM memory_tutor_conversations WHERE {where} RETURNING {ALIVE}"
            return sum(alive for (alive,) in connection.execute(query, [value]).fetchall())

        return self._run(work, writes=True)

    # -- the connection --------------------------------------------------------------------------------

    def _run(self, work: Callable[[psycopg.Connection[Any]], T], *, writes: bool = False) -> T:
        """Do some work in a transaction, on a new connection if the old one turns out to be broken.

        Until the commit is sent nothing has happened, so the work may be done again; after that, it may have.

        Raises:
            StoreDown: the server does not answer, or did not answer the commit.
            StoreError: it refuses; nothing was written.
        """
        with self._lock:
            for attempt in (1, 2):
                connection = self._connected()
                try:
                    result = work(connection)
                except psycopg.Error as error:
                    self._hang_up()
                    if not _lost(error):
                        raise StoreError(f"{self._where()} cannot be used: {_said(error)}.") from error
                    if attempt == 2:
                        raise self._down(error) from error
                    continue
                except BaseException:
                    self._hang_up()
                    raise
                try:
                    connection.commit()
                except psycopg.Error as error:
                    self._hang_up()
                    if writes:
                        raise StoreDown(
                            f"{self._where()} did not say whether it has written. Load the conversation to see."
                        ) from error
                    if attempt == 2:
                        raise self._down(error) from error
                    continue
                return result
            raise AssertionError("unreachable")

    def _connected(self) -> psycopg.Connection[Any]:
        if self._process != os.getpid():
            self._connection = None  # a fork must not talk over its parent's connection
        if self._connection is None or self._connection.closed:
            try:
                self._connection = psycopg.connect(self._address, **self._patience())
                self._make_tables(self._connection)
            except psycopg.ProgrammingError as error:  # its text may hold the address, password and all
                self._hang_up()
                said = error.diag.message_primary or NO_ADDRESS
                raise StoreError(f"{self._where()} cannot be used: {said}.") from None
            except psycopg.Error as error:
                self._hang_up()
                if "PostgreSQL at" not in self._where():
                    raise StoreError(f"{self._where()} cannot be used: {NO_ADDRESS}.") from None
                raise self._down(error) from error
            self._process = os.getpid()
        return self._connection

    def _patience(self) -> dict[str, Any]:
        return {} if "connect_timeout" in self._address else {"connect_timeout": PATIENCE}

    def _make_tables(self, connection: psycopg.Connection[Any]) -> None:
        # An acknowledged turn is on the disk, whatever the server's settings are.
        connection.execute("SET synchronous_commit TO on")
        made = connection.execute("SELECT to_regclass('memory_tutor_messages') IS NOT NULL").fetchone()
        if not (made and made[0]):
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [MAKING_TABLES])
            connection.execute(SCHEMA)
        connection.commit()

    def _hang_up(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            with suppress(psycopg.Error):
                self._connection.close()
        self._connection = None

    def _where(self) -> str:
        try:
            parts = psycopg.conninfo.conninfo_to_dict(self._address)
        except psycopg.Error:
            return "The PostgreSQL server"
        host, port = parts.get("host", "localhost"), str(parts.get("port", 5432))
        # What stands in the port's place may be a piece of a password that holds a "/".
        return f"PostgreSQL at {host}:{port}" if port.isdecimal() else "The PostgreSQL server"

    def _down(self, error: Exception) -> StoreDown:
        return StoreDown(f"{self._where()} does not answer. Start it, then try again. It was said: {_said(error)}.")


def _lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, rather than the work refused: the server says why it refuses, with a code.

    Source: PostgreSQL's manual, appendix A; class 57P is a server that is ending or starting.
    """
    broken = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return broken and (error.sqlstate is None or error.sqlstate.startswith(("08", "57P")))


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")
