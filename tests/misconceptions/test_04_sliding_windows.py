"""Answers to lesson 4: what must pass, and what must not, each with the message that names its mistake."""

from __future__ import annotations

from answers import *  # noqa: F403

#: Begins most answers.
PARTED = """
    system = [m for m in messages if m["role"] == "system"]
    others = [m for m in messages if m["role"] != "system"]
    starts = [i for i, m in enumerate(others) if m["role"] == "user"]
"""


def answer(head: str, *lines: str) -> str:
    """A function whose lines have `system`, `others` and `starts`."""
    return f"def {head}:{PARTED}" + "".join(f"    {line}\n" for line in lines)


MESSAGES, TURNS, BUDGET = (
    "trim_messages(messages, max_messages)",
    "trim_turns(messages, max_turns)",
    "trim_to_budget(messages, max_tokens, count)",
)
NO_NEGATIVE = "if max_messages < 0: raise ValueError(max_messages)"
NO_NEGATIVE_TURNS = "if max_turns < 0: raise ValueError(max_turns)"


def messages_answer(*lines: str) -> str:
    """An answer to trim_messages that refuses negative numbers and keeps nothing for 0."""
    return answer(MESSAGES, NO_NEGATIVE, "if max_messages == 0: return system", *lines)


def turns_answer(*lines: str) -> str:
    """An answer to trim_turns that refuses negative numbers."""
    return answer(TURNS, NO_NEGATIVE_TURNS, *lines)


RIGHT_TURNS = (
    "if max_turns < len(starts):",
    "    others = others[starts[len(starts) - max_turns]:] if max_turns else []",
    "return system + others",
)
TO_USER = (
    "window = others[-max_messages:]",
    "while window and window[0]['role'] != 'user': window = window[1:]",
)
NEWEST = "if not window and starts: window = others[starts[-1]:]"

RIGHT = {
    "trim_messages": [
        (
            "the first start that fits",
            messages_answer(
                "if len(others) <= max_messages: return system + others",
                "fits = [s for s in starts if len(others) - s <= max_messages]",
                "return system + others[(fits or starts[-1:] or [len(others)])[0]:]",
            ),
        ),
        (
            "cut, then on to the next user message, and no greeting ever",
            messages_answer(*TO_USER, NEWEST, "return system + window"),
        ),
        (
            "turns put in front while they fit",
            """
            def trim_messages(messages, max_messages):
                if max_messages < 0:
                    raise ValueError("negative")
                system, turns, greeting = [], [], []
                for message in messages:
                    if message["role"] == "system":
                        system.append(message)
                    elif message["role"] == "user":
                        turns.append([message])
                    elif turns:
                        turns[-1].append(message)
                    else:
                        greeting.append(message)
                window = []
                while max_messages and turns and (not window or len(window) + len(turns[-1]) <= max_messages):
                    window = turns.pop() + window
                if not turns and len(greeting) + len(window) <= max_messages:
                    window = greeting + window
                return [*system, *window]
            """,
        ),
        (
            "from a copy, dropped from the front, with a deque",
            """
            import copy
            from collections import deque

            class Negative(ValueError):
                pass

            def trim_messages(messages, max_messages):
                if max_messages < 0:
                    raise Negative
                rest = deque(copy.deepcopy([m for m in messages if m["role"] != "system"]))
                users = sum(m["role"] == "user" for m in rest)
                while rest and len(rest) > max_messages:
                    if users == 1 and rest[0]["role"] == "user" and max_messages:
                        break
                    users -= rest.popleft()["role"] == "user"
                    while rest and rest[0]["role"] != "user":
                        rest.popleft()
                return [m for m in messages if m["role"] == "system"] + list(rest)
            """,
        ),
    ],
    "trim_turns": [
        ("cut at a start", turns_answer(*RIGHT_TURNS)),
        ("a greeting belongs to the first turn", turns_answer("starts[:1] = [0]", *RIGHT_TURNS)),
        (
            "lists of turns",
            """
            def trim_turns(messages, max_turns):
                if max_turns < 0:
                    raise ValueError("negative")
                system = [m for m in messages if m["role"] == "system"]
                turns, greeting = [], []
                for message in messages:
                    if message["role"] == "system":
                        continue
                    if message["role"] == "user":
                        turns.append([])
                    (turns[-1] if turns else greeting).append(message)
                if max_turns >= len(turns):
                    return system + greeting + sum(turns, [])
                return system + sum(turns[len(turns) - max_turns:], [])
            """,
        ),
        (
            "backwards until enough user messages are there",
            """
            def trim_turns(messages, max_turns):
                if max_turns < 0:
                    raise ValueError("negative")
                kept, found = [], 0
                for message in reversed(messages):
                    if message["role"] == "system":
                        continue
                    if found == max_turns and (found or any(m["role"] == "user" for m in messages)):
                        break
                    kept.insert(0, message)
                    found += message["role"] == "user"
                left = sum(m["role"] == "user" for m in messages) - found
                if left == 0:
                    kept = [m for m in messages if m["role"] != "system"]
                return [m for m in messages if m["role"] == "system"] + kept
            """,
        ),
        (
            "a mark on each message, copies of them",
            """
            def trim_turns(messages, max_turns):
                if max_turns < 0:
                    raise ValueError("negative")
                turns, number, marked = sum(m["role"] == "user" for m in messages), 0, []
                for message in messages:
                    if message["role"] != "system":
                        number += message["role"] == "user"
                        marked.append((number, dict(message)))
                system = [dict(m) for m in messages if m["role"] == "system"]
                return system + [m for number, m in marked if number > turns - max_turns or turns <= max_turns]
            """,
        ),
    ],
    "trim_to_budget": [
        (
            "dropped from the front",
            answer(
                BUDGET,
                "for cut in [0, *starts]:",
                "    if count(system + others[cut:]) <= max_tokens: break",
                "return system + others[cut:]",
            ),
        ),
        (
            "grown from the back, and no greeting ever",
            answer(
                BUDGET,
                "best = system + (others[starts[-1]:] if starts else [])",
                "for start in reversed(starts[:-1]):",
                "    candidate = system + others[start:]",
                "    if count(candidate) > max_tokens: break",
                "    best = candidate",
                "return best",
            ),
        ),
        (
            "all candidates asked, even of parts that are not kept",
            answer(
                BUDGET,
                "costs = {start: count(tuple(system + others[start:])) for start in starts}",
                "count(system); count(others); count([])",
                "fits = [start for start in starts if costs[start] <= max_tokens]",
                "return system + others[min(fits, default=starts[-1] if starts else 0):]",
            ),
        ),
        (
            "a list of turns, the oldest taken off",
            """
            def trim_to_budget(messages, max_tokens, count):
                system = [m for m in messages if m["role"] == "system"]
                turns = []
                for message in messages:
                    if message["role"] == "user":
                        turns.append([message])
                    elif message["role"] != "system" and turns:
                        turns[-1].append(message)
                while True:
                    window = [*system, *(m for turn in turns for m in turn)]
                    if len(turns) < 2 or count(window) <= max_tokens:
                        return window
                    turns.pop(0)
            """,
        ),
        (
            "the list as it stood is asked about, system messages where they were",
            """
            def trim_to_budget(messages, max_tokens, count):
                first, rest = list(messages), []
                places = [i for i, m in enumerate(messages) if m["role"] == "user"]
                for place in places or [0]:
                    kept = [m for i, m in enumerate(messages) if i >= place or m["role"] == "system"]
                    if count(kept) <= max_tokens:
                        break
                return sorted(kept, key=lambda m: m["role"] != "system")
            """,
        ),
    ],
}

#: Ends a right answer to trim_to_budget, where the lines before it have made `cut`.
KEEP = "return system + others[cut:]"

WRONG = {
    "trim_messages": [
        (
            "takes a question for given",
            f"""
            def trim_messages(messages, max_messages):
                if max_messages < 0:
                    raise ValueError("negative")
                {PARTED.strip().replace(chr(10), chr(10) + " " * 12)}
                if max_messages == 0 or len(others) <= max_messages:
                    return system + (others if max_messages else [])
                for start in starts:
                    if len(others) - start <= max_messages:
                        return system + others[start:]
                return system + others[starts[-1]:]
            """,
            "also one that is empty, short, or without a turn",
        ),
        (
            "minus zero",
            answer(MESSAGES, NO_NEGATIVE, *TO_USER, NEWEST, "return system + window"),
            "`others[-0:]` is `others[0:]`",
        ),
        (
            "0 keeps the newest turn",
            answer(
                MESSAGES,
                NO_NEGATIVE,
                "fits = [s for s in starts if len(others) - s <= max_messages]",
                "if len(others) <= max_messages: return system + others",
                "return system + others[(fits or starts[-1:] or [len(others)])[0]:]",
            ),
            "With 0, only system messages stay; nobody asked for Q3",
        ),
        (
            "no error for negative numbers",
            answer(
                MESSAGES,
                "if max_messages <= 0: return system",
                "fits = [s for s in starts if len(others) - s <= max_messages]",
                "if len(others) <= max_messages: return system + others",
                "return system + others[(fits or starts[-1:] or [len(others)])[0]:]",
            ),
            "returned [S1]; a negative number is a ValueError",
        ),
        (
            "another error for negative numbers",
            answer(
                MESSAGES,
                "assert max_messages >= 0",
                "if max_messages == 0: return system",
                *TO_USER,
                NEWEST,
                "return system + window",
            ),
            "the rule asks for a ValueError, which callers can expect",
        ),
        (
            "opens on an answer",
            messages_answer("return system + others[-max_messages:]"),
            "It opens on A1, an answer whose question was cut",
        ),
        (
            "moves on from answers, and opens on a result",
            messages_answer(
                "window = others[-max_messages:]",
                "while window[1:] and window[0]['role'] == 'assistant': window = window[1:]",
                NEWEST,
                "return system + window",
            ),
            "It opens on T1, the result of a tool call that was cut",
        ),
        (
            "moves on from results, and opens on a call",
            messages_answer(
                "window = others[-max_messages:]",
                "while window[1:] and (window[0]['role'] == 'tool' or window[0]['role'] == 'assistant'",
                "        and not window[0].get('tool_calls')): window = window[1:]",
                NEWEST,
                "return system + window",
            ),
            "It opens on C1, in which the model calls a tool",
        ),
        (
            "moves on from one message only",
            messages_answer(
                "window = others[-max_messages:]",
                "if window and window[0]['role'] != 'user': window = window[1:]",
                NEWEST,
                "return system + window",
            ),
            "[S1, A1, Q2].",
        ),
        (
            "moves back to the question, over the limit",
            messages_answer(
                "cut = max(len(others) - max_messages, 0)",
                "while cut and others[cut]['role'] != 'user': cut -= 1",
                KEEP,
            ),
            "it holds 5 messages; at most 4 may stay",
        ),
        (
            "the newest turn too long and cut",
            messages_answer(*TO_USER, "return system + (window or others[-max_messages:])"),
            "The newest turn, of 4 messages, was cut: it begins with Q2",
        ),
        (
            "the newest turn too long and gone",
            messages_answer(*TO_USER, "return system + window"),
            "The newest turn, of 4 messages, is gone",
        ),
        (
            "system messages take places",
            """
            def trim_messages(messages, max_messages):
                if max_messages < 0:
                    raise ValueError
                if len(messages) <= max_messages:
                    return list(messages)
                return messages[:1] + (messages[1:][-(max_messages - 1):] if max_messages > 1 else [])
            """,
            "It holds 2 besides 1 system message; a window of 3 can hold more",
        ),
        (
            "system messages take places, and the window opens on a user message",
            messages_answer(
                "room = max(max_messages - len(system), 0)",
                "fits = [s for s in starts if len(others) - s <= room]",
                "return system + others[(fits or starts[-1:] or [len(others)])[0]:]",
            ),
            "It holds 1 besides 1 system message; a window of 3 can hold more",
        ),
        (
            "the end of the whole list",
            "def trim_messages(messages, max_messages):\n    return messages[-max_messages:] if max_messages else []",
            "The system message is gone, and with it the model's instructions",
        ),
        (
            "the first system message alone",
            messages_answer(*TO_USER, NEWEST, "return system[:1] + window"),
            "The system message S2 is lost",
        ),
        (
            "system messages left where they were",
            messages_answer(
                *TO_USER,
                NEWEST,
                "return [m for m in messages if m['role'] == 'system' or any(m is w for w in window)]",
            ),
            "Q1 stands before a system message; by the rule all of these come first",
        ),
        (
            "system messages last",
            messages_answer(*TO_USER, NEWEST, "return window + system"),
            "`trim_messages([S1, Q1, A1], 4)` returned [Q1, A1, S1].",
        ),
        (
            "system messages backwards",
            messages_answer(*TO_USER, NEWEST, "return system[::-1] + window"),
            "have changed places among themselves",
        ),
        (
            "system messages twice",
            messages_answer(
                "fits = [s for s in starts if len(others) - s <= max_messages]",
                "return system + messages[(fits or starts[-1:] or [len(others)])[0]:]",
            ),
            "S1 is in it 2 times",
        ),
        (
            "n turns",
            messages_answer(
                "return system + (others[starts[-max_messages]:] if max_messages < len(starts) else others)"
            ),
            "it holds 5 messages; at most 3 may stay",
        ),
        (
            "the oldest",
            messages_answer("return system + others[:max_messages]"),
            "Q3, the newest message, is not at its end",
        ),
        (
            "one turn always",
            messages_answer("return system + (others[starts[-1]:] if starts else [])"),
            "By the rule it is [Q2, A2, Q3]: 3 messages, and 4 may stay",
        ),
        (
            "cuts where it need not",
            messages_answer(
                "fits = [s for s in starts if len(others) - s < max_messages]",
                "return system + others[(fits or starts[-1:] or [len(others)])[0]:]",
            ),
            "By the rule it is [Q2, A2, Q3]: 3 messages, and 3 may stay",
        ),
        (
            "tool messages thrown out",
            messages_answer(
                "others = [m for m in others if m['role'] != 'tool' and m['content']]",
                *TO_USER,
                NEWEST,
                "return system + window",
            ),
            "C1 is missing in the middle",
        ),
        (
            "the list itself is cut",
            """
            def trim_messages(messages, max_messages):
                if max_messages < 0:
                    raise ValueError
                system = [m for m in messages if m["role"] == "system"]
                others = [m for m in messages if m["role"] != "system"]
                if max_messages == 0:
                    return system
                starts = [i for i, m in enumerate(others) if m["role"] == "user"]
                fits = [s for s in starts if len(others) - s <= max_messages]
                messages[:] = system + others[(fits or starts[-1:] or [len(others)])[0]:]
                return list(messages)
            """,
            "changed its list to [S1, Q2, A2, Q3]",
        ),
        (
            "a message of the list is changed",
            messages_answer(
                "for m in others: m['content'] = m['content'] or ''",
                *TO_USER,
                NEWEST,
                "return system + window",
            ),
            "changed its list within a message",
        ),
        (
            "copies are changed",
            messages_answer(
                *TO_USER, NEWEST, "return system + [{'role': m['role'], 'content': m['content']} for m in window]"
            ),
            "which was not in the list",
        ),
        (
            "the same list where it fits",
            answer(
                MESSAGES,
                NO_NEGATIVE,
                "if max_messages == 0: return system",
                "if messages == system + others and len(others) <= max_messages: return messages",
                *TO_USER,
                NEWEST,
                "return system + window",
            ),
            "returned the very list that it was given",
        ),
        (
            "the first message with the same words",
            messages_answer(*TO_USER, NEWEST, "return system + (others[others.index(window[0]):] if window else [])"),
            "messages with the same words are still several messages",
        ),
        (
            "a tuple",
            messages_answer(*TO_USER, NEWEST, "return (*system, *window)"),
            "returned a tuple; the rule asks for a list of messages",
        ),
        (
            "printed",
            messages_answer(*TO_USER, NEWEST, "print(system + window)"),
            "printed something and returned None",
        ),
        (
            "None where nothing has to be cut",
            messages_answer(
                "if len(others) > max_messages:", "    window = others[-max_messages:]", "    return system + window"
            ),
            "`trim_messages([S1, Q1, A1], 4)` returned None",
        ),
        (
            "a list in the list",
            messages_answer(*TO_USER, NEWEST, "return [system, *window]"),
            "a list in which a list stands",
        ),
        (
            "texts",
            messages_answer(*TO_USER, NEWEST, "return [m['content'] for m in system + window]"),
            "a list in which a str stands: 'S1'",
        ),
        (
            "counts on a turn",
            messages_answer(
                "cut = next(s for s in starts if len(others) - s <= max_messages or s == starts[-1])", KEEP
            ),
            "raised StopIteration",
        ),
        (
            "counts on a system message",
            messages_answer(*TO_USER, NEWEST, "return [system[0], *system[1:], *window]"),
            "`trim_messages([Q1, A1, Q2], 1)` raised IndexError",
        ),
    ],
    "trim_turns": [
        (
            "n messages",
            turns_answer("return system + (others[-max_turns:] if max_turns else [])"),
            "Here 2 turns would be 4 messages: [Q2, A2, Q3, A3]; it kept 2",
        ),
        (
            "2n messages",
            turns_answer("return system + (others[-2 * max_turns:] if max_turns else [])"),
            "It took two messages for a turn; here 2 turns would be 3 messages",
        ),
        (
            "2n messages, and on to a user message",
            turns_answer(
                "window = others[-2 * max_turns:] if max_turns else []",
                "while window and window[0]['role'] != 'user': window = window[1:]",
                "return system + window",
            ),
            "It holds 0 turns; of 2 that there are, 1 may stay",
        ),
        (
            "minus zero",
            turns_answer("return system + (others[starts[-max_turns]:] if max_turns < len(starts) else others)"),
            "`others[-0:]` is `others[0:]`",
        ),
        (
            "0 keeps one",
            turns_answer(
                "max_turns = max(max_turns, 1)",
                "return system + (others[starts[-max_turns]:] if max_turns < len(starts) else others)",
            ),
            "nobody asked for Q2",
        ),
        (
            "no error for negative numbers",
            answer(TURNS, "max_turns = max(max_turns, 0)", *RIGHT_TURNS),
            "`trim_turns([S1, Q1, A1, Q2], -1)` returned [S1]",
        ),
        (
            "more turns than there are",
            turns_answer("return system + (others[starts[-max_turns]:] if max_turns else [])"),
            "raised IndexError",
        ),
        (
            "nothing where more turns are asked than there are",
            turns_answer(
                "places = starts[-max_turns:] if 0 < max_turns <= len(starts) else []",
                "return system + (others[places[0]:] if places else [])",
            ),
            "It holds 0 turns; of 1 that there are, 5 may stay",
        ),
        (
            "a turn begins with an answer",
            turns_answer(
                "starts = [i for i, m in enumerate(others) if m['role'] == 'assistant']",
                *RIGHT_TURNS,
            ),
            "It opens on A2, an answer whose question was cut",
        ),
        (
            "tool messages thrown out",
            turns_answer(
                "others = [m for m in others if m['role'] in ('user', 'assistant') and m['content']]",
                "starts = [i for i, m in enumerate(others) if m['role'] == 'user']",
                *RIGHT_TURNS,
            ),
            "C1 is missing in the middle",
        ),
        (
            "a call cut from its results",
            turns_answer(
                "cut = starts[len(starts) - max_turns] if 0 < max_turns <= len(starts) else 0",
                "window = others[cut:] if max_turns else []",
                "if len(window) > 5: window = window[-5:]",
                "return system + window",
            ),
            "It opens on T1, the result of a tool call that was cut",
        ),
        (
            "user messages running are one turn",
            turns_answer(
                "starts = [s for s in starts if s == 0 or others[s - 1]['role'] != 'user']",
                *RIGHT_TURNS,
            ),
            "Two user messages running are two turns, so it holds 2; 1 may stay",
        ),
        (
            "a turn ends with an answer, and the open one does not count",
            turns_answer(
                "starts = [s for s in starts if s + 1 < len(others)]",
                *RIGHT_TURNS,
            ),
            "It holds 3 turns; 2 may stay",
        ),
        (
            "a greeting stays for ever",
            turns_answer(
                "if max_turns >= len(starts): return system + others",
                "kept = others[starts[len(starts) - max_turns]:] if max_turns else []",
                "return system + others[:starts[0]] + kept",
            ),
            "A0, from before the first user message, stands before a gap",
        ),
        (
            "a greeting is always cut",
            turns_answer(
                "cuts = [*starts, len(others)]", "return system + others[cuts[max(len(starts) - max_turns, 0)]:]"
            ),
            "A0 is lost, although no turn had to be cut",
        ),
        (
            "a greeting is a turn",
            turns_answer(
                "starts = [i for i in range(len(others)) if i == 0 or others[i]['role'] == 'user']",
                *RIGHT_TURNS,
            ),
            "`trim_turns([S1, A0, Q1, A1, Q2], 2)` returned [S1, Q1, A1, Q2].",
        ),
        (
            "no system messages",
            turns_answer(*RIGHT_TURNS[:2], "return others"),
            "The system message is gone",
        ),
        (
            "the first system message alone",
            turns_answer(*RIGHT_TURNS[:2], "return system[:1] + others"),
            "The system message S2 is lost",
        ),
        (
            "system messages left in their turns",
            """
            def trim_turns(messages, max_turns):
                if max_turns < 0:
                    raise ValueError
                starts = [i for i, m in enumerate(messages) if m["role"] == "user"]
                if max_turns >= len(starts):
                    return list(messages)
                cut = starts[len(starts) - max_turns] if max_turns else len(messages)
                return [m for m in messages[:cut] if m["role"] == "system"] + messages[cut:]
            """,
            "`trim_turns([S1, Q1, S2, A1], 1)` returned [S1, Q1, S2, A1].",
        ),
        (
            "lists of turns, not flat",
            turns_answer(
                "ends = [*starts[1:], len(others)]",
                "turns = [others[s:e] for s, e in zip(starts, ends)]",
                "return system + (turns[-max_turns:] if max_turns else [])",
            ),
            "the turns in it have no brackets",
        ),
        (
            "turns in the wrong order",
            turns_answer(
                "ends = [*starts[1:], len(others)]",
                "turns = [others[s:e] for s, e in zip(starts, ends)]",
                "if max_turns >= len(turns): return system + others",
                "return system + [m for _ in range(max_turns) for m in turns.pop()]",
            ),
            "The messages are the right ones, in another order",
        ),
        (
            "the oldest turns",
            turns_answer("return system + others[:[*starts, len(others)][min(max_turns, len(starts))]]"),
            "A3, the newest message, is not at its end",
        ),
        (
            "the open turn is left out",
            turns_answer(
                "while others and others[-1]['role'] == 'user': others.pop()",
                "starts = [i for i, m in enumerate(others) if m['role'] == 'user']",
                *RIGHT_TURNS,
            ),
            "`trim_turns([S1, Q1, A1, Q2, A2, Q3], 2)` returned [S1, Q1, A1, Q2, A2].",
        ),
        (
            "takes turns off the list that it is given",
            """
            def trim_turns(messages, max_turns):
                if max_turns < 0:
                    raise ValueError
                while sum(m["role"] == "user" for m in messages) > max_turns:
                    place = next(i for i, m in enumerate(messages) if m["role"] != "system")
                    del messages[place]
                return list(messages)
            """,
            "changed its list to",
        ),
        (
            "the same list where it fits",
            turns_answer("if messages == system + others and max_turns >= len(starts): return messages", *RIGHT_TURNS),
            "returned the very list that it was given",
        ),
        (
            "the first question with the same words",
            turns_answer(
                "users = [m for m in others if m['role'] == 'user']",
                "if max_turns >= len(users): return system + others",
                "return system + (others[others.index(users[-max_turns]):] if max_turns else [])",
            ),
            "messages with the same words are still several messages",
        ),
        (
            "counts on a turn",
            turns_answer("first = others[starts[0]]", *RIGHT_TURNS),
            "`trim_turns([], 2)` raised IndexError",
        ),
    ],
    "trim_to_budget": [
        (
            "skips a big turn and keeps older ones",
            answer(
                BUDGET,
                "ends, window = [*starts[1:], len(others)], []",
                "for start, end in list(zip(starts, ends))[::-1]:",
                "    if not window or count(system + others[start:end] + window) <= max_tokens:",
                "        window = others[start:end] + window",
                "return system + window",
            ),
            "Q2 is missing in the middle",
        ),
        (
            "system messages not counted",
            answer(
                BUDGET,
                "for cut in [0, *starts]:",
                "    if count(others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "With its system messages it costs 60, and 55 may be spent",
        ),
        (
            "system messages counted twice",
            answer(
                BUDGET,
                "for cut in [0, *starts]:",
                "    if count(system) + count(system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "Look at how often your code counts the system messages",
        ),
        (
            "below the budget, not up to it",
            answer(BUDGET, "for cut in [0, *starts]:", "    if count(system + others[cut:]) < max_tokens: break", KEEP),
            "costs 40, exactly the budget: that fits",
        ),
        (
            "sums single messages",
            answer(
                BUDGET,
                "for cut in [0, *starts]:",
                "    if sum(count([m]) for m in system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "Look at what your code asks `count` about ([S1], [Q1], [A1])",
        ),
        (
            "adds the turns up",
            answer(
                BUDGET,
                "left = max_tokens - count(system)",
                "ends, cut = [*starts[1:], len(others)], starts[-1] if starts else 0",
                "for start, end in list(zip(starts, ends))[::-1]:",
                "    left -= count(others[start:end])",
                "    if left < 0: break",
                "    cut = start",
                KEEP,
            ),
            "Look at what your code asks `count` about ([S1], [Q2, A2], [Q1, A1])",
        ),
        (
            "adds the system messages to the rest",
            answer(
                BUDGET,
                "for cut in [0, *starts]:",
                "    if count(system) + count(others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "([S1], [Q1, A1, Q2, A2], [S1]): the costs of pieces do not add up",
        ),
        (
            "a single message, not a list",
            answer(
                BUDGET,
                "for cut in [0, *starts]:",
                "    if sum(count(m) for m in system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "called `count` with a dict",
        ),
        (
            "a list of turns",
            answer(
                BUDGET,
                "for cut in [0, *starts]:",
                "    if count([system, others[cut:]]) <= max_tokens: break",
                KEEP,
            ),
            "another list may not stand within",
        ),
        (
            "two lists",
            answer(
                BUDGET,
                "for cut in [0, *starts]:",
                "    if count(system, others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "called `count` with 2 arguments",
        ),
        (
            "an estimate of its own",
            answer(
                BUDGET,
                "for cut in [0, *starts]:",
                "    if sum(10 for m in system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "`count` was never asked",
        ),
        (
            "messages, not turns",
            answer(
                BUDGET,
                "for cut in range(len(others) + 1):",
                "    if count(system + others[cut:]) <= max_tokens: break",
                "cut = min(cut, starts[-1]) if starts else cut",
                KEEP,
            ),
            "It opens on A1, an answer whose question was cut",
        ),
        (
            "cuts between a call and its result",
            answer(
                BUDGET,
                "window = others",
                "while window and count(system + window) > max_tokens:",
                "    window = window[1:]",
                "    while window and window[0]['role'] == 'assistant': window = window[1:]",
                "return system + (window if len(window) > 1 or not starts else others[starts[-1]:])",
            ),
            "`trim_to_budget([S1, Q1, A1, Q2, C1+C2, T1, T2, A2], 40, count)` returned [S1, T1, T2, A2].",
        ),
        (
            "the newest turn is dropped when it is too big",
            answer(
                BUDGET,
                "for cut in [0, *starts, len(others)]:",
                "    if count(system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "The newest turn is gone. It stays whole even over the budget",
        ),
        (
            "the newest message stays, not the turn",
            answer(
                BUDGET,
                "for cut in [0, *starts, len(others) - 1]:",
                "    if count(system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "The newest turn was cut: it begins with Q2",
        ),
        (
            "everything when nothing fits",
            answer(
                BUDGET,
                "fits = [s for s in starts if count(system + others[s:]) <= max_tokens]",
                "return system + others[fits[0] if fits else 0:]",
            ),
            "It costs 140, and 50 may be spent",
        ),
        (
            "one turn always",
            answer(BUDGET, "count(system)", "return system + (others[starts[-1]:] if starts else others)"),
            "It costs 20; [S1, Q2, A2, Q3] costs 40, and 55 may be spent",
        ),
        (
            "a greeting stays for ever",
            answer(
                BUDGET,
                "greeting = others[:starts[0]] if starts else []",
                "for cut in starts:",
                "    if count(system + greeting + others[cut:]) <= max_tokens: break",
                "return system + greeting + others[cut:] if starts else system",
            ),
            "A0, from before the first user message, stands before a gap",
        ),
        (
            "user messages running are one turn",
            answer(
                BUDGET,
                "starts = [s for s in starts if s == 0 or others[s - 1]['role'] != 'user']",
                "for cut in [0, *starts]:",
                "    if count(system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "`trim_to_budget([S1, Q1, Q2, A2], 30, count)` returned [S1, Q1, Q2, A2].",
        ),
        (
            "the first system message alone",
            answer(
                BUDGET,
                "system = system[:1]",
                "for cut in [0, *starts]:",
                "    if count(system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "The system message S2 is lost",
        ),
        (
            "system messages left where they were",
            """
            def trim_to_budget(messages, max_tokens, count):
                kept = list(messages)
                starts = [i for i, m in enumerate(messages) if m["role"] == "user"]
                for start in starts:
                    kept = [m for i, m in enumerate(messages) if i >= start or m["role"] == "system"]
                    if count(kept) <= max_tokens:
                        break
                return kept
            """,
            "stands before a system message; by the rule all of these come first",
        ),
        (
            "takes turns off the list that it is given",
            """
            def trim_to_budget(messages, max_tokens, count):
                while count(messages) > max_tokens and sum(m["role"] == "user" for m in messages) > 1:
                    place = next(i for i, m in enumerate(messages) if m["role"] != "system")
                    del messages[place]
                    while messages[place]["role"] != "user":
                        del messages[place]
                return list(messages)
            """,
            "changed its list to",
        ),
        (
            "the same list where there is no turn",
            answer(
                BUDGET,
                "if not starts and messages == system + others: return messages",
                "for cut in [0, *starts]:",
                "    if count(system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "(S1 A0), as nothing had to be cut",
        ),
        (
            "the list as it is where there is no turn",
            answer(
                BUDGET,
                "if not starts: return list(messages)",
                "for cut in [0, *starts]:",
                "    if count(system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "`trim_to_budget([A0, S1], 50, count)` returned [A0, S1]",
        ),
        (
            "the same list where it fits",
            answer(
                BUDGET,
                "if messages[:len(system)] == system and count(messages) <= max_tokens: return messages",
                "for cut in [0, *starts]:",
                "    if count(system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "returned the very list that it was given",
        ),
        (
            "no turn, no answer",
            answer(
                BUDGET,
                "for cut in starts:",
                "    if count(system + others[cut:]) <= max_tokens: break",
                KEEP,
            ),
            "raised UnboundLocalError",
        ),
    ],
}
