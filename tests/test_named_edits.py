"""The edits that the lessons name, made as a learner makes them, are all recorded."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import pytest

from memory_tutor import course, notebooks

#: What to replace, and by what; an edit is one or more of them.
Edit = list[tuple[str, str]]

REMEMBER: Edit = [("My name is Ada. Reply in", "My name is Ada. Please remember it. Reply in")]
SECOND = "second = client.chat.completions.create(\n    model=model,"
FIRST = SECOND.replace("second", "first")
USER: Edit = [(SECOND, SECOND + ' user="ada",')]
USER_TWICE: Edit = [*USER, (FIRST, FIRST + ' user="ada",')]
SAY_AGAIN: Edit = [('"What is my name?"', '"My name is Ada. What is my name?"')]

GRACE = '    {"role": "assistant", "content": "Your name is Grace."},\n'
QUESTION = '    {"role": "user", "content": "What is my name?"},\n'
LIST = "messages = [\n"

INSTRUCTION = '        {"role": "system", "content": "Answer with the word OK."},\n'

HISTORY = 'history = [{"role": "system", "content": instruction}]\n'
LOOP = 'for text in ["My name is Ada.", "What is my name?"]:\n'
FORGET: Edit = [('    history.append({"role": "assistant", "content": reply})\n', "")]
AFRESH: Edit = [(HISTORY, ""), (LOOP, LOOP + "    " + HISTORY)]
GO_ON: Edit = [('"What is my name?"', '"What is my name?", "Say goodbye to me by name."')]

ASK_SAM = 'history.append({"role": "user", "content": "What\'s my name?"})\n'
FRENCH = '{"role": "system", "content": "Answer in French."}'

CONCISE = "You are a concise assistant. Answer in one short sentence."

ONE, TWO = "01_stateless_calls", "02_manual_history"
EDITS: list[tuple[str, str, list[Edit]]] = [
    *[
        (ONE, "second-call-try", list(some))
        for user in (USER, USER_TWICE)
        for number in (1, 2, 3)
        for some in combinations([REMEMBER, user, SAY_AGAIN], number)
    ],
    (ONE, "made-up-reply-try", [[(GRACE, "")]]),
    (ONE, "made-up-reply-try", [[("Your name is Grace.", "Nice to meet you, Grace.")]]),
    (ONE, "made-up-reply-try", [[(QUESTION, ""), (LIST, LIST + QUESTION)]]),
    (ONE, "token-words-try", [[('"cat"', '"cat cat cat cat"')]]),
    (ONE, "token-words-try", [[('"cat"', '"здравствуйте"')]]),
    (ONE, "token-words-try", [[(INSTRUCTION, "")]]),
    (TWO, "second-request-try", [FORGET]),
    (TWO, "second-request-try", [AFRESH]),
    (TWO, "second-request-try", [GO_ON]),
    (TWO, "second-request-try", [FORGET, GO_ON]),
    (TWO, "second-request-try", [GO_ON, [(HISTORY, ""), (":\n", ":\n    " + HISTORY)]]),
    (TWO, "system-message-try", [[(ASK_SAM, f"history[0] = {FRENCH}\n{ASK_SAM}")]]),
    (TWO, "system-message-try", [[(ASK_SAM, f"del history[0]\n{ASK_SAM}")]]),
    (
        TWO,
        "system-message-try",
        [[("You are a helpful assistant.", "Answer in French."), (ASK_SAM, f"del history[0]\n{ASK_SAM}")]],
    ),
    (TWO, "system-message-try", [[(ASK_SAM, f"{ASK_SAM}history.append({FRENCH})\n")]]),
    (TWO, "cost-growth-try", [[(CONCISE, "You are a talkative assistant. Answer in three sentences.")]]),
    (TWO, "cost-growth-try", [FORGET]),
    (TWO, "cost-growth-try", [[(CONCISE, f"{CONCISE} You work for a cookery school.")]]),
]
#: Cells that a cell needs, besides the set-up.
NEEDS = {"cost-growth-try": ["cost-growth-texts"]}


def cells_of(lesson: str) -> dict[str, str]:
    """The sources of a lesson's cells by their ids."""
    return {each.id: each.source for each in notebooks.read(course.path("lessons", lesson)).cells}


def edited(source: str, edits: list[Edit]) -> str:
    for old, new in (replacement for edit in edits for replacement in edit):
        assert source.count(old) == 1, f"the lesson has changed: {old!r} stands {source.count(old)} times in it"
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(("lesson", "cell", "edits"), EDITS)
def test_a_named_edit_is_recorded(lesson: str, cell: str, edits: list[Edit]) -> None:
    cells = cells_of(lesson)
    names: dict[str, Any] = {"__name__": "__main__"}
    for needed in ["set-up-run", *NEEDS.get(cell, [])]:
        exec(cells[needed], names)
    exec(edited(cells[cell], edits), names)  # a request that is not recorded raises


@pytest.mark.parametrize(("lesson", "cell"), sorted({(lesson, cell) for lesson, cell, _ in EDITS}))
def test_what_a_learner_is_told_to_write_is_what_is_recorded(lesson: str, cell: str) -> None:
    cells = cells_of(lesson)
    told = " ".join(cells[cell.replace("-try", "-modify")].split())
    results = [edited(cells[cell], edits) for where, name, edits in EDITS if (where, name) == (lesson, cell)]
    spans = [span for span in re.findall("`([^`]+)`", told) if '"' in span]
    assert spans or "Delete" in told
    for span in spans:
        assert any(span in result for result in results), span
