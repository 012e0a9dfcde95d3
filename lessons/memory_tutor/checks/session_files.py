"""How the files of sessions are checked: what is in the folder, and what comes back."""

from __future__ import annotations

import json
import os
import stat
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_tutor import codec
from memory_tutor.checks import common, folders
from memory_tutor.checks.common import assistant, user
from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import LearnerRaised, Misconception, NotAttempted

if TYPE_CHECKING:
    from memory_tutor.learner import Learner, Outcome
    from memory_tutor.raised import Raised


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


def keeps_a_session(learner: Learner) -> None:
    """What an answer to save_session has to do; raises what a check raises."""
    place = _Place(learner)
    name = _first_save(learner, place)
    _save_replaces(learner, place, name)
    _names_its_encoding(learner)
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


ON_ASCII = ", on a machine whose own encoding is ASCII,"


def _names_its_encoding(learner: Learner) -> None:
    """A file is UTF-8 also where the machine's own encoding is another one."""
    place, call = _Place(learner), f'`save_session(folder, "s-1", session)`{ON_ASCII}'
    _save(learner.on_ascii(), place, "s-1", NOTES, call)
    _one_file(place, NOTES, call)


def _ids_have_files(learner: Learner) -> None:
    """Ids of all shapes have a file each, within the folder, and one that the next process finds, too."""
    place = _Place(learner)
    absolute = str(place.outer / "elsewhere" / "ada")
    owners: dict[str, str] = {}
    pairs = {id_: (one, why) for (one, id_), why in PAIRS.items()}
    ids = [*CLIMBS, absolute, *[id_ for pair in PAIRS for id_ in pair], *OTHERS]
    for number, session_id in enumerate(ids):
        session = {"messages": [user(f"I am number {number}.")], "scratchpad": {}}
        call = f"`save_session` with {_id(session_id)}"
        before = place.saved()
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


FIRST = "Solve `save_session` first: `load_session` is checked with the files that it writes."


def gives_a_session_back(learner: Learner) -> None:
    """What an answer to load_session has to do; raises what a check raises."""
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
            Look at {common.line_of(outcome.exception, "what your code needs to read a file")}."""
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


def _put(path: Path, text: bytes) -> None:
    """Put a new file in a file's place; nothing that a name leads to is written to."""
    try:
        path.unlink(missing_ok=True)
        with path.open("xb") as file:
            file.write(text)
        # Whoever may write to the folder may write to the file, as to one of their own.
        path.chmod(stat.S_IMODE(path.parent.stat().st_mode) & 0o666)
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
    _comes_back(learner.on_ascii(), place, "s-1", NOTES, f'`load_session(folder, "s-1")`{ON_ASCII}')
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
