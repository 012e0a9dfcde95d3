"""Conversations in Redis or Valkey: a hash with version and pad, and a list of messages, for each conversation.

Each operation is one Lua script, which the server runs without letting anybody in between. The server must be
set to keep what it acknowledges (`appendonly yes`, `appendfsync always`); its default loses the last seconds.
"""

from __future__ import annotations

import json
import math
from typing import Any
from urllib.parse import urlsplit

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

extras.need("redis")
import redis  # noqa: E402
from redis.backoff import NoBackoff  # noqa: E402
from redis.retry import Retry  # noqa: E402

#: Seconds to wait for a server that does not answer, where the address says nothing else.
PATIENCE = 5.0

# In a script the clock stands still, so the keys of a conversation expire together.
NOW = "local clock = redis.call('TIME') local now = clock[1] * 1000 + math.floor(clock[2] / 1000)\n"
LOAD = """
local state = redis.call('HMGET', KEYS[1], 'version', 'pad')
if not state[1] then return {} end
if ARGV[1] == '' then return {state[1], state[2], {}} end
return {state[1], state[2], redis.call('LRANGE', KEYS[2], ARGV[1], -1)}
"""
# An index of the user's conversations, by the time when they expire: a user is deleted without a search.
APPEND = (
    NOW
    + """
local version, new, pad, lifetime = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if (redis.call('HGET', KEYS[1], 'version') or '0') ~= version then return 0 end
redis.call('HSET', KEYS[1], 'version', new)
if pad ~= '' then redis.call('HSET', KEYS[1], 'pad', pad) end
for place = 5, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[place]) end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
if lifetime then
    for _, key in ipairs({KEYS[1], KEYS[2]}) do redis.call('PEXPIREAT', key, now + lifetime) end
    redis.call('ZADD', KEYS[3], now + lifetime, KEYS[1])
else
    for _, key in ipairs({KEYS[1], KEYS[2]}) do redis.call('PERSIST', key) end
    redis.call('ZADD', KEYS[3], '+inf', KEYS[1])
end
local latest = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2]
if latest == 'inf' then redis.call('PERSIST', KEYS[3]) else redis.call('PEXPIREAT', KEYS[3], latest) end
return 1
"""
)
DELETE = """
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[3], KEYS[1])
return redis.call('DEL', KEYS[1])
"""
DELETE_USER = """
local there = 0
for _, state in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    redis.call('DEL', state .. ':messages')
    there = there + redis.call('DEL', state)
end
redis.call('DEL', KEYS[1])
return there
"""


def open(address: str, *, lifetime: float | None, conflict: type[Exception]) -> RedisStore:
    """See `stores.open`."""
    return RedisStore(address, lifetime=lifetime, conflict=conflict)


class RedisStore:
    """See `stores.Store`. Threads may share it.

    Args:
        address: "redis://user:password@host:port/number", or "rediss://…" for TLS.
    """

    def __init__(self, address: str, *, lifetime: float | None, conflict: type[Exception]) -> None:
        self._lifetime = "" if lifetime is None else str(max(1, math.ceil(lifetime * 1000)))
        self._conflict = conflict
        # Never a second try by the client: an append that was carried out would then be a conflict with itself.
        once: dict[str, Any] = {"retry": Retry(NoBackoff(), 0)}
        patience = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
        try:
            parts = urlsplit(address)
            self._where = f"Redis at {parts.hostname or 'localhost'}:{parts.port or 6379}"
            self._client = redis.Redis.from_url(address, **once, **patience)
            pool = self._client.connection_pool
            pool.connection_class(**pool.connection_kwargs)  # says now what it does not know; it does not connect
        except (ValueError, TypeError):  # its text may hold the address, password and all
            raise StoreError(
                'This is no address of a Redis server. One looks like "redis://127.0.0.1:6379/0"; '
                "in a password, write / as %2F, @ as %40 and : as %3A."
            ) from None
        scripts = (LOAD, APPEND, DELETE, DELETE_USER)
        self._load, self._append, self._delete, self._delete_user = map(self._client.register_script, scripts)

    def load(self, conversation: Conversation, last: int | None = None) -> tuple[list[Message], dict[str, Any], int]:
        keys, last = _keys(*conversation_ids(conversation)), checked_last(last)
        # Where the newest messages begin: 0 is the very first, -1 the last one, and no number stands for "none".
        first = 0 if last is None else -last or ""
        found = self._run(self._load, keys, [first])
        if not found:
            return [], {}, 0
        version, pad, messages = found
        return [json.loads(message) for message in messages], json.loads(pad or "{}"), int(version)

    def append(
        self, conversation: Conversation, messages: list[Message], version: int, pad: dict[str, Any] | None = None
    ) -> int:
        keys, new = _keys(*conversation_ids(conversation)), new_version()
        messages, pad = checked_turn(messages, pad)
        rows = [as_json(message) for message in messages]
        values = [version, new, "" if pad is None else as_json(pad), self._lifetime, *rows]
        if not known_version(version) or not self._run(self._append, keys, values, writes=True):
            raise self._conflict(f"version {version!r} was loaded, and it is not the newest any more")
        return new

    def delete(self, conversation: Conversation) -> bool:
        return int(self._run(self._delete, _keys(*conversation_ids(conversation)), [], writes=True)) > 0

    def delete_user(self, tenant: str, user: str) -> int:
        return int(self._run(self._delete_user, [_index(*checked(tenant, user))], [], writes=True))

    def close(self) -> None:
        self._client.close()

    def _run(self, script: Any, keys: list[str], values: list[Any], *, writes: bool = False) -> Any:
        """Let the server run a script.

        Raises:
            StoreDown: it does not answer.
            StoreError: it refuses; nothing was written.
        """
        try:
            return script(keys=keys, args=values)
        except redis.AuthenticationError as error:
            raise StoreError(f"{self._where} refuses the user or the password: {_said(error)}.") from None
        except (redis.ConnectionError, redis.TimeoutError) as error:
            see = " It may have written before it went: load the conversation to see." if writes else ""
            raise StoreDown(
                f"{self._where} does not answer. Start it, then try again.{see} It was said: {_said(error)}."
            ) from error
        except redis.RedisError as error:
            raise StoreError(f"{self._where} cannot be used: {_said(error)}.") from error


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")


def _keys(*ids: str) -> list[str]:
    """State, messages and index of a conversation. The braces keep them on one machine of a cluster."""
    state = f"memory-tutor:{{{hashed(*ids[:2])}}}:{hashed(*ids)}"
    return [state, f"{state}:messages", _index(*ids[:2])]


def _index(tenant: str, user: str) -> str:
    return f"memory-tutor:{{{hashed(tenant, user)}}}:conversations"
