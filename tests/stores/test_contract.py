"""What every store promises, whatever its engine (`stores.Store`)."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import places
import pytest

from memory_tutor import stores
from memory_tutor.stores import Conflict, Store

Conversation = tuple[str, str, str]
OpenStore = Callable[..., Store]

HI = {"role": "user", "content": "Hi"}
HELLO = {"role": "assistant", "content": "Hello."}

CALL = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"city": "Oslo"}'}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Which is warmer, Oslo or Rome?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "call_2"}]},
    {"role": "tool", "tool_call_id": "call_1", "content": '{"degrees": -3}'},
    {"role": "tool", "tool_call_id": "call_2", "content": ""},
    {"role": "assistant", "content": "Rome.", "refusal": None, "annotations": []},
    {"role": "user", "content": [{"type": "text", "text": "And Łódź? 🦜 \x00 \ud800 \u2028 'quoted\" \\ end"}]},
    {"$set": {"a.b": 1}, "": 0, "__proto__": True, "float": 1e-300, "large": 2**70, "deep": [[[[{}]]]]},
]

#: Texts that have broken one store or another.
HOSTILE = [
    "../../etc/passwd",
    "C:\\x",
    "CON",
    "a/b",
    "a:b",
    "*",
    "?",
    "%",
    "_",
    "'; DROP TABLE conversations; --",
    '"',
    "{a}",
    "$where",
    "a.b",
    "-1",
    "0",
    "None",
    "null",
    " ",
    " a",
    "a ",
    "a\n",
    "\x00",
    "a\x00b",
    "Ada",
    "ADA",
    "é",
    "e\u0301",
    "ß",
    "ss",
    "İ",
    "🦜",
    "\u202e",
    "x" * 10_000,
    "x" * 10_001,
]


def test_what_nobody_has_written_is_empty(store: Store, conversation: Conversation) -> None:
    assert store.load(conversation) == ([], {}, 0)
    assert store.load(conversation, last=5) == ([], {}, 0)
    assert store.delete(conversation) is False
    assert store.delete_user(*conversation[:2]) == 0


def test_messages_come_back_exactly_tools_included(open_store: OpenStore, conversation: Conversation) -> None:
    version = open_store().append(conversation, MESSAGES, 0)
    messages, pad, loaded = open_store().load(conversation)
    assert messages == MESSAGES
    assert [list(message) for message in messages] == [list(message) for message in MESSAGES]  # the order of keys, too
    assert (pad, loaded) == ({}, version)


def test_appends_add_up_in_their_order(store: Store, conversation: Conversation) -> None:
    version = 0
    for n in range(30):
        version = store.append(conversation, [{"n": n}, {"n": -n}], version)
    assert store.load(conversation) == ([{"n": sign * n} for n in range(30) for sign in (1, -1)], {}, version)


def test_a_store_gives_the_last_messages(store: Store, conversation: Conversation) -> None:
    said = [{"n": n} for n in range(7)]
    version = store.append(conversation, said[:4], 0, {"goal": "g"})
    version = store.append(conversation, said[4:], version)
    for last in (0, 1, 3, 5, 7, 8, 10**30):
        assert store.load(conversation, last=last) == (said[max(0, 7 - last) :], {"goal": "g"}, version)
    with pytest.raises(ValueError):
        store.load(conversation, last=-1)


def test_a_long_conversation_is_kept_whole(store: Store, conversation: Conversation) -> None:
    said = [{"role": "user", "content": f"{n} " + "x" * 90} for n in range(3_000)]
    version = store.append(conversation, said[:1_000], 0)
    for start in range(1_000, 3_000, 100):
        version = store.append(conversation, said[start : start + 100], version)
    for last in (1, 99, 100, 101, 700, 1_999, 2_000, 2_001, 2_999):
        assert store.load(conversation, last=last)[0] == said[-last:]
    assert store.load(conversation)[0] == said


def test_a_pad_stays_until_another_is_given(store: Store, conversation: Conversation) -> None:
    pad = {"goal": "Łódź \ud800 🦜", "steps_done": [], "facts": {"a.b": None}}
    version = store.append(conversation, [], 0, pad=pad)
    assert store.load(conversation) == ([], pad, version)
    version = store.append(conversation, [HI], version)
    assert store.load(conversation) == ([HI], pad, version)
    version = store.append(conversation, [], version, pad={})
    assert store.load(conversation) == ([HI], {}, version)


def test_every_append_gives_another_version(store: Store, conversation: Conversation) -> None:
    versions = [0]
    for _ in range(5):
        versions.append(store.append(conversation, [], versions[-1]))
    assert len(set(versions)) == 6
    assert all(type(version) is int for version in versions)


@pytest.mark.parametrize("made", ["older", "newer", 0, -1, 2**53, 2**80, -(2**80), None, "1", 1.5, True, [1]])
def test_a_version_that_is_not_the_newest_is_refused(store: Store, conversation: Conversation, made: Any) -> None:
    first = store.append(conversation, [HI], 0)
    newest = store.append(conversation, [HELLO], first, {"goal": "g"})
    version = {"older": first, "newer": newest + 1}.get(made, made) if isinstance(made, str) else made
    with pytest.raises(Conflict):
        store.append(conversation, [{"lost": True}], version, {"goal": "lost"})
    assert store.load(conversation) == ([HI, HELLO], {"goal": "g"}, newest)
    with pytest.raises(Conflict):
        store.append((*conversation[:2], "new"), [HI], 7)
    assert store.load((*conversation[:2], "new")) == ([], {}, 0)


def test_the_callers_own_conflict_is_raised(open_store: OpenStore, conversation: Conversation) -> None:
    class Stale(Exception):
        pass

    store = open_store(conflict=Stale)
    store.append(conversation, [], 0)
    with pytest.raises(Stale):
        store.append(conversation, [], 0)


def test_a_second_store_sees_at_once_what_the_first_has_written(
    open_store: OpenStore, conversation: Conversation
) -> None:
    one, other = open_store(), open_store()
    assert other.load(conversation)[2] == 0
    version = one.append(conversation, [HI], 0)
    assert other.load(conversation) == ([HI], {}, version)
    version = other.append(conversation, [HELLO], version)
    assert one.load(conversation) == ([HI, HELLO], {}, version)


# -- ids --------------------------------------------------------------------------------------------------


def test_any_text_is_an_id_and_no_two_are_one(store: Store, tenant: str) -> None:
    conversations = [(tenant, "ada", text) for text in HOSTILE]
    for place, conversation in enumerate(conversations):
        store.append(conversation, [{"n": place}], 0)
    assert [store.load(each)[0] for each in conversations] == [[{"n": n}] for n in range(len(HOSTILE))]
    assert store.delete_user(tenant, "ada") == len(HOSTILE)


def test_hostile_tenants_and_users_are_kept_apart(store: Store, tenant: str) -> None:
    keys = [(f"{tenant}{text}", text) for text in HOSTILE]
    for place, (tenant_, user) in enumerate(keys):
        store.append((tenant_, user, "s"), [{"n": place}], 0)
    assert [store.load((*each, "s"))[0] for each in keys] == [[{"n": n}] for n in range(len(keys))]
    assert [store.delete_user(*each) for each in keys] == [1] * len(keys)


def test_parts_of_an_id_do_not_run_together(store: Store, tenant: str) -> None:
    pairs = [(f"{tenant}:a", "b", "c"), (tenant, "a:b", "c"), (tenant, "a", "b:c"), (f"{tenant}:a:b", "c", ":")]
    for place, conversation in enumerate(pairs):
        store.append(conversation, [{"n": place}], 0)
    assert [store.load(each)[0] for each in pairs] == [[{"n": n}] for n in range(4)]
    assert [store.delete_user(*each[:2]) for each in pairs] == [1, 1, 1, 1]


def test_half_a_character_is_an_id_or_is_refused(store: Store, tenant: str) -> None:
    conversation = (tenant, "ada", "\ud800")
    try:
        store.append(conversation, [HI], 0)
    except ValueError:
        return
    assert store.load(conversation)[0] == [HI]
    assert store.load((tenant, "ada", "\udfff"))[0] == []


@pytest.mark.parametrize("bad", [None, 1, 1.5, b"ada", True, ("ada",), ["ada"], {"id": "ada"}, object()])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_an_id_that_is_no_text_is_a_type_error(
    store: Store, conversation: Conversation, bad: Any, position: int
) -> None:
    ids: Any = (*conversation[:position], bad, *conversation[position + 1 :])
    _refused(store, ids, TypeError)
    if position < 2:
        with pytest.raises(TypeError):
            store.delete_user(*ids[:2])


@pytest.mark.parametrize("position", [0, 1, 2])
def test_an_empty_id_is_a_value_error(store: Store, conversation: Conversation, position: int) -> None:
    ids: Any = (*conversation[:position], "", *conversation[position + 1 :])
    _refused(store, ids, ValueError)
    if position < 2:
        with pytest.raises(ValueError):
            store.delete_user(*ids[:2])


@pytest.mark.parametrize("bad", [("t", "u"), ("t", "u", "s", "x"), (), "tus", None, {"t", "u", "s"}])
def test_a_conversation_has_three_ids(store: Store, bad: Any) -> None:
    _refused(store, bad, TypeError)


def _refused(store: Store, ids: Any, error: type[Exception]) -> None:
    for act in (lambda: store.load(ids), lambda: store.append(ids, [HI], 0), lambda: store.delete(ids)):
        with pytest.raises(error):
            act()


# -- deletion and expiry ----------------------------------------------------------------------------------


def test_a_conversation_is_deleted_with_its_pad_and_nothing_else(store: Store, conversation: Conversation) -> None:
    other = (*conversation[:2], "s2")
    store.append(conversation, [HI] * 2_000, 0, {"goal": "g"})
    kept = store.append(other, [HI], 0)
    assert store.delete(conversation) is True
    assert store.delete(conversation) is False
    assert store.load(conversation) == ([], {}, 0)
    assert store.load(other) == ([HI], {}, kept)
    version = store.append(conversation, [HELLO], 0)
    assert store.load(conversation) == ([HELLO], {}, version)


def test_an_old_version_does_not_fit_what_comes_after_a_deletion(
    engine: str, store: Store, conversation: Conversation
) -> None:
    old = store.append(conversation, [HI], 0)
    store.delete(conversation)
    with pytest.raises(Conflict):
        store.append(conversation, [HELLO], old)
    store.append(conversation, [HI], 0)
    if engine == "sqlite":
        pytest.skip("lesson 6's versions count from 1, as its docstring says")
    with pytest.raises(Conflict):
        store.append(conversation, [HELLO], old)


def test_all_of_a_user_is_deleted_and_nobody_elses(store: Store, tenant: str) -> None:
    mine = [(tenant, "ada", f"s{n}") for n in range(5)]
    others = [(tenant, "ad", "s0"), (tenant, "adaa", "s0"), (tenant, "Ada", "s0"), (f"{tenant}x", "ada", "s0")]
    for conversation in mine + others:
        store.append(conversation, [HI], 0, {"goal": "g"})
    assert store.delete_user(tenant, "ada") == 5
    assert store.delete_user(tenant, "ada") == 0
    assert [store.load(each)[2] for each in mine] == [0] * 5
    assert all(store.load(each)[0] == [HI] for each in others)
    assert [store.delete_user(*each[:2]) for each in others] == [1] * 4


def test_what_has_expired_is_gone_for_readers_and_writers(open_store: OpenStore, conversation: Conversation) -> None:
    brief, lasting = open_store(lifetime=0.05), open_store()
    old = brief.append(conversation, [HI] * 2_000, 0, {"goal": "old"})
    time.sleep(0.1)
    assert brief.load(conversation) == lasting.load(conversation) == ([], {}, 0)
    with pytest.raises(Conflict):
        brief.append(conversation, [HELLO], old)
    version = lasting.append(conversation, [HELLO], 0)
    assert lasting.load(conversation) == ([HELLO], {}, version)
    assert lasting.delete_user(*conversation[:2]) == 1


def test_what_has_expired_is_not_counted_when_it_is_deleted(open_store: OpenStore, tenant: str) -> None:
    brief, lasting = open_store(lifetime=0.05), open_store()
    brief.append((tenant, "ada", "brief"), [HI], 0)
    brief.append((tenant, "ada", "brief too"), [HI], 0)
    lasting.append((tenant, "ada", "lasting"), [HI], 0)
    time.sleep(0.1)
    assert lasting.delete((tenant, "ada", "brief")) is False
    assert lasting.delete_user(tenant, "ada") == 1


def test_each_append_counts_the_lifetime_anew(open_store: OpenStore, conversation: Conversation) -> None:
    brief, lasting = open_store(lifetime=0.5), open_store()
    while True:  # until the second append comes in time
        version = brief.append(conversation, [HI], 0)
        try:
            version = lasting.append(conversation, [HELLO], version)
            break
        except Conflict:
            continue
    time.sleep(0.6)
    assert lasting.load(conversation) == ([HI, HELLO], {}, version)


@pytest.mark.parametrize("lifetime", [0, -1, -0.5, float("inf"), float("nan"), 1e18])
def test_a_lifetime_is_positive_and_ends(place: Any, lifetime: float) -> None:
    with pytest.raises(ValueError, match="a lifetime is a number of seconds above 0"):
        stores.open(place.address, lifetime=lifetime)


@pytest.mark.parametrize("lifetime", [True, "5", [5]])
def test_a_lifetime_is_a_number(place: Any, lifetime: Any) -> None:
    with pytest.raises(TypeError, match="a lifetime is a number of seconds"):
        stores.open(place.address, lifetime=lifetime)


def test_a_lifetime_of_a_thousand_years_will_do(open_store: OpenStore, conversation: Conversation) -> None:
    version = open_store(lifetime=1000 * 365 * 24 * 3600).append(conversation, [HI], 0)
    assert open_store().load(conversation) == ([HI], {}, version)


# -- failures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [object(), {1, 2}, b"x", float("nan"), float("inf")])
def test_what_is_no_json_is_refused_and_the_store_goes_on(store: Store, conversation: Conversation, bad: Any) -> None:
    version = store.append(conversation, [HI], 0, {"goal": "g"})
    for arguments in ([HELLO, {"content": bad}], {}), ([HELLO], {"goal": bad}):
        messages, pad = arguments
        with pytest.raises((TypeError, ValueError)):
            store.append(conversation, messages, version, pad or None)
        assert store.load(conversation) == ([HI], {"goal": "g"}, version)
    version = store.append(conversation, [HELLO], version)
    assert store.load(conversation) == ([HI, HELLO], {"goal": "g"}, version)


@pytest.mark.parametrize(
    ("messages", "pad"),
    [
        ("abc", None),
        (HELLO, None),
        (b"ab", None),
        (7, None),
        ([None], None),
        ([HELLO, "x"], None),
        *(([], pad) for pad in ([1], "x", 3, 0, False, [], "", (1,))),
    ],
)
def test_messages_and_pads_are_dicts(store: Store, conversation: Conversation, messages: Any, pad: Any) -> None:
    version = store.append(conversation, [HI], 0, {"goal": "g"})
    with pytest.raises(TypeError):
        store.append(conversation, messages, version, pad)
    assert store.load(conversation) == ([HI], {"goal": "g"}, version)


def test_messages_may_come_in_any_iterable(store: Store, conversation: Conversation) -> None:
    messages: Any = (each for each in (HI, HELLO))
    version = store.append(conversation, messages, 0)
    assert store.load(conversation) == ([HI, HELLO], {}, version)


@pytest.mark.parametrize("last", [1.5, True, "1", float("nan")])
def test_last_is_a_whole_number(store: Store, conversation: Conversation, last: Any) -> None:
    with pytest.raises(TypeError, match="last counts messages"):
        store.load(conversation, last=last)


@pytest.mark.parametrize("version", [False, 0.0, "0", None])
def test_only_a_version_fits(store: Store, conversation: Conversation, version: Any) -> None:
    with pytest.raises(Conflict):
        store.append(conversation, [HI], version)
    assert store.load(conversation) == ([], {}, 0)


def test_what_was_given_and_what_was_loaded_are_the_callers_own(store: Store, conversation: Conversation) -> None:
    message, pad = {"role": "user", "content": ["Hi"]}, {"steps_done": ["a"]}
    messages = [message]
    store.append(conversation, messages, 0, pad)
    assert (messages, message, pad) == ([message], {"role": "user", "content": ["Hi"]}, {"steps_done": ["a"]})
    message["content"] = "changed"
    pad["steps_done"].append("b")
    loaded = store.load(conversation)
    assert loaded[:2] == ([{"role": "user", "content": ["Hi"]}], {"steps_done": ["a"]})
    loaded[0].clear()
    loaded[1].clear()
    assert store.load(conversation)[:2] == ([{"role": "user", "content": ["Hi"]}], {"steps_done": ["a"]})


def test_a_store_that_was_closed_opens_itself_again(store: Store, conversation: Conversation) -> None:
    version = store.append(conversation, [HI], 0)
    store.close()
    store.close()
    assert store.load(conversation) == ([HI], {}, version)
    store.append(conversation, [HELLO], version)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("engine", [each for each in places.ENGINES if each not in ("json", "sqlite", "redis")])
def test_a_fork_does_not_wait_for_a_thread_of_its_parent(store: Any, conversation: Conversation) -> None:
    store.append(conversation, [HI], 0)
    with store._lock:
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(0 if store.load(conversation)[0] == [HI] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_may_share_a_store(store: Store, conversation: Conversation) -> None:
    failures: list[BaseException] = []

    def talk(who: int) -> None:
        try:
            for n in range(10):
                while True:
                    version = store.load(conversation, last=0)[2]
                    try:
                        store.append(conversation, [{"asks": (who, n)}, {"answers": (who, n)}], version)
                        break
                    except Conflict:
                        continue
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=talk, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    messages = store.load(conversation)[0]
    pairs = [(tuple(messages[n]["asks"]), tuple(messages[n + 1]["answers"])) for n in range(0, 80, 2)]
    assert all(asked == answered for asked, answered in pairs)
    assert len({asked for asked, _ in pairs}) == 40
