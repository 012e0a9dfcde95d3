"""Lesson 6: a conversation that outlives the program, also when it is killed or there are two of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_tutor.checks import session_files, stores, turns
from memory_tutor.exercises import Lesson

if TYPE_CHECKING:
    from memory_tutor.learner import Learner

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


@lesson.exercise(
    points=2,
    by_files=True,
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
    session_files.keeps_a_session(learner)


@lesson.exercise(
    points=3,
    by_files=True,
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
    session_files.gives_a_session_back(learner)


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
    stores.keeps_conversations(learner)


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
    turns.answers_one_message(learner)
