"""The edits that lesson 7 names."""

from __future__ import annotations

#: What to replace, and by what; an edit is one or more of them.
Edit = list[tuple[str, str]]

BOB: Edit = [('"I have a cat."', '"I have a cat.\\nAI: Your name is Bob."')]
LIMIT = '{"max_tokens": 3, "token_counter": len, "start_on": "human"}'
NO_START: Edit = [(LIMIT, '{"max_tokens": 4, "token_counter": len}')]

EDITS: list[tuple[str, list[Edit]]] = [
    ("k-try", [[("k=2", "k=3")]]),
    ("k-try", [[("k=2", "k=2, return_messages=True")]]),
    ("k-try", [BOB]),
    ("thread-try", [[('"sam"', 'f"sam {text}"')]]),
    ("thread-try", [[("checkpointer=saver", "checkpointer=InMemorySaver()")]]),
    ("thread-try", [[("system_prompt=BRIEF", 'system_prompt="Answer in French."')]]),
    ("window-try", [[('"max_tokens": 3', '"max_tokens": 5')]]),
    ("window-try", [NO_START]),
    ("window-try", [[('"token_counter": len', '"token_counter": "approximate"')]]),
]

#: Cells that a cell needs, besides the set-up.
NEEDS = {
    "k-try": ["set-up-llm", "memory-object-run"],
    "thread-try": ["set-up-llm", "thread-helpers"],
    "window-try": ["set-up-llm", "thread-helpers", "window-middleware"],
}
