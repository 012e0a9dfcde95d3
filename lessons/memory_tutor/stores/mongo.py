"""Conversations in MongoDB: a document for each, changed by one operation on condition of its version.

A document holds at most 16 MB, and is read as a whole. So a document that is full hands its messages to a part, a
document of its own that never changes, and goes on empty. The list of parts stands in the conversation's document,
which alone decides what belongs to it: no transactions are needed, and a standalone server will do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlsplit

from memory_tutor import extras
from memory_tutor.stores import Conversation, Message, StoreDamaged, StoreDown, StoreError
from memory_tutor.stores.keys import (
    ALL,
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

extras.need("mongo")
import pymongo  # noqa: E402
from pymongo import errors  # noqa: E402

T = TypeVar("T")

#: Milliseconds to wait for a server that does not answer, where the address says nothing else.
PATIENCE = 5000
#: The database, where the address names none.
DATABASE = "memory_tutor"
#: Characters of messages at which a document is full.
FULL = 64_000
GONE = datetime.fromtimestamp(0, UTC)


def open(address: str, *, lifetime: float | None, conflict: type[Exception]) -> MongoStore:
    """See `stores.open`."""
    return MongoStore(address, lifetime=lifetime, conflict=conflict)


class MongoStore:
    """See `stores.Store`. Threads may share it.

    Messages are stored as texts: MongoDB would refuse some of their keys and numbers, and half a character.

    Args:
        address: "mongodb://user:password@host:port/database", or "mongodb+srv://…".
    """

    def __init__(self, address: str, *, lifetime: float | None, conflict: type[Exception]) -> None:
        self._address = address
        self._lifetime = lifetime
        self._conflict = conflict
        self._lock = Lock()
        self._client: pymongo.MongoClient[dict[str, Any]] | None = None
        self._process = 0

    def load(self, conversation: Conversation, last: int | None = None) -> tuple[list[Message], dict[str, Any], int]:
        key, last = hashed(*conversation_ids(conversation)), checked_last(last)
        wanted = ALL if last is None else last
        shown = {"pad": 1, "version": 1, "parts": 1, "messages": {"$slice": -wanted} if wanted else {"$slice": 1}}

        def work(database: Any) -> tuple[list[str], Any, int] | None:
            head = database.memory_tutor_conversations.find_one({"_id": key, **_alive()}, shown)
            if head is None:
                return [], {}, 0
            rows = head["messages"] if wanted else []
            missing = wanted - len(rows)
            ids: list[int] = []
            for part in reversed(head["parts"]):
                if missing <= 0:
                    break
                ids.insert(0, part["id"])
                missing -= part["count"]
            parts = (
                {part["_id"]: part for part in database.memory_tutor_parts.find({"_id": {"$in": ids}})} if ids else {}
            )
            if len(parts) < len(ids):
                return None  # deleted meanwhile
            older = [row for each in ids for row in parts[each]["messages"]]
            rows = older + rows
            return (
                rows[max(0, len(rows) - wanted) :],
                json.loads(head["pad"]),
                int(head["version"]),
            )  # bson has ints of its own

        for _ in range(2):
            found = self._run(work)
            if found is not None:
                return [json.loads(row) for row in found[0]], found[1], found[2]
        raise StoreDamaged(f"{self._where()} has lost a part of this conversation. What is there was left as it is.")

    def append(
        self, conversation: Conversation, messages: list[Message], version: int, pad: dict[str, Any] | None = None
    ) -> int:
        ids, new = conversation_ids(conversation), new_version()
        key, owner = hashed(*ids), hashed(*ids[:2])
        messages, pad = checked_turn(messages, pad)
        rows = [as_json(message) for message in messages]
        size = sum(map(len, rows))
        values: dict[str, Any] = {"version": new, "expires": self._expires()}
        if pad is not None:
            values["pad"] = as_json(pad)

        def begin(database: Any) -> bool:
            for expired in database.memory_tutor_conversations.find({"_id": key, **_expired()}, {"birth": 1}):
                _clear(database, expired)
            head = {"_id": key, "owner": owner, "birth": new, "parts": [], "messages": rows, "size": size, "pad": "{}"}
            try:
                database.memory_tutor_conversations.insert_one(head | values)
            except errors.DuplicateKeyError:
                return False
            return True

        def go_on(database: Any) -> bool:
            heads = database.memory_tutor_conversations
            newest = {"_id": key, "version": version, **_alive()}
            push = {"$push": {"messages": {"$each": rows}}, "$inc": {"size": size}, "$set": values}
            if heads.update_one({**newest, "size": {"$lte": max(0, FULL - size)}}, push).matched_count:
                return True
            full = heads.find_one(newest)
            if full is None:
                return False
            part = {"_id": new, "birth": full["birth"], "messages": full["messages"]}
            database.memory_tutor_parts.insert_one(part)
            listed = {"id": new, "count": len(full["messages"])}
            update = {"$push": {"parts": listed}, "$set": {**values, "messages": rows, "size": size}}
            if heads.update_one(newest, update).matched_count:
                return True
            database.memory_tutor_parts.delete_one({"_id": new})
            return False

        if not known_version(version) or not self._run(go_on if version else begin, writes=True):
            raise self._conflict(f"version {version!r} was loaded, and it is not the newest any more")
        return new

    def delete(self, conversation: Conversation) -> bool:
        return self._delete({"_id": hashed(*conversation_ids(conversation))}) > 0

    def delete_user(self, tenant: str, user: str) -> int:
        return self._delete({"owner": hashed(*checked(tenant, user))})

    def close(self) -> None:
        with self._lock:
            if self._client is not None and self._process == os.getpid():
                self._client.close()
            self._client = None

    def _delete(self, which: dict[str, Any]) -> int:
        """Delete conversations; returns how many of them had not expired."""

        def work(database: Any) -> int:
            heads, alive = database.memory_tutor_conversations, 0
            for head in list(heads.find(which, {"birth": 1})):
                # Gone for all readers first: whoever is killed before the end leaves nothing that can be read.
                same = {"_id": head["_id"], "birth": head["birth"]}
                alive += heads.update_one({**same, **_alive()}, {"$set": {"expires": GONE}}).matched_count
                _clear(database, head)
            return alive

        return self._run(work, writes=True)

    def _expires(self) -> datetime | None:
        return None if self._lifetime is None else datetime.now(UTC) + timedelta(seconds=self._lifetime)

    # -- the connection --------------------------------------------------------------------------------

    def _run(self, work: Callable[[Any], T], *, writes: bool = False) -> T:
        """Do some work on the database.

        Raises:
            StoreDown: the server does not answer.
            StoreError: it refuses; nothing was written.
        """
        try:
            return work(self._database())
        except errors.ConnectionFailure as error:
            # The server was chosen before anything was sent.
            sent = writes and not isinstance(error, errors.ServerSelectionTimeoutError)
            see = " It may have written before it went: load the conversation to see." if sent else ""
            said = str(error).partition(" (configured")[0].partition(", Timeout:")[0][:200]
            raise StoreDown(
                f"{self._where()} does not answer. Start it, then try again.{see} It was said: {said}"
            ) from error
        except errors.DocumentTooLarge:
            raise StoreError("MongoDB takes 16 MB at most at once. Nothing was written.") from None
        except errors.OperationFailure as error:
            said = (error.details or {}).get("errmsg", str(error)).rstrip(".")
            raise StoreError(f"{self._where()} cannot be used: {said[:200]}.") from error
        except (errors.PyMongoError, ValueError) as error:  # its text may hold the address, password and all
            if isinstance(error, errors.ConfigurationError | ValueError):
                raise StoreError(
                    f"{self._where()} cannot be used: its address is not one that MongoDB understands "
                    f"({type(error).__name__}). One looks like mongodb://user:password@host:27017/database; in a "
                    "password, write / as %2F, @ as %40 and : as %3A."
                ) from None
            raise StoreError(f"{self._where()} cannot be used: {type(error).__name__}.") from error

    def _database(self) -> Any:
        with self._lock:
            if self._client is None or self._process != os.getpid():  # a fork needs a client of its own
                said = self._address.lower()
                patience: dict[str, Any] = {
                    name: PATIENCE
                    for name in ("serverSelectionTimeoutMS", "connectTimeoutMS", "socketTimeoutMS")
                    if name.lower() not in said
                }
                # Never a second try by the client: an append that was carried out would then be a conflict with itself.
                durable: dict[str, Any] = {"w": "majority", "journal": True, "retryWrites": False}
                client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(self._address, **durable, **patience)
                database = client.get_default_database(DATABASE)
                database.memory_tutor_conversations.create_index("owner")
                database.memory_tutor_parts.create_index("birth")
                self._client, self._process = client, os.getpid()
            return self._client.get_default_database(DATABASE)

    def _where(self) -> str:
        try:
            parts = urlsplit(self._address)
            return f"MongoDB at {parts.hostname or 'localhost'}" + (f":{parts.port}" if parts.port else "")
        except ValueError:
            return "MongoDB"


# MongoDB's own expiry sweeps once a minute, and knows nothing of parts.
def _alive() -> dict[str, Any]:
    return {"$or": [{"expires": None}, {"expires": {"$gt": datetime.now(UTC)}}]}


def _expired() -> dict[str, Any]:
    return {"expires": {"$lte": datetime.now(UTC)}}


def _clear(database: Any, head: dict[str, Any]) -> None:
    """Remove a conversation that nobody can read any more, its parts first; its successor is left alone."""
    database.memory_tutor_parts.delete_many({"birth": head["birth"]})
    database.memory_tutor_conversations.delete_one({"_id": head["_id"], "birth": head["birth"]})
