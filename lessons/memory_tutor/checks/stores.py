"""How a store of conversations is checked: by what it gives back, and by its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from memory_tutor.checks import common, databases
from memory_tutor.checks.common import assistant, user
from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import LearnerRaised, Misconception, NotGradable

if TYPE_CHECKING:
    from memory_tutor.learner import Handle, Learner, Outcome


Conversation = tuple[str, str, str]
ADA: Conversation = ("acme", "ada", "s1")
#: Pairs that a key made of joined texts, or of less than three, takes for the same.
NEIGHBOURS: list[tuple[Conversation, Conversation, str]] = [
    (("acme", "cy", "s2"), ("acme", "cy", "s3"), "the session differs"),
    (("acme", "bob", "s4"), ("acme", "eve", "s4"), "the user differs"),
    (("north", "ada", "s5"), ("south", "ada", "s5"), "the tenant differs"),
    (("a:b", "c", "d"), ("a", "b:c", "d"), 'the ":" stands elsewhere'),
    (("a", "b/c", "d"), ("a", "b", "c/d"), 'the "/" stands elsewhere'),
    (("a", "b|c", "d_e"), ("a|b", "c", "d_e"), 'the "|" stands elsewhere'),
    (("a", "b c", "d"), ("a", "b", "c d"), "the space stands elsewhere"),
    (("a", "bc", "d"), ("ab", "c", "d"), "the letters of the ids are shared out in another way"),
    (("t", "Ada", "s"), ("t", "ada", "s"), "one is written with a capital letter"),
    (("t", "u", " s"), ("t", "u", "s"), "one begins with a space"),
    (("t", "007", "s"), ("t", "7", "s"), "one has zeros in front"),
]
ODD_IDS = [" ", "'", '"; DROP TABLE messages; --', "..", "%", "*", "🦜", "x" * 10_000, "a\0b"]
#: Seconds that a rival writes.
AT_WORK = 0.6


def keeps_conversations(learner: Learner) -> None:
    """What a store has to do; raises what a check raises."""
    path = str(Path(learner.folder()) / "chats.db")
    store = _new_store(learner, path)
    _starts_empty(store)
    _keeps_apart(store)
    _keeps_turns(store)
    _gives_the_newest(store)
    _stands_in_the_file(learner, path)
    _one_row_a_message(learner, path)
    _keeps_pads(store)
    _refuses_stale_versions(learner, store, path)
    _all_or_nothing(store)
    _survives_a_disk_that_fails(learner)
    _waits_for_a_rival(learner)
    _takes_any_id(store)
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
    # A writer that finds the database locked waits five seconds.
    outcome = store.call("append", conversation, messages, version, seconds=8, **pad)
    if outcome.exception is not None and "Conflict" in outcome.exception.names:
        raise Misconception(
            f"""`append` to version {shorten(repr(version), 20)} raised `Conflict`; the store gave that version last.
            No rival was there: either the version is not the one that stands in the file, or the file has not changed.
            Look at which version `append` returns, and at whether all that it writes is committed."""
        )
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


def _one_row_a_message(learner: Learner, path: str) -> None:
    """Count the rows of all tables: one for each message that the check has stored so far."""
    file = Path(path)
    if file.is_symlink() or not file.is_file():
        raise Misconception(
            """There is no file at the path that `SqliteStore` was given.
            A teacher's server, and the next program, look for the conversations there.
            Look at where the connection goes."""
        )
    counts = learner.aside(databases.count_rows, path)
    if isinstance(counts, str):
        raise Misconception(
            f"""The file at the path cannot be read as an SQLite database: {shorten(counts, 60)}.
            Look at what `append` writes, and whether a transaction is left open."""
        )
    messages = 2 * (len(NEIGHBOURS) + len(TURNS) + 1)
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
            Look at what becomes of the old pad, and at what happens where there are no messages."""
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
    version = _append(store, conversation, TURNS[3], 0)
    _refused(rival, store, conversation, version, "an `append` with a version that a rival has used since")
    _, pad, version = _load(store, conversation, "`load`")
    _goes_on(rival, conversation, version, "After an `append` that was refused")
    _refused(rival, store, ("acme", "ada", "first"), 0, "an `append` to version 0, after a rival's first turn")
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


def _keeps_others_out(why: str) -> NoReturn:
    """What kept the check from writing keeps other workers from it, too, where it is not the machine's doing."""
    why = shorten(why, 60)
    if any(word in why for word in ("Permission denied", "unable to open", "readonly")):
        raise NotGradable(f"The check cannot write to the file of a `SqliteStore`: {why}.")
    raise Misconception(
        f"""Between two calls of a `SqliteStore`, nobody else can write to its file: {why}.
        Other workers have to, and a transaction is over before its method returns.
        Look at what your code leaves open, and at what it makes of the file."""
    )


def _waits_for_a_rival(learner: Learner) -> None:
    """An `append` begins while a rival writes the turn that makes its version stale."""
    folder = Path(learner.folder())
    path, later = folder / "chats.db", folder / "later.db"
    store = _new_store(learner, str(path))
    version = _append(store, ADA, TURNS[0], 0)
    # The rival's turn is made in a file that is a copy; the learner's own code makes the file itself.
    _append(_new_store(learner, str(later)), ADA, TURNS[0], 0)
    if why := learner.aside(databases.copy, str(path), str(later)):
        _keeps_others_out(why)
    _append(_new_store(learner, str(later)), ADA, TURNS[1], version)
    if not learner.aside(databases.begin_copy, str(later), str(path), AT_WORK):
        return
    outcome = store.call("append", ADA, TURNS[2], version, seconds=8)
    if why := learner.aside(databases.end_copy):
        _keeps_others_out(why)
    what = "an `append` that began while a rival was writing"
    raised = outcome.exception
    if raised is None:
        raise Misconception(
            f"""{_sentence(what)} was accepted, after the rival's turn and without knowing of it.
            The version had been looked at before; by the time of writing it was no longer the newest.
            Look at when the version is read, and at what begins the transaction before that."""
        )
    if "OperationalError" in raised.names:
        raise Misconception(
            f"""{_sentence(what)} raised {common.shown(raised)}
            A plain `BEGIN` takes the writer's place only at the first write, and then it can be too late to wait.
            Look at how your transaction begins, and how long your connection waits."""
        )
    _is_conflict(outcome, what)
    messages, _, _ = _load(store, ADA, "`load`")
    if messages != [*TURNS[0], *TURNS[1]]:
        raise Misconception(
            f"""{_sentence(what)} raised `Conflict`; after it, {len(messages)} messages are there in place of 4.
            The first turn and the rival's are what belongs there.
            Look at what `append` has written before it looked at the version."""
        )
    _goes_on(store, ADA, _load(store, ADA, "`load`")[2], f"After {what}")


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


def _goes_on(store: Handle, conversation: Conversation, version: Any, after: str) -> None:
    try:
        _append(store, conversation, TURNS[2], version)
    except LearnerRaised as error:
        raise Misconception(
            f"""{after}, the next one fails: {shorten(error.message.splitlines()[0], 90)}
            A transaction that nobody has ended keeps everybody else waiting.
            Look at what ends it when an exception leaves `append`."""
        ) from None


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
        Look at {common.line_of(outcome.exception)}."""
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
    _goes_on(store, conversation, version, "After an `append` that had raised")


#: The text at which the disk fails.
UNWRITABLE = "a text that the disk does not take"


def _survives_a_disk_that_fails(learner: Learner) -> None:
    """The second message cannot be written, as when the disk is full: nothing of the append may stay."""
    path = Path(learner.folder()) / "chats.db"
    store = _new_store(learner, str(path))
    version = _append(store, ADA, TURNS[0], 0)
    if why := learner.aside(databases.let_writing_fail, str(path), UNWRITABLE):
        _keeps_others_out(why)
    outcome = store.call("append", ADA, [user("A question"), assistant(UNWRITABLE)], version, pad={"half": True})
    messages, pad, now = _load(store, ADA, "`load` after an `append` at which the disk had failed")
    if outcome.exception is None and messages[-1] == assistant(UNWRITABLE):
        return  # written in a form in which the text is not to be seen
    if (messages, pad, now) == (TURNS[0], {}, version) and outcome.exception is not None:
        return
    left = "an error" if outcome.exception is not None else "no error"
    raise Misconception(
        f"""The disk failed at the second message of an `append`. There was {left}, and the store is not as it was.
        {len(messages)} messages are there in place of 2, and the version has {"" if now != version else "not "}changed.
        Look at what stands outside the transaction, or is committed before the end."""
    )


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


def _takes_any_id(store: Handle) -> None:
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
