"""The edits that lesson 5 names."""

from __future__ import annotations

#: What to replace, and by what; an edit is one or more of them.
Edit = list[tuple[str, str]]

BUDGET = '{"budget_euros": 40}'
ASKED = "asked = [brief, projection_of(pad), *talk, budget_question]"
INSIST = '{"role": "system", "content": "Where the conversation differs, the scratchpad is right."},'
FORMAT = "    response_format=plan_format,\n"

EDITS: list[tuple[str, list[Edit]]] = [
    ("pad-try", [[(BUDGET, '{"budget_euros": 25}')]]),
    ("pad-try", [[(BUDGET, "{}")]]),
    ("pad-try", [[(BUDGET, '{"b": 40}')]]),
    ("two-truths-try", [[(ASKED, "asked = [brief, *talk, projection_of(pad), budget_question]")]]),
    ("two-truths-try", [[("projection_of(pad), *talk", f"projection_of(pad), {INSIST} *talk")]]),
    ("two-truths-try", [[("*talk", "*talk[2:]")]]),
    ("schema-try", [[("We are twelve, and we meet in Oslo.", "We meet in Oslo.")]]),
    ("schema-try", [[(FORMAT, FORMAT + "    max_completion_tokens=8,\n")]]),
    ("schema-try", [[(FORMAT, "")]]),
]

#: Cells that a cell needs, besides the set-up.
NEEDS = {
    "pad-try": ["party-given", "promise-run"],
    "two-truths-try": ["party-given", "two-truths-dialogue"],
    "schema-try": ["schema-prompt", "schema-given"],
}
