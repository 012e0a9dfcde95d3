"""Lesson 6's store of conversations, on five engines: JSON files, SQLite, Redis, PostgreSQL, MongoDB.

Whatever the engine, a store keeps three promises. An `append` is there as a whole or not at all, also when
the writer or the server is killed. One that was acknowledged stays. And one that was made from an old version
is refused with `Conflict`, so that no two workers lose a turn.

    store = stores.open("redis://127.0.0.1:6379/0", lifetime=3600)
    messages, pad, version = store.load(("acme", "ada", "s1"), last=12)
    version = store.append(("acme", "ada", "s1"), [question, reply], version)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from memory_tutor.errors import TutorError
from memory_tutor.stores.keys import checked_lifetime

#: (tenant, user, session): three texts, none of them empty.
Conversation = tuple[str, str, str]
Message = dict[str, Any]

#: The scheme of an address to the module that keeps it.
ENGINES = {
    "json": "json_files",
    "sqlite": "sqlite",
    "redis": "redis",
    "rediss": "redis",
    "postgresql": "postgres",
    "postgres": "postgres",
    "mongodb": "mongo",
    "mongodb+srv": "mongo",
}


class Conflict(Exception):
    """The version that was loaded is not the newest any more: load again, ask the model again, append again."""


class StoreError(TutorError):
    """A store cannot be used as it is asked to; the message says what to do."""


class StoreDown(StoreError):
    """The server of a store does not answer. What was acknowledged is kept; try again when it is back."""


class StoreDamaged(StoreError):
    """What stands in a store cannot be read. It is left as it is."""


class Store(Protocol):
    """What every store does.

    Ids that are no `str` are a TypeError, `""` is a ValueError; any other text is an id, of any length. SQLite alone
    refuses half characters (lone surrogates), with a ValueError.
    """

    def load(self, conversation: Conversation, last: int | None = None) -> tuple[list[Message], dict[str, Any], int]:
        """What is kept of a conversation, read at one moment.

        Args:
            last: so many of the newest messages; all when omitted.

        Returns:
            The messages, oldest first; the pad; and the version, which only this store understands.
            A conversation that nobody has written to, or that has expired, gives `([], {}, 0)`.

        Raises:
            StoreDown: the server does not answer.
            ValueError: `last` is negative.
        """

    def append(
        self, conversation: Conversation, messages: list[Message], version: int, pad: dict[str, Any] | None = None
    ) -> int:
        """Add messages, and a pad if one is given, to what was loaded as this version.

        Args:
            version: as `load` or `append` gave it.
            pad: the whole new pad; None leaves the old one.

        Returns:
            The new version.

        Raises:
            Conflict: somebody else has written since; nothing was added.
            StoreDown: the server does not answer, or did not say whether it has written; load to see.
            TypeError, ValueError: a message or the pad is no dict, or no JSON; nothing was added.
        """

    def delete(self, conversation: Conversation) -> bool:
        """Delete a conversation for good, pad and all; whether there was one."""

    def delete_user(self, tenant: str, user: str) -> int:
        """Delete all conversations of one user of one tenant; how many there were."""

    def close(self) -> None:
        """Let go of connections. A store that was closed opens itself again when it is used."""


def open(address: str, *, lifetime: float | None = None, conflict: type[Exception] = Conflict) -> Store:
    """The store at an address.

    Args:
        address: "json:FOLDER", "sqlite:FILE", or the address of a server as its own client takes it:
            "redis://…", "postgresql://…", "mongodb://…".
        lifetime: seconds after the last `append` in which a conversation is kept; for ever when omitted. What has
            expired is read and continued no more; Redis removes it by itself, the others with the next append to
            that conversation or with its deletion.
        conflict: the exception to raise for a version that is out of date.

    Raises:
        StoreError: an address that no engine knows, or an engine whose client is not installed.
        TypeError, ValueError: the lifetime is no number of seconds.
    """
    lifetime = checked_lifetime(lifetime)
    scheme, _, place = address.partition(":")
    if scheme in ENGINES and not place:
        raise StoreError(f"The address {address!r} does not say where: after the colon comes a folder, file or server.")
    if scheme not in ENGINES:
        known = ", ".join(ENGINES)
        raise StoreError(f"No store is known for an address that begins with {scheme!r}. It may begin with: {known}.")
    made: Store = import_module(f"{__name__}.{ENGINES[scheme]}").open(address, lifetime=lifetime, conflict=conflict)
    return made
