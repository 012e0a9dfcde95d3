"""Answers to lesson 5: what must pass, and what must not, each with the message that names its mistake."""

from __future__ import annotations

from answers import *  # noqa: F403

CREATE = "client.chat.completions.create"
#: The cell that gives FACTS_PROMPT and FACTS_FORMAT.
GIVEN = ["facts-given"]

SPLIT = """
                base = [m for m in session["messages"] if m["role"] == "system"]
                dialogue = [m for m in session["messages"] if m["role"] != "system"]"""
DUMP = 'json.dumps(session["scratchpad"], ensure_ascii=False)'

#: One request as the task asks for it, up to the `choice`.
ASK = f"""
                choice = {CREATE}(
                    model=model,
                    messages=[{{"role": "system", "content": FACTS_PROMPT}}, {{"role": "user", "content": text}}],
                    response_format=FACTS_FORMAT,
                ).choices[0]"""
#: What a careful answer makes of the choice: `new`.
READ = """
                try:
                    new = json.loads(choice.message.content or "")
                except ValueError:
                    new = None
                usable = isinstance(new, dict) and all(isinstance(value, str) for value in new.values())
                if not usable or choice.finish_reason == "length":
                    return {}"""


def remembering(body: str, ask: str = ASK, read: str = READ) -> str:
    """An answer to remember_facts that asks, reads, and then does what `body` says."""
    return f"""
            import json
            def remember_facts(session, text):
                pad = session["scratchpad"]{ask}{read}
{body}
            """


RIGHT = {
    "complete_step": [
        (
            "setdefault",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("A step needs a text.")
                done = session["scratchpad"].setdefault("steps_done", [])
                if step not in done:
                    done.append(step)
            """,
        ),
        (
            "a new list in the old one's place",
            """
            def complete_step(session, step):
                if step.isspace() or step == "":
                    raise ValueError(step)
                pad = session["scratchpad"]
                done = pad.get("steps_done", [])
                pad["steps_done"] = done if step in done else done + [step]
            """,
        ),
        (
            "a new pad, an error of their own, a value returned",
            """
            class BlankStep(ValueError): pass
            def complete_step(session, step):
                if len(step.split()) == 0:
                    raise BlankStep("blank")
                done = session["scratchpad"].get("steps_done") or []
                if step in done:
                    return done
                session["scratchpad"] = {**session["scratchpad"], "steps_done": [*done, step]}
                return done
            """,
        ),
        (
            "a dict keeps the order",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                pad = session["scratchpad"]
                if "steps_done" not in pad:
                    pad["steps_done"] = []
                pad["steps_done"][:] = list(dict.fromkeys(pad["steps_done"] + [step]))
            """,
        ),
    ],
    "messages_for_model": [
        (
            "two comprehensions",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                content = "Current scratchpad (authoritative JSON):\\n" + {DUMP}
                return base + [{{"role": "system", "content": content}}] + dialogue
            """,
        ),
        (
            "a copy, and an indent",
            """
            import copy, json
            def messages_for_model(session):
                messages = copy.deepcopy(session["messages"])
                text = json.dumps(session["scratchpad"], indent=4, ensure_ascii=False, sort_keys=True)
                at = 1 if messages and messages[0]["role"] == "system" else 0
                messages.insert(at, {"role": "system", "content": f"```json\\n{text}\\n```\\nThis is what is so."})
                return messages
            """,
        ),
        (
            "within an envelope, in parts, without spaces",
            """
            import json
            def messages_for_model(session):
                text = json.dumps({"scratchpad": session["scratchpad"]}, ensure_ascii=False, separators=(",", ":"))
                parts = [{"type": "text", "text": "What {is} known: "}, {"type": "text", "text": text}]
                found = list(session["messages"])
                first, rest = ([], found) if not found or found[0]["role"] != "system" else (found[:1], found[1:])
                return [*first, dict(content=parts, role="system"), *rest]
            """,
        ),
        (
            "sorted by role",
            f"""
            import json
            def messages_for_model(session):
                pad = {{"role": "system", "content": {DUMP} + " (the pad)"}}
                return sorted([*session["messages"][:1], pad, *session["messages"][1:]],
                              key=lambda message: message["role"] != "system")
            """,
        ),
    ],
    "remember_facts": [
        (
            "update in place",
            remembering("""
                if new:
                    pad.setdefault("facts", {}).update(new)
                return new"""),
        ),
        (
            "a new dict, merged",
            remembering("""
                pad["facts"] = {**pad.get("facts", {}), **new}
                return dict(new)"""),
        ),
        (
            "an own function, which raises within",
            f"""
            import json
            def read(choice):
                if choice.finish_reason != "stop" or choice.message.content is None:
                    raise ValueError("cut, or nothing")
                found = json.loads(choice.message.content)
                if type(found) is not dict or any(type(value) is not str for value in found.values()):
                    raise ValueError("another shape")
                return found
            def remember_facts(session, text):{ASK}
                try:
                    new = read(choice)
                except ValueError:
                    return {{}}
                session["scratchpad"]["facts"] = session["scratchpad"].get("facts", {{}}) | new
                return new
            """,
        ),
        (
            "a stream, and a dict that grows",
            f"""
            import json
            def remember_facts(session, text):
                prompt = {{"role": "system", "content": FACTS_PROMPT}}
                asked = [prompt, {{"role": "user", "content": text}}]
                said, ended = "", None
                for chunk in {CREATE}(model=model, messages=asked, response_format=FACTS_FORMAT, stream=True):
                    said += chunk.choices[0].delta.content or ""
                    ended = chunk.choices[0].finish_reason or ended
                try:
                    new = json.loads(said)
                except json.JSONDecodeError:
                    return {{}}
                if ended == "length" or not isinstance(new, dict) or not all(type(v) is str for v in new.values()):
                    return {{}}
                for name, value in new.items():
                    session["scratchpad"].setdefault("facts", {{}})[name] = value
                return new
            """,
        ),
    ],
}

WRONG = {
    "complete_step": [
        (
            "a default that is in no pad",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                done = session["scratchpad"].get("steps_done", [])
                if step not in done:
                    done.append(step)
            """,
            "the pad holds no list under `steps_done`",
        ),
        (
            "the same step twice",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                session["scratchpad"].setdefault("steps_done", []).append(step)
            """,
            "it stands in the list twice now",
        ),
        (
            "no list yet",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                if step not in session["scratchpad"]["steps_done"]:
                    session["scratchpad"]["steps_done"].append(step)
            """,
            'has no "steps_done" yet',
        ),
        (
            "writes to the history",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                done = session["scratchpad"].setdefault("steps_done", [])
                if step not in done:
                    done.append(step)
                    session["messages"].append({"role": "system", "content": f"Step done: {step}"})
            """,
            'changed `session["messages"]`',
        ),
        (
            "a shared list",
            """
            NO_STEPS = []
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                done = session["scratchpad"].setdefault("steps_done", NO_STEPS)
                if step not in done:
                    done.append(step)
            """,
            "'sand the door', which is no step of this session",
        ),
        (
            "a default argument that grows",
            """
            def complete_step(session, step, done=[]):
                if not step.strip():
                    raise ValueError("blank")
                done.append(step)
                session["scratchpad"]["steps_done"] = done
            """,
            "the steps are ['beat the eggs']; they should be ['sift the flour', 'beat the eggs']",
        ),
        (
            "blank is accepted",
            """
            def complete_step(session, step):
                done = session["scratchpad"].setdefault("steps_done", [])
                if step not in done:
                    done.append(step)
            """,
            "`complete_step(session, '')` was accepted",
        ),
        (
            "blank is passed over in silence",
            """
            def complete_step(session, step):
                if not step.strip():
                    return
                done = session["scratchpad"].setdefault("steps_done", [])
                if step not in done:
                    done.append(step)
            """,
            "`complete_step(session, '')` left no trace",
        ),
        (
            "only the empty step is refused",
            """
            def complete_step(session, step):
                if not step:
                    raise ValueError("blank")
                done = session["scratchpad"].setdefault("steps_done", [])
                if step not in done:
                    done.append(step)
            """,
            "`complete_step(session, '   ')` was accepted",
        ),
        (
            "another exception",
            """
            def complete_step(session, step):
                assert step.strip(), "blank"
                done = session["scratchpad"].setdefault("steps_done", [])
                if step not in done:
                    done.append(step)
            """,
            "raised AssertionError; the rule asks for a ValueError",
        ),
        (
            "changed before it is refused",
            """
            def complete_step(session, step):
                done = session["scratchpad"].setdefault("steps_done", [])
                if not step.strip():
                    raise ValueError("blank")
                if step not in done:
                    done.append(step)
            """,
            "raised ValueError, but had changed the session before",
        ),
        (
            "a step found within another",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                done = session["scratchpad"].setdefault("steps_done", [])
                if step not in " ".join(done):
                    done.append(step)
            """,
            '`complete_step(session, "eggs")` left `steps_done` as it was',
        ),
        (
            "a list of its own",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                done = list(session["scratchpad"].get("steps_done", []))
                if step not in done:
                    done.append(step)
            """,
            "left `steps_done` as it was: ['sift the flour']",
        ),
        (
            "a set",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                session["scratchpad"]["steps_done"] = {*session["scratchpad"].get("steps_done", ()), step}
            """,
            "`steps_done` is a set; it must stay a list",
        ),
        (
            "sorted",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                done = session["scratchpad"].setdefault("steps_done", [])
                session["scratchpad"]["steps_done"] = sorted({*done, step})
            """,
            "brought the steps into another order",
        ),
        (
            "letter by letter",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                session["scratchpad"].setdefault("steps_done", [])
                session["scratchpad"]["steps_done"] += step
            """,
            "letter by letter, 13 items",
        ),
        (
            "a new pad without the goal",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                done = session["scratchpad"].get("steps_done", [])
                session["scratchpad"] = {"steps_done": done + [step] * (step not in done)}
            """,
            "changed the rest of the scratchpad: goal",
        ),
        (
            "the pad replaced by a list",
            """
            def complete_step(session, step):
                session["scratchpad"] = session["scratchpad"].get("steps_done", []) + [step]
            """,
            "is no dict any more",
        ),
        (
            "beside the pad",
            """
            def complete_step(session, step):
                if not step.strip():
                    raise ValueError("blank")
                session.setdefault("steps_done", []).append(step)
            """,
            "changed the session outside its scratchpad: ['steps_done']",
        ),
    ],
    "messages_for_model": [
        (
            "the whole session written down",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                shown = json.dumps(session, ensure_ascii=False)
                return base + [{{"role": "system", "content": "Scratchpad: " + shown}}] + dialogue
            """,
            "the conversation stands in the projection a second time",
        ),
        (
            "projection put into the session",
            f"""
            import json
            def messages_for_model(session):
                session["messages"].insert(1, {{"role": "system", "content": {DUMP}}})
                return session["messages"]
            """,
            "put the projection into the session: 5 messages now, 4 before",
        ),
        (
            "the pad is emptied",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                content = {DUMP}
                session["scratchpad"] = {{}}
                return base + [{{"role": "system", "content": content}}] + dialogue
            """,
            "changed the session that it was given",
        ),
        (
            "the goal by f-string",
            f"""
            def messages_for_model(session):{SPLIT}
                pad = session["scratchpad"]
                content = f"Goal: {{pad.get('goal')}}\\nSteps done: {{pad.get('steps_done')}}"
                return base + [{{"role": "system", "content": content}}] + dialogue
            """,
            "so its line 'Then rest.' is one of yours",
        ),
        (
            "JSON by hand",
            f"""
            def messages_for_model(session):{SPLIT}
                pairs = ", ".join(f'"{{key}}": "{{value}}"' for key, value in session["scratchpad"].items())
                content = "{{" + pairs.replace("\\n", " ") + "}}"
                return base + [{{"role": "system", "content": content}}] + dialogue
            """,
            'holds goal = "Plant three beds. Then rest.", which is not what the pad holds',
        ),
        (
            "in words of its own",
            f"""
            def messages_for_model(session):{SPLIT}
                content = "; ".join(f"{{key}} is {{value!r}}" for key, value in session["scratchpad"].items())
                return base + [{{"role": "system", "content": content}}] + dialogue
            """,
            "no JSON of the whole pad stands in the projection",
        ),
        (
            "Python's repr",
            f"""
            def messages_for_model(session):{SPLIT}
                content = f"Current scratchpad: {{session['scratchpad']}}"
                return base + [{{"role": "system", "content": content}}] + dialogue
            """,
            "written as Python writes a dict",
        ),
        (
            "two projections",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                pad = {{"role": "system", "content": {DUMP}}}
                return base + [pad] + dialogue + [pad]
            """,
            "returned 2 messages that show the pad",
        ),
        (
            "twice in one message",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                content = {DUMP} + " I say it again: " + {DUMP}
                return base + [{{"role": "system", "content": content}}] + dialogue
            """,
            "the projection holds the pad twice",
        ),
        (
            "a message for each key",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                pads = [{{"role": "system", "content": json.dumps({{k: v}})}} for k, v in session["scratchpad"].items()]
                return base + pads + dialogue
            """,
            "2 of them are not the session's",
        ),
        (
            "no projection",
            f"""
            def messages_for_model(session):{SPLIT}
                return base + dialogue
            """,
            "and no projection of the pad",
        ),
        (
            "none of an empty pad",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                if not session["scratchpad"]:
                    return base + dialogue
                return base + [{{"role": "system", "content": {DUMP}}}] + dialogue
            """,
            "with an empty pad returned the messages of the session",
        ),
        (
            "needs a system message",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                return [base[0], {{"role": "system", "content": {DUMP}}}, *dialogue]
            """,
            "Nothing says that a conversation begins with an instruction",
        ),
        (
            "the first message is taken for the instruction",
            f"""
            import json
            def messages_for_model(session):
                first, *dialogue = session["messages"] or [{{"role": "user", "content": ""}}]
                return [first, {{"role": "system", "content": {DUMP}}}, *dialogue]
            """,
            "in an order that is not the rule's",
        ),
        (
            "the instruction made up",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                base = base or [{{"role": "system", "content": "You are helpful."}}]
                return base + [{{"role": "system", "content": {DUMP}}}] + dialogue
            """,
            "added a system message that shows no pad",
        ),
        (
            "escapes",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                return base + [{{"role": "system", "content": json.dumps(session["scratchpad"])}}] + dialogue
            """,
            'is sent as "Zo\\u00eb',
        ),
        (
            "part of the pad",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                pad = {{key: session["scratchpad"].get(key) for key in ("goal", "steps_done")}}
                content = json.dumps(pad, ensure_ascii=False)
                return base + [{{"role": "system", "content": content}}] + dialogue
            """,
            "it lacks budget, facts, host, note, open, rate",
        ),
        (
            "stale",
            f"""
            import json
            made = {{}}
            def messages_for_model(session):{SPLIT}
                pad = made.setdefault(session["id"], {{"role": "system", "content": {DUMP}}})
                return base + [pad] + dialogue
            """,
            "shows the pad of an earlier call",
        ),
        (
            "dumped twice",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                content = "Current scratchpad:\\n" + json.dumps({DUMP}, ensure_ascii=False)
                return base + [{{"role": "system", "content": content}}] + dialogue
            """,
            "JSON within JSON",
        ),
        (
            "a dict as the content",
            f"""
            def messages_for_model(session):{SPLIT}
                return base + [{{"role": "system", "content": session["scratchpad"]}}] + dialogue
            """,
            "the content of the projection is a dict",
        ),
        (
            "in the user's name",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                return base + [{{"role": "user", "content": {DUMP}}}] + dialogue
            """,
            "the projection has the role 'user'",
        ),
        (
            "merged into the instruction",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                text = "".join(m["content"] for m in base)
                return [{{"role": "system", "content": text + "\\n" + {DUMP}}}] + dialogue
            """,
            "holds the instruction and more",
        ),
        (
            "instead of the instruction",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                return [{{"role": "system", "content": {DUMP}}}] + dialogue
            """,
            "the session's own system message is none of them",
        ),
        (
            "before the instruction",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                return [{{"role": "system", "content": {DUMP}}}] + base + dialogue
            """,
            "before the instruction",
        ),
        (
            "at the end",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                return base + dialogue + [{{"role": "system", "content": {DUMP}}}]
            """,
            "as the last message",
        ),
        (
            "user and assistant alone",
            f"""
            import json
            def messages_for_model(session):
                base = [m for m in session["messages"] if m["role"] == "system"]
                dialogue = [m for m in session["messages"] if m["role"] in ("user", "assistant")]
                return base + [{{"role": "system", "content": {DUMP}}}] + dialogue
            """,
            "left a message of the dialogue out: {'role': 'tool'",
        ),
        (
            "equal messages once",
            f"""
            import json
            def messages_for_model(session):
                base = [m for m in session["messages"] if m["role"] == "system"]
                dialogue = []
                for message in session["messages"]:
                    if message["role"] != "system" and message not in dialogue:
                        dialogue.append(message)
                return base + [{{"role": "system", "content": {DUMP}}}] + dialogue
            """,
            "left a message of the dialogue out: {'role': 'user', 'content': 'What is left?'}",
        ),
        (
            "returns the text",
            f"""
            import json
            def messages_for_model(session):
                return "Current scratchpad: " + {DUMP}
            """,
            "returned a str; the rule asks for a list of messages",
        ),
        (
            "returns what insert returns",
            f"""
            import json
            def messages_for_model(session):
                messages = list(session["messages"])
                return messages.insert(1, {{"role": "system", "content": {DUMP}}})
            """,
            "returned None; the rule asks for a list of messages",
        ),
        (
            "a list within the list",
            f"""
            import json
            def messages_for_model(session):{SPLIT}
                return [*base, {{"role": "system", "content": {DUMP}}}, dialogue]
            """,
            "item 2 is a list",
        ),
    ],
    "remember_facts": [
        (
            "JSON cut out of what stands around it",
            remembering(
                '                pad["facts"] = {**pad.get("facts", {}), **new}\n                return new',
                read=READ.replace(
                    'json.loads(choice.message.content or "")',
                    'json.loads("{" + (choice.message.content or "").partition("{")[2])',
                ),
            ),
            "the reply was JSON with a sentence before it",
        ),
        (
            "the marks of Markdown taken off",
            remembering(
                '                pad["facts"] = {**pad.get("facts", {}), **new}\n                return new',
                read=READ.replace(
                    'choice.message.content or ""',
                    '(choice.message.content or "").removeprefix("```json").removesuffix("```")',
                ),
            ),
            "the reply was JSON between marks of Markdown",
        ),
        (
            "lists let in",
            remembering(
                '                pad["facts"] = {**pad.get("facts", {}), **new}\n                return new',
                read=READ.replace("isinstance(value, str)", "isinstance(value, (str, list))"),
            ),
            "the reply was an object with a list in it",
        ),
        (
            "replaces instead of merging",
            remembering("""
                pad["facts"] = new
                return new"""),
            "the pad holds the new facts alone; 'guests' is gone",
        ),
        (
            "the oldest wins",
            remembering("""
                pad["facts"] = {**new, **pad.get("facts", {})}
                return new"""),
            "the pad still says city = 'Oslo'",
        ),
        (
            "into the pad itself",
            remembering("""
                pad.update(new)
                return new"""),
            "'city' stands beside the goal now",
        ),
        (
            "keeps nothing",
            remembering("""
                facts = {**pad.get("facts", {}), **new}
                return new"""),
            "the facts in the pad are as before",
        ),
        (
            "no facts yet",
            remembering("""
                pad["facts"].update(new)
                return new"""),
            'has no "facts" yet',
        ),
        (
            "returns all facts",
            remembering("""
                pad["facts"] = {**pad.get("facts", {}), **new}
                return pad["facts"]"""),
            "returned all facts of the pad, 'guests' too, which is not new",
        ),
        (
            "returns nothing",
            remembering("""
                pad["facts"] = {**pad.get("facts", {}), **new}"""),
            "returned None; the rule asks for the new facts",
        ),
        (
            "returns the text of the reply",
            remembering("""
                pad["facts"] = {**pad.get("facts", {}), **new}
                return choice.message.content"""),
            "returned a str",
        ),
        (
            "appends to the conversation",
            remembering("""
                session["messages"].append({"role": "user", "content": text})
                pad["facts"] = {**pad.get("facts", {}), **new}
                return new"""),
            'changed `session["messages"]`',
        ),
        (
            "unguarded json.loads",
            f"""
            import json
            def remember_facts(session, text):{ASK}
                new = json.loads(choice.message.content)
                session["scratchpad"].setdefault("facts", {{}}).update(new)
                return new
            """,
            'When the reply was None, `remember_facts(session, "We meet.")` raised TypeError',
        ),
        (
            "a reply that is no JSON",
            f"""
            import json
            def remember_facts(session, text):{ASK}
                new = json.loads(choice.message.content or "{{}}")
                if new:
                    session["scratchpad"].setdefault("facts", {{}}).update(new)
                return new
            """,
            'When the reply was no JSON, `remember_facts(session, "We meet.")` raised JSONDecodeError',
        ),
        (
            "eval reads it",
            f"""
            import ast
            def remember_facts(session, text):{ASK}
                try:
                    new = ast.literal_eval(choice.message.content)
                except (ValueError, SyntaxError, TypeError):
                    return {{}}
                if choice.finish_reason == "length" or not isinstance(new, dict):
                    return {{}}
                session["scratchpad"]["facts"] = {{**session["scratchpad"].get("facts", {{}}), **new}}
                return new
            """,
            "When the reply was Python's way of writing a dict",
        ),
        (
            "any JSON is taken for an object",
            f"""
            import json
            def remember_facts(session, text):{ASK}
                try:
                    new = json.loads(choice.message.content or "")
                except ValueError:
                    return {{}}
                session["scratchpad"]["facts"] = {{**session["scratchpad"].get("facts", {{}}), **new}}
                return new
            """,
            'When the reply was a list, `remember_facts(session, "We meet.")` raised TypeError',
        ),
        (
            "a list of pairs makes a dict too",
            f"""
            import json
            def remember_facts(session, text):{ASK}
                try:
                    new = dict(json.loads(choice.message.content or ""))
                except (TypeError, ValueError):
                    return {{}}
                if not all(isinstance(value, str) for value in new.values()) or choice.finish_reason == "length":
                    return {{}}
                session["scratchpad"]["facts"] = {{**session["scratchpad"].get("facts", {{}}), **new}}
                return new
            """,
            "When the reply was a list of pairs",
        ),
        (
            "values of any kind",
            f"""
            import json
            def remember_facts(session, text):{ASK}
                try:
                    new = json.loads(choice.message.content or "")
                except ValueError:
                    return {{}}
                if not isinstance(new, dict) or choice.finish_reason == "length":
                    return {{}}
                session["scratchpad"]["facts"] = {{**session["scratchpad"].get("facts", {{}}), **new}}
                return new
            """,
            "When the reply was an object with a number in it",
        ),
        (
            "a half-written pad",
            f"""
            import json
            def remember_facts(session, text):{ASK}
                facts = session["scratchpad"].get("facts", {{}})
                try:
                    new = json.loads(choice.message.content or "")
                    for name, value in new.items():
                        if not isinstance(value, str) or choice.finish_reason == "length":
                            return {{}}
                        facts[name] = value
                except (ValueError, AttributeError):
                    return {{}}
                session["scratchpad"]["facts"] = facts
                return new
            """,
            "'day': 'Friday'",
        ),
        (
            "keeps nothing of a bad reply, but returns the good half",
            f"""
            import json
            def remember_facts(session, text):{ASK}
                try:
                    found = json.loads(choice.message.content or "")
                    new = {{name: value for name, value in found.items() if isinstance(value, str)}}
                except (ValueError, AttributeError):
                    return {{}}
                if new == found and choice.finish_reason != "length":
                    session["scratchpad"].setdefault("facts", {{}}).update(new)
                return new
            """,
            "returned {'day': 'Friday'}; the rule asks for {}",
        ),
        (
            "an empty shelf beforehand",
            f"""
            import json
            def remember_facts(session, text):
                facts = session["scratchpad"].setdefault("facts", {{}}){ASK}{READ}
                facts.update(new)
                return new
            """,
            'left an empty "facts" in a pad that had none',
        ),
        (
            "a cut reply that can be read",
            remembering(
                """
                pad["facts"] = {**pad.get("facts", {}), **new}
                return new""",
                read=READ.replace(' or choice.finish_reason == "length"', ""),
            ),
            'When the reply was cut at its end (finish_reason "length")',
        ),
        (
            "None for a failure",
            remembering(
                """
                pad["facts"] = {**pad.get("facts", {}), **new}
                return new""",
                read=READ.replace("return {}", "return None"),
            ),
            "returned None; the rule asks for {}",
        ),
        (
            "no fact is taken for a failure",
            remembering("""
                if not new:
                    return None
                pad["facts"] = {**pad.get("facts", {}), **new}
                return new"""),
            "when the model had answered {}",
        ),
        (
            "swallows the errors of the API",
            f"""
            import json
            def remember_facts(session, text):
                pad = session["scratchpad"]
                try:{ASK.replace(chr(10), chr(10) + "    ")}
                    new = json.loads(choice.message.content)
                    assert choice.finish_reason != "length"
                    assert isinstance(new, dict) and all(isinstance(value, str) for value in new.values())
                except Exception:
                    return {{}}
                pad["facts"] = {{**pad.get("facts", {{}}), **new}}
                return new
            """,
            "although the request had failed with APIConnectionError",
        ),
        (
            "another prompt",
            remembering(
                """
                pad["facts"] = {**pad.get("facts", {}), **new}
                return new""",
                ask=ASK.replace("FACTS_PROMPT", '"Find the facts."'),
            ),
            "FACTS_PROMPT is not the system message",
        ),
        (
            "no schema",
            remembering(
                """
                pad["facts"] = {**pad.get("facts", {}), **new}
                return new""",
                ask=ASK.replace("response_format=FACTS_FORMAT,", ""),
            ),
            "sent no `response_format`",
        ),
        (
            "any JSON object",
            remembering(
                """
                pad["facts"] = {**pad.get("facts", {}), **new}
                return new""",
                ask=ASK.replace("=FACTS_FORMAT", '={"type": "json_object"}'),
            ),
            "sent the `response_format` {'type': 'json_object'}",
        ),
        (
            "the whole conversation",
            remembering(
                """
                pad["facts"] = {**pad.get("facts", {}), **new}
                return new""",
                ask=ASK.replace('FACTS_PROMPT}, {"role"', 'FACTS_PROMPT}, *session["messages"], {"role"'),
            ),
            "sent the conversation along, 5 messages in all",
        ),
        (
            "the text within the prompt",
            remembering(
                """
                pad["facts"] = {**pad.get("facts", {}), **new}
                return new""",
                ask=ASK.replace('{"role": "user", "content": text}', '{"role": "user", "content": "Text: " + text}'),
            ),
            "the text as the user's",
        ),
        (
            "asks twice",
            remembering(
                """
                pad["facts"] = {**pad.get("facts", {}), **new}
                return new""",
                ask=ASK + ASK,
            ),
            "sent 2 requests",
        ),
    ],
}
