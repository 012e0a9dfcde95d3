"""The edits that lesson 1 names."""

from __future__ import annotations

from itertools import combinations

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

EDITS: list[tuple[str, list[Edit]]] = [
    *[
        ("second-call-try", list(some))
        for user in (USER, USER_TWICE)
        for number in (1, 2, 3)
        for some in combinations([REMEMBER, user, SAY_AGAIN], number)
    ],
    ("made-up-reply-try", [[(GRACE, "")]]),
    ("made-up-reply-try", [[("Your name is Grace.", "Nice to meet you, Grace.")]]),
    ("made-up-reply-try", [[(QUESTION, ""), (LIST, LIST + QUESTION)]]),
    ("token-words-try", [[('"cat"', '"cat cat cat cat"')]]),
    ("token-words-try", [[('"cat"', '"здравствуйте"')]]),
    ("token-words-try", [[(INSTRUCTION, "")]]),
]
