"""The edits that lesson 2 names."""

from __future__ import annotations

#: What to replace, and by what; an edit is one or more of them.
Edit = list[tuple[str, str]]

HISTORY = 'history = [{"role": "system", "content": instruction}]\n'
LOOP = 'for text in ["My name is Ada.", "What is my name?"]:\n'
FORGET: Edit = [('    history.append({"role": "assistant", "content": reply})\n', "")]
AFRESH: Edit = [(HISTORY, ""), (LOOP, LOOP + "    " + HISTORY)]
GO_ON: Edit = [('"What is my name?"', '"What is my name?", "Say goodbye to me by name."')]

ASK_SAM = 'history.append({"role": "user", "content": "What\'s my name?"})\n'
FRENCH = '{"role": "system", "content": "Answer in French."}'

CONCISE = "You are a concise assistant. Answer in one short sentence."

EDITS: list[tuple[str, list[Edit]]] = [
    ("second-request-try", [FORGET]),
    ("second-request-try", [AFRESH]),
    ("second-request-try", [GO_ON]),
    ("second-request-try", [FORGET, GO_ON]),
    ("second-request-try", [GO_ON, [(HISTORY, ""), (":\n", ":\n    " + HISTORY)]]),
    ("system-message-try", [[(ASK_SAM, f"history[0] = {FRENCH}\n{ASK_SAM}")]]),
    ("system-message-try", [[(ASK_SAM, f"del history[0]\n{ASK_SAM}")]]),
    (
        "system-message-try",
        [[("You are a helpful assistant.", "Answer in French."), (ASK_SAM, f"del history[0]\n{ASK_SAM}")]],
    ),
    ("system-message-try", [[(ASK_SAM, f"{ASK_SAM}history.append({FRENCH})\n")]]),
    ("cost-growth-try", [[(CONCISE, "You are a talkative assistant. Answer in three sentences.")]]),
    ("cost-growth-try", [FORGET]),
    ("cost-growth-try", [[(CONCISE, f"{CONCISE} You work for a cookery school.")]]),
]

#: Cells that a cell needs, besides the set-up.
NEEDS = {"cost-growth-try": ["cost-growth-texts"]}
