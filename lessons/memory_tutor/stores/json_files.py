"""Conversations in JSON files: one for each conversation, in a folder for each user.

A file is replaced as a whole, so a killed writer leaves the old one or the new one. Who reads or writes holds the
lock of the user's folder, so that no version is checked while another one is being written.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from memory_tutor.stores import Conversation, Message, StoreDamaged, StoreDown, StoreError
from memory_tutor.stores.keys import as_json, checked, checked_last, checked_turn, conversation_ids, hashed, new_version

#: Seconds to wait for a lock.
PATIENCE = 30.0


def open(address: str, *, lifetime: float | None, conflict: type[Exception]) -> JsonStore:
    """See `stores.open`."""
    return JsonStore(Path(address.partition(":")[2]), lifetime=lifetime, conflict=conflict)


class JsonStore:
    """See `stores.Store`. Each append writes the whole conversation anew: for small ones, and few.

    Ids are stored as hashes: as names of files they could be paths, too long, or one name in another case.

    Args:
        folder: made at the first append.
    """

    def __init__(self, folder: Path, *, lifetime: float | None, conflict: type[Exception]) -> None:
        self._folder = folder
        self._lifetime = lifetime
        self._conflict = conflict

    def load(self, conversation: Conversation, last: int | None = None) -> tuple[list[Message], dict[str, Any], int]:
        ids, last = conversation_ids(conversation), checked_last(last)
        file = self._file(*ids)
        if not file.exists():
            return [], {}, 0
        with self._locked(*ids[:2]):
            kept = _read(file)
        messages = kept["messages"]
        return messages if last is None else messages[max(0, len(messages) - last) :], kept["pad"], kept["version"]

    def append(
        self, conversation: Conversation, messages: list[Message], version: int, pad: dict[str, Any] | None = None
    ) -> int:
        ids, new = conversation_ids(conversation), new_version()
        messages, pad = checked_turn(messages, pad)
        as_json([messages, pad])
        with self._locked(*ids[:2]):
            file = self._file(*ids)
            kept = _read(file)
            if type(version) is not int or version != kept["version"]:
                raise self._conflict(f"version {version!r} was loaded, and it is not the newest any more")
            kept["messages"] += messages
            kept["pad"] = kept["pad"] if pad is None else pad
            expires = None if self._lifetime is None else time.time() + self._lifetime
            _replace(file, as_json({**kept, "version": new, "expires": expires}))
        return new

    def delete(self, conversation: Conversation) -> bool:
        ids = conversation_ids(conversation)
        file = self._file(*ids)
        if not file.exists():
            return False
        with self._locked(*ids[:2]):
            return _delete(file)

    def delete_user(self, tenant: str, user: str) -> int:
        folder = self._user(*checked(tenant, user))
        if not folder.exists():
            return 0
        with self._locked(tenant, user):
            return sum(map(_delete, folder.glob("*.json")))

    def close(self) -> None:
        """Nothing is kept open."""

    def _user(self, tenant: str, user: str) -> Path:
        return self._folder / hashed(tenant, user)

    def _file(self, tenant: str, user: str, session: str) -> Path:
        return self._user(tenant, user) / f"{hashed(tenant, user, session)}.json"

    @contextmanager
    def _locked(self, tenant: str, user: str) -> Iterator[None]:
        """Hold the lock of a user. Readers hold it, too: Windows replaces no file that somebody reads."""
        folder = self._user(tenant, user)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / "lock", timeout=PATIENCE)
            with lock:
                yield
        except Timeout:
            raise StoreDown(f"{folder} is in use by another writer. Nothing was written: try again.") from None
        except OSError as error:
            raise StoreError(f"{folder} cannot be used: {error.strerror or error}.") from error


def _read(file: Path) -> dict[str, Any]:
    """What a file holds; the beginning of a conversation if there is no file, or if it has expired.

    Raises:
        StoreDamaged: it holds something else.
    """
    beginning = {"messages": [], "pad": {}, "version": 0}
    try:
        kept = json.loads(file.read_text(encoding="ascii"))
        expires = kept.pop("expires")
        sound = {name: type(value) for name, value in kept.items()} == {name: type(v) for name, v in beginning.items()}
        expired = expires is not None and expires <= time.time()
    except FileNotFoundError:
        return beginning
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise StoreDamaged(f"{file} is damaged: it holds no conversation. It was left as it is.")
    return beginning if expired else kept


def _replace(file: Path, text: str) -> None:
    """Put a text into a file's place, whole or not at all, and on the disk before this returns."""
    # One fixed name, under the lock: what a killed writer has left is overwritten by the next.
    temporary = file.with_suffix(".tmp")
    with temporary.open("w", encoding="ascii") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # the new name, too
        finally:
            os.close(folder)


def _delete(file: Path) -> bool:
    """Delete a conversation, damaged or not; whether there was one that had not expired."""
    try:
        there = bool(_read(file)["version"])
    except StoreDamaged:
        there = True
    file.unlink(missing_ok=True)
    file.with_suffix(".tmp").unlink(missing_ok=True)
    return there
