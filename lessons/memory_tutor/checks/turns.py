"""How a turn with a store is checked: by what it sends, appends and does about a rival."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memory_tutor.checks import common
from memory_tutor.checks.common import assistant, user
from memory_tutor.checks.stores import ADA, TURNS
from memory_tutor.codec import Opaque, shorten
from memory_tutor.exercises import Misconception
from memory_tutor.scripting import Failure, Scripted, Sent

if TYPE_CHECKING:
    from memory_tutor.learner import Learner, Outcome


#: As the lesson gives them.
SYSTEM_PROMPT = "You are a helpful assistant. Answer in one short sentence."
WINDOW = 6
ATTEMPTS = 3
#: Attempts after which a loop without end is stopped.
TOO_MANY = 8


class Conflict(Exception):
    """Arrives in the learner's code as the class of this name that the lesson gives."""


class RivalStore:
    """A store that a rival writes to, too: just before some of the appends.

    Args:
        rivals: for each append in turn, whether a rival comes first.
    """

    def __init__(self, rivals: Sequence[bool] = ()) -> None:
        self._stored = [message for turn in TURNS for message in turn]
        self._pad = {"goal": "untouched"}
        self._version = 40
        self._rivals = iter(rivals)
        self._met = 0
        #: The arguments of each append, and of each load, beside the conversation.
        self._appends: list[tuple[Any, Any, Any]] = []
        self._loads: list[Any] = []
        self._conversations: list[Any] = []

    def load(self, conversation: Any, last: Any = None) -> tuple[list[Any], dict[str, Any], int]:
        self._conversations.append(conversation)
        self._loads.append(last)
        if last is not None and not isinstance(last, int):
            raise TypeError(f"last must be an int or None, not {type(last).__name__}")
        messages = self._stored if last is None else self._stored[len(self._stored) - min(last, len(self._stored)) :]
        return list(messages), dict(self._pad), self._version

    def append(self, conversation: Any, messages: Any, version: Any, pad: Any = None) -> int:
        self._conversations.append(conversation)
        self._appends.append((messages, version, pad))
        if len(self._appends) > TOO_MANY:
            raise _no_end("append")
        if next(self._rivals, False):
            self._rival_writes()
        if version != self._version:
            raise Conflict("somebody else has written since")
        self._stored += messages if isinstance(messages, list) else [messages]
        self._pad = self._pad if pad is None else pad
        self._version += 1
        return self._version

    def _rival_writes(self) -> None:
        self._met += 1
        self._stored += [user(f"The rival's question {self._met}"), assistant(f"The rival's answer {self._met}")]
        self._version += 3


def _no_end(what: str) -> Misconception:
    return Misconception(
        f"""With a rival who is always faster, `chat_turn` called `{what}` more than {TOO_MANY} times.
        Each attempt asks the model and costs money; the rule says three in all.
        Look at what ends your loop."""
    )


def answers_one_message(learner: Learner) -> None:
    """What an answer to chat_turn has to do; raises what a check raises."""
    _one_turn(learner)
    _empty_conversation(learner)
    _rival_once(learner)
    _rival_meanwhile(learner)
    _rival_always(learner)
    _failing_model(learner)
    learner.script(None)
    store = RivalStore()
    common.none_counts_as_empty(learner, "chat_turn", [learner.callback(store), ADA, "Hello?"], "`chat_turn`")
    if not store._appends:
        raise Misconception(
            """When the reply was None, `chat_turn` appended nothing.
            An empty reply is a reply: the question was asked, and the next request has to know of it.
            Look at what your code does between the reply and the `append`."""
        )
    if store._stored[-1].get("content") != "":
        raise Misconception(
            f"""When the reply was None, `chat_turn` stored {shorten(repr(store._stored[-1]), 60)}; None counts as "".
            The next request would send it, and an API may refuse it.
            Look at what you append."""
        )


def _turn(learner: Learner, store: RivalStore, text: str, *replies: Scripted) -> Outcome:
    learner.script(*replies)
    return learner.call("chat_turn", learner.callback(store), ADA, text)


def _one_turn(learner: Learner) -> None:
    store, call = RivalStore(), "`chat_turn`"
    saved_early: list[int] = []

    def reply(sent: Sent) -> str:
        saved_early.append(len(store._appends))
        return "Oslo is the capital of Norway."

    text = "What is the capital of Norway?"
    outcome = _turn(learner, store, text, *[reply] * 9)
    _versions_given(store, [40], call)
    sent = common.only_request(learner, outcome, call)
    _was_sent(sent, TURNS[-3:], text, call)
    common.reply_of(outcome, call, "Oslo is the capital of Norway.")
    if saved_early[0]:
        raise Misconception(
            f"""{call} had called `append` before the model was asked.
            If the call fails then, a question without an answer stays in the store, for every worker to see.
            Look at where the question is appended."""
        )
    _was_appended(store, text, "Oslo is the capital of Norway.", 40, call)


def _was_sent(sent: Sent, window: Sequence[list[dict[str, Any]]], text: str, call: str) -> None:
    stored = [message for turn in window for message in turn]
    seen = common.plain(sent.messages)
    wanted = common.plain([common.system(SYSTEM_PROMPT), *stored, user(text)])
    if seen == wanted:
        return
    common.unwrap_nested(sent.messages, call)
    systems = [said for who, said in seen if who == "system"]
    if systems != [SYSTEM_PROMPT]:
        raise Misconception(
            f"""{call} sent {common.count(len(systems), "system message")}; the rule asks for one, with `SYSTEM_PROMPT`.
            It is not in the store: the program puts it in front of each request.
            Look at what stands before the stored messages."""
        )
    if seen[0][0] != "system":
        raise Misconception(
            f"""{call} sent the roles {common.roles(sent.messages)}: the system message is not the first.
            Look at the order of the list that you send."""
        )
    if not any(said == text for _, said in seen):
        raise Misconception(
            f"""{call} sent {common.count(len(seen), "message")}, and the question is none of them.
            The model answers the last thing that it reads.
            Look at what stands at the end of the list that you send."""
        )
    dialogue = [pair for pair in seen if pair[0] != "system"]
    if dialogue[-1] != ("user", text):
        raise Misconception(
            f"""{call} sent the question, and not as the user's last message: {shorten(repr(dialogue[-1]), 60)} is.
            Look at where in the list the question goes, and with which role."""
        )
    before = dialogue[:-1]
    if not before and stored:
        raise Misconception(
            f"""{call} sent the question without anything from the store.
            The model knows of the conversation what the request holds.
            Look at what you do with the messages that `load` gives."""
        )
    if len(before) > len(stored):
        raise Misconception(
            f"""{call} sent {len(before)} stored messages; the window is {WINDOW}.
            Everything is stored, a window of it is sent.
            Look at how many messages you ask the store for, or take of what it gives."""
        )
    if len(before) < len(stored):
        raise Misconception(
            f"""{call} sent {common.count(len(before), "stored message")} where {len(stored)} belong to the window.
            `WINDOW` counts stored messages, without the system message and the new question.
            Look at how many messages you ask the store for, or take of what it gives."""
        )
    raise Misconception(
        f"""{call} sent {len(before)} stored messages, not the newest; the first was {shorten(repr(before[0][1]), 50)}.
        Look at which end of the conversation you take."""
    )


def _was_appended(store: RivalStore, text: str, reply: str, version: int, call: str) -> None:
    appended_pair(store._appends, text, reply, call)
    _versions_given(store, [version], call)
    pad_untouched(store._appends[0][2], {"goal": "untouched"}, call)
    if any(list(each) != list(ADA) if isinstance(each, tuple | list) else True for each in store._conversations):
        raise Misconception(
            f"""{call} asked the store for another conversation than the one that it was given.
            Look at what you give to `load` and to `append` as the conversation."""
        )


def appended_pair(appends: Sequence[tuple[Any, Any, Any]], text: str, reply: str, call: str) -> None:
    """Look whether one append was given a question and the reply to it.

    Args:
        appends: messages, version and pad of each call of `append`.
        text: of the question.
        reply: the model's.
        call: how the turn is named in a message.

    Raises:
        Misconception: it was given something else.
    """
    if not appends:
        raise Misconception(
            f"""{call} returned a reply, and the store was given nothing.
            The next turn, in whichever process, will not know of this one.
            Look at what happens after the reply has come."""
        )
    if len(appends) > 1:
        raise Misconception(
            f"""{call} called `append` {len(appends)} times for one turn.
            Between two calls a rival may write, or the process may end: half a turn would stay.
            Look at whether question and reply go into one `append`."""
        )
    messages, _, _ = appends[0]
    if not isinstance(messages, list):
        raise Misconception(
            f"""{call} appended {shorten(repr(messages), 60)}; a store takes a list of messages.
            Look at the second argument of `append`."""
        )
    wrong = next((each for each in messages if not isinstance(each, dict)), None)
    if wrong is not None:
        name = wrong.type_name if isinstance(wrong, Opaque) else type(wrong).__name__
        raise Misconception(
            f"""{call} appended a {name} among the messages; the rule asks for plain dicts.
            A store writes JSON, and an object of the SDK is none.
            Look at what you append for the reply."""
        )
    if any(common.role(message) == "system" for message in messages):
        raise Misconception(
            f"""{call} appended a system message.
            It would be stored anew with each turn, and sent beside the program's own.
            Look at which of the messages belong to this turn."""
        )
    if len(messages) > 2:
        raise Misconception(
            f"""{call} appended {len(messages)} messages for one turn: what it had loaded, and the new ones.
            `append` adds to what is there; the store would hold the window twice.
            Look at which of the messages are new."""
        )
    if common.plain(messages) != [("user", text), ("assistant", reply)]:
        raise Misconception(
            f"""{call} appended {shorten(repr(common.plain(messages)), 80)}.
            A turn in the store is the question (user), then the reply (assistant).
            Look at the list that you give to `append`."""
        )


def pad_untouched(pad: Any, before: dict[str, Any], call: str) -> None:
    """Look whether a turn has left the pad as it was: None does that, and so does the pad itself.

    Raises:
        Misconception: it has written another one.
    """
    if pad not in (None, before):
        raise Misconception(
            f"""{call} appended the pad {shorten(repr(pad), 60)}.
            This turn knows nothing new for the pad; None leaves it as it is.
            Look at the last argument of `append`."""
        )


def _versions_given(store: RivalStore, versions: list[int], call: str) -> None:
    """Look whether each append was given the version that the load before it had given."""
    for (messages, given, _), version in zip(store._appends, versions, strict=False):
        if given == version and not isinstance(given, bool):
            continue
        if isinstance(messages, list) and len(messages) == 1:
            return  # question and reply apart, which has its own message
        if version == versions[0]:
            raise Misconception(
                f"""{call} appended to version {shorten(repr(given), 30)}; `load` had given {version}.
                The version says what the reply was made from; only the store knows what it means.
                Look at the third argument of `append`."""
            )
        raise Misconception(
            f"""{call} appended to version {shorten(repr(given), 30)} the second time; a `load` then gives {version}.
            A version is no counter of yours: only the store knows what comes after it.
            Look at where the version of the second attempt comes from."""
        )


def _empty_conversation(learner: Learner) -> None:
    store, call = RivalStore(), "`chat_turn` of a new conversation"
    store._stored, store._version = [], 0
    outcome = _turn(learner, store, "Hello?", "Hello!")
    _versions_given(store, [0], call)
    sent = common.only_request(learner, outcome, call)
    _was_sent(sent, [], "Hello?", call)
    common.reply_of(outcome, call, "Hello!")
    _was_appended(store, "Hello?", "Hello!", 0, call)


def _rival_once(learner: Learner) -> None:
    store, text = RivalStore([True]), "And of Italy?"
    call = "With a rival who was faster once, `chat_turn`"
    outcome = _turn(learner, store, text, "The first reply.", "The second reply.", "One more reply.")
    _versions_given(store, [40, 43], call)
    if outcome.exception is not None and "Conflict" in outcome.exception.names:
        raise Misconception(
            f"""{call} let the `Conflict` go on to its caller at once.
            A second attempt, with the rival's turn, would have answered the user.
            Look at what your code does when `append` raises."""
        )
    common.has_run(outcome, call)
    sent = learner.requests
    value = outcome.value
    if len(sent) == 1 and len(store._appends) > 1:
        raise Misconception(
            f"""{call} appended the old reply once more, without asking the model again.
            That reply was made without the rival's turn: it may repeat it, or contradict it.
            Look at which steps stand inside the loop."""
        )
    if len(sent) == 1:
        raise Misconception(
            f"""{call} returned {shorten(repr(value), 50)}, and the turn is not in the store.
            The user has read an answer that the next request knows nothing of.
            Look at what your code does after a `Conflict`."""
        )
    if len(sent) > 2:
        raise Misconception(
            f"""{call} sent {len(sent)} requests; the second one could be appended.
            Each costs money, and the user waits.
            Look at when your loop ends."""
        )
    rival = ["The rival's question 1", "The rival's answer 1"]
    said = [common.text(message) for message in sent[1].messages]
    if not set(rival) <= set(said):
        raise Misconception(
            f"""{call} asked the model again, and the second request did not hold the rival's turn.
            Then the second reply is worth no more than the first.
            Look at where `load` stands: before the loop, or in it."""
        )
    _was_sent(sent[1], [*TURNS[-2:], [user(rival[0]), assistant(rival[1])]], text, "The second attempt of `chat_turn`")
    pair = [user(text), assistant("The second reply.")]
    if common.plain(store._stored[-2:]) != common.plain(pair) or len(store._appends[-1][0]) != 2:
        raise Misconception(
            f"""{call} appended {shorten(repr(common.plain(store._appends[-1][0])), 80)} the second time.
            The turn is the question and the reply to the second request, and nothing of the first attempt.
            Look at what is left over from the first pass of your loop."""
        )
    common.reply_of(outcome, call, "The second reply.")


def _rival_meanwhile(learner: Learner) -> None:
    """The rival comes while the model thinks: the version must be older than the request."""
    store = RivalStore()
    call = "With a rival who writes while the model is asked, `chat_turn`"

    def reply(sent: Sent) -> str:
        if len(learner.requests) == 1:
            store._rival_writes()
        return f"Reply {len(learner.requests)}."

    outcome = _turn(learner, store, "And of Greece?", *[reply] * 9)
    common.has_run(outcome, call)
    if len(learner.requests) == 1:
        raise Misconception(
            f"""{call} appended a reply that was made without the rival's turn.
            Its version came from a `load` after the request: it says what is stored now, not what was sent.
            Look at which `load` gives the messages, and which one the version."""
        )
    common.reply_of(outcome, call, "Reply 2.")


def _rival_always(learner: Learner) -> None:
    store = RivalStore([True, True])
    call = "With a rival who was faster twice, `chat_turn`"
    outcome = _turn(learner, store, "And of Spain?", "One.", "Two.", "Three.", "Four.")
    if outcome.exception is not None and "Conflict" in outcome.exception.names:
        raise Misconception(
            f"""{call} gave up after {common.count(len(learner.requests), "attempt")}; the rule says three in all.
            Look at how your loop counts."""
        )
    common.reply_of(outcome, call, "Three.")
    store = RivalStore([True] * 99)
    call = "With a rival who is always faster, `chat_turn`"
    outcome = _turn(learner, store, "And of Spain?", *["A reply."] * 20)
    attempts = len(learner.requests)
    if outcome.exception is None:
        raise Misconception(
            f"""{call} returned {shorten(repr(outcome.value), 50)} after {common.count(attempts, "attempt")}.
            Nothing of it is in the store, and the caller believes that all is well.
            Look at what happens after the last attempt."""
        )
    if "Conflict" not in outcome.exception.names:
        raise Misconception(
            f"""{call} raised {common.shown(outcome.exception)}; the rule says that the `Conflict` goes on.
            Look at what your code raises after the last attempt."""
        )
    if attempts != ATTEMPTS:
        raise Misconception(
            f"""{call} asked the model {attempts} times; the rule says three attempts in all.
            Look at how your loop counts."""
        )


def _failing_model(learner: Learner) -> None:
    store, call = RivalStore(), "`chat_turn`"
    outcome = _turn(learner, store, "Are you there?", *[Failure("connection")] * 9)
    common.same_exception(outcome, call, common.NO_CONNECTION)
    if store._appends:
        raise Misconception(
            f"""{call} appended {shorten(repr(store._appends[0][0]), 60)} although the model had not answered.
            A question without an answer would be sent with each later request.
            Look at what your code does when the request fails."""
        )
    if len(learner.requests) > 1:
        raise Misconception(
            f"""{call} asked {len(learner.requests)} times although the network was gone.
            Only a `Conflict` is a reason for another attempt; the SDK tries again by itself where that helps.
            Look at which exceptions your loop catches."""
        )
