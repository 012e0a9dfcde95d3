"""Lesson 3: each conversation has its own list, found by tenant, user and session."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from memory_tutor.checks import common
from memory_tutor.checks.common import assistant, user
from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import CheckFailed, LearnerRaised, Lesson, Misconception

if TYPE_CHECKING:
    from memory_tutor.learner import Handle, Learner, Outcome
    from memory_tutor.raised import Raised

lesson = Lesson("03_per_user_isolation", "Per-user isolation", level=2, minutes=40)


# -- predictions ---------------------------------------------------------------------------------------

lesson.predict(
    "one_list",
    choices={
        "a": "That it does not know: Bob has not said his name",
        "b": "Ada",
        "c": "That it does not know: for the API, another computer is another conversation",
    },
    right="b",
    why={
        "a": "Bob has not. But the request in which he asks says a name, and it is not marked as somebody else's.",
        "b": "the model is told a name and asked for one. It cannot know that two people have used the list.",
        "c": "the API sees one list of messages, sent by your service. On whose computer they were typed is not in it.",
    },
)

lesson.predict(
    "two_chats",
    choices={
        "a": "Both: the model has read both",
        "b": "The title: it is what the first window shows",
        "c": "The name of the cake",
    },
    right="c",
    why={
        "a": "it has read both; but a person who says 'it' means one thing, and it takes the nearest.",
        "b": "people see windows. The model sees one list, and no window stands in it.",
        "c": "in the list, the last thing said before is about the cake.",
    },
)

lesson.predict(
    "seed_test",
    choices={
        "a": "It passes",
        "b": "It fails: the secret is in b's list",
        "c": "It raises IndexError: b's list is empty",
    },
    right="a",
    why={
        "a": "b's list holds one message, the secret. So `len(…) > 1` is false, and the line asserts True.",
        "b": "it is there. But the line compares nothing unless there are two messages.",
        "c": "the list is not empty: it is a's list. And for an empty one the line would assert True.",
    },
)


# -- get_session ---------------------------------------------------------------------------------------

NEW: dict[str, Any] = {"messages": [], "scratchpad": {}}
PLACES = ("tenant", "user", "session")
NOTE = user("The door code is 4711.")
PAD = {"goal": "Plan the party"}
#: What people put between the parts of a key; each, and any longer one, collides in its own way.
SEPARATORS = (
    *(":", "", "/", "|", "-", "_", ".", ",", " ", ";", "#", "@", "+", "=", "~", "&", "*", "%", "\\", "\0", "\n", "\t"),
    *("\x1f", "::", "--", "__", "||", "//", "->", ", ", " - ", " | ", "', '", "','", '", "', '","', "##", ":::", ">"),
)
#: All different, though much that is done to a text makes two of them alike.
ALIKE = ("ada", "Ada", " ada", "ada ", "a:b", "a_b", "a/b", "ab", "\xe9", "e\u0301", "🦜", "🦊", "x" * 10_000)
HOSTILE = (
    *(*ALIKE, "x" * 10_000 + "y", "ADA", " ", "0", "00", "None", "a", "a;b", "a-b", "a.b", "a b", "a\nb", "a\\b"),
    *("a*b", "a%3Ab", "*", "%", "'", '"', ".", "..", "../../etc/passwd", "/etc/passwd", "\0", "a\0b", "a\0c"),
    *("ß", "ss", "e", "?"),
)
NO_STRINGS: tuple[Any, ...] = (7, None, 0, True, 1.5, ["s1"], ("s1",), {})


@lesson.exercise(
    points=4,
    hints=[
        'What is different between the user "b:c" of tenant "a" and the user "c" of tenant "a:b", once both are '
        "one text?",
        "Three things to do, in this order: refuse ids that are none, look whether the session is there, make it if "
        "it is not. A dict takes a tuple as its key, and a tuple keeps its parts apart.",
        "Keep one dict outside of the function. In it, check each id in a loop: `isinstance`, then whether it is "
        "empty. The line left to write looks up `(tenant, user, session)` and puts a new dict there if there is none.",
    ],
    another_way="""
        A dict of tuples, or dicts within dicts (`SESSIONS[tenant][user][session]`): both are right. Nested dicts
        are better where all sessions of one user are often wanted, to list or to delete them; a tuple is better
        where sessions are only looked up, and is the shape that a table with three columns has.
        """,
)
def get_session(learner: Learner) -> None:
    """Find the session that three ids name, and make it if there is none."""
    # The learner's sessions outlive this check: ids that it has not used before, shown without what makes them so.
    run = f"~{uuid4().hex[:10]}"
    try:
        _Sessions(learner, run).check()
    except CheckFailed as failed:
        raise type(failed)(failed.message.replace(run, "")) from None


Ids = tuple[Any, Any, Any]


class _Sessions:
    """One run of the check: `run` makes its ids new."""

    def __init__(self, learner: Learner, run: str) -> None:
        self.learner = learner
        self.run = run

    def check(self) -> None:
        base = self._ids("acme", "ada", "s1")
        others = [self._ids("globex", "ada", "s1"), self._ids("acme", "bob", "s1"), self._ids("acme", "ada", "s2")]
        first = self._session(base)
        rest = [self._session(ids) for ids in others]
        self._are_different(first, rest, base, others)
        for ids, handle in zip(others, rest, strict=True):
            self._share_nothing(first, handle, base, ids)
        for ids, handle in zip([base, *others], [first, *rest], strict=True):
            self._is_new(handle, ids)
        self._is_live(first, base)
        self._is_kept_with_a_pad_alone(rest[2], others[2])
        for ids, handle in zip(others[:2], rest, strict=False):
            self._is_new(handle, ids)
        self._places_count()
        self._keys_are_not_joined()
        for place, texts in enumerate((ALIKE, HOSTILE, ALIKE)):
            self._ids_are_kept_as_they_are(place, texts)
        self._ids_are_checked()
        self._is_still_there(first, base)

    # -- calls

    def _ids(self, *ids: str) -> Ids:
        tenant, name, session = (id_ + self.run for id_ in ids)
        return tenant, name, session

    def _call(self, ids: Ids) -> str:
        return f"`get_session({', '.join(_quoted(id_, self.run) for id_ in ids)})`"

    def _session(self, ids: Ids) -> Handle:
        """The session of these ids, which is a dict with the keys of one."""
        call = self._call(ids)
        outcome = self.learner.call("get_session", *ids, keep=True)
        raised = outcome.exception
        if raised is not None and "ValueError" in raised.names:
            raise LearnerRaised(
                f"""{call} raised {common.shown(raised)}
                These ids are three texts, and none is empty: an id may hold any character.
                {_look_at(raised)}"""
            )
        common.has_run(outcome, call)
        value = outcome.value
        if value is None and outcome.stdout.strip():
            raise Misconception(
                f"""{call} printed something and returned None; the rule asks for the session.
                What is on the screen cannot be given a message.
                Look at the last line of the function."""
            )
        if value is None:
            raise Misconception(
                f"""{call} returned None; the rule asks for the session, a dict.
                A function that ends without `return` gives None to its caller.
                Look at each way through your function: does each one end in a `return`?"""
            )
        if isinstance(value, list):
            raise Misconception(
                f"""{call} returned a list; the rule asks for the whole session, a dict.
                Messages alone leave the scratchpad out of reach.
                Look at which part of the session you return."""
            )
        if not isinstance(value, dict):
            kind = value.type_name if isinstance(value, Opaque) else type(value).__name__
            raise Misconception(
                f"""{call} returned a {kind}; the rule asks for a dict.
                Code that uses a session reads `session["messages"]`, whatever it was made by.
                Look at what you return."""
            )
        return outcome.handle

    # -- one session, and another

    def _are_different(self, first: Handle, rest: list[Handle], base: Ids, others: list[Ids]) -> None:
        ignored = [place for place, handle in zip(PLACES, rest, strict=True) if handle.same(first)]
        if len(ignored) == 3:
            raise Misconception(
                f"""{self._call(base)} and three calls with other ids all returned one and the same dict.
                Whoever writes to one session writes to everyone's: a stranger reads it in the next reply.
                Look at how many dicts your code makes, and when."""
            )
        if len(ignored) == 2:
            raise Misconception(
                f"""With another {ignored[0]}, or another {ignored[1]}, {self._call(base)} returned the same dict.
                Only the {next(place for place in PLACES if place not in ignored)} tells two sessions apart.
                Look at what your code uses to find a session."""
            )
        if ignored:
            other = others[PLACES.index(ignored[0])]
            raise Misconception(
                f"""{self._call(base)} and {self._call(other)} returned the same dict.
                They differ in the {ignored[0]}: {MEANING[ignored[0]]}
                Look at where the {ignored[0]} goes in your code."""
            )

    def _share_nothing(self, first: Handle, second: Handle, base: Ids, other: Ids) -> None:
        for key in NEW:
            parts = [handle.call("__getitem__", key, keep=True) for handle in (first, second)]
            if any(part.exception is not None for part in parts):
                continue  # there is no such key: the next look says so
            if isinstance(parts[0].value, list | dict) and parts[0].handle.same(parts[1].handle):
                raise Misconception(
                    f"""{self._call(base)} and {self._call(other)} share one `{key}`.
                    They are two dicts, but what is put in there by one is read by the other.
                    Look at where the {type(parts[0].value).__name__} is made that your code puts into a new session."""
                )

    def _is_new(self, handle: Handle, ids: Ids) -> None:
        value = handle.value
        if value == NEW:
            return
        seen = _shorten(value, self.run)
        if isinstance(value, dict) and all(value.get(key) == part for key, part in NEW.items()):
            raise Misconception(
                f"""{self._call(ids)} made more than was asked for: {seen}.
                A new session is {NEW}; other code counts on that, and on nothing more.
                Look at the dict that you make."""
            )
        missing = [key for key in NEW if not isinstance(value, dict) or key not in value]
        if missing:
            raise Misconception(
                f"""{self._call(ids)} made a session without {" and ".join(map(repr, missing))}: {seen}.
                A new session is {NEW}.
                Look at the keys of the dict that you make, letter by letter."""
            )
        raise Misconception(
            f"""{self._call(ids)} made {seen}.
            A new session is {NEW}: nobody has said anything in it yet.
            Look at the dict that you make for a new session, and at who else can write to it."""
        )

    # -- a live one

    def _is_live(self, first: Handle, ids: Ids) -> None:
        call = self._call(ids)
        first.call("__getitem__", "messages", keep=True).handle.call("append", NOTE)
        again = self._session(ids)
        value = again.value
        wanted = {"messages": [NOTE], "scratchpad": {}}
        if again.same(first):
            if value != wanted:
                raise Misconception(
                    f"""{call} emptied the session: the second call returned the same dict, with nothing in it.
                    A message had been appended to it before the second call.
                    Look at what your code does to a session that it has found."""
                )
            return
        if value == wanted:
            raise Misconception(
                f"""{call} returned a copy: a second call gave another dict.
                Both hold the same list, so an append arrives, by luck; `session["messages"] = …` is lost.
                Look at what is between the place where the session is kept and the `return`."""
            )
        raise Misconception(
            f"""{call} lost a message: one was appended, a second call returned a dict without it.
            Either each call makes a new session, or the function keeps one and hands out a copy.
            Look at whether what you return is the very dict that you keep, and whether you keep it."""
        )

    def _is_kept_with_a_pad_alone(self, handle: Handle, ids: Ids) -> None:
        handle.call("update", {"scratchpad": PAD})
        again = self._session(ids)
        if again.same(handle) and again.value == {"messages": [], "scratchpad": PAD}:
            return
        raise Misconception(
            f"""{self._call(ids)} lost a scratchpad: it came back as {_shorten(again.value, self.run)}.
            {PAD} had been put in. There was no message yet, but the session was there all the same.
            Look at how your code decides that a session is absent."""
        )

    def _is_still_there(self, first: Handle, ids: Ids) -> None:
        if not self._session(ids).same(first):
            raise Misconception(
                f"""After some hundred other sessions, {self._call(ids)} returned another dict than before.
                The first one has been dropped, with the message in it.
                Look at how many sessions the place holds in which you keep them."""
            )
        if first.value != {"messages": [NOTE], "scratchpad": {}}:
            raise Misconception(
                f"""After calls with other ids, {self._call(ids)} held {_shorten(first.value, self.run)}.
                Nobody had written to it; the last time it held one message.
                Look at each line that changes a dict: which session does it change?"""
            )

    # -- keys

    def _places_count(self) -> None:
        """The same three texts in other places are other ids."""
        one, two, three = self._ids("kim", "lee", "max")
        ids = (one, two, three)
        first = self._session(ids)
        for other in ((two, one, three), (one, three, two), (three, two, one), (two, three, one), (three, one, two)):
            if self._session(other).same(first):
                raise Misconception(
                    f"""{self._call(ids)} and {self._call(other)} returned the same dict.
                    A tenant may have the name of a user: the place of an id counts too.
                    Look at what your key forgets about the order of the three."""
                )

    def _keys_are_not_joined(self) -> None:
        for mark in SEPARATORS:
            a, b, c, d = "a" + self.run, "b", "c", "d"
            joined = [(f"{a}{mark}{b}", c, d), (a, f"{b}{mark}{c}", d), (a, b, f"{c}{mark}{d}")]
            sessions = [self._session(ids) for ids in joined]
            for at in (0, 1):
                if sessions[at].same(sessions[at + 1]):
                    raise Misconception(_joined(self._call(joined[at]), self._call(joined[at + 1]), mark))
        # With the separator escaped, but not what escapes it.
        for mark in ":/|":
            first, second = (f"a{self.run}\\", "b", f"c{mark}d"), (f"a{self.run}{mark}b", "c\\", "d")
            if self._session(first).same(self._session(second)):
                raise Misconception(
                    f"""{self._call(first)} and {self._call(second)} returned the same dict.
                    A backslash before {mark!r} keeps ids apart only until an id ends in a backslash.
                    Look for a key that need not be taken apart: what can a dict have as a key besides a text?"""
                )

    def _ids_are_kept_as_they_are(self, place: int, texts: Sequence[str]) -> None:
        handles = []
        for number, id_ in enumerate(texts):
            ids = self._hostile(id_, place)
            handles.append(self._session(ids))
            handles[-1].call("update", {"scratchpad": {"number": number}})
        for number, handle in enumerate(handles):
            value = handle.value
            pad = value.get("scratchpad") if isinstance(value, dict) else None
            found = pad.get("number") if isinstance(pad, dict) else None
            if found == number:
                continue
            first = self._hostile(texts[number], place)
            if not isinstance(found, int) or not 0 <= found < len(texts):
                raise Misconception(
                    f"""What was put into the dict of {self._call(first)} is not in it any more.
                    Its scratchpad is now {_shorten(pad, self.run)}.
                    Look at each line that changes a session."""
                )
            second = self._hostile(texts[found], place)
            raise Misconception(
                f"""{self._call(first)} and {self._call(second)} returned the same dict.
                The two {PLACES[place]} ids are different texts: an id is used as it is.
                Look at what your code does to an id before it looks for the session."""
            )

    def _hostile(self, id_: str, place: int) -> Ids:
        ids = list(self._ids("acme", "ada", "s1"))
        ids[place] = id_
        return ids[0], ids[1], ids[2]

    def _ids_are_checked(self) -> None:
        for place in (2, 1, 0):
            self._is_refused("", place, "ValueError")
            for id_ in NO_STRINGS:
                self._is_refused(id_, place, "TypeError")

    def _is_refused(self, id_: object, place: int, expected: str) -> None:
        ids = list(self._ids("initech", "eve", "s9"))
        ids[place] = id_
        call, where = self._call((ids[0], ids[1], ids[2])), PLACES[place]
        outcome = self.learner.call("get_session", *ids, keep=True)
        raised = outcome.exception
        if raised is not None and expected in raised.names:
            return
        if raised is not None:
            is_what = "of the right type, but no id" if id_ == "" else "of another type"
            raise Misconception(
                f"""{call} raised {common.shown(raised)}; the rule asks for a {expected}.
                {_shown_id(id_)} is {is_what}: whoever catches the error has to know which of the two it is.
                Look at which check comes first, and at what it raises."""
            )
        if id_ == "":
            raise Misconception(
                f"""{call} returned a session; an empty {where} is refused with a {expected}.
                Everyone whose {where} was not filled in would land in this one session.
                Look at what your code asks of the {where} before it uses it."""
            )
        as_text = list(ids)
        as_text[place] = str(id_)
        if self._session((as_text[0], as_text[1], as_text[2])).same(outcome.handle):
            raise Misconception(
                f"""{call} returned the session of the text {str(id_)!r}; the rule asks for a {expected}.
                Made into a text, an id that was forgotten is a name like any other: "None" has many owners.
                Look at what your code does with a {where} that is no str."""
            )
        raise Misconception(
            f"""{call} returned a session; a {where} that is no str is refused with a {expected}.
            {_shown_id(id_)} and {_shown_id(str(id_))} would be two sessions, and somebody would miss one of them.
            Look at what your code asks of the {where} before it uses it."""
        )


MEANING = {
    "tenant": "two companies can both have a user of this name.",
    "user": "the one now reads what the other has said.",
    "session": "one person's two chats are mixed into one.",
}


def _joined(call: str, other: str, mark: str) -> str:
    between = f"with {mark!r} between them" if mark else "one right behind the other"
    return f"""{call} and {other} returned the same dict.
        Written {between}, both triples are one text; an id may hold any character.
        Look at how your code makes one key of three ids."""


def _shown_id(id_: object) -> str:
    """An id as it is written in code; a very long one by its ends."""
    text = id_ if isinstance(id_, str) else ""
    if len(text) > 1_000:
        return f'"{text[:3]}…{text[-3:]}"'
    written = repr(id_) if unicodedata.is_normalized("NFC", text) and "\xe9" not in text else ascii(id_)
    return f'"{written[1:-1]}"' if isinstance(id_, str) and written[0] == "'" and '"' not in written else written


def _quoted(id_: object, run: str) -> str:
    return _shown_id(id_.replace(run, "") if isinstance(id_, str) else id_)


def _shorten(value: object, run: str) -> str:
    """A value on one line, without what makes the ids of a run new."""
    return shorten(repr(value).replace(run, ""), 60)


# -- forget_user ---------------------------------------------------------------------------------------


def _talk(turns: int) -> dict[str, Any]:
    messages = [each for number in range(turns) for each in (user(f"Question {number}."), assistant(f"{number}."))]
    return {"messages": messages, "scratchpad": {"turns": turns}}


KEPT: dict[Ids, dict[str, Any]] = {
    ("acme", "ab", "s1"): _talk(1),
    ("acme", "a", "s1"): _talk(2),
    ("globex", "a", "s1"): _talk(1),
    ("acme", "b", "a"): _talk(0),
    ("acme", "a", "s2"): _talk(4),
    ("a", "b", "s1"): _talk(1),
    ("acme", "A", "s1"): _talk(1),
    ("acme", "ba", "s1"): _talk(1),
    ("acme", "a", "work: plans"): _talk(0),
    ("acme", "a:b", "s1"): _talk(2),
    ("acme:a", "b", "s1"): _talk(1),
    ("a", "acme", "s1"): _talk(1),
    ("globex", "g", "acme"): _talk(1),
}
MANY: dict[Ids, dict[str, Any]] = {
    ("acme", name, f"s{number}"): _talk(number % 3) for number in range(40) for name in ("kim", "kimberly")
}


@lesson.exercise(
    points=4,
    hints=[
        "Which parts of a key `(tenant, user, session)` must be equal, whole, for a session to be this user's?",
        "A dict does not like to lose keys while a loop goes over it. Gather the keys first, in a list; then delete.",
        "Make a list of the keys whose first two parts are the tenant and the user; its length is what you return. "
        "The line left to write deletes one key from `store`, in a loop over that list.",
    ],
    another_way="""
        A loop over `list(store)` deletes and counts in one go; `list` copies the keys, so that the dict may change
        meanwhile. Nested dicts would make it one line, `SESSIONS[tenant].pop(user)`; they are better where
        forgetting is frequent, as this function has to look at every session of everybody.
        """,
)
def forget_user(learner: Learner) -> None:
    """Delete all sessions of one user of one tenant, and nobody else's."""
    after = _forgets(learner, KEPT, "acme", "a")
    _forgets(learner, after, "acme", "a")
    after = _forgets(learner, after, "globex", "a")
    _forgets(learner, after, "globex", "ab")
    for name in ("nobody", "*", ".", "s1"):
        _forgets(learner, KEPT, "acme", name)
    _forgets(learner, KEPT, "initech", "a")
    _forgets(learner, KEPT, "acme", "a:b")
    _forgets(learner, MANY, "acme", "kim")
    _forgets(learner, {("acme", "kim", "s1"): _talk(1), ("acme", "kim", "s2"): _talk(1)}, "acme", "kim")
    _forgets(learner, {}, "acme", "a")


def _forgets(learner: Learner, store: dict[Ids, Any], tenant: str, name: str) -> dict[Ids, Any]:
    call = f"`forget_user(store, {_shown_id(tenant)}, {_shown_id(name)})`"
    own = [key for key in store if key[:2] == (tenant, name)]
    wanted = {key: value for key, value in store.items() if key not in own}
    outcome = learner.call("forget_user", store, tenant, name)
    raised = outcome.exception
    if raised is not None and "RuntimeError" in raised.names and "changed" in raised.message:
        raise LearnerRaised(
            f"""{call} raised {common.shown(raised)}
            A loop that goes over a dict loses its place when the dict loses a key.
            Look at what your loop goes over, and at what it deletes from."""
        )
    if raised is not None and "KeyError" in raised.names and not own:
        raise LearnerRaised(
            f"""{call} raised {common.shown(raised)}
            This tenant has no user of that name: there is nothing to delete, and the answer is 0.
            Look at the line that takes for granted that a key is there."""
        )
    common.has_run(outcome, call)
    _deleted(outcome, store, wanted, own, (tenant, name), call)
    _counted(outcome, store, own, call)
    return wanted


def _deleted(
    outcome: Outcome, store: dict[Ids, Any], wanted: dict[Ids, Any], own: list[Ids], who: tuple[str, str], call: str
) -> None:
    after, value = outcome.args[0], outcome.value
    if not isinstance(after, dict):
        raise Misconception(f"{call} was given a dict, and afterwards it is a {type(after).__name__}.")
    if after == wanted:
        return
    extra = [key for key in wanted if key not in after]
    left = [key for key in own if key in after]
    if extra:
        raise Misconception(_too_much(extra, wanted, who, call))
    if after == store and type(value) is int and value == 0:
        raise Misconception(
            f"""{call} deleted nothing, and returned 0; {common.count(len(own), "session")} of this user are in `store`.
            No key was taken for one of theirs.
            Look at what your code compares with what, for the key {own[0]}."""
        )
    if after == store:
        raise Misconception(
            f"""{call} left the caller's dict as it was: all of {common.count(len(own), "session")} are still in it.
            A new dict under the name `store` is another dict; what the caller holds has not changed.
            Look at whether your code deletes from the dict that it is given."""
        )
    if left and all(after[key] != store[key] for key in left):
        raise Misconception(
            f"""{call} left the key {left[0]}, with {shorten(repr(after[left[0]]), 40)} in it.
            A key says who had which session: a user who is forgotten leaves no key either.
            Look at what your code changes: the dict, or what is in it."""
        )
    if left and len(own) - len(left) == 1:
        raise Misconception(
            f"""{call} deleted one session of {len(own)}; {left[0]} is still there.
            A user has as many sessions as they have opened, and all of them are to go.
            Look at when your loop ends."""
        )
    if left:
        raise Misconception(
            f"""{call} left {common.count(len(left), "session")} of {len(own)}: {left[0]} is still there.
            What is not deleted will be read again, after the user was told that it is gone.
            Look at which of the user's keys your code passes over."""
        )
    raise Misconception(
        f"""{call} changed what was to stay: {_first_difference(after, wanted)}.
        Whoever else is in the dict has not asked for anything.
        Look at each line that writes to `store`."""
    )


def _too_much(extra: list[Ids], wanted: dict[Ids, Any], who: tuple[str, str], call: str) -> str:
    tenant, name = who
    key = extra[0]
    if len(extra) == len(wanted):
        return f"""{call} deleted all that there was, {common.count(len(wanted), "session")} of other users too.
            {_shown_id(name)} wanted to be forgotten; everybody is.
            Look at the condition under which your code deletes."""
    if {each for each in wanted if each[0] == tenant} == set(extra):
        return f"""{call} deleted all sessions of the tenant {_shown_id(tenant)}: {key} too.
            The whole company has lost its conversations, for the sake of one user.
            Look at what your code does with the user's id."""
    deleted = f"{call} deleted {key} too"
    if all(":".join(each).startswith(":".join((*who, ""))) for each in extra):
        return f"""{deleted}: joined with ":", it begins like {":".join((*who, ""))!r}.
            An id may hold ":", and the text of three ids does not say where one ends.
            Look at the parts of the key one by one."""
    if all(each[1] == name for each in extra):
        return f"""{deleted}: a user of another company.
            There the tenant is {_shown_id(key[0])}: two people with the same name.
            Look at which parts of the key your code compares."""
    if all(each[0] == tenant and each[1].startswith(name) for each in extra):
        return f"""{deleted}: that user is {_shown_id(key[1])}, and only begins like {_shown_id(name)}.
            A name is equal or it is another one.
            Look at how your code compares: whole parts, or the beginning of a text."""
    if all(each[0] == tenant and name in each[1] for each in extra):
        return f"""{deleted}: that user is {_shown_id(key[1])}, in which {_shown_id(name)} only occurs.
            Between two texts, `in` looks for a part.
            Look at what stands on the two sides of your comparison."""
    if key[0] == tenant and name == key[2]:
        return f"""{deleted}: there {_shown_id(name)} is the session, and the user is {_shown_id(key[1])}.
            An id means what its place says.
            Look at which place of the key your code asks for the user."""
    if key[:2] == (name, tenant):
        return f"""{deleted}: there {_shown_id(name)} is the tenant and {_shown_id(tenant)} the user.
            An id means what its place says.
            Look at the order in which your code compares the two."""
    if key[0] == tenant and key[1].lower() == name.lower():
        return f"""{deleted}: {_shown_id(key[1])} and {_shown_id(name)} are two users.
            An id is used as it is.
            Look at what your code does to a name before it compares it."""
    return f"""{deleted}: that is the user {_shown_id(key[1])} of the tenant {_shown_id(key[0])}.
        Somebody else has lost a conversation.
        Look at the condition under which your code deletes."""


def _first_difference(after: dict[Any, Any], wanted: dict[Ids, Any]) -> str:
    key = next(key for key in [*after, *wanted] if key not in wanted or after.get(key) != wanted[key])
    return shorten(f"{key!r} is now {after.get(key)!r}", 90)


def _counted(outcome: Outcome, store: dict[Ids, Any], own: list[Ids], call: str) -> None:
    value, right = outcome.value, len(own)
    if type(value) is int and value == right:
        return
    did = f"{call} deleted {common.count(right, 'session')}"
    if value is None:
        printed = "printed something, returned None" if outcome.stdout.strip() else "returned None"
        why = (
            "Whoever confirms the deletion needs the number." if right else "Where nothing is deleted, the number is 0."
        )
        raise Misconception(
            f"""{did}, and {printed}, not how many.
            {why}
            Look at how your function ends: what does its caller get?"""
        )
    if type(value) is not int:
        kind = value.type_name if isinstance(value, Opaque) else type(value).__name__
        raise Misconception(
            f"""{did}, and returned a {kind}: {shorten(repr(value), 30)}.
            The rule asks for a number, an int.
            Look at what you return."""
        )
    messages = sum(len(store[key]["messages"]) for key in own)
    rest = len(store) - right
    if value == messages != rest:
        seen = "That is the number of the messages that were in them."
    elif value == rest:
        seen = "That is how many are left."
    elif value == len(store):
        seen = "That is how many there were of all users together."
    elif value == 0:
        seen = "After the deletion nothing is left to be counted."
    else:
        seen = f"The rule asks for the number of sessions deleted, which is {right}."
    raise Misconception(
        f"""{did}, and returned {shorten(str(value), 40)}.
        {seen}
        Look at what your code counts, and when."""
    )


# -- test_isolation ------------------------------------------------------------------------------------

OPENING = "Be brief."


class Store:
    """A store of conversations, right or leaking; it notes what a test asks of it.

    Args:
        key: makes one key of the three ids; a store leaks where two conversations have the same key.
        opening: texts that each conversation begins with.
        own: whether another text, that no other conversation has, stands in front of all in each of them.
    """

    def __init__(
        self, key: Callable[[str, str, str], object], opening: tuple[str, ...] = (), *, own: bool = False
    ) -> None:
        self._key = key
        self._opening = opening
        self._own = own
        self._numbers: dict[Ids, int] = {}
        self._texts: dict[object, list[str]] = {}
        self._added: list[Ids] = []
        self._was_read: list[Ids] = []
        self._last: tuple[str, Ids] | None = None
        self._compared: set[tuple[Ids, Ids]] = set()  # written to, and read after that

    def add(self, tenant: str, user: str, session: str, text: str) -> None:
        """Add a text to a conversation."""
        conversation = self._conversation(tenant, user, session)
        self._added.append((tenant, user, session))
        self._last = ("add", (tenant, user, session))
        conversation.append(text)

    def read(self, tenant: str, user: str, session: str) -> list[str]:
        """The texts of a conversation, oldest first."""
        conversation = self._conversation(tenant, user, session)
        self._was_read.append((tenant, user, session))
        self._compared |= {(written, (tenant, user, session)) for written in set(self._added)}
        self._last = ("read", (tenant, user, session))
        return [*self._own_opening((tenant, user, session)), *conversation]

    def _own_opening(self, ids: Ids) -> list[str]:
        # Different in each, and without an id or a digit: a test may have put these into its own texts.
        number = self._numbers.setdefault(ids, len(self._numbers))
        return ["Welcome." + "." * number] if self._own else []

    def _conversation(self, *ids: str) -> list[str]:
        for id_ in ids:
            if not isinstance(id_, str):
                raise TypeError(f"An id is a str, and {shorten(repr(id_), 40)} is none.")
            if not id_:
                raise ValueError("An id is not empty.")
        return self._texts.setdefault(self._key(*ids), list(self._opening))


def _kept_apart(tenant: str, user: str, session: str) -> object:
    return tenant, user, session


#: The largest leak of all.
ONE_LIST = "keeps one list for everybody"
#: How a store leaks -> the key by which it keeps its conversations.
LEAKS: dict[str, Callable[[str, str, str], object]] = {
    ONE_LIST: lambda tenant, user, session: None,
    "does not look at the user": lambda tenant, user, session: (tenant, session),
    "does not look at the tenant": lambda tenant, user, session: (user, session),
    "does not look at the session": lambda tenant, user, session: (tenant, user),
    'joins the ids with ":"': lambda tenant, user, session: f"{tenant}:{user}:{session}",
}
OPENINGS = ((), (OPENING,), ("You are a guide.", "Ask before you book."))


@lesson.exercise(
    points=5,
    hints=[
        "Imagine a store that forgets to look at the tenant. Which two conversations does it mix up, and which "
        "conversations does it still keep apart?",
        "Write into one conversation a text that is nowhere else; then read its neighbours: one with another tenant "
        'only, one with another user only, one with another session only, and one that is alike once joined with ":".',
        "Go over the neighbours in a loop, read each, and look for the text in what you have read; `in` does not mind "
        "what else is there. The line left to write is the `assert`.",
    ],
    another_way="""
        Give each conversation a text of its own, and compare: each may hold its own text and no other's. It costs
        more reads, and is better where a leak may go one way only, or where you do not know which conversations
        are neighbours. One text and its neighbours is shorter, and its failure says which id the store forgot.
        """,
)
def test_isolation(learner: Learner) -> None:
    """Find out whether a store of conversations lets one conversation's text into another."""
    right = [_passes_a_right_store(learner, opening) for opening in OPENINGS]
    _asks_enough(*right[0])
    missed = {leak: [not _notices(learner, leak, opening) for opening in OPENINGS[:2]] for leak in LEAKS}
    if all(all(each) for each in missed.values()):
        largest = learner.call("test_isolation", learner.callback(Store(LEAKS[ONE_LIST])))
        _can_not_fail(*right[0], prints=bool(right[0][0].stdout.strip() or largest.stdout.strip()))
    for leak, (when_empty, when_opened) in missed.items():
        if when_empty and when_opened:
            _misses(leak, right[0][1])
        if when_empty or when_opened:
            noticed, missed_one = ("begin empty", "begin with the store's own text")[:: 1 if when_opened else -1]
            raise Misconception(
                f"""Your test finds a store that {leak}, if conversations {noticed}.
                It lets the same leak pass if they {missed_one}.
                Look at the case in which your assertion is not reached, or looks at another text."""
            )
    for leak in LEAKS:
        if not _notices(learner, leak, (), own=True):
            raise Misconception(
                f"""Your test let a store pass that {leak}: there each conversation begins in its own way.
                The leaked text was in both; but as two lists they were not equal, and that was enough for your test.
                Look at what your assertion compares: two whole lists, or one text with what is in a list."""
            )
    for outcome, _ in right:
        if outcome.value is not None:
            seen = shorten(repr(outcome.value), 60)
            raise Misconception(
                f"""`test_isolation(store)` found each leak, and returned {seen} for a right store.
                A test says what it has found by an AssertionError or by its absence; nobody reads what it returns.
                Look at the last line: what would be missing without it?"""
            )


def _passes_a_right_store(learner: Learner, opening: tuple[str, ...]) -> tuple[Outcome, Store]:
    store = Store(_kept_apart, opening)
    outcome = learner.call("test_isolation", learner.callback(store))
    call = "`test_isolation(store)`"
    raised = outcome.exception
    if raised is None:
        common.has_run(outcome, call)
        return outcome, store
    begins = f"begin with {shorten(repr(list(opening)), 40)}" if opening else "begin empty"
    if "AssertionError" not in raised.names:
        raise LearnerRaised(
            f"""{call} raised {common.shown(raised)}
            The store was a right one, whose conversations {begins}: this test is broken, it has found nothing.
            {_look_at(raised)}"""
        )
    said = f"{call} raised {common.shown(raised)}"
    if store._last is None:
        raise Misconception(
            f"""{said} and had not asked the store that it was given anything.
            A test that fails whatever the store is cannot tell a right one from a leaking one.
            Look at where your function uses its parameter, `store`."""
        )
    what, ids = store._last
    last = f"{what}({', '.join(map(_shown_id, ids))}{', …' if what == 'add' else ''})"
    if opening and what == "read" and ids not in store._added:
        raise Misconception(
            f"""{said} for a right store, whose conversations {begins}.
            Its last call was {last}: nobody had written there, and yet it is not empty.
            {_look_at(raised, "does it look for a leaked text, or for any text?")}"""
        )
    if opening:
        raise Misconception(
            f"""{said} for a right store, whose conversations {begins}.
            Its last call was {last}: what your test had added is there, though not alone and not in front.
            {_look_at(raised, "which place does it expect the text at?")}"""
        )
    raise Misconception(
        f"""{said} for a right store, which keeps every conversation apart.
        Its last call was {last}; that conversation held {shorten(repr(store._texts[ids]), 60)}, as it should.
        {_look_at(raised, "is it true when nothing has leaked?")}"""
    )


def _look_at(raised: Raised, question: str = "when does it happen?") -> str:
    return f"Look at {common.line_of(raised, 'the line that raised it')}: {question}"


def _asks_enough(outcome: Outcome, store: Store) -> None:
    """A test that finds leaks writes, and reads elsewhere."""
    call = "`test_isolation(store)`"
    if not store._added and not store._was_read:
        returned = f"returned {shorten(repr(outcome.value), 60)}"
        raise Misconception(
            f"""{call} {returned}, and has not asked the store anything.
            Whether a store leaks shows only in what it gives back.
            Look at where your function uses `store`."""
        )
    if not store._was_read:
        raise Misconception(
            f"""{call} added {common.count(len(store._added), "text")}, and has read nothing.
            A leak is a text that comes back in a conversation where nobody has said it.
            Look at what your test knows about the store when it ends."""
        )
    if not store._added:
        raise Misconception(
            f"""{call} read {common.count(len(set(store._was_read)), "conversation")}, and has added nothing.
            Where nothing has been said, nothing can leak.
            Look at what stands in the store when your test reads."""
        )
    if not store._compared:
        raise Misconception(
            f"""{call} read {common.count(len(set(store._was_read)), "conversation")} before it added the first text.
            What is read before anything has been said holds no leak yet.
            Look at the order of what your test does."""
        )
    if len({*store._added, *store._was_read}) == 1:
        raise Misconception(
            f"""{call} used one conversation: {shorten(str(store._added[0]), 60)}.
            It shows that a text is kept; a leak needs a second conversation to leak into.
            Look at the ids of what you add and of what you read."""
        )


def _notices(learner: Learner, leak: str, opening: tuple[str, ...], *, own: bool = False) -> bool:
    """Whether the learner's test fails for a leaking store, as a test fails."""
    store = Store(LEAKS[leak], opening, own=own)
    outcome = learner.call("test_isolation", learner.callback(store))
    raised = outcome.exception
    if raised is not None and "AssertionError" not in raised.names:
        raise LearnerRaised(
            f"""For a store that {leak}, `test_isolation(store)` raised {common.shown(raised)}
            Only an AssertionError says that the store leaks; any other exception says that the test is broken.
            {_look_at(raised)}"""
        )
    if raised is None and outcome.value is not None:
        seen = shorten(repr(outcome.value), 60)
        raise Misconception(
            f"""For a store that {leak}, `test_isolation(store)` returned {seen}.
            A test that returns is a test that has passed, whatever it returns: nobody looks.
            Look at how your function tells its caller that it has found a leak."""
        )
    return raised is not None


def _can_not_fail(outcome: Outcome, store: Store, *, prints: bool) -> None:
    """Say why a test lets every leak pass.

    Args:
        outcome: of the test, with a right store.
        store: this one.
        prints: whether the test prints something, with this store or with one that leaks.
    """
    added, read = len(store._added), len(store._was_read)
    did = f"added {common.count(added, 'text')} and read {common.count(read, 'time')}"
    if prints:
        raise Misconception(
            f"""Your test {did}, printed something, and let every leak pass, even one list for all.
            A test that reports on the screen has still passed: whoever runs a hundred of them reads none.
            Look at what happens after your code has seen a leak."""
        )
    neighbours = [place for place in PLACES if _differ_only_in(store, place)]
    if not neighbours:
        raise Misconception(
            f"""Your test {did}, and let every leak pass, even one list for all.
            Nothing that it reads could have come from elsewhere.
            Look at what is added before the read that your assertion looks at, and under which ids."""
        )
    raise Misconception(
        f"""Your test {did}, and let every leak pass, even one list for all.
        It reads where a leak shows (another {", another ".join(neighbours)}), but no AssertionError comes out of it.
        Look for its `assert`, for what Python takes as the condition of it, and for where an AssertionError goes."""
    )


def _differ_only_in(store: Store, place: str) -> bool:
    """Whether a test has read a conversation that differs from a written one in this id alone."""
    index = PLACES.index(place)
    return any(
        [one != other for one, other in zip(written, read, strict=True)] == [at == index for at in range(3)]
        for written, read in store._compared
    )


def _misses(leak: str, store: Store) -> None:
    """Say why a test lets a leak pass, by what it has asked of a right store."""
    used = {*store._added, *store._was_read}
    passed = f"Your test let a store pass that {leak}."
    if leak.startswith("joins"):
        look = "for two different triples of ids that become one text"
        if not any(":" in id_ for ids in used for id_ in ids):
            why = 'No id in your test has a ":" in it, and without one this store makes no mistake.'
        elif len({":".join(ids) for ids in used}) == len(used):
            why = 'There are ids with ":" in them, but no two of its conversations are alike once joined.'
        else:
            why = (
                "Two of its conversations are alike once joined, but it does not look in one for what is in the other."
            )
            look = "at what your test reads of these two, and what it expects there"
        raise Misconception(
            f"""{passed}
            {why}
            Look {look}."""
        )
    if leak.startswith("keeps"):
        raise Misconception(
            f"""{passed}
            It has found other leaks, but not the largest of all.
            Look at what each of your reads is compared with."""
        )
    place = leak.rpartition(" ")[2]
    different = {ids[PLACES.index(place)] for ids in used}
    if len(different) == 1:
        why = f"In all its calls the {place} is {shorten(_shown_id(different.pop()), 40)}."
    elif not _differ_only_in(store, place):
        why = f"Where the {place} differs, another id differs too, and that keeps the two conversations apart."
    else:
        why = f"It reads a conversation with another {place} only, but does not mind what it finds there."
    raise Misconception(
        f"""{passed}
        {why}
        Look at which conversations {NEIGHBOURS[place]}, and at what you read from the second."""
    )


NEIGHBOURS = {
    "tenant": "users of the same name have in two companies",
    "user": "two people of one company have",
    "session": "one person has",
}
