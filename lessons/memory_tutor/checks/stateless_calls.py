"""Lesson 1: a call knows what its request holds, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory_tutor.checks import common
from memory_tutor.checks.common import assistant, system, user
from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import LearnerRaised, Lesson, Misconception
from memory_tutor.scripting import Reply

if TYPE_CHECKING:
    from memory_tutor.learner import Learner, Outcome
    from memory_tutor.scripting import Sent

lesson = Lesson("01_stateless_calls", "Stateless calls", level=1, minutes=25)


# -- predictions ---------------------------------------------------------------------------------------

lesson.predict(
    "second_call",
    choices={
        "a": "Ada, because the model has just heard it",
        "b": "Ada, because both requests come from the same client",
        "c": "It cannot know: the second request does not say it",
    },
    right="c",
    why={
        "a": "in a chat window it would. There, a program sends the earlier messages again, each time.",
        "b": "an object that you keep looks like a conversation that is kept. `client` holds a key and an address.",
        "c": "a request is answered from what it holds, and this one holds a single question.",
    },
)

lesson.predict(
    "made_up_reply",
    choices={
        "a": "The API refuses: only a model can write an assistant message",
        "b": "The API drops it: the server knows what the model has really said",
        "c": "It is read like any other message",
    },
    right="c",
    why={
        "a": "the role sounds like a signature. It is a label that whoever sends the request writes.",
        "b": "that would need a server that keeps conversations. This one has seen the request, and nothing before it.",
        "c": "your code writes the past. Whether the model believes it is another matter.",
    },
)

lesson.predict(
    "token_count",
    choices={
        "a": "4, one for each word",
        "b": "About 6: the text cut into pieces, with the question mark",
        "c": "Many more: the text is not all that the model is given",
    },
    right="c",
    why={
        "a": "a short common word is often one token, so it looks like a rule. The next cells break it.",
        "b": "that is near to what the text alone takes; but the text does not travel alone.",
        "c": "roles, the marks between messages and instructions that a server adds are read, and counted, too.",
    },
)


# -- ask -----------------------------------------------------------------------------------------------


@lesson.exercise(
    points=3,
    hints=[
        "What does the caller of `ask` want to hold in the end: all that the API said, or a text?",
        "The first cell of section 1 sends a request and prints one text of the response. The text may be None.",
        "Call `client.chat.completions.create` with one message whose role is `user`, keep the `response`, "
        'and return its text. The line that is left to write ends in `or ""`.',
    ],
    another_way="""
        `return response.choices[0].message.content or ""` is short. A longer form is

        ```python
        message = response.choices[0].message
        if message.content is None:
            return ""
        return message.content
        ```

        It is better once None has a meaning of its own for you, such as a tool call or a refusal: then there
        is a place to say so.
        """,
)
def ask(learner: Learner) -> None:
    """Send one question to the model and return its answer."""
    first = _ask_once(learner, "How are you?", "Very well, thank you.")
    second = _ask_once(learner, "Where is Oslo?", "Oslo is in Norway.")
    _one_user_message(first, second)
    call = '`ask("Are you there?")`'
    common.none_counts_as_empty(learner, "ask", ["Are you there?"], call)
    common.error_goes_on(learner, "ask", ["Are you there?"], call)


def _ask_once(learner: Learner, question: str, reply: str) -> Sent:
    learner.script(reply)
    outcome = learner.call("ask", question)
    call = f'`ask("{question}")`'
    sent = common.only_request(learner, outcome, call)
    common.reply_of(outcome, call, reply)
    return sent


def _one_user_message(first: Sent, second: Sent) -> None:
    call = '`ask("Where is Oslo?")`'
    if any("How are you?" in common.text(message) for message in second.messages):
        raise Misconception(
            f"""{call} also sent the question of the call before, in {len(second.messages)} messages.
            A list outside the function outlives the call, so each request is longer than the last.
            Look at where the list of messages is made."""
        )
    for asked, sent in (("How are you?", first), ("Where is Oslo?", second)):
        call = f'`ask("{asked}")`'
        users = [message for message in sent.messages if common.role(message) == "user"]
        if not users:
            raise Misconception(
                f"""{call} sent no user message; the roles in the request were: {common.roles(sent.messages)}.
                What a person says has the role `user`; instructions of the developer have `system`.
                Look at the role of your message."""
            )
        if len(users) > 1:
            raise Misconception(
                f"""{call} sent {len(users)} user messages; the rule asks for one.
                Each of them is read as something that the person has said.
                Look at what else is in the list of messages."""
            )
        if common.text(users[0]) != asked:
            raise Misconception(
                f"""{call} sent the user message {shorten(repr(common.text(users[0])), 80)}.
                The model answers what it reads, not what the caller meant.
                Look at what you put in `content`."""
            )


# -- make_it_remember ----------------------------------------------------------------------------------

PAST = [user("My name is Ada."), assistant("Hello, Ada!")]
LONGER_PAST = [
    system("Answer in one short sentence."),
    user("I keep two cats."),
    assistant("Two cats are good company."),
    user("One is called Loki."),
    assistant("A fine name for a cat."),
]


@lesson.exercise(
    points=4,
    hints=[
        "If you were the model and saw this one request alone, what would you need in it to know the name?",
        "Section 2 sends three messages. Two of them are what `past` holds; which one is the question?",
        "The messages of the request are one flat list: all that is in `past`, and after it one more dict for "
        "the question. The line left to write makes this list; the rest is as in `ask`.",
    ],
    another_way="""
        `messages=[*past, {"role": "user", "content": question}]` makes a new list and leaves `past` alone.
        The other way is to append the question to `past` and to send `past`. It is better when `past` is to
        grow into a conversation: lesson 2 begins there, and shows what goes wrong when such a call fails.
        """,
)
def make_it_remember(learner: Learner) -> None:
    """Ask a question with what was said before, so that the model can use it."""
    sent = _remember_once(learner, PAST, "What is my name?", "Your name is Ada.")
    _past_then_question(sent, PAST, "What is my name?")
    sent = _remember_once(learner, LONGER_PAST, "Who is Loki?", "Loki is one of your cats.")
    _nothing_left_over(sent, "What is my name?")
    _past_then_question(sent, LONGER_PAST, "Who is Loki?")
    sent = _remember_once(learner, [], "What day is it?", "I cannot know that.")
    _past_then_question(sent, [], "What day is it?")
    call = '`make_it_remember(past, "Are you there?")`'
    common.none_counts_as_empty(learner, "make_it_remember", [PAST, "Are you there?"], call)
    common.error_goes_on(learner, "make_it_remember", [PAST, "Are you there?"], call)


def _remember_call(past: list[dict[str, Any]], question: str) -> str:
    shown = f"past of {common.count(len(past), 'message')}" if past else "[]"
    return f'`make_it_remember({shown}, "{question}")`'


def _remember_once(learner: Learner, past: list[dict[str, Any]], question: str, reply: str) -> Sent:
    call = _remember_call(past, question)
    learner.script(*[reply] * 8)
    outcome = learner.call("make_it_remember", past, question)
    sent = common.only_request(learner, outcome, call)
    common.reply_of(outcome, call, reply)
    _not_pasted(sent, past, question, call)
    return sent


def _not_pasted(sent: Sent, past: list[dict[str, Any]], question: str, call: str) -> None:
    said = [common.text(message) for message in past]
    for message in sent.messages:
        found = [line for line in [*said, question] if line in common.text(message)]
        if len(found) > 1:
            raise Misconception(
                f"""{call} sent {len(found)} messages pasted into one, with the role `{common.role(message)}`.
                The model then reads one speaker who quotes everybody; who said what is lost.
                Look at how `past` gets into the request: its items are messages already."""
            )


def _nothing_left_over(sent: Sent, before: str) -> None:
    if any(before in common.text(message) for message in sent.messages):
        raise Misconception(
            f"""`make_it_remember` sent {before!r} again, which was the question of the call before.
            A list outside the function outlives the call; the next caller's request then holds it.
            Look at where the list of messages is made."""
        )


def _past_then_question(sent: Sent, past: list[dict[str, Any]], question: str) -> None:
    call = _remember_call(past, question)
    common.unwrap_nested(sent.messages, call)
    seen, wanted = common.plain(sent.messages), common.plain([*past, user(question)])
    if seen == wanted:
        return
    texts = [said for _, said in seen]
    if question not in texts:
        raise Misconception(
            f"""{call} sent {common.count(len(seen), "message")}, and the question is none of them.
            The model answers the last thing that it reads.
            Look at what stands at the end of the list that you send."""
        )
    lost = [(who, said) for who, said in wanted if said not in texts]
    foreign = [said for said in texts if said not in (text for _, text in wanted)]
    if lost and foreign:
        raise Misconception(
            f"""{call} sent {shorten(repr(foreign[0]), 60)}, which is no message of `past`; {lost[0][1]!r} is lost.
            A function knows what it is given: any other list of the notebook is another conversation.
            Look at which list your messages come from, and whether your code uses `past`."""
        )
    if past and len(lost) == len(past):
        raise Misconception(
            f"""{call} sent the question alone, without `past`.
            It is the second call of section 1 again: the request does not say the name.
            Look at what happens to `past` on its way to `create`."""
        )
    if lost and {who for who, _ in lost} == {"assistant"}:
        raise Misconception(
            f"""{call} sent what the user had said and left out {common.count(len(lost), "answer")}.
            The model does not know its own replies either: they are in the request, or nowhere.
            Look at which of the messages in `past` you keep."""
        )
    if lost:
        raise Misconception(
            f"""{call} sent {common.count(len(seen), "message")} and left out {lost[0][1]!r} ({lost[0][0]}).
            All that was said before belongs to the request, instructions included.
            Look at which of the messages in `past` you keep."""
        )
    if sorted(texts) == sorted(said for _, said in wanted) and texts != [said for _, said in wanted]:
        raise Misconception(
            f"""{call} sent the right messages in another order: {common.roles(sent.messages)}.
            A conversation is read from top to bottom; the question comes last.
            Look at where in the list you put the question."""
        )
    if texts == [said for _, said in wanted]:
        raise Misconception(
            f"""{call} sent the roles {common.roles(sent.messages)}; they were {", ".join(who for who, _ in wanted)}.
            A role says who is speaking: with another one, somebody else has said it.
            Look at where you write a role yourself."""
        )
    raise Misconception(
        f"""{call} sent {common.count(len(seen), "message")} ({common.roles(sent.messages)}).
        The request is `past` and then the question, and nothing else: {common.count(len(wanted), "message")}.
        Look at what else is put into the list."""
    )


# -- count_context -------------------------------------------------------------------------------------

COUNTED = [system("Answer in one short sentence."), user("What is a context?")]


@lesson.exercise(
    points=3,
    hints=[
        "Who knows exactly how many tokens a request took: your code, or whoever read it?",
        "Section 3 prints three numbers of `response.usage`. Which one counts the request alone? "
        "And what if `response.usage` is None?",
        "Send `messages` once and keep `usage = response.usage`. If there is none, raise ValueError with a "
        "sentence. The line left to write returns one of the three numbers.",
    ],
    another_way="""
        A tokenizer library counts before you send, without a request. It is better when you have to decide
        *whether* to send, and it must be the tokenizer of exactly this model; what a server adds to your
        messages, it cannot know. The count of the API is the one on the bill.
        """,
)
def count_context(learner: Learner) -> None:
    """Return how many tokens the API counted in a request with these messages."""
    _count_once(learner, COUNTED, prompt=57, completion=6)
    _count_once(learner, [user("Hello there")], prompt=23, completion=9)
    _without_usage(learner)
    common.error_goes_on(learner, "count_context", [COUNTED], "`count_context(messages)`")


def _count_once(learner: Learner, messages: list[dict[str, Any]], *, prompt: int, completion: int) -> None:
    call = f"`count_context(messages)` with {common.count(len(messages), 'message')}"
    learner.script(Reply("It is what a model reads.", prompt_tokens=prompt, completion_tokens=completion))
    outcome = learner.call("count_context", messages)
    common.has_run(outcome, call)
    value = outcome.value
    _estimated(learner, value, messages, call)
    sent = common.only_request(learner, outcome, call)
    _one_of_three(value, outcome, call, prompt=prompt, completion=completion)
    if common.plain(sent.messages) != common.plain(messages):
        raise Misconception(
            f"""{call} sent {common.count(len(sent.messages), "message")} ({common.roles(sent.messages)}).
            The API counts what it gets: another request has another count.
            Look at what you give to `create` as `messages`."""
        )


def _estimated(learner: Learner, value: object, messages: list[dict[str, Any]], call: str) -> None:
    characters = sum(len(common.text(message)) for message in messages)
    guesses = {characters // 4, -(-characters // 4), round(characters / 4), characters / 4}
    if isinstance(value, int | float) and value in guesses:
        raise Misconception(
            f"""{call} returned {value}, which is the characters divided by four.
            That rule of thumb knows no roles, no marks between messages, no language but English.
            Look at the numbers that come back with every response."""
        )
    if not learner.requests and isinstance(value, int | float):
        raise Misconception(
            f"""{call} returned {value} without sending anything.
            Only the endpoint knows how many tokens it made of the messages.
            Look at section 3: the count comes with the response."""
        )


def _one_of_three(value: object, outcome: Outcome, call: str, *, prompt: int, completion: int) -> None:
    if value == prompt and isinstance(value, int) and not isinstance(value, bool):
        return
    if value == prompt + completion:
        raise Misconception(
            f"""{call} returned {value}, the total of request and reply.
            The context of this call was the request; the reply is {completion} tokens more.
            Look at the three numbers in `usage`."""
        )
    if value == completion:
        raise Misconception(
            f"""{call} returned {value}, the tokens of the reply.
            `completion` is what the model wrote, and `prompt` what it read.
            Look at the three numbers in `usage`."""
        )
    if isinstance(value, Opaque) and value.type_name == "CompletionUsage":
        raise Misconception(
            f"""{call} returned the whole `usage` object; the rule asks for an int.
            It holds three numbers, and the caller wants one.
            Look at its fields."""
        )
    if value is None:
        printed = "printed and returned None" if str(prompt) in outcome.stdout else "returned None"
        raise Misconception(
            f"""{call} {printed}; the API had counted {prompt} tokens.
            A number that the caller is to use has to be returned.
            Look at the last line of the function."""
        )
    shown = shorten(repr(value), 60)
    raise Misconception(
        f"""{call} returned {shown}; the API had counted {prompt} tokens in the request.
        Look at where your number comes from, and whether it is an int."""
    )


def _without_usage(learner: Learner) -> None:
    call = "`count_context(messages)`"
    learner.script(Reply("I did not count.", usage=False))
    outcome = learner.call("count_context", COUNTED)
    raised = outcome.exception
    if raised is None:
        common.only_request(learner, outcome, call)
        value = outcome.value
        if isinstance(value, Opaque) and value.type_name in ("type", "ValueError"):
            raise Misconception(
                f"""{call} returned an exception although the response had no `usage`.
                An exception that is returned stops nobody: the caller goes on and takes it for a number.
                Look at the word before `ValueError`."""
            )
        raise Misconception(
            f"""{call} returned {shorten(repr(value), 60)} although the response had no `usage`.
            A made-up number looks like a counted one; no count is not zero tokens.
            Look at what you return when `response.usage` is None."""
        )
    if "AttributeError" in raised.names or "TypeError" in raised.names:
        raise LearnerRaised(
            f"""{call} raised {common.shown(raised)}
            Some gateways, and streams, send a response without `usage`; the field is then None.
            Look at what your code needs to know before {common.line_of(raised, "it reads the count")}"""
        )
    if "ValueError" not in raised.names:
        raise Misconception(
            f"""{call} raised {raised.names[0]} for a response without `usage`; the rule asks for ValueError.
            Callers can only catch what they have been promised.
            Look at the line that raises."""
        )
