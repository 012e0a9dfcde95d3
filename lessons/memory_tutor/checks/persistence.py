"""Lesson 6: a conversation that outlives the program, also when it is killed or there are two of it."""

from __future__ import annotations

from memory_tutor.exercises import Lesson

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
