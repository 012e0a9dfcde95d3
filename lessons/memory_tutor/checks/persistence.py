"""Lesson 6: a conversation that outlives the program, also when it is killed or there are two of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_tutor.checks import common
from memory_tutor.checks.common import assistant, user
from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import LearnerRaised, Lesson, Misconception
from memory_tutor.scripting import Failure, Scripted, Sent

if TYPE_CHECKING:
    from memory_tutor.learner import Handle, Learner, Outcome

lesson = Lesson("06_persistence", "Persistence", level=3, minutes=75)


# -- predictions ---------------------------------------------------------------------------------------

lesson.predict(
    "killed_writer",
    choices={
        "a": "The old conversation: a write that was not finished does not count",
        "b": "The new conversation: what has begun, the operating system brings to its end",
        "c": "A part of the new conversation, and nothing of the old one",
    },
    right="c",
    why={
        "a": "a database would do that. A file that is opened for writing is emptied first.",
        "b": "it keeps what it was given. What the program had not handed over yet died with it.",
        "c": "opening has thrown the old text away, and the new one had come half of its way.",
    },
)

lesson.predict(
    "two_workers",
    choices={
        "a": "Both: the operating system puts the one save after the other",
        "b": "The one that was saved last",
        "c": "None: two processes that write one file damage it",
    },
    right="b",
    why={
        "a": "it does, and that is the trouble: the second file replaces the first, turn and all.",
        "b": "each saves what it had loaded and one turn. The second had not loaded the first's turn.",
        "c": "without the replacement that could happen too. With it, the file is always a whole one.",
    },
)

lesson.predict(
    "one_thread",
    choices={
        "a": "Each question with its answer: asyncio runs in one thread, so nothing happens at once",
        "b": "Both questions, and then both answers",
        "c": "One question and one answer: the second overwrites the first",
    },
    right="b",
    why={
        "a": "one thread, yes; but at each `await` the other task may go on.",
        "b": "while the first waits, the second appends its question, and sends both.",
        "c": "that is what two files did. Here both work on one list, and appending keeps all.",
    },
)


# -- save_session ----------------------------------------------------------------------------------------


# -- SqliteStore -----------------------------------------------------------------------------------------

Conversation = tuple[str, str, str]

ADA: Conversation = ("acme", "ada", "s1")
#: Pairs that a key made of joined texts, or of less than three, takes for the same.
NEIGHBOURS: list[tuple[Conversation, Conversation, str]] = [
    (("acme", "ada", "s2"), ("acme", "ada", "s3"), "the session differs"),
    (("acme", "bob", "s1"), ("acme", "eve", "s1"), "the user differs"),
    (("north", "ada", "s9"), ("south", "ada", "s9"), "the tenant differs"),
    (("a:b", "c", "d"), ("a", "b:c", "d"), 'the ":" stands elsewhere'),
    (("a", "b/c", "d"), ("a", "b", "c/d"), 'the "/" stands elsewhere'),
    (("a", "b|c", "d_e"), ("a|b", "c", "d_e"), 'the "|" stands elsewhere'),
    (("a", "b c", "d"), ("a", "b", "c d"), "the space stands elsewhere"),
    (("a", "bc", "d"), ("ab", "c", "d"), "the letters of the ids are shared out in another way"),
    (("t", "Ada", "s"), ("t", "ada", "s"), "one is written with a capital letter"),
]
ODD_IDS = ["'", '"; DROP TABLE messages; --', "..", "%", "*", "🦜", "x" * 10_000, "a\0b"]
#: The rows that are looked at in a file, at most, and the steps that SQLite may take for it.
ROWS, STEPS = 10_000, 1_000_000


@lesson.exercise(
    points=5,
    hints=[
        "What must have happened between your `BEGIN` and your commit, so that a rival's turn cannot slip in between "
        "looking at the version and writing?",
        "Section 8 shows the stale version, section 6 the transaction, and the end of section 7 how the newest rows "
        "are read. Your `append` is all of them together: in which order?",
        "`append`: turn the messages into JSON first; then, after `BEGIN IMMEDIATE`, read the version, raise "
        "`Conflict` if it is not the one that you were given, write the conversation's row and one row for each "
        "message. The line left to write is the `INSERT INTO messages (…) VALUES (?, ?, ?, ?)`, with `executemany`.",
    ],
    another_way="""
        The reference opens a connection for each call and closes it. A store that keeps one open is faster, and right
        as long as one thread uses it. The version can also be checked by the statement that writes: `UPDATE … SET
        version = version + 1 WHERE … AND version = ?`, and a `rowcount` of 0 means that somebody was faster. That is
        the better way on a server where `BEGIN IMMEDIATE` does not exist.
        """,
)
def SqliteStore(learner: Learner) -> None:
    """Keep conversations in a database, so that no two workers lose a turn."""
    path = str(Path(learner.folder()) / "chats.db")
    store = _new_store(learner, path)
    _starts_empty(store)
    _keeps_turns(store)
    _gives_the_newest(store)
    _stands_in_the_file(learner, path)
    _one_row_a_message(path)
    _keeps_pads(store)
    _refuses_stale_versions(learner, store, path)
    _all_or_nothing(store)
    _keeps_apart(store)
    _refuses_what_is_no_id(store)


def _new_store(learner: Learner, path: str) -> Handle:
    outcome = learner.call("SqliteStore", path, keep=True)
    common.has_run(outcome, "`SqliteStore(path)`")
    if not isinstance(outcome.value, Opaque):
        raise Misconception(
            f"""`SqliteStore(path)` gave {shorten(repr(outcome.value), 60)}; the rule asks for a class with two methods.
            Look at the line that begins the definition: `class SqliteStore:`"""
        )
    return outcome.handle


def _load(store: Handle, conversation: Conversation, call: str, last: int | None = None) -> tuple[list[Any], Any, Any]:
    """What `load` gives, if it has the right shape."""
    outcome = store.call("load", conversation) if last is None else store.call("load", conversation, last=last)
    common.has_run(outcome, call)
    value = outcome.value
    if not isinstance(value, tuple | list) or len(value) != 3:
        raise Misconception(
            f"""{call} returned {shorten(repr(value), 80)}; the rule asks for (messages, pad, version).
            Who calls it takes the three apart, and needs the version for the next `append`.
            Look at the `return` of `load`."""
        )
    messages, pad, version = value
    if not isinstance(messages, list):
        raise Misconception(
            f"""{call} returned {shorten(repr(messages), 60)} as the messages; the rule asks for a list of dicts.
            It is put into a request as it is.
            Look at what you make of the rows."""
        )
    wrong = next((each for each in messages if not isinstance(each, dict)), None)
    if wrong is not None:
        raise Misconception(
            f"""{call} returned the message {shorten(repr(wrong), 80)}, which is no dict.
            A row is what the database holds; a request wants the message that was appended.
            Look at how a message became a row, and at the way back."""
        )
    return messages, pad, version


def _append(store: Handle, conversation: Conversation, messages: list[Any], version: Any, **pad: Any) -> Any:
    """Append, and return the version that came of it."""
    outcome = store.call("append", conversation, messages, version, **pad)
    common.has_run(outcome, "`append`")
    if outcome.args[1] != messages:
        raise Misconception(
            """`append` changed the list of messages that it was given.
            The caller may still want to send it.
            Look at what you do with `messages` besides writing it."""
        )
    if outcome.value is None:
        raise Misconception(
            """`append` returned None; the rule asks for the new version.
            Without it, the caller has to load before it can append again.
            Look at the last line of `append`."""
        )
    return outcome.value


def _starts_empty(store: Handle) -> None:
    call = "`load` of a conversation that nobody has written to"
    messages, pad, version = _load(store, ADA, call)
    if messages != [] or pad != {} or version != 0 or isinstance(version, bool):
        raise Misconception(
            f"""{call} returned {shorten(repr((messages, pad, version)), 80)}; the rule asks for ([], {{}}, 0).
            The first turn of a conversation is appended to version 0.
            Look at what `load` does where the query finds no row."""
        )


TURNS = [[user(f"Question {number}, Zoë?"), assistant(f"Answer {number}. 你好 🦜")] for number in range(1, 5)]
#: A message with more than a role and a content.
TOOL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}],
}


def _keeps_turns(store: Handle) -> None:
    version: Any = 0
    for turn in TURNS:
        before = version
        version = _append(store, ADA, turn, version)
        if version == before:
            raise Misconception(
                f"""`append` to version {before!r} returned {version!r}: the version is the same as before.
                A rival who has loaded version {before!r} could then append to it, too, and would not be refused.
                Look at how the version changes."""
            )
    messages, pad, loaded = _load(store, ADA, "`load` after four turns")
    wanted = [message for turn in TURNS for message in turn]
    if messages != wanted:
        _wrong_messages(messages, wanted)
    if loaded != version:
        raise Misconception(
            f"""`load` gave the version {shorten(repr(loaded), 40)}; `append` had returned {shorten(repr(version), 40)}.
            Both must mean the same: what stands in the store now.
            Look at where each of them gets the version from."""
        )
    if pad != {}:
        raise Misconception(
            f"""`load` gave the pad {shorten(repr(pad), 60)}, though none was ever given; the rule asks for {{}}.
            Look at what `append` writes for a pad of None."""
        )
    tools: Conversation = ("acme", "ada", "tools")
    _append(store, tools, [user("What time is it?"), TOOL], 0)
    messages, _, _ = _load(store, tools, "`load` of a message that calls a tool")
    if messages[1:] != [TOOL]:
        raise Misconception(
            f"""`load` gave {shorten(repr(messages[-1:]), 70)} for a message that calls a tool.
            A message may have more than a role and a content, and its content may be None.
            Look at which parts of a message you write."""
        )


def _wrong_messages(messages: list[Any], wanted: list[dict[str, Any]]) -> None:
    said = [common.text(message) for message in messages]
    if messages == wanted[::-1]:
        raise Misconception(
            """`load` gave the messages with the newest first; the rule asks for the oldest first.
            A request is read from top to bottom: the model would meet the answers before the questions.
            Look at the order of your query, and of what you return."""
        )
    if messages and said == [common.text(message) for message in wanted[-len(messages) :]]:
        raise Misconception(
            f"""After four turns, `load` gave the newest {len(messages)} of 8 messages; the rule asks for all.
            What `append` is given comes to what is there; only `last` makes `load` give less.
            Look at what happens to the rows of earlier turns."""
        )
    if not messages:
        raise Misconception(
            """After four turns that `append` had taken, `load` gave no messages.
            What was not committed is gone when the connection is closed.
            Look at where the transaction of `append` ends, and at what `load` asks for."""
        )
    if sorted(said) == sorted(common.text(message) for message in wanted):
        if said == [common.text(message) for message in wanted]:
            raise Misconception(
                f"""`load` gave {shorten(repr(messages[0]), 70)}; {shorten(repr(wanted[0]), 70)} was appended.
                What comes back is sent to the API: it must be what was put in.
                Look at how a message becomes a row, and how a row becomes a message."""
            )
        raise Misconception(
            f"""`load` gave all messages in another order; the first was {shorten(repr(said[0]), 50)}.
            Without an order, a database gives rows as it finds them.
            Look at what your query orders by."""
        )
    raise Misconception(
        f"""After four turns `load` gave {len(messages)} messages, the first {shorten(repr(said[0]), 50)}.
        The rule asks for the 8 messages that were appended, as they were.
        Look at how a message becomes a row, and how a row becomes a message."""
    )


def _gives_the_newest(store: Handle) -> None:
    everything = [message for turn in TURNS for message in turn]
    for last in (1, 3, 8, 99):
        messages, _, _ = _load(store, ADA, f"`load(conversation, last={last})`", last)
        if messages == everything[-last:]:
            continue
        if messages == everything[:last]:
            raise Misconception(
                f"""`load(conversation, last={last})` gave the first {last} of 8 messages; `last` counts the newest.
                A window is the end of a conversation.
                Look at which end of the order your LIMIT takes."""
            )
        if messages == everything[::-1][:last]:
            raise Misconception(
                f"""`load(conversation, last={last})` gave the right messages, the newest first.
                To take the newest, a query counts from the end; what `load` returns is read from the beginning.
                Look at what happens to the rows after the query."""
            )
        if messages == everything:
            raise Misconception(
                f"""`load(conversation, last={last})` gave all 8 messages.
                Who asks for a window wants no more than that read from the disk.
                Look at what `load` does with `last`."""
            )
        if messages == everything[-2 * last :]:
            raise Misconception(
                f"""`load(conversation, last={last})` gave {len(messages)} messages; `last` counts messages, not turns.
                Look at the number behind your LIMIT."""
            )
        raise Misconception(
            f"""`load(conversation, last={last})` gave {len(messages)} messages, not the newest of the 8.
            Look at which rows the query takes, and in which order you return them."""
        )
    messages, _, _ = _load(store, ADA, "`load(conversation, last=0)`", 0)
    if messages:
        raise Misconception(
            f"""`load(conversation, last=0)` gave {common.count(len(messages), "message")}; 0 of the newest are none.
            0 counts as false, and a slice from -0 is a slice from the start; None is what stands for "all".
            Look at how you tell 0 and None apart."""
        )


def _stands_in_the_file(learner: Learner, path: str) -> None:
    """A second store, and one after a restart, must find what the first has written."""
    everything = [message for turn in TURNS for message in turn]
    again = "A second `SqliteStore(path)` of the same file"
    messages, _, _ = _load(_new_store(learner, path), ADA, again)
    if messages != everything:
        raise Misconception(
            f"""{again} found {len(messages)} of 8 messages.
            Another worker, or the same one tomorrow, has nothing but the file.
            Look at what stands on `self` and nowhere else, and at whether each write is committed."""
        )
    restarted = _new_store(learner.fresh(["SqliteStore"]), path)
    messages, _, _ = _load(restarted, ADA, "A store after a restart of Python")
    if messages != everything:
        raise Misconception(
            f"""After a restart of Python, a `SqliteStore` of the same file found {len(messages)} of 8 messages.
            What a class or a global variable holds dies with the process.
            Look at what stands outside the file."""
        )


def _one_row_a_message(path: str) -> None:
    """Count the rows of all tables: eight messages and more are stored by now."""
    file = Path(path)
    if file.is_symlink() or not file.is_file():
        raise Misconception(
            """There is no file at the path that `SqliteStore` was given.
            A teacher's server, and the next program, look for the conversations there.
            Look at where the connection goes."""
        )
    steps = iter(range(STEPS // 1000))
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=1)) as connection:
            # What the learner's code has made of the file must not keep the check busy.
            connection.set_progress_handler(lambda: next(steps, None) is None, 1000)
            query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
            tables = [str(name).replace('"', '""') for (name,) in connection.execute(query).fetchmany(20)]
            counts = [connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables]
    except sqlite3.Error as error:
        raise Misconception(
            f"""The file at the path cannot be read as an SQLite database: {shorten(str(error), 60)}.
            Look at what `append` writes, and whether a transaction is left open."""
        ) from None
    messages = sum(len(turn) for turn in TURNS) + 2
    if max(counts, default=0) < messages:
        raise Misconception(
            f"""{messages} messages are in the store, and no table has more than {max(counts, default=0)} rows.
            A conversation in one row is written whole at each turn: slower with every turn, and two workers lose one.
            Look at what one row of your table holds."""
        )


def _keeps_pads(store: Handle) -> None:
    conversation: Conversation = ("acme", "ada", "pads")
    pad = {"goal": "Zoë's list 🦜", "steps_done": ["first"]}
    version = _append(store, conversation, TURNS[0], 0, pad=pad)
    _, found, _ = _load(store, conversation, "`load` after an `append` with a pad")
    if found != pad:
        raise Misconception(
            f"""A pad was appended, and `load` gave {shorten(repr(found), 70)}.
            The pad is a dict, and comes back as the same dict.
            Look at what happens to `pad` on its way into the database and out of it."""
        )
    version = _append(store, conversation, TURNS[1], version)
    _, found, _ = _load(store, conversation, "`load` after an `append` without a pad")
    if found != pad:
        raise Misconception(
            f"""An `append` without a pad left {shorten(repr(found), 50)} of the pad that was there.
            `pad=None` means that the caller has no new one, not that there is none any more.
            Look at what you write where `pad` is None."""
        )
    newer = _append(store, conversation, [], version, pad={})
    messages, found, loaded = _load(store, conversation, "`load` after an `append` of a pad alone")
    if found != {} or messages != [*TURNS[0], *TURNS[1]]:
        raise Misconception(
            f"""`append(conversation, [], version, pad={{}})` left the pad {shorten(repr(found), 60)}.
            An empty pad is a pad: somebody has crossed out what was in it.
            Look at how you tell `{{}}` and None apart, and at what happens where there are no messages."""
        )
    if newer == version or loaded != newer:
        raise Misconception(
            f"""`append` of a pad alone left the version at {version!r}.
            A rival who had loaded the old pad would not be refused, and would write it back.
            Look at what your version counts."""
        )


def _refuses_stale_versions(learner: Learner, store: Handle, path: str) -> None:
    conversation: Conversation = ("acme", "ada", "race")
    rival = _new_store(learner, path)
    _refused(rival, store, conversation, 0, "an `append` to version 0, after a rival's first turn")
    _, _, version = _load(store, conversation, "`load`")
    _refused(rival, store, conversation, version, "an `append` with a version that a rival has used since")
    _, pad, version = _load(store, conversation, "`load`")
    _append(rival, conversation, TURNS[2], version)
    outcome = store.call("append", conversation, [], version, pad={"goal": "stale"})
    _is_conflict(outcome, "an `append` of a pad alone with a stale version")
    if _load(store, conversation, "`load`")[1] != pad:
        raise Misconception(
            """An `append` with a stale version raised `Conflict` and had changed the pad.
            Whoever is refused believes that nothing has happened.
            Look at what is written before the version is looked at, and at what takes it back."""
        )
    outcome = store.call("append", ("acme", "ada", "nobody"), TURNS[0], 7)
    _is_conflict(outcome, "an `append` with version 7 to a conversation that has never been written")


def _sentence(what: str) -> str:
    """Words as the beginning of a sentence; what they name keeps its capitals."""
    return what[:1].upper() + what[1:]


def _refused(rival: Handle, store: Handle, conversation: Conversation, version: Any, what: str) -> None:
    _append(rival, conversation, TURNS[0], version)
    before = _load(store, conversation, "`load`")
    outcome = store.call("append", conversation, TURNS[1], version)
    after = _load(store, conversation, "`load`") if outcome.exception is not None else None
    _is_conflict(outcome, what)
    if after != before:
        raise Misconception(
            f"""{_sentence(what)} raised `Conflict`, and had written something.
            Whoever is refused asks the model again and appends again: the turn would stand there twice.
            Look at what takes back the rows that were written before the exception."""
        )


def _is_conflict(outcome: Outcome, what: str) -> None:
    if outcome.exception is None:
        raise Misconception(
            f"""{_sentence(what)} was accepted.
            The caller has answered without the rival's turn, and nobody will ever know.
            Look at where `append` compares `version` with what the database holds at that moment."""
        )
    names = outcome.exception.names
    if "Conflict" in names:
        return
    if "IntegrityError" in names:
        raise Misconception(
            f"""{_sentence(what)} raised IntegrityError; callers wait for `Conflict`.
            Code that uses a store must not need to know which database is below it.
            Look at what your `append` does with the database's own error."""
        )
    raise Misconception(
        f"""{_sentence(what)} raised {common.shown(outcome.exception)}; the rule asks for `Conflict`.
        Look at the line `{outcome.exception.line}`."""
    )


def _all_or_nothing(store: Handle) -> None:
    """A message that JSON cannot hold, behind one that it can: whatever happens, not half of them."""
    conversation: Conversation = ("acme", "ada", "half")
    version = _append(store, conversation, TURNS[0], 0)
    impossible = {"role": "assistant", "content": "no JSON", ("a", "b"): 1}
    outcome = store.call("append", conversation, [user("Half a turn"), impossible], version, pad={"half": True})
    messages, pad, now = _load(store, conversation, "`load` after an `append` that raised")
    if outcome.exception is None:
        if messages == [*TURNS[0], user("Half a turn"), impossible]:
            return  # it is stored in some form that can hold it
        raise Misconception(
            """A message that cannot be written as JSON was appended, and neither an error nor the message came of it.
            What is reported as saved must be there.
            Look at what your code does with an error while it writes."""
        )
    if messages != TURNS[0]:
        raise Misconception(
            f"""An `append` of two messages failed at the second, and {len(messages) - 2} of them stands in the store.
            A question without its answer is what lesson 2 took back by hand; here the transaction does it.
            Look at where the transaction begins, and at how often you commit."""
        )
    if pad != {} or now != version:
        raise Misconception(
            """An `append` that raised has written no message, and yet the pad or the version has changed.
            Messages, pad and version belong together: all of them or none.
            Look at what stands outside the transaction."""
        )
    try:
        _append(store, conversation, TURNS[1], version)
    except LearnerRaised as error:
        raise Misconception(
            f"""After an `append` that had raised, the next one fails, too: {shorten(error.message.splitlines()[0], 70)}
            A transaction that nobody has ended keeps everybody else waiting.
            Look at what ends it when an exception leaves `append`."""
        ) from None


def _keeps_apart(store: Handle) -> None:
    for one, other, difference in NEIGHBOURS:
        _append(store, one, TURNS[0], 0)
        messages, _, version = _load(store, other, "`load`")
        if messages or version != 0:
            raise Misconception(
                f"""A turn of {one} was appended, and {other} has it, too: {difference}.
                One user would read what another has said.
                Look at the columns by which your queries find a conversation."""
            )
    for odd in ODD_IDS:
        conversation: Conversation = (odd, "u", odd)
        shown = shorten(repr(odd), 40)
        outcome = store.call("append", conversation, TURNS[0], 0)
        if outcome.exception is not None:
            raise Misconception(
                f"""`append` with the id {shown} raised {common.shown(outcome.exception)}
                An id comes from outside and may hold any character; in the text of a query it becomes a part of it.
                Look at how the ids get into your SQL."""
            )
        if _load(store, conversation, "`load`")[0] != TURNS[0]:
            raise Misconception(
                f"""What was appended under the id {shown} is not found under it.
                Look at what happens to an id on its way into your SQL."""
            )


def _refuses_what_is_no_id(store: Handle) -> None:
    for bad, error in (("", "ValueError"), (None, "TypeError"), (7, "TypeError")):
        for place, part in enumerate(("tenant", "user", "session")):
            conversation = tuple(bad if number == place else text for number, text in enumerate(ADA))
            for method, args in (("load", (conversation,)), ("append", (conversation, TURNS[0], 0))):
                outcome = store.call(method, *args)
                call = f"`{method}` with the {part} {bad!r}"
                if outcome.exception is None:
                    raise Misconception(
                        f"""{call} was accepted; the rule asks for {error}.
                        A missing id makes one conversation of all that lack it.
                        Look at what both methods do before they ask the database."""
                    )
                if error not in outcome.exception.names:
                    raise Misconception(
                        f"""{call} raised {common.shown(outcome.exception)}; the rule asks for {error}.
                        Look at what both methods do before they ask the database."""
                    )


# -- chat_turn -------------------------------------------------------------------------------------------

#: As the lesson gives them.
SYSTEM_PROMPT = "You are a helpful assistant. Answer in one short sentence."
WINDOW = 6
ATTEMPTS = 3
#: Attempts after which a loop without end is stopped.
TOO_MANY = 8


class Conflict(Exception):
    """Arrives in the learner's code as the class of this name that the lesson gives."""


class RivalStore:
    """A store that a rival writes to, too: just before some of the appends.

    Args:
        rivals: for each append in turn, whether a rival comes first.
    """

    def __init__(self, rivals: Sequence[bool] = ()) -> None:
        self._stored = [message for turn in TURNS for message in turn]
        self._pad = {"goal": "untouched"}
        self._version = 40
        self._rivals = iter(rivals)
        self._met = 0
        #: The arguments of each append, and of each load, beside the conversation.
        self._appends: list[tuple[Any, Any, Any]] = []
        self._loads: list[Any] = []
        self._conversations: list[Any] = []

    def load(self, conversation: Any, last: Any = None) -> tuple[list[Any], dict[str, Any], int]:
        self._conversations.append(conversation)
        self._loads.append(last)
        if last is not None and not isinstance(last, int):
            raise TypeError(f"last must be an int or None, not {type(last).__name__}")
        messages = self._stored if last is None else self._stored[len(self._stored) - min(last, len(self._stored)) :]
        return list(messages), dict(self._pad), self._version

    def append(self, conversation: Any, messages: Any, version: Any, pad: Any = None) -> int:
        self._conversations.append(conversation)
        self._appends.append((messages, version, pad))
        if len(self._appends) > TOO_MANY:
            raise _no_end("append")
        if next(self._rivals, False):
            self._met += 1
            self._stored += [user(f"The rival's question {self._met}"), assistant(f"The rival's answer {self._met}")]
            self._version += 3
        if version != self._version:
            raise Conflict("somebody else has written since")
        self._stored += messages if isinstance(messages, list) else [messages]
        self._pad = self._pad if pad is None else pad
        self._version += 1
        return self._version


def _no_end(what: str) -> Misconception:
    return Misconception(
        f"""With a rival who is always faster, `chat_turn` called `{what}` more than {TOO_MANY} times.
        Each attempt asks the model and costs money; the rule says three in all.
        Look at what ends your loop."""
    )


@lesson.exercise(
    points=5,
    hints=[
        "The reply was made from what `load` gave. If that is out of date, what is the reply worth?",
        "Sections 7 and 8: load, call, save. Which of the three has to be done again after a `Conflict`, and which "
        "lines therefore stand inside the loop?",
        "`for attempt in range(1, 4):` with `load`, the request and `append` inside; `except Conflict:` goes on unless "
        "it was the third attempt. The line left to write is the `append`, of two messages and the version that `load` "
        "gave.",
    ],
    another_way="""
        A lock for each conversation, as in section 9, makes conflicts rare within one process, and then three attempts
        are plenty. It is better where users send several messages at once. It does not replace the version: a second
        process knows nothing of your lock.
        """,
)
def chat_turn(learner: Learner) -> None:
    """Answer one message of a stored conversation: load, call, save."""
    _one_turn(learner)
    _empty_conversation(learner)
    _rival_once(learner)
    _rival_always(learner)
    _failing_model(learner)
    learner.script(None)
    store = RivalStore()
    common.none_counts_as_empty(learner, "chat_turn", [learner.callback(store), ADA, "Hello?"], "`chat_turn`")
    if store._stored[-1].get("content") != "":
        raise Misconception(
            f"""When the reply was None, `chat_turn` stored {shorten(repr(store._stored[-1]), 60)}; None counts as "".
            The next request would send it, and an API may refuse it.
            Look at what you append."""
        )


def _turn(learner: Learner, store: RivalStore, text: str, *replies: Scripted) -> Outcome:
    learner.script(*replies)
    return learner.call("chat_turn", learner.callback(store), ADA, text)


def _one_turn(learner: Learner) -> None:
    store, call = RivalStore(), "`chat_turn`"
    saved_early: list[int] = []

    def reply(sent: Sent) -> str:
        saved_early.append(len(store._appends))
        return "Oslo is the capital of Norway."

    text = "What is the capital of Norway?"
    outcome = _turn(learner, store, text, *[reply] * 9)
    sent = common.only_request(learner, outcome, call)
    _was_sent(sent, TURNS[-3:], text, call)
    common.reply_of(outcome, call, "Oslo is the capital of Norway.")
    if saved_early[0]:
        raise Misconception(
            f"""{call} had called `append` before the model was asked.
            If the call fails then, a question without an answer stays in the store, for every worker to see.
            Look at where the question is appended."""
        )
    _was_appended(store, text, "Oslo is the capital of Norway.", 40, call)


def _was_sent(sent: Sent, window: Sequence[list[dict[str, Any]]], text: str, call: str) -> None:
    stored = [message for turn in window for message in turn]
    seen = common.plain(sent.messages)
    wanted = common.plain([common.system(SYSTEM_PROMPT), *stored, user(text)])
    if seen == wanted:
        return
    common.unwrap_nested(sent.messages, call)
    systems = [said for who, said in seen if who == "system"]
    if systems != [SYSTEM_PROMPT]:
        raise Misconception(
            f"""{call} sent {common.count(len(systems), "system message")}; the rule asks for one, with `SYSTEM_PROMPT`.
            It is not in the store: the program puts it in front of each request.
            Look at what stands before the stored messages."""
        )
    if seen[0][0] != "system":
        raise Misconception(
            f"""{call} sent the roles {common.roles(sent.messages)}: the system message is not the first.
            Look at the order of the list that you send."""
        )
    if not any(said == text for _, said in seen):
        raise Misconception(
            f"""{call} sent {common.count(len(seen), "message")}, and the question is none of them.
            The model answers the last thing that it reads.
            Look at what stands at the end of the list that you send."""
        )
    dialogue = [pair for pair in seen if pair[0] != "system"]
    if dialogue[-1] != ("user", text):
        raise Misconception(
            f"""{call} sent the question, and not as the user's last message: {shorten(repr(dialogue[-1]), 60)} is.
            Look at where in the list the question goes, and with which role."""
        )
    before = dialogue[:-1]
    if not before and stored:
        raise Misconception(
            f"""{call} sent the question without anything from the store.
            The model knows of the conversation what the request holds.
            Look at what you do with the messages that `load` gives."""
        )
    if len(before) > len(stored):
        raise Misconception(
            f"""{call} sent {len(before)} stored messages; the window is {WINDOW}.
            Everything is stored, a window of it is sent.
            Look at how many messages you ask the store for, or take of what it gives."""
        )
    if len(before) < len(stored):
        raise Misconception(
            f"""{call} sent {common.count(len(before), "stored message")} where {len(stored)} belong to the window.
            `WINDOW` counts stored messages, without the system message and the new question.
            Look at how many messages you ask the store for, or take of what it gives."""
        )
    raise Misconception(
        f"""{call} sent {len(before)} stored messages, not the newest; the first was {shorten(repr(before[0][1]), 50)}.
        Look at which end of the conversation you take."""
    )


def _was_appended(store: RivalStore, text: str, reply: str, version: int, call: str) -> None:
    if not store._appends:
        raise Misconception(
            f"""{call} returned a reply, and the store was given nothing.
            The next turn, in whichever process, will not know of this one.
            Look at what happens after the reply has come."""
        )
    if len(store._appends) > 1:
        raise Misconception(
            f"""{call} called `append` {len(store._appends)} times for one turn.
            Between two calls a rival may write, or the process may end: half a turn would stay.
            Look at whether question and reply go into one `append`."""
        )
    messages, given, pad = store._appends[0]
    if not isinstance(messages, list):
        raise Misconception(
            f"""{call} appended {shorten(repr(messages), 60)}; a store takes a list of messages.
            Look at the second argument of `append`."""
        )
    wrong = next((each for each in messages if not isinstance(each, dict)), None)
    if wrong is not None:
        name = wrong.type_name if isinstance(wrong, Opaque) else type(wrong).__name__
        raise Misconception(
            f"""{call} appended a {name} among the messages; the rule asks for plain dicts.
            A store writes JSON, and an object of the SDK is none.
            Look at what you append for the reply."""
        )
    if any(common.role(message) == "system" for message in messages):
        raise Misconception(
            f"""{call} appended a system message.
            It would be stored anew with each turn, and sent beside the program's own.
            Look at which of the messages belong to this turn."""
        )
    if len(messages) > 2:
        raise Misconception(
            f"""{call} appended {len(messages)} messages for one turn: what it had loaded, and the new ones.
            `append` adds to what is there; the store would hold the window twice.
            Look at which of the messages are new."""
        )
    if common.plain(messages) != [("user", text), ("assistant", reply)]:
        raise Misconception(
            f"""{call} appended {shorten(repr(common.plain(messages)), 80)}.
            A turn in the store is the question (user), then the reply (assistant).
            Look at the list that you give to `append`."""
        )
    if given != version or isinstance(given, bool):
        raise Misconception(
            f"""{call} appended to version {shorten(repr(given), 30)}; `load` had given {version}.
            The version says what the reply was made from; only the store knows what it means.
            Look at the third argument of `append`."""
        )
    if pad not in (None, {"goal": "untouched"}):
        raise Misconception(
            f"""{call} appended the pad {shorten(repr(pad), 60)}.
            This turn knows nothing new for the pad; None leaves it as it is.
            Look at the last argument of `append`."""
        )
    if any(list(each) != list(ADA) if isinstance(each, tuple | list) else True for each in store._conversations):
        raise Misconception(
            f"""{call} asked the store for another conversation than the one that it was given.
            Look at what you give to `load` and to `append` as the conversation."""
        )


def _empty_conversation(learner: Learner) -> None:
    store, call = RivalStore(), "`chat_turn` of a new conversation"
    store._stored, store._version = [], 0
    outcome = _turn(learner, store, "Hello?", "Hello!")
    sent = common.only_request(learner, outcome, call)
    _was_sent(sent, [], "Hello?", call)
    common.reply_of(outcome, call, "Hello!")
    _was_appended(store, "Hello?", "Hello!", 0, call)


def _rival_once(learner: Learner) -> None:
    store, text = RivalStore([True]), "And of Italy?"
    call = "With a rival who was faster once, `chat_turn`"
    outcome = _turn(learner, store, text, "The first reply.", "The second reply.", "One more reply.")
    if outcome.exception is not None and "Conflict" in outcome.exception.names:
        raise Misconception(
            f"""{call} let the `Conflict` go on to its caller at once.
            A second attempt, with the rival's turn, would have answered the user.
            Look at what your code does when `append` raises."""
        )
    common.has_run(outcome, call)
    sent = learner.requests
    value = outcome.value
    if len(sent) == 1 and len(store._appends) > 1:
        raise Misconception(
            f"""{call} appended the old reply once more, without asking the model again.
            That reply was made without the rival's turn: it may repeat it, or contradict it.
            Look at which steps stand inside the loop."""
        )
    if len(sent) == 1:
        raise Misconception(
            f"""{call} returned {shorten(repr(value), 50)}, and the turn is not in the store.
            The user has read an answer that the next request knows nothing of.
            Look at what your code does after a `Conflict`."""
        )
    if len(sent) > 2:
        raise Misconception(
            f"""{call} sent {len(sent)} requests; the second one could be appended.
            Each costs money, and the user waits.
            Look at when your loop ends."""
        )
    rival = ["The rival's question 1", "The rival's answer 1"]
    said = [common.text(message) for message in sent[1].messages]
    if not set(rival) <= set(said):
        raise Misconception(
            f"""{call} asked the model again, and the second request did not hold the rival's turn.
            Then the second reply is worth no more than the first.
            Look at where `load` stands: before the loop, or in it."""
        )
    _was_sent(sent[1], [*TURNS[-2:], [user(rival[0]), assistant(rival[1])]], text, "The second attempt of `chat_turn`")
    if store._appends[-1][1] != 43:
        raise Misconception(
            f"""{call} appended to version {shorten(repr(store._appends[-1][1]), 30)} then; `load` had given 43.
            A version is no counter of yours: only the store knows what comes after it.
            Look at where the version of the second attempt comes from."""
        )
    pair = [user(text), assistant("The second reply.")]
    if common.plain(store._stored[-2:]) != common.plain(pair) or len(store._appends[-1][0]) != 2:
        raise Misconception(
            f"""{call} appended {shorten(repr(common.plain(store._appends[-1][0])), 80)} the second time.
            The turn is the question and the reply to the second request, and nothing of the first attempt.
            Look at what is left over from the first pass of your loop."""
        )
    common.reply_of(outcome, call, "The second reply.")


def _rival_always(learner: Learner) -> None:
    store = RivalStore([True, True])
    call = "With a rival who was faster twice, `chat_turn`"
    outcome = _turn(learner, store, "And of Spain?", "One.", "Two.", "Three.", "Four.")
    if outcome.exception is not None and "Conflict" in outcome.exception.names:
        raise Misconception(
            f"""{call} gave up after {common.count(len(learner.requests), "attempt")}; the rule says three in all.
            Look at how your loop counts."""
        )
    common.reply_of(outcome, call, "Three.")
    store = RivalStore([True] * 99)
    call = "With a rival who is always faster, `chat_turn`"
    outcome = _turn(learner, store, "And of Spain?", *["A reply."] * 20)
    attempts = len(learner.requests)
    if outcome.exception is None:
        raise Misconception(
            f"""{call} returned {shorten(repr(outcome.value), 50)} after {common.count(attempts, "attempt")}.
            Nothing of it is in the store, and the caller believes that all is well.
            Look at what happens after the last attempt."""
        )
    if "Conflict" not in outcome.exception.names:
        raise Misconception(
            f"""{call} raised {common.shown(outcome.exception)}; the rule says that the `Conflict` goes on.
            Look at what your code raises after the last attempt."""
        )
    if attempts != ATTEMPTS:
        raise Misconception(
            f"""{call} asked the model {attempts} times; the rule says three attempts in all.
            Look at how your loop counts."""
        )


def _failing_model(learner: Learner) -> None:
    store, call = RivalStore(), "`chat_turn`"
    outcome = _turn(learner, store, "Are you there?", *[Failure("connection")] * 9)
    common.same_exception(outcome, call, common.NO_CONNECTION)
    if store._appends:
        raise Misconception(
            f"""{call} appended {shorten(repr(store._appends[0][0]), 60)} although the model had not answered.
            A question without an answer would be sent with each later request.
            Look at what your code does when the request fails."""
        )
    if len(learner.requests) > 1:
        raise Misconception(
            f"""{call} asked {len(learner.requests)} times although the network was gone.
            Only a `Conflict` is a reason for another attempt; the SDK tries again by itself where that helps.
            Look at which exceptions your loop catches."""
        )
