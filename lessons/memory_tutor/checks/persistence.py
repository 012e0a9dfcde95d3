"""Lesson 6: a conversation that outlives the program, also when it is killed or there are two of it."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from memory_tutor import codec
from memory_tutor.checks import common, folders
from memory_tutor.checks.common import assistant, user
from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import LearnerRaised, Lesson, Misconception, NotAttempted, NotGradable
from memory_tutor.scripting import Failure, Scripted, Sent

if TYPE_CHECKING:
    from memory_tutor.learner import Handle, Learner, Outcome
    from memory_tutor.raised import Raised

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

Session = dict[str, Any]

NOTES: Session = {
    "messages": [
        {"role": "system", "content": "Answer in one short sentence."},
        user("Ich heiße Zoë. 你好 🦜"),
        assistant('She said: "\\o/"\nand left.'),
    ],
    "scratchpad": {"goal": "Pack for Tromsø", "steps_done": [], "facts": {"allergy": None, "nights": 3}},
}
LONGER: Session = {**NOTES, "messages": [*NOTES["messages"], user("x" * 10_000), assistant("Quite long.")]}
SHORTER: Session = {"messages": [user("Καλημέρα, ada.")], "scratchpad": {}}
HALF_AN_EMOJI: Session = {"messages": [user("Half an emoji: \ud83e")], "scratchpad": {}}

#: Pairs of ids that bad file names take for one, with the reason.
PAIRS = {
    ("team/ada", "team_ada"): "A name in which characters are replaced is the name of other ids, too.",
    ("Ada", "ada"): "To a program that looks for a conversation, these are two.",
    ("x" * 9_999 + "1", "x" * 9_999 + "2"): "What is cut off an id no longer tells two of them apart.",
    ("a\\b", "a:b"): "A name in which characters are left out or changed is the name of other ids, too.",
    ("Zoë", "Zoe\u0308"): "They look alike, but one has a letter more.",
}
#: Ids that lead elsewhere where they become a path.
CLIMBS = ("../ada", "../../ada")
OTHERS = ("..", ".", "a\0b", "🦜", " ", "*", "ada.json", "CON")


class ChatCompletionMessage:
    """Arrives in the learner's code as an object that is no JSON, like the one that the SDK gives."""

    def to_dict(self) -> None:
        """Nobody calls this: it makes the object one that a check may lend."""


@lesson.exercise(
    points=2,
    hints=[
        "If the power fails at the worst moment of your function, what is in the file afterwards? And who chooses the "
        "file's name, if the id is `../../ada`?",
        "Section 2 writes a second file beside the first, and gives it the name when it is whole. Section 4 computes a "
        "name from an id. Make the text before you open anything: what is no JSON has then touched nothing.",
        "Check the id. Make `text` with `json.dumps`, then `path` and `new` from the hash of the id, both in `folder`. "
        "Write `text` to `new` in UTF-8, with flush and fsync as in section 2. The line left to write gives `new` the "
        "name of `path`.",
    ],
    another_way="""
        In place of one fixed name for the new file, `tempfile.mkstemp(dir=folder)` makes one that nobody else has.
        It is better where two workers may save the same session at once: with a fixed name, both write to one
        file. But then a killed writer's files pile up, and your code has to remove its own when writing fails.
        """,
)
def save_session(learner: Learner) -> None:
    """Keep a session in a file of its own, whole or not at all."""
    place = _Place(learner)
    name = _first_save(learner, place)
    _save_replaces(learner, place, name)
    _ids_have_files(learner)
    _bad_ids_are_refused(learner, "save_session", NOTES)
    _failed_save_changes_nothing(learner)


#: Where a folder for sessions is, in the folder that is looked at.
INSIDE = "home/sessions/"


class _Place:
    """A folder for sessions, two levels deep in a folder that shows what escapes from it."""

    def __init__(self, learner: Learner) -> None:
        self.outer = Path(learner.folder())
        self.sessions = self.outer / "home" / "sessions"
        for folder in (self.outer / "elsewhere", self.outer / "home", self.sessions):
            folder.mkdir()
            folder.chmod(stat.S_IMODE(self.outer.stat().st_mode))
        self.elsewhere = self.outside()

    @property
    def path(self) -> str:
        """As a learner's function is given it."""
        return str(self.sessions)

    def entries(self) -> dict[str, bytes | str]:
        """All that is in the folder. It is looked for from above: in its place there may be a link by now."""
        found = folders.entries(self.outer, folders.DEPTH)
        return {name.removeprefix(INSIDE): what for name, what in found.items() if name.startswith(INSIDE)}

    def saved(self) -> dict[str, bytes | str]:
        """What is in the folder, except folders."""
        return {name: what for name, what in self.entries().items() if what != folders.FOLDER}

    def escaped(self) -> str:
        """What was done outside the folder since `elsewhere` was looked at, to one file; or ""."""
        now = self.outside()
        for name in sorted({*now, *self.elsewhere}):
            if now.get(name) != self.elsewhere.get(name):
                return f"{'wrote' if name in now else 'removed'} `{_name(name, 30)}`"
        return ""

    def outside(self) -> dict[str, bytes | str]:
        """All that is beside the folder."""
        found = folders.entries(self.outer, 1)
        return {name: what for name, what in found.items() if not name.startswith(INSIDE)}


def _id(session_id: str) -> str:
    """An id, as it is shown in a message."""
    if len(session_id) > 40:
        return f"an id of {len(session_id):,} characters"
    return repr("/…/ada" if session_id.startswith("/") or ":\\" in session_id else session_id)


def _save(learner: Learner, place: _Place, session_id: str, session: Session, call: str) -> None:
    """Save, where nothing speaks against it."""
    outcome = learner.call("save_session", place.path, session_id, session)
    raised = outcome.exception
    if raised is not None and "UnicodeEncodeError" in raised.names and "surrogates" not in raised.message:
        raise LearnerRaised(
            f"""{call} raised UnicodeEncodeError: {_said(raised, 40)}
            If no encoding is named, the machine's own is taken; not each has all letters.
            Look at each place where text becomes bytes, and whether it names `utf-8`."""
        )
    common.has_run(outcome, call)
    if (outside := place.escaped()) and not place.saved():
        raise Misconception(
            f"""{call} {outside}, outside the folder that it was given.
            Whoever makes a backup of the folder, or removes it, has no idea of files elsewhere.
            Look at how your code makes a path of `folder` and a name."""
        )
    if outcome.value is not None:
        kind = outcome.value.type_name if isinstance(outcome.value, Opaque) else type(outcome.value).__name__
        raise Misconception(
            f"""{call} returned a {kind}; the rule asks for None.
            Where a session is stored is the store's own business: callers know its id.
            Look at what you return."""
        )


def _holds(what: bytes | str, session: Session, call: str) -> None:
    """A file has the session in it."""
    if isinstance(what, str):
        raise Misconception(
            f"""After {call}, what is in the folder is {what}.
            A session belongs into a plain file, which others can read and copy.
            Look at what your code makes in the folder."""
        )
    if not what:
        raise Misconception(
            f"""After {call}, the file was empty.
            What is written waits in a buffer until the file is closed or flushed.
            Look at whether, and when, the file is closed."""
        )
    if what[:1] == b"\x80":
        raise Misconception(
            f"""After {call}, the file held a pickle, it seems; the rule asks for JSON.
            To read a pickle is to run what stands in it; JSON is nothing but data.
            Look at what makes the bytes that you write."""
        )
    try:
        # Half an emoji has no place in UTF-8; Python writes it with "surrogatepass", and reads it again.
        text = what.decode("utf-8-sig", "surrogatepass")
    except UnicodeDecodeError:
        raise Misconception(
            f"""After {call}, the bytes of the file were not UTF-8.
            Who reads a file in another encoding than it was written in gets other letters, or an error.
            Look at each place where text becomes bytes, and whether it names `utf-8`."""
        ) from None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise Misconception(
            f"""After {call}, the file held no JSON: {shorten(text, 40)!r}
            `str` and `repr` make text for people; a program in another language cannot read it.
            Look at what makes the text that you write."""
        ) from None
    if isinstance(found, str) and found[:1] in ("{", "["):
        raise Misconception(
            f"""After {call}, the file held a JSON text in a JSON text.
            It was made with `dumps` twice, and takes `loads` twice.
            Look at how often the session is turned into text."""
        )
    if found != session:
        raise Misconception(
            f"""After {call}, the file has {_difference(session, found)}.
            What comes back to the next program is what is in the file.
            Look at what happens to the session on its way into the file, encoding included."""
        )


def _difference(wanted: Any, found: Any) -> str:
    """Where two values begin to differ, in a few words."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in [*wanted, *found]:
            if key not in found:
                return f"no {key!r} in it"
            if key not in wanted:
                return f"{shorten(repr(key), 30)} in it, which nobody gave"
            if wanted[key] != found[key]:
                return _difference(wanted[key], found[key])
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return next((_difference(a, b) for a, b in zip(wanted, found, strict=True) if a != b), "another order")
    return f"{_quoted(found)} for {_quoted(wanted)}"


def _quoted(value: object) -> str:
    return shorten(codec.printable(repr(value)), 32)


def _first_save(learner: Learner, place: _Place) -> str:
    """Save into an empty folder, and return the name of the file."""
    call = '`save_session(folder, "s-1", session)`'
    _save(learner, place, "s-1", NOTES, call)
    return _one_file(place, NOTES, call)


def _one_file(place: _Place, session: Session, call: str) -> str:
    """The name of the one file in the folder, which has the session."""
    saved = place.saved()
    if not saved and place.entries():
        raise Misconception(
            f"""{call} made a folder, and no file in it.
            A session is a text, and a text stands in a file.
            Look at what your code makes in the folder that it is given."""
        )
    if not saved:
        raise Misconception(
            f"""{call} returned, and the folder was empty.
            What is kept in a variable, or in another folder, is not found by who looks here.
            Look at where your code writes to a file, and in which folder."""
        )
    if len(saved) > 1:
        raise Misconception(
            f"""{call} left {len(saved)} files: {_names(saved)}.
            What nobody needs any more is one file more for each save, and looks like a session.
            Look at what becomes of each file that your code makes."""
        )
    _nothing_outside(place, call)
    ((name, what),) = saved.items()
    _holds(what, session, call)
    return name


def _name(name: str, most: int = 24) -> str:
    """A file's name, as it is shown in a message: it may hold anything."""
    return shorten(codec.printable(repr(name)[1:-1]), most)


def _names(saved: Iterable[str]) -> str:
    return ", ".join(map(_name, sorted(saved)[:3]))


def _nothing_outside(place: _Place, call: str) -> None:
    if outside := place.escaped():
        raise Misconception(
            f"""{call} {outside}, and left it so, outside the folder that it was given.
            Files outside are on nobody's list, and the place may be full, or somebody else's.
            Look at where each file that your code makes has its place."""
        )


def _second_name(path: Path, name: Path) -> int | None:
    """Give a file a second name, or, where that cannot be done, return its number."""
    try:
        os.link(path, name)
    except (OSError, AttributeError, NotImplementedError):
        return os.lstat(path).st_ino
    return None


def _save_replaces(learner: Learner, place: _Place, name: str) -> None:
    """Save again after a restart: the new file takes the old one's name, and the old one is not written to."""
    call = "A second save of the same id"
    path, backup = place.sessions / name, place.outer / "elsewhere" / "backup"
    old = place.saved()[name]
    number = _second_name(path, backup)
    place.elsewhere = place.outside()
    restarted = learner.fresh(["save_session"])
    with folders.watch(path.parent) as watched:
        _save(restarted, place, "s-1", LONGER, call)
    saved = place.saved()
    if len(saved) > 1 and name in saved:
        more = [other for other in saved if other != name]
        if saved[name] == old:
            raise Misconception(
                f"""{call}, after a restart, wrote another file beside the first.
                Who looks for the session then finds two, or the old one.
                Look at what the name is made of: the id and nothing else must decide it."""
            )
        raise Misconception(
            f"""{call} left another file behind: {_names(more)}.
            Of two files, nobody can tell which is the session and which was.
            Look at what becomes of the old file."""
        )
    if name not in saved:
        raise Misconception(
            f"""{call}, after a restart, left one file, but of another name.
            In between, or after a crash, there is no session of this id.
            Look at what the name is made of: the id and nothing else must decide it."""
        )
    kept = old if number is not None else place.outside().get("elsewhere/backup")
    in_place = os.lstat(path).st_ino == number if number is not None else kept != old
    if in_place:
        raise Misconception(
            f"""{call} wrote into the old file: a hard link to it reads the new text.
            From the moment when it is opened until it is closed, there is no whole session on the disk.
            Look at the section with the killed writer: which file did it open, and which was mended?"""
        )
    _nothing_outside(place, call)
    _holds(saved[name], LONGER, call)
    if path.name in watched.removed:
        raise Misconception(
            f"""{call} took the old file away before the new one had its name.
            A program that is killed in between leaves no session; who reads in between finds none.
            Look at whether the old file has to go: what does `os.replace` do with it?"""
        )
    # What came from a folder within the folder is on the same disk.
    if path.name in watched.came and folders.FOLDER not in place.entries().values():
        raise Misconception(
            f"""{call} wrote the new file outside the folder, and moved it in.
            On another disk that is no change of name: it raises an error, or copies, and is not atomic.
            Look at the folder in which the new file is made."""
        )


def _ids_have_files(learner: Learner) -> None:
    """Ids of all shapes have a file each, within the folder, and one that the next process finds, too."""
    place = _Place(learner)
    absolute = str(place.outer / "elsewhere" / "ada")
    owners: dict[str, str] = {}
    renamed: dict[str, str] = {}
    pairs = {id_: (one, why) for (one, id_), why in PAIRS.items()}
    ids = [*CLIMBS, absolute, *[id_ for pair in PAIRS for id_ in pair], *OTHERS]
    for number, session_id in enumerate(ids):
        session = {"messages": [user(f"I am number {number}.")], "scratchpad": {}}
        call = f"`save_session` with {_id(session_id)}"
        before = place.saved()
        with folders.watch(place.sessions) as watched:
            outcome = learner.call("save_session", place.path, session_id, session)
        if outside := place.escaped():
            raise Misconception(
                f"""{call} as id {outside}, outside the folder.
                Ids come from outside: whoever chooses them then chooses which files your program writes.
                Look at how a name is made of an id."""
            )
        if outcome.exception is not None:
            raise LearnerRaised(
                f"""{call} raised {outcome.exception.names[0]}: {_said(outcome.exception, 40)}
                An id may be any text, of any length, that is not empty; a file's name may not.
                Look at how a name is made of an id."""
            )
        now = place.saved()
        new = [name for name in now if name not in before]
        if not new:
            changed = next((name for name in now if now[name] != before[name]), "")
            other = owners.get(changed, "")
            one, why = pairs.get(session_id, ("", ""))
            why = why if one == other else "A session that is saved under one of them replaces the other's."
            raise Misconception(
                f"""{_id(other)} and {"another one" if len(session_id) > 40 else _id(session_id)} have one file.
                {why}
                Look at how a name is made of an id."""
            )
        if len(new) > 1:
            raise Misconception(
                f"""{call} left {len(new)} new files: {_names(new)}.
                Each id has one file, whatever characters are in it.
                Look at what becomes of each file that your code makes."""
            )
        owners[new[0]] = session_id
        _holds(now[new[0]], session, call)
        for name in sorted(watched.renamed):
            if (other := renamed.setdefault(name, session_id)) != session_id:
                raise Misconception(
                    f"""The sessions of {_id(other)} and {_id(session_id)} went both through the file `{_name(name)}`.
                    Two workers who save them at once write into one file: one user gets what another has said.
                    Look at what the name of the new file is made of."""
                )
    _names_differ_on_any_disk(owners)
    _same_names_after_a_restart(learner, place, owners)
    _no_hash_of_this_process(learner, place)


def _names_differ_on_any_disk(owners: dict[str, str]) -> None:
    seen: dict[str, str] = {}
    for name, session_id in owners.items():
        other = seen.setdefault(unicodedata.normalize("NFC", name).casefold(), session_id)
        if other != session_id:
            raise Misconception(
                f"""{_id(other)} and {_id(session_id)} have files whose names many disks take for one.
                On most Macs and under Windows, the second one's session replaces the first one's.
                Look at how a name is made of an id: which characters can be in it?"""
            )


def _same_names_after_a_restart(learner: Learner, place: _Place, owners: dict[str, str]) -> None:
    before = place.saved()
    own = next(name for name, session_id in owners.items() if session_id == "ada")
    _save(learner.fresh(["save_session"]), place, "ada", SHORTER, "`save_session` after a restart")
    now = place.saved()
    wrong = next((name for name in now if name != own and now[name] != before.get(name)), "")
    if wrong:
        whose = f"replaced the session of {_id(owners[wrong])}" if wrong in owners else "wrote another file"
        raise Misconception(
            f"""After a restart, `save_session` with 'ada' {whose}.
            What a program remembers of its files is gone when it ends.
            Look at what the name is made of: the id and nothing else must decide it."""
        )


def _no_hash_of_this_process(learner: Learner, place: _Place) -> None:
    """A name must not come from `hash`, which gives another number in each process."""
    before = place.saved()
    session_id = "one more"
    outcome = learner.call("save_session", place.path, session_id, NOTES, keep=True)
    new = [name for name in place.saved() if name not in before]
    # None's repr is a str on the learner's side; its class makes another one, whose hash their process gives.
    text = outcome.handle.call("__repr__", keep=True).handle
    number = text.call("__class__", session_id, keep=True).handle.call("__hash__").value
    if type(number) is not int or not new:
        return
    forms = {form for each in (abs(number), number % 2**64) for form in (str(each), f"{each:x}")}
    if any(form in new[0].lower() for form in forms):
        raise Misconception(
            f"""`save_session` names a file `{_name(new[0], 40)}`, after the `hash` of the id.
            Python's `hash` of a text is another one in each process: after a restart, nothing is found.
            Look at what gives the same name in every process."""
        )


def _bad_ids_are_refused(learner: Learner, name: str, *more: object) -> None:
    """What is no id raises the error that the task names, and nothing is written."""
    place = _Place(learner)
    for bad, wanted in (("", "ValueError"), (7, "TypeError"), (None, "TypeError"), (["ada"], "TypeError")):
        call = f"`{name}` with {bad!r} as id"
        outcome = learner.call(name, place.path, bad, *more)
        raised = outcome.exception
        if raised is None:
            common.has_run(outcome, call)
            if bad == "":
                raise Misconception(
                    f"""{call} raised nothing; an empty id is a ValueError.
                    Whoever forgets the id would share one conversation with all others who do.
                    Look at what your code does with an id before it uses it."""
                )
            raise Misconception(
                f"""{call} raised nothing; what is not a text is a TypeError.
                The fault is the caller's, and further on it looks like a conversation that was lost.
                Look at what your code does with an id before it uses it."""
            )
        if wanted not in raised.names:
            raise Misconception(
                f"""{call} raised {common.shown(raised)}
                {"An empty id" if bad == "" else "An id that is no str"} is the caller's mistake: a {wanted}.
                Look at what your code does with an id before it uses it."""
            )
        if place.saved():
            raise Misconception(
                f"""{call} raised {wanted}, and left {_names(place.saved())} in the folder.
                What is refused leaves no trace.
                Look at what comes first: looking at the id, or writing."""
            )


def _failed_save_changes_nothing(learner: Learner) -> None:
    """What cannot be saved raises, and the old file is there as it was, and nothing else."""
    place = _Place(learner)
    thing = learner.callback(ChatCompletionMessage())
    unfit = {"messages": [*LONGER["messages"], thing], "scratchpad": {}}
    call = '`save_session(folder, "s-1", session)`'
    _save(learner, place, "s-1", NOTES, call)
    _one_file(place, NOTES, call)
    before = place.saved()
    what = "an object of the SDK in the session"
    outcome = learner.call("save_session", place.path, "s-1", unfit)
    if outcome.exception is None and place.saved() == before:
        raise Misconception(
            f"""`save_session` with {what} saved nothing, and raised nothing.
            The caller tells the user that all is well; the next start will show that it is not.
            Look at what your code does after it has caught an error."""
        )
    if outcome.exception is None:
        raise Misconception(
            f"""`save_session` with {what} raised nothing.
            What is written for such an object is not the message, and nobody learns of it.
            Look at what your code does about what is no JSON: `default=`, or an `except`?"""
        )
    _is_as_before(place, before, what)
    outcome = learner.call("save_session", place.path, "s-1", HALF_AN_EMOJI)
    what = "half an emoji in the session"
    if outcome.exception is None:
        _holds(next(iter(place.saved().values()), b""), HALF_AN_EMOJI, f"`save_session` with {what}")
        before = place.saved() if len(place.saved()) == 1 else before
    _is_as_before(place, before, what)


def _is_as_before(place: _Place, before: dict[str, bytes | str], what: str) -> None:
    now = place.saved()
    ((name, old),) = before.items()
    if now.get(name) != old:
        has = f", of {len(old):,} bytes, has {len(now[name]):,}" if name in now else " is gone"
        raise Misconception(
            f"""`save_session` with {what} failed, and its old file{has}.
            The old session was given up before it was known whether there is something to put in its place.
            Look at what can fail after that moment, and do it before."""
        )
    more = [other for other in now if other != name]
    if more:
        raise Misconception(
            f"""`save_session` with {what} failed, and left {_names(more)} behind.
            Half-written files look like sessions, and nobody removes them.
            Look at what has been made by the time it fails: can the text be made before?"""
        )
    _nothing_outside(place, f"`save_session` with {what}")


# -- load_session ----------------------------------------------------------------------------------------

FIRST = "Solve `save_session` first: `load_session` is checked with the files that it writes."


@lesson.exercise(
    points=3,
    hints=[
        "A chat of a user cannot be read. What should the user see, and what should you see? And what if there has "
        "never been a chat?",
        "The pitfall in section 2 ends by telling two things apart. `json.loads` raises a ValueError that knows a line "
        "and a column, but no file; bytes that are not UTF-8 raise another; and a list is good JSON, but no session.",
        "Check the id, make the path as `save_session` does, and return None where FileNotFoundError says that there "
        "is nothing. Read and parse in a `try`; see that the result is a dict. The line left to write raises, in the "
        "`except ValueError`, a ValueError of your own that has the path in its text.",
    ],
    another_way="""
        Some stores move a damaged file aside, to `….damaged`, and go on with an empty session. It is better where an
        answer now is worth more than the past, and where somebody is told. Here the error is the way to tell.
        """,
)
def load_session(learner: Learner) -> None:
    """Bring a session back from its file, and tell a missing one from a damaged one."""
    _missing_is_none(learner)
    _bad_ids_are_refused(learner, "load_session")
    place, name = _saved_comes_back(learner)
    _only_its_own(learner)
    _damage_is_told(learner, place, name)


def _load_file(learner: Learner, place: _Place, session_id: str, call: str) -> Outcome:
    """Load, and see that nothing has been written."""
    before = folders.entries(place.outer)
    outcome = learner.call("load_session", place.path, session_id)
    after = folders.entries(place.outer)
    if after == before:
        return outcome
    gone = [name for name in before if name not in after]
    new = [name for name in after if name not in before]
    if gone and new:
        seen, means = "moved a file away", "Who comes to mend it, or another worker, does not find it where it was."
    elif gone:
        seen, means = "deleted a file", "What is damaged can often be mended by hand. What is gone cannot."
    elif new:
        made = "an empty file" if not after[new[-1]] else f"the file {_names(new)}"
        seen, means = f"made {made}", "From then on, who looks for a session that never was finds something."
    else:
        seen, means = "wrote into a file", "What is damaged can often be mended by hand. What is written over cannot."
    raise Misconception(
        f"""{call} {seen}; it is asked to read.
        {means}
        Look at what your code does besides reading."""
    )


def _missing_is_none(learner: Learner) -> None:
    place = _Place(learner)
    for folder in (place.outer, place.outer / "home", place.outer / "elsewhere"):
        for name in ("ada", "ada.json"):
            (folder / name).write_text(json.dumps(NOTES), encoding="utf-8")
    for session_id in ("s-1", *CLIMBS, str(place.outer / "elsewhere" / "ada"), "..", "a\0b", "x" * 10_000):
        call = f"`load_session` with {_id(session_id)}, of which there is no session,"
        outcome = _load_file(learner, place, session_id, call)
        raised = outcome.exception
        if raised is not None and session_id == "s-1" and {"FileNotFoundError", "KeyError"} & set(raised.names):
            raise LearnerRaised(
                f"""{call} raised {raised.names[0]}; the rule asks for None.
                That there is no session yet is no fault: each conversation begins so.
                Look at how your code finds out that there is no file."""
            )
        if raised is not None and session_id == "s-1" and "ValueError" in raised.names:
            raise LearnerRaised(
                f"""{call} raised {raised.names[0]}: {_said(raised, 40)}
                That error is for a file that is there and cannot be read; the rule asks for None.
                Look at which errors your `except` takes for damage."""
            )
        if raised is not None and session_id != "s-1":
            raise LearnerRaised(
                f"""{call} raised {raised.names[0]}: {_said(raised, 40)}
                An id may be any text, of any length; a file's name may not.
                Look at whether the path is made as `save_session` makes it."""
            )
        common.has_run(outcome, call)
        if outcome.value == NOTES:
            raise Misconception(
                f"""{call} read one outside the folder.
                Whoever chooses the id then chooses which files your program reads out.
                Look at whether the path is made as `save_session` makes it."""
            )
        if outcome.value is not None:
            raise Misconception(
                f"""{call} returned {_quoted(outcome.value)}.
                The rule asks for None: what has never been is to be known from what is there.
                Look at what your code returns when there is no file."""
            )


def _said(raised: Raised, most: int) -> str:
    """The beginning of an exception's message, on one line."""
    return shorten(" ".join(raised.message.split()), most)


def _prepare(learner: Learner, place: _Place, session_id: str, session: Session) -> str:
    """Save with the learner's own function, and return the name of the file."""
    before = place.saved()
    try:
        outcome = learner.call("save_session", place.path, session_id, session)
    except NotAttempted as missing:
        raise NotAttempted(f"{missing.message}\n{FIRST}") from None
    if outcome.exception is not None:
        raise LearnerRaised(
            f"""`save_session`, which this check calls first, raised {common.shown(outcome.exception)}
            {FIRST}"""
        )
    new = {name: what for name, what in place.saved().items() if name not in before}
    if len(new) != 1:
        raise Misconception(
            f"""`save_session`, which this check calls first, made {len(new)} files for {_id(session_id)}.
            {FIRST}"""
        )
    ((name, what),) = new.items()
    try:
        _holds(what, session, "")
    except Misconception:
        raise Misconception(
            f"""The file that `save_session` made for {_id(session_id)} does not hold the session as JSON.
            {FIRST}"""
        ) from None
    return name


def _comes_back(learner: Learner, place: _Place, session_id: str, session: Session, call: str) -> None:
    outcome = _load_file(learner, place, session_id, call)
    if outcome.exception is not None:
        raise LearnerRaised(
            f"""{call} raised {outcome.exception.names[0]}: {_said(outcome.exception, 40)}
            There is a whole file, which `save_session` has written.
            Look at {_line(outcome.exception)}."""
        )
    common.has_run(outcome, call)
    value = outcome.value
    if value == session:
        return
    if value is None and _reads(learner, place, session_id):
        raise Misconception(
            f"""{call} read the file, and returned None.
            A function that ends without `return` gives None to its caller.
            Look at where the session is when the function ends."""
        )
    if value is None:
        raise Misconception(
            f"""{call} returned None; `save_session` had saved it.
            It does not look where the file is, or gives up too soon.
            Look at the paths that the two functions make."""
        )
    if not isinstance(value, dict):
        kind = value.type_name if isinstance(value, Opaque) else type(value).__name__
        raise Misconception(
            f"""{call} returned a {kind}; the session is a dict.
            The caller takes `session["messages"]` of it.
            Look at what turns the text of the file into a dict, and at what you return."""
        )
    raise Misconception(
        f"""{call} returned {_difference(session, value)}.
        What was saved comes back as it was, letter by letter.
        Look at each step between the bytes of the file and the `return`, encoding included."""
    )


def _line(raised: Raised) -> str:
    """Where an exception came from."""
    return f"`{shorten(raised.line.strip(), 80)}`" if raised.line.strip() else "what your code needs to read a file"


def _put(path: Path, text: bytes) -> None:
    """Put a new file in a file's place; nothing that a name leads to is written to."""
    try:
        path.unlink(missing_ok=True)
        with path.open("xb") as file:
            file.write(text)
    except OSError as error:
        raise LearnerRaised(
            f"""This check cannot put another file in the place of the one that `save_session` made: {error.strerror}.
            Who mends a damaged file has to be able to.
            Look at the rights of what your code makes in the folder."""
        ) from None


def _reads(learner: Learner, place: _Place, session_id: str) -> bool:
    """Whether a load looks at what is in the files: if they are damaged, it fails."""
    whole = {name: what for name, what in place.saved().items() if isinstance(what, bytes)}
    for name in whole:
        _put(place.sessions / name, b"{")
    outcome = learner.call("load_session", place.path, session_id)
    for name, what in whole.items():
        _put(place.sessions / name, what)
    return outcome.exception is not None


def _saved_comes_back(learner: Learner) -> tuple[_Place, str]:
    """What was saved comes back, also to a process that has not saved it."""
    place = _Place(learner)
    name = _prepare(learner, place, "s-1", NOTES)
    _comes_back(learner, place, "s-1", NOTES, '`load_session(folder, "s-1")`')
    restarted = learner.fresh(["load_session"])
    _comes_back(restarted, place, "s-1", NOTES, '`load_session(folder, "s-1")`, after a restart,')
    outcome = learner.call("save_session", place.path, "half", HALF_AN_EMOJI)
    if outcome.exception is None:
        _comes_back(learner, place, "half", HALF_AN_EMOJI, "`load_session` of a session with half an emoji")
    return place, name


def _only_its_own(learner: Learner) -> None:
    """Ids that look alike, or like paths, have each their own session."""
    place = _Place(learner)
    ids = [*CLIMBS, *[session_id for pair in PAIRS for session_id in pair]]
    sessions = {session_id: {**SHORTER, "number": number} for number, session_id in enumerate(ids)}
    for session_id, session in sessions.items():
        _prepare(learner, place, session_id, session)
    for session_id, session in sessions.items():
        _comes_back(learner, place, session_id, session, f"`load_session` with {_id(session_id)}")


def _damage_is_told(learner: Learner, place: _Place, name: str) -> None:
    """A damaged file is a ValueError that names it; mended, it is read again."""
    path = place.sessions / name
    whole = place.saved().get(name)
    if not isinstance(whole, bytes):
        raise Misconception(f"""The file that `save_session` made is no longer there when the check comes back to it.
            {FIRST}""")
    quote = whole.find(b'"') + 1
    damages = {
        "ends in the middle": whole[: len(whole) // 2],
        "has 0 bytes": b"",
        "is full of NUL bytes": b"\0" * len(whole),  # as after a power failure
        "is not UTF-8": whole[:quote] + b"\xff" + whole[quote:],
        "holds a list": json.dumps(NOTES["messages"]).encode(),
        "holds an empty list": b"[]",
        "holds null": b"null",
    }
    for what, damaged in damages.items():
        _put(path, damaged)
        call = f"`load_session` of a file that {what}"
        outcome = _load_file(learner, place, "s-1", call)
        _is_told(outcome, call, path)
    _put(path, whole)
    _comes_back(learner, place, "s-1", NOTES, "`load_session` of a file that was damaged, and has been mended,")


def _is_told(outcome: Outcome, call: str, path: Path) -> None:
    """The outcome of a load is a ValueError that names the file."""
    raised = outcome.exception
    if raised is None:
        common.has_run(outcome, call)
        value = outcome.value
        if value is None or value == {}:
            raise Misconception(
                f"""{call} returned {value!r}.
                So damage is taken for a new conversation, and the next save goes over what could be mended.
                Look at which of your lines answers to a file that is there."""
            )
        if isinstance(value, list):
            raise Misconception(
                f"""{call} returned a list; a session is a dict.
                It is good JSON, and no session: the caller fails later, far from the file.
                Look at what is known of what `json.loads` returns."""
            )
        raise Misconception(
            f"""{call} returned {_quoted(value)}.
            The rule asks for a ValueError: what comes back is not in the file, and nobody is told.
            Look at what your code overlooks, or remembers."""
        )
    if raised.names[0] in ("TimeLimit", "ProcessEnded") or "ValueError" not in raised.names:
        raise LearnerRaised(
            f"""{call} raised {raised.names[0]}: {_said(raised, 40)}
            The rule asks for a ValueError: callers wait for one kind of error for all kinds of damage.
            Look at what your code takes for granted about what it reads."""
        )
    if path.stem not in raised.message:
        if raised.names[0] in ("JSONDecodeError", "UnicodeDecodeError"):
            raise Misconception(
                f"""{call} raised a bare {raised.names[0]}: {_said(raised, 40)}
                It knows a place in the text, but not in which of ten thousand files.
                Look at what the one who has to mend the file needs to read."""
            )
        raise Misconception(
            f"""{call} raised {raised.names[0]} without the file's name: {_said(raised, 40)!r}
            Whoever looks into the folder sees names of files, and from these nobody gets to an id.
            Look at what the one who has to mend the file needs to read."""
        )


# -- SqliteStore -----------------------------------------------------------------------------------------

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
ODD_IDS = ["'", '"; DROP TABLE messages; --', "..", "%", "*", "🦜", "x" * 10_000, "a\0b"]
#: The rows that are looked at in a file, at most, and the steps that SQLite may take for it.
ROWS, STEPS = 10_000, 1_000_000
#: Pages of a file that are copied, at most; seconds that the check waits for a lock, and that a rival writes.
PAGES, LOCKED, AT_WORK = 2_000, 3.0, 0.6


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
    _keeps_apart(store)
    _keeps_turns(store)
    _gives_the_newest(store)
    _stands_in_the_file(learner, path)
    _one_row_a_message(path)
    _keeps_pads(store)
    _refuses_stale_versions(learner, store, path)
    _all_or_nothing(store)
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


def _one_row_a_message(path: str) -> None:
    """Count the rows of all tables: one for each message that the check has stored so far."""
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


class _Rival:
    """Brings a turn into a learner's file, whatever its tables are, and takes its time over it.

    SQLite's backup copies page by page, in one transaction: the writer's place is taken from the first page on.

    Args:
        source: a file like the other one, with a turn more.
        target: the learner's file.
        seconds: between the first page and the last one.
    """

    def __init__(self, source: Path, target: Path, seconds: float) -> None:
        self._source, self._target, self._seconds = source, target, seconds
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        #: Why it could not write; None when it has.
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        with suppress(RuntimeError):  # a browser has no threads
            self._thread.start()
            self._begun.wait(LOCKED)
        return self

    def __exit__(self, *_: object) -> None:
        if self.came:
            self._thread.join(LOCKED + self._seconds)

    @property
    def came(self) -> bool:
        """Whether there was a rival at all."""
        return self._thread.ident is not None

    def _write(self) -> None:
        try:
            _copy(self._source, self._target, self._pause)
        except (OSError, sqlite3.Error) as error:
            self.error = error
        finally:
            self._begun.set()

    def _pause(self) -> None:
        if not self._begun.is_set():
            self._begun.set()
            time.sleep(self._seconds)


def _copy(source: Path, target: Path, after_a_page: Callable[[], None] = lambda: None) -> None:
    """Make one SQLite file like another one.

    Raises:
        OSError, sqlite3.Error: one of them is no file of a reasonable size, or it cannot be done.
    """

    def progress(_: int, __: int, pages: int) -> None:
        if pages > PAGES:
            raise OSError("it is too large")
        after_a_page()

    for path in (source, target):
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise OSError("it is no regular file")
    with (
        closing(sqlite3.connect(source, timeout=LOCKED)) as one,
        closing(sqlite3.connect(target, timeout=LOCKED)) as other,
    ):
        one.backup(other, pages=1, progress=progress, sleep=0.05)


def _keeps_others_out(error: Exception) -> NoReturn:
    """What kept the check from writing keeps other workers from it, too, where it is not the machine's doing."""
    why = shorten(getattr(error, "strerror", None) or str(error), 60)
    if isinstance(error, PermissionError) or any(word in why for word in ("unable to open", "readonly")):
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
    try:
        _copy(path, later)
    except (OSError, sqlite3.Error) as error:
        _keeps_others_out(error)
    _append(_new_store(learner, str(later)), ADA, TURNS[1], version)
    with _Rival(later, path, AT_WORK) as rival:
        outcome = store.call("append", ADA, TURNS[2], version, seconds=8)
    if not rival.came:
        return
    if rival.error is not None:
        _keeps_others_out(rival.error)
    what = "an `append` that began while a rival was writing"
    raised = outcome.exception
    if raised is None:
        raise Misconception(
            f"""{_sentence(what)} was accepted, after the rival's turn and without knowing of it.
            The version had been looked at before; by the time of writing it was no longer the newest.
            Look at what stands before `BEGIN IMMEDIATE`, and whether it may be out of date behind it."""
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
    _goes_on(store, conversation, version, "After an `append` that had raised")


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
            self._rival_writes()
        if version != self._version:
            raise Conflict("somebody else has written since")
        self._stored += messages if isinstance(messages, list) else [messages]
        self._pad = self._pad if pad is None else pad
        self._version += 1
        return self._version

    def _rival_writes(self) -> None:
        self._met += 1
        self._stored += [user(f"The rival's question {self._met}"), assistant(f"The rival's answer {self._met}")]
        self._version += 3


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
    _rival_meanwhile(learner)
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
    _versions_given(store, [40], call)
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
    messages, _, pad = store._appends[0]
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
    _versions_given(store, [version], call)
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


def _versions_given(store: RivalStore, versions: list[int], call: str) -> None:
    """Look whether each append was given the version that the load before it had given."""
    for (messages, given, _), version in zip(store._appends, versions, strict=False):
        if given == version and not isinstance(given, bool):
            continue
        if isinstance(messages, list) and len(messages) == 1:
            return  # question and reply apart, which has its own message
        if version == versions[0]:
            raise Misconception(
                f"""{call} appended to version {shorten(repr(given), 30)}; `load` had given {version}.
                The version says what the reply was made from; only the store knows what it means.
                Look at the third argument of `append`."""
            )
        raise Misconception(
            f"""{call} appended to version {shorten(repr(given), 30)} the second time; a `load` then gives {version}.
            A version is no counter of yours: only the store knows what comes after it.
            Look at where the version of the second attempt comes from."""
        )


def _empty_conversation(learner: Learner) -> None:
    store, call = RivalStore(), "`chat_turn` of a new conversation"
    store._stored, store._version = [], 0
    outcome = _turn(learner, store, "Hello?", "Hello!")
    _versions_given(store, [0], call)
    sent = common.only_request(learner, outcome, call)
    _was_sent(sent, [], "Hello?", call)
    common.reply_of(outcome, call, "Hello!")
    _was_appended(store, "Hello?", "Hello!", 0, call)


def _rival_once(learner: Learner) -> None:
    store, text = RivalStore([True]), "And of Italy?"
    call = "With a rival who was faster once, `chat_turn`"
    outcome = _turn(learner, store, text, "The first reply.", "The second reply.", "One more reply.")
    _versions_given(store, [40, 43], call)
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
    pair = [user(text), assistant("The second reply.")]
    if common.plain(store._stored[-2:]) != common.plain(pair) or len(store._appends[-1][0]) != 2:
        raise Misconception(
            f"""{call} appended {shorten(repr(common.plain(store._appends[-1][0])), 80)} the second time.
            The turn is the question and the reply to the second request, and nothing of the first attempt.
            Look at what is left over from the first pass of your loop."""
        )
    common.reply_of(outcome, call, "The second reply.")


def _rival_meanwhile(learner: Learner) -> None:
    """The rival comes while the model thinks: the version must be older than the request."""
    store = RivalStore()
    call = "With a rival who writes while the model is asked, `chat_turn`"

    def reply(sent: Sent) -> str:
        if len(learner.requests) == 1:
            store._rival_writes()
        return f"Reply {len(learner.requests)}."

    outcome = _turn(learner, store, "And of Greece?", *[reply] * 9)
    common.has_run(outcome, call)
    if len(learner.requests) == 1:
        raise Misconception(
            f"""{call} appended a reply that was made without the rival's turn.
            Its version came from a `load` after the request: it says what is stored now, not what was sent.
            Look at which `load` gives the messages, and which one the version."""
        )
    common.reply_of(outcome, call, "Reply 2.")


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
