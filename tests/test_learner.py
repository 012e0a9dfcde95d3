"""The contract of `Learner`: one suite, run against both transports, and over the pipe into a sandbox, too."""

from __future__ import annotations

import codecs
import linecache
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from memory_tutor import replay
from memory_tutor.cassette import Request, Response
from memory_tutor.exercises import LearnerRaised, Misconception, NotAttempted, NotGradable
from memory_tutor.learner import Failure, KernelLearner, Learner, Opaque, PipeLearner, Reply, Sent
from memory_tutor.scripting import respond

CELLS = [
    """
from openai import AsyncOpenAI, OpenAI
import asyncio, threading, time
client, model = OpenAI(), "gpt-6-luna"
print("a cell prints")
""",
    """
def echo(value=None, *more, **named):
    return value

def add(numbers, *, to=None):
    numbers.append(4)
    if to is not None:
        to["seen"] = True
    print("added")

def make_list():
    return [1]

def own_encoding():
    import os
    with open(os.devnull) as file:
        return file.encoding

class Counter:
    instances = 0
    def __init__(self, start=0):
        self.count = start
    def add(self, n=1):
        self.count += n
        return self.count
    def me(self):
        return self
    def fail(self):
        raise KeyError("count")
    @property
    def broken(self):
        raise ValueError("broken")

def make_counter(start=0):
    return Counter(start)

def is_counter(thing):
    return isinstance(thing, Counter)

def stub(text):
    raise NotImplementedError

a_number = 3
""",
    """STORE = {}""",
    """
from dataclasses import dataclass as data
import collections

LIMIT = 2
LIMIT += 1
reply = print("not again")
calls = []
calls.append("a cell's own call")

def key_of(user):
    return ("key", user)

@data
class Session:
    user: str

def remember(user, text):
    STORE.setdefault(key_of(user), []).append(text)
    session = Session(user)
    return {"store": STORE, "limit": LIMIT, "calls": calls, "session": session.user,
            "counter": collections.Counter(STORE.keys())}

def first():
    return "old"
def first():
    return second()
def second():
    return first.__name__

def uses_client():
    return client is LIVE, "reply" in globals()
""",
    """
LIVE = client
print("never again")
""",
    """
def spin():
    while True:
        pass

def nap():
    time.sleep(60)

def stubborn():
    for _ in range(2):
        try:
            while True:
                time.sleep(0.01)
        except BaseException:
            pass
    return "done"

def chatter():
    while True:
        print("spam " * 100)

def big_print():
    for _ in range(3000):
        print("x" * 100)

def recurse():
    return recurse()

def leave():
    raise SystemExit("bye")

def interrupt():
    raise KeyboardInterrupt

def boom(history):
    history.append("half")
    broken = history["key"]

class Odd(Exception):
    def __str__(self):
        raise RuntimeError

class Loops(Exception):
    def __str__(self):
        while True:
            pass

def odd():
    raise Odd("x")

def loops():
    raise Loops("x")
""",
    """
class Liar(list):
    __class__ = str
    def __eq__(self, other):
        return True
    def __len__(self):
        return 99

class Slow:
    def __repr__(self):
        while True:
            pass

def liar():
    return Liar([1, 2])

def anything():
    return type("Anything", (), {"__eq__": lambda self, other: True})()

def slow_repr():
    return Slow()

def generator():
    yield 1

async def coroutine():
    return 1

def not_a_number():
    return [float("nan"), float("inf")]

def cycle():
    messages = []
    messages.append(messages)
    return messages

def deep():
    value = []
    for _ in range(10000):
        value = [value]
    return value

def huge():
    return list(range(10**6)), "x" * 10**7, 10**1000

def keyed():
    return {("a", 1): [(1, 2)], 3: None}

def warn():
    import sys, warnings
    print("to stderr", file=sys.stderr)
""",
    """
def ask(text):
    response = client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}])
    return response.choices[0].message.content

def ask_object(text):
    return client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}])

def usage(text):
    used = ask_object(text).usage
    return None if used is None else (used.prompt_tokens, used.completion_tokens, used.total_tokens)

def finish(text):
    return ask_object(text).choices[0].finish_reason

def stream(text):
    chunks = list(client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": text}],
        stream=True, stream_options={"include_usage": True}))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    return text, chunks[-1].usage.prompt_tokens

def respond(text):
    return client.responses.create(model=model, input=text).output_text

def ask_async(text):
    async def main():
        async with AsyncOpenAI() as asynchronous:
            response = await asynchronous.chat.completions.create(
                model=model, messages=[{"role": "user", "content": text}])
            return response.choices[0].message.content
    return asyncio.run(main())

def ask_in_threads(texts):
    replies = {}
    threads = [threading.Thread(target=lambda t=t: replies.update({t: ask(t)})) for t in texts]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return replies

def models():
    return [m.id for m in client.models.list().data]

def keep_asking():
    while True:
        ask("again")

def ask_safely(text):
    try:
        return ask(text)
    except Exception as error:
        return type(error).__name__, getattr(error, "status_code", None), str(error)
""",
    """
class Conflict(Exception):
    pass

def apply(f, *values):
    return f(*values)

def apply_named(f):
    return f(1, b=2)

def use_store(store):
    store.add("acme", "ada", "hello")
    return store.read("acme", "ada")

def reach(store):
    return hasattr(store, "_texts"), hasattr(store, "texts")

def catch(f):
    try:
        f()
    except Conflict as error:
        return "Conflict", error.args
    except ValueError as error:
        return "ValueError", error.args
    except Exception as error:
        return type(error).__name__, error.args

def in_a_thread(f):
    got = []
    thread = threading.Thread(target=lambda: got.append(f(1)))
    thread.start()
    thread.join()
    return got

def spin_in(f):
    while True:
        f()
""",
]
#: Only in a process of its own: these end it or block it for good.
DEADLY = """
import os
def end():
    os._exit(0)
def never():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
def freeze():
    import signal
    os.kill(os.getpid(), signal.SIGSTOP)
def signal_itself():
    import signal, time
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)
def nonsense(text):
    for fd in range(3, 100):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith(("pipe:", "socket:")):
                os.write(fd, text.encode())
        except OSError:
            pass
"""


INTERRUPTED = """
import time
def obeys(begun):
    begun()
    time.sleep(60)
def swallows(begun):
    begun()
    for _ in range(2):
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass
"""


def notebook(cells: list[str]) -> dict[str, Any]:
    """The globals of a notebook in this process, as IPython keeps them."""
    namespace: dict[str, Any] = {"__name__": "__main__", "In": ["", *cells]}
    for number, cell in enumerate(cells):
        name = f"<ipython-input-{id(namespace)}-{number}>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        exec(compile(cell, name, "exec", dont_inherit=True), namespace)
    return namespace


def opener(request: pytest.FixtureRequest, transport: str) -> Callable[[list[str]], PipeLearner]:
    """What runs cells in a process of their own: on this machine, or in a sandbox."""
    if transport == "pipe":
        return PipeLearner
    opened: Callable[[list[str]], PipeLearner] = request.getfixturevalue("sandbox").learner
    return opened


@pytest.fixture(scope="module", params=["kernel", "pipe", "sandbox"])
def shared(request: pytest.FixtureRequest) -> Iterator[Learner]:
    """One learner for the module: a process takes a second to start."""
    if request.param == "kernel":
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_API_KEY", "placeholder")
            namespace = notebook(CELLS)
        yield KernelLearner(namespace)
    else:
        set_up = "import os\nos.environ['OPENAI_API_KEY'] = 'placeholder'"
        with opener(request, request.param)([set_up, *CELLS, DEADLY]) as learner:
            assert [result.error for result in learner.cell_results] == [""] * (len(CELLS) + 2)
            yield learner


@pytest.fixture
def learner(shared: Learner, monkeypatch: pytest.MonkeyPatch) -> Learner:
    monkeypatch.setenv("OPENAI_API_KEY", "placeholder")
    shared.script()
    return shared


# -- values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -0.0, "Zoë 🦜", "\ud800", [1, (2, "x")], {"a": {("t", 1): [None]}, 3: ()}, 2**200],
    ids=repr,
)
def test_values_arrive_and_come_back(learner: Learner, value: Any) -> None:
    outcome = learner.call("echo", value, 1, [2], named=value)
    assert repr(outcome.value) == repr(value) == repr(outcome.kwargs["named"])
    assert repr(outcome.args) == repr((value, 1, [2]))


def test_arguments_are_copies_and_are_seen_as_the_call_left_them(learner: Learner) -> None:
    numbers, seen = [1, 2, 3], {"a": 1}
    outcome = learner.call("add", numbers, to=seen)
    assert outcome.value is None and outcome.stdout == "added\n"
    assert outcome.args == ([1, 2, 3, 4],) and outcome.kwargs == {"to": {"a": 1, "seen": True}}
    assert numbers == [1, 2, 3] and seen == {"a": 1}


def test_arguments_are_seen_after_an_exception(learner: Learner) -> None:
    assert learner.call("boom", ["whole"]).args == (["whole", "half"],)


def test_tuple_keys_and_odd_numbers(learner: Learner) -> None:
    assert learner.call("keyed").value == {("a", 1): [(1, 2)], 3: None}
    nan, infinite = learner.call("not_a_number").value
    assert math.isnan(nan) and infinite == math.inf


def test_a_check_is_told_when_it_passes_what_cannot_cross(learner: Learner) -> None:
    with pytest.raises(TypeError, match=r"learner\.callback"):
        learner.call("echo", print)


@pytest.mark.parametrize(
    ("function", "type_name", "text"),
    [
        ("generator", "generator", "generator"),
        ("coroutine", "coroutine", "write `def`, not `async def`"),
        ("anything", "Anything", "Anything"),
        ("make_counter", "Counter", "Counter"),
        ("ask_object", "ChatCompletion", "ChatCompletion("),
    ],
)
def test_what_cannot_cross_is_opaque(learner: Learner, function: str, type_name: str, text: str) -> None:
    arguments = ["x"] if function == "ask_object" else []
    value = learner.call(function, *arguments).value
    assert type(value) is Opaque and value.type_name == type_name and text in repr(value)
    assert value != [1, 2] and value != "" and " at 0x" not in repr(value)


def test_a_liar_is_what_it_is(learner: Learner) -> None:
    value = learner.call("liar").value
    assert type(value) is list and value == [1, 2] and value != [3]


@pytest.mark.parametrize(("function", "says"), [("cycle", "contains itself"), ("deep", "nested more than")])
def test_endless_values_are_opaque(learner: Learner, function: str, says: str) -> None:
    value = learner.call(function).value
    while type(value) is list:
        (value,) = value
    assert says in repr(value)


def test_too_much_is_opaque(learner: Learner) -> None:
    items, text, number = learner.call("huge").value
    assert "1000000 items" in repr(items) and "10000000 characters" in repr(text) and "bits" in repr(number)


def test_a_repr_that_never_ends_is_the_time_limit(learner: Learner) -> None:
    outcome = learner.call("slow_repr", seconds=0.5)
    assert outcome.exception is not None and outcome.exception.name == "TimeLimit"


# -- what is not there -------------------------------------------------------------------------------


def test_input_that_nobody_answers_is_an_error_and_no_stub() -> None:
    # What ipykernel raises where there is no keyboard is a NotImplementedError.
    cell = "class StdinNotImplementedError(NotImplementedError): pass\ndef ask():\n    raise StdinNotImplementedError"
    namespace: dict[str, Any] = {}
    exec(cell, namespace)
    outcome = KernelLearner(namespace).call("ask")
    assert outcome.exception is not None and outcome.exception.name == "StdinNotImplementedError"


def test_not_attempted(learner: Learner) -> None:
    with pytest.raises(NotAttempted, match="`nowhere` is not defined"):
        learner.call("nowhere")
    with pytest.raises(NotAttempted, match="`stub` is waiting for your code"):
        learner.call("stub", "text")
    with pytest.raises(NotAttempted, match="`a_number` is 3 here, not a function"):
        learner.call("a_number")


# -- exceptions --------------------------------------------------------------------------------------


def test_an_exception_tells_class_message_and_own_line(learner: Learner) -> None:
    outcome = learner.call("boom", [])
    raised = outcome.exception
    assert raised is not None and raised.names == ("TypeError", "Exception", "BaseException")
    assert raised.message.startswith("list indices must be integers")
    assert raised.line == 'broken = history["key"]' and raised.line_number is not None and raised.line_number > 30
    with pytest.raises(LearnerRaised, match=r"`boom` raised TypeError: list (.|\n)* line 3.*broken ="):
        _ = outcome.value
    with pytest.raises(LearnerRaised):
        _ = outcome.handle


def test_of_a_long_line_that_part_is_quoted_that_failed() -> None:
    def quoted(line: str) -> str:
        with KernelLearner(notebook([f"def f(m):\n    {line}\n"])) as learner:
            raised = learner.call("f", {"role": "tool"}).exception
        assert raised is not None and len(raised.line) <= 80
        return raised.line

    begin, end = 'return {"index": 0, "who": "Ünä", "role": m["role"], "first": m["role"][:40], ', '"b": m["role"][:9]}'
    line = quoted(begin + '"characters": len(m["content"]), ' + end)
    assert line.startswith("…") and line.endswith("…") and 'len(m["content"]), ' in line
    assert quoted(begin + '"a": m["content"]}').endswith('"a": m["content"]}')
    assert quoted('return m["content"], ' + begin[7:] + end).startswith('return m["content"], {"index"')
    assert quoted('return m["content"]') == 'return m["content"]'


def test_the_own_line_is_the_learners_where_a_library_raised(learner: Learner) -> None:
    learner.script(Failure("connection"))
    raised = learner.call("ask", "x").exception
    assert raised is not None and raised.line.startswith("response = client.chat.completions.create(")


@pytest.mark.parametrize(
    ("function", "name", "message"),
    [
        ("recurse", "RecursionError", "recursion"),
        ("leave", "SystemExit", "bye"),
        ("interrupt", "KeyboardInterrupt", ""),
        ("odd", "Odd", ""),
        ("loops", "Loops", ""),
    ],
)
def test_whatever_is_raised_is_reported(learner: Learner, function: str, name: str, message: str) -> None:
    raised = learner.call(function).exception
    assert raised is not None and raised.name == name and message in raised.message
    assert raised.line_number is not None


# -- output ------------------------------------------------------------------------------------------


def test_output_is_captured_and_bounded(learner: Learner, capfd: pytest.CaptureFixture[str]) -> None:
    outcome = learner.call("big_print")
    assert outcome.stdout.startswith("xxx") and len(outcome.stdout) < 30_000
    assert outcome.stdout.endswith("[the rest is left out]")
    assert learner.call("warn").stderr == "to stderr\n"
    assert capfd.readouterr() == ("", "")


# -- time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "line"),
    [
        ("spin", "while True:|pass"),
        ("nap", "time.sleep"),
        ("chatter", "print|while True"),
        ("keep_asking", "ask|create"),
    ],
)
def test_code_that_does_not_return_is_stopped(learner: Learner, function: str, line: str) -> None:
    outcome = learner.call(function, seconds=0.5)
    assert outcome.exception is not None and outcome.exception.name == "TimeLimit"
    with pytest.raises(
        LearnerRaised, match=rf"`{function}` was stopped. It did not return within 0\.5 seconds\.\n.*({line})"
    ):
        _ = outcome.value
    assert len(outcome.stdout) < 30_000
    assert learner.call("echo", 1).value == 1


def test_code_that_swallows_the_interrupt_is_interrupted_again(learner: Learner) -> None:
    outcome = learner.call("stubborn", seconds=0.5)
    assert outcome.exception is not None and outcome.exception.name == "TimeLimit"


def test_code_that_spins_around_a_callback_is_stopped(learner: Learner) -> None:
    outcome = learner.call("spin_in", learner.callback(lambda: 1), seconds=0.5)
    assert outcome.exception is not None and outcome.exception.name == "TimeLimit"
    assert learner.call("echo", 2).value == 2


# -- handles -----------------------------------------------------------------------------------------


def test_a_handle_reaches_the_object_itself(learner: Learner) -> None:
    counter = learner.call("make_counter", 5, keep=True).handle
    assert counter.call("add").value == 6 and counter.call("add", n=4).value == 10
    assert counter.get("count") == 10
    assert type(counter.value) is Opaque
    me = counter.call("me", keep=True).handle
    assert me.same(counter) and counter.same(me)
    assert not counter.same(learner.call("make_counter", keep=True).handle)
    assert learner.call("is_counter", counter).value is True
    assert learner.call("echo", [{"deep": counter}], keep=True).handle.value != []


def test_a_handle_shows_the_value_as_it_is_now(learner: Learner) -> None:
    numbers = learner.call("make_list", keep=True).handle
    learner.call("add", numbers)
    assert numbers.value == [1, 4]
    assert learner.call("echo", numbers, keep=True).handle.same(numbers)


def test_failures_behind_a_handle(learner: Learner) -> None:
    outcome = learner.call("make_counter", keep=True)
    raised = outcome.handle.call("fail").exception
    assert raised is not None and raised.name == "KeyError"
    with pytest.raises(LearnerRaised, match=r"`make_counter.broken` raised ValueError: broken"):
        outcome.handle.get("broken")
    with pytest.raises(LearnerRaised, match=r"`make_counter\.absent` raised AttributeError"):
        outcome.handle.get("absent")
    missing = outcome.handle.call("absent").exception
    assert missing is not None and missing.name == "AttributeError"
    with pytest.raises(ValueError, match="keep=True"):
        _ = learner.call("make_counter").handle


def test_a_global_object_is_found_and_may_be_passed(learner: Learner) -> None:
    client = learner.find("client")
    assert client.same(learner.find("client"))
    copy = client.call("with_options", default_query={"by": "the check"}, keep=True).handle
    assert not copy.same(client)
    learner.script("Found.")
    chat = copy.call("chat", keep=True)
    assert chat.exception is not None, "a part of an object is no method"
    assert learner.find("STORE").value == {}
    with pytest.raises(NotAttempted, match="`nowhere` is not defined yet"):
        learner.find("nowhere")


def test_a_restarted_notebook_has_the_same_client_and_other_globals(learner: Learner) -> None:
    fresh = learner.fresh(["remember"])
    assert fresh.find("client").same(learner.find("client"))
    assert not fresh.find("STORE").same(learner.find("STORE"))
    with pytest.raises(NotAttempted):
        fresh.find("make_counter")


# -- callbacks ---------------------------------------------------------------------------------------


class Store:
    def __init__(self) -> None:
        self._texts: list[Any] = []

    def add(self, tenant: str, user: str, text: str) -> None:
        self._texts.append((tenant, user, text))

    def read(self, tenant: str, user: str) -> list[str]:
        return [text for *key, text in self._texts if key == [tenant, user]]


def test_a_function_of_the_check(learner: Learner) -> None:
    assert learner.call("apply", learner.callback(lambda a, b: (a, {b: 1})), [1], "b").value == ([1], {"b": 1})
    assert learner.call("apply_named", learner.callback(lambda a, b: a + b)).value == 3
    assert learner.call("in_a_thread", learner.callback(lambda n: n + 1)).value == [2]


def test_a_store_of_the_check_and_nothing_but_its_methods(learner: Learner) -> None:
    store = Store()
    lent = learner.callback(store)
    assert learner.call("use_store", lent).value == ["hello"]
    assert store.read("acme", "ada") == ["hello"]
    assert learner.call("reach", lent).value == (False, False)


class Conflict(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (ValueError("no", 3), ("ValueError", ("no", 3))),
        (Conflict("stale"), ("Conflict", ("stale",))),
        (type("Special", (KeyError,), {})("k"), ("KeyError", ("k",))),
        (type("Unknown", (Exception,), {})("?"), ("Exception", ("?",))),
    ],
)
def test_an_exception_of_the_check_is_raised_there(learner: Learner, error: Exception, seen: Any) -> None:
    def fail() -> None:
        raise error

    assert learner.call("catch", learner.callback(fail)).value == seen


def test_a_failed_check_in_a_callback_ends_the_check(learner: Learner) -> None:
    def fail() -> None:
        raise Misconception("You may not call this.")

    with pytest.raises(Misconception, match="may not call"):
        learner.call("catch", learner.callback(fail))
    assert learner.call("echo", 1).value == 1


def test_a_callback_that_returns_what_cannot_cross_is_the_checks_fault(learner: Learner) -> None:
    with pytest.raises(TypeError, match="not a set"):
        learner.call("catch", learner.callback(lambda: {1}))


def test_a_callback_may_call_the_learners_code(learner: Learner) -> None:
    counter = learner.call("make_counter", keep=True).handle

    def rival(number: int) -> Any:
        return counter.call("add", number).value + learner.call("echo", 10).value

    assert learner.call("apply", learner.callback(rival), 5).value == 15
    assert learner.call("in_a_thread", learner.callback(rival)).value == [16]
    assert counter.get("count") == 6


def test_a_callback_may_return_what_the_check_holds(learner: Learner) -> None:
    counter = learner.call("make_counter", 7, keep=True).handle
    got = learner.call("apply", learner.callback(lambda: counter), keep=True).handle
    assert got.same(counter)


# -- requests ----------------------------------------------------------------------------------------


def test_requests_are_seen_and_answered(learner: Learner) -> None:
    learner.script("Hello.", None, Reply("Cut", finish_reason="length"))
    assert [learner.call(f, "x").value for f in ("ask", "ask", "finish", "ask")] == ["Hello.", None, "length", "OK."]
    assert len(learner.requests) == 4
    assert learner.requests[0].messages == [{"role": "user", "content": "x"}]
    assert learner.requests[0].body["model"] == "gpt-6-luna"
    assert learner.requests[0].path == "/chat/completions"
    learner.script()
    assert learner.requests == []


def test_usage(learner: Learner) -> None:
    learner.script(Reply("x", prompt_tokens=31, completion_tokens=4), Reply("x", usage=False))
    assert learner.call("usage", "x").value == (31, 4, 35)
    assert learner.call("usage", "x").value is None
    assert learner.call("usage", "x").value == learner.call("usage", "x").value


def test_streams_and_responses_and_async_and_threads(learner: Learner) -> None:
    learner.script(Reply("One two three.", prompt_tokens=9), "From responses.", "Async.")
    assert learner.call("stream", "x").value == ("One two three.", 9)
    assert learner.call("respond", "x").value == "From responses."
    assert learner.call("ask_async", "x").value == "Async."
    assert [sent.messages for sent in learner.requests] == [[{"role": "user", "content": "x"}]] * 3
    learner.script(*["OK."] * 8)
    assert learner.call("ask_in_threads", list("abcdefgh")).value == dict.fromkeys("abcdefgh", "OK.")
    assert {sent.messages[0]["content"] for sent in learner.requests} == set("abcdefgh")


def test_asking_for_models_takes_no_reply(learner: Learner) -> None:
    learner.script("First.")
    assert learner.call("models").value == ["gpt-6-luna"]
    assert learner.call("ask", "x").value == "First."


@pytest.mark.parametrize(
    ("failure", "name", "status", "says"),
    [
        (Failure("connection"), "APIConnectionError", None, "Connection error"),
        (Failure("timeout"), "APITimeoutError", None, "timed out"),
        (Failure("bug"), "ValueError", None, "The endpoint failed"),
        (Failure(400, "Too long."), "BadRequestError", 400, "Too long."),
        (Failure(429), "RateLimitError", 429, "429"),
        (Failure(500), "InternalServerError", 500, "500"),
    ],
)
def test_failures_come_once(learner: Learner, failure: Failure, name: str, status: int | None, says: str) -> None:
    learner.script(failure, "Again.")
    kind, code, text = learner.call("ask_safely", "x").value
    assert (kind, code) == (name, status) and says in text
    assert len(learner.requests) == 1, "the SDK must not try again by itself"
    assert learner.call("ask", "x").value == "Again."


def test_a_reply_may_be_made_when_the_request_has_come(learner: Learner) -> None:
    def reply(sent: Sent) -> Reply:
        rival = learner.call("ask", "rival").value if sent.messages[0]["content"] == "mine" else ""
        return Reply(f"{sent.messages[0]['content']} {rival}")

    learner.script(reply, reply)
    assert learner.call("ask", "mine").value == "mine rival "
    assert [sent.messages[0]["content"] for sent in learner.requests] == ["mine", "rival"]


def test_a_reply_that_fails_is_the_checks_fault(learner: Learner) -> None:
    learner.script(lambda sent: {}["absent"])
    with pytest.raises(KeyError):
        learner.call("ask_safely", "x")

    def wrong(sent: Sent) -> Reply:
        raise Misconception("Two requests.")

    learner.script(wrong)
    with pytest.raises(Misconception, match="Two requests"):
        learner.call("ask_safely", "x")


# -- another machine ---------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt" or bool(sys.flags.utf8_mode), reason="files have one encoding, whatever the locale")
def test_a_machine_whose_own_encoding_is_ascii(learner: Learner) -> None:
    own = learner.call("own_encoding").value
    plain = learner.on_ascii()
    assert codecs.lookup(plain.call("own_encoding").value).name == "ascii"
    assert plain.call("boom", []).exception is not None
    assert learner.call("own_encoding").value == own


# -- fresh -------------------------------------------------------------------------------------------


def test_fresh_globals(learner: Learner) -> None:
    before = learner.call("remember", "ada", "one").value
    assert before["store"][("key", "ada")][-1] == "one"
    fresh = learner.fresh(["remember"])
    after = fresh.call("remember", "ada", "two").value
    assert after["store"] == {("key", "ada"): ["two"]}, "STORE of another cell is new"
    assert after["limit"] == 3 and after["session"] == "ada"
    assert after["calls"] == [], "a call at the top of a cell is not repeated"
    assert fresh.call("remember", "ada", "three").value["store"] == {("key", "ada"): ["two", "three"]}
    again = learner.call("remember", "bob", "x").value["store"]
    assert again[("key", "ada")][-1] == "one", "the notebook's own globals are as they were"


def test_fresh_takes_the_latest_definition_and_what_it_calls(learner: Learner) -> None:
    assert learner.fresh(["first"]).call("first").value == "first"


def test_fresh_carries_the_client_over_and_shares_script_and_requests(learner: Learner) -> None:
    fresh = learner.fresh(["uses_client", "ask"])
    assert fresh.call("uses_client").value == (True, False)
    learner.script("Shared.")
    assert fresh.call("ask", "x").value == "Shared."
    assert len(learner.requests) == len(fresh.requests) == 1


def test_fresh_runs_again_what_adds_to_a_name_and_not_what_a_parameter_is_called_like() -> None:
    cells = [
        "ran = []",
        "def mark():\n    ran.append(1)\n    return []",
        "history = mark()",
        "def add(history):\n    history += [1]\n    return history, len(ran)",
        "total = 1\ntotal += 1",
        "def sum_up():\n    return total",
    ]
    fresh = KernelLearner(notebook(cells)).fresh(["add", "sum_up"])
    assert fresh.call("add", []).value == ([1], 0) and fresh.call("sum_up").value == 2


def test_fresh_classes_and_handles(learner: Learner) -> None:
    fresh = learner.fresh(["make_counter"])
    counter = fresh.call("make_counter", 1, keep=True).handle
    assert counter.call("add").value == 2
    assert learner.call("is_counter", counter).value is False, "its class was made anew"
    with pytest.raises(NotAttempted):
        fresh.call("remember", "a", "b")
    with pytest.raises(NotAttempted):
        learner.fresh(["nowhere"]).call("nowhere")


def test_fresh_code_has_lines_too(learner: Learner) -> None:
    raised = learner.fresh(["boom"]).call("boom", []).exception
    assert raised is not None and raised.line == 'broken = history["key"]'


def test_fresh_code_raises_the_exceptions_that_it_knows(learner: Learner) -> None:
    def fail() -> None:
        raise Conflict("stale")

    fresh = learner.fresh(["catch"])
    assert fresh.call("catch", learner.callback(fail)).value == ("Conflict", ("stale",))


# -- the kernel alone --------------------------------------------------------------------------------


def test_two_namespaces_do_not_leak() -> None:
    one = KernelLearner(notebook(["STORE = []\ndef put(x):\n    STORE.append(x)\n    return STORE"]))
    two = KernelLearner(notebook(["STORE = []\ndef put(x):\n    STORE.append(x)\n    return STORE"]))
    assert one.call("put", 1).value == [1] and two.call("put", 2).value == [2]
    two.script("x")
    assert one.requests == []


def test_the_interrupt_handler_is_given_back_and_nothing_is_left_over() -> None:
    learner = KernelLearner(notebook(["import time\ndef nap(s):\n    time.sleep(s)"]))
    before = signal.getsignal(signal.SIGINT)
    for step in range(60):
        # Around the moment at which the limit falls: whichever comes first, nothing may come later.
        learner.call("nap", 0.02 + step % 5 * 0.0002, seconds=0.02)
        assert signal.getsignal(signal.SIGINT) is before
    time.sleep(0.1)


def test_a_users_interrupt_is_a_keyboard_interrupt() -> None:
    learner = KernelLearner(notebook([INTERRUPTED]))
    for function in ("obeys", "swallows"):
        begun, over = threading.Event(), threading.Event()

        def press(begun: threading.Event = begun, over: threading.Event = over) -> None:
            begun.wait()
            for _ in range(2):  # the code swallows the first, and the second is swallowed as well
                if not over.wait(0.2):
                    os.kill(os.getpid(), signal.SIGINT)

        keyboard = threading.Thread(target=press)
        keyboard.start()
        with pytest.raises(KeyboardInterrupt) as caught:
            learner.call(function, learner.callback(begun.set), seconds=30)
        over.set()
        keyboard.join()
        assert caught.type is KeyboardInterrupt, "a notebook shows the name"


def test_code_on_another_thread_runs_without_a_limit() -> None:
    learner = KernelLearner(notebook(["def echo(x):\n    return x"]))
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(learner.call("echo", 1).value))
    thread.start()
    thread.join()
    assert got == [1]


def test_what_is_in_no_cell_is_taken_over() -> None:
    namespace = notebook(["def f():\n    return helper()"])
    namespace["helper"] = lambda: "from elsewhere"
    assert KernelLearner(namespace).fresh(["f"]).call("f").value == "from elsewhere"


def test_a_cell_run_again_and_cells_that_fail() -> None:
    cells = [
        "BASE = {'n': 1}",
        "def make():\n    return dict(BASE)",
        "MADE = make()\ndef get():\n    MADE['n'] += 1\n    return MADE",
        "def get(:",
        "BASE = {'n': 5}",
        "total = await nothing()",
        "from __future__ import annotations\ndef typed(x: Later) -> Later:\n    return get()",
        "class Later:\n    pass",
    ]
    namespace = notebook([cells[0], cells[1], cells[2], cells[4], cells[6], cells[7]])
    namespace["In"] = cells
    learner = KernelLearner(namespace)
    assert learner.fresh(["typed"]).call("typed", 0).value == {"n": 2}


def test_the_transcript_and_the_tape_see_nothing_of_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    tape = replay.open_empty()
    monkeypatch.setenv("OPENAI_API_KEY", "placeholder")
    learner = KernelLearner(notebook([*CELLS[:1], CELLS[7]]))
    assert learner.call("ask", "x").value == "OK."
    assert len(tape.transcript) == 0
    namespace = notebook([*CELLS[:1], CELLS[7]])
    assert "No recording" in namespace["ask_safely"]("x")[2]


def test_in_a_real_kernel() -> None:
    """A check's calls, their limit and what is left behind, where ipykernel handles interrupts its own way."""
    sources = [
        "import signal\nfrom memory_tutor.learner import KernelLearner",
        "STORE = []\ndef put(x):\n    print('hidden')\n    STORE.append(x)\n    return STORE\n"
        "def nap():\n    import time\n    time.sleep(60)",
        "learner = KernelLearner(get_ipython().user_ns)\n"
        "before = signal.getsignal(signal.SIGINT)\n"
        "print(learner.call('put', 1).value, learner.fresh(['put']).call('put', 2).value)\n"
        "print(learner.call('nap', seconds=0.5).exception.line)\n"
        "print(signal.getsignal(signal.SIGINT) is before)",
        "import asyncio\nawait asyncio.sleep(0)\nprint('still here')",
    ]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    done = NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=60, kernel_name="python3").execute()
    printed = "".join(output["text"] for cell in done.cells for output in cell.outputs if output["name"] == "stdout")
    assert printed == "[1] [2]\ntime.sleep(60)\nTrue\nstill here\n"


# -- the process alone -------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["pipe", "sandbox"])
def deadly(request: pytest.FixtureRequest) -> Iterator[PipeLearner]:
    with opener(request, request.param)(
        [DEADLY, "STORE = []\ndef echo(x):\n    STORE.append(x)\n    return STORE"]
    ) as learner:
        yield learner


@pytest.mark.parametrize(
    ("function", "name"),
    [("end", "ProcessEnded"), ("never", "TimeLimit"), ("freeze", "TimeLimit"), ("signal_itself", "KeyboardInterrupt")],
)
def test_a_process_that_dies_or_hangs_is_replaced(deadly: PipeLearner, function: str, name: str) -> None:
    kept = deadly.call("echo", 1, keep=True).handle
    fresh = deadly.fresh(["echo"])
    fresh.call("echo", 0)
    outcome = deadly.call(function, seconds=0.5)
    if function == "freeze" and outcome.exception is None:
        return  # the first process of a namespace cannot be stopped from within
    assert outcome.exception is not None and outcome.exception.name == name
    with pytest.raises(LearnerRaised, match=f"`{function}`"):
        _ = outcome.value
    if name == "KeyboardInterrupt":
        return
    with pytest.raises(LearnerRaised, match="lost"):
        _ = kept.value
    assert deadly.call("echo", 2).value == [2]
    assert fresh.call("echo", 3).value == [3]


@pytest.mark.parametrize(
    "text", ["nonsense\n", "[1]\n", '{"result": 77}\n', '{"ask": "callback"}\n', '{"result": []}\n', "[" * 9999 + "\n"]
)
def test_nonsense_on_the_pipe_is_not_gradable(deadly: PipeLearner, text: str) -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("looks for the pipe in /proc")
    with pytest.raises(NotGradable, match="cannot be read"):
        deadly.call("nonsense", text)
    assert deadly.call("echo", 1).value == [1]


def test_a_callback_outlives_a_process_that_dies_in_it(deadly: PipeLearner) -> None:
    with PipeLearner([DEADLY, "def apply(f):\n    return f()"]) as learner:
        inner: list[Any] = []
        outcome = learner.call("apply", learner.callback(lambda: inner.append(learner.call("end").exception)))
        assert inner[0].name == "ProcessEnded"
        assert outcome.exception is not None and outcome.exception.name == "ProcessEnded"
        assert learner.call("apply", learner.callback(lambda: 3)).value == 3


def test_cells_run_as_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Response:
        asked.append(request)
        if len(asked) == 2:
            raise replay.NotRecorded("This request is not recorded.")
        return respond(request, "From the recording.")

    cells = [
        "import os, memory_tutor\nfrom openai import OpenAI\n"
        "tutor = memory_tutor.start('01_stateless_calls')\nclient, model = OpenAI(), tutor.model\n"
        "tutor.check('ask'); tutor.hint('ask'); tutor.predict('x', 'a'); tutor.reveal('x')",
        "def ask(text):\n    messages = [{'role': 'user', 'content': text}]\n"
        "    return client.chat.completions.create(model=model, messages=messages).choices[0].message.content\n"
        "first = ask('one')",
        "second = ask('two')",
        "%time x = 1\n!rm -rf nowhere\nfiles = !ls\n%pip install nothing",
        "import asyncio\nawait asyncio.sleep(0)\nawaited = True",
        "def broken(:",
        "%%bash\necho no",
        "import sys\nprint('{\"ready\": true}'); sys.stdout.flush(); os.write(1, b'{\"ready\": true}\\n')\n"
        "read = sys.stdin.readline()",
        "raise SystemExit",
        "def seen():\n    return first, awaited, read, x, __name__, os.environ['OPENAI_API_KEY']",
    ]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-teacher")
    with PipeLearner(cells, answer) as learner:
        errors = [result.error for result in learner.cell_results]
        assert [bool(error) for error in errors] == [False, False, True, False, False, True, False, False, True, False]
        assert "not recorded" in errors[2] and errors[5].startswith("SyntaxError") and "SystemExit" in errors[8]
        *seen, key = learner.call("seen").value
        assert seen == ["From the recording.", True, "", 1, "__main__"] and "teacher" not in key
        learner.script("From the check.")
        assert learner.call("ask", "three").value == "From the check."
        assert [command.strip() for command in learner.cell_results[3].refused[:2]] == ["rm -rf nowhere", "ls"]
        assert "install nothing" in learner.cell_results[3].refused[2]
        assert [command.strip() for command in learner.cell_results[6].refused] == ["echo no"]
    assert len(asked) == 2


def test_a_cell_that_ends_the_process_is_left_out() -> None:
    with PipeLearner(["import os\nos._exit(3)", "def f():\n    return 1"]) as learner:
        assert learner.call("f").value == 1
        assert "ended the whole Python process" in learner.cell_results[0].error
    with pytest.raises(NotGradable, match="cells end or block"):
        PipeLearner(["import os\nos._exit(3)"] * 5)


@pytest.mark.parametrize("transport", ["kernel", "pipe", "sandbox"])
def test_a_folder_is_there_for_both_sides_until_the_learner_is_closed(
    transport: str, request: pytest.FixtureRequest
) -> None:
    cell = (
        "from pathlib import Path\ndef put(folder, text):\n    (Path(folder) / 'x').write_text(text, encoding='utf-8')"
    )
    with KernelLearner(notebook([cell])) if transport == "kernel" else opener(request, transport)([cell]) as learner:
        one, two = learner.folder(), learner.fresh(["put"]).folder()
        assert one != two and list(Path(one).iterdir()) == []
        learner.call("put", one, "ä")
        learner.fresh(["put"]).call("put", two, "b")
        assert [(Path(each) / "x").read_text(encoding="utf-8") for each in (one, two)] == ["ä", "b"]
    assert not Path(one).exists() and not Path(two).exists()


def test_cells_run_in_the_folder_of_their_notebook_or_in_one_of_their_own(tmp_path: Path) -> None:
    cell = "import os\ndef here():\n    return os.getcwd()"
    with PipeLearner([cell], directory=tmp_path) as learner:
        assert Path(learner.call("here").value).samefile(tmp_path)
    with PipeLearner([cell]) as learner:
        own = Path(learner.call("here").value)
        assert own != Path.cwd() and own.is_dir()
    assert not own.exists()


def test_temporary_folders_of_the_cells_are_gone_with_their_process() -> None:
    cell = "import tempfile\nkept = tempfile.TemporaryDirectory()\ndef where():\n    return kept.name"
    with PipeLearner([cell]) as learner:
        folder = Path(learner.call("where").value)
        assert folder.is_dir()
    assert not folder.exists()


def test_cells_may_await_at_their_top_also_requests_that_run_at_once() -> None:
    cells = [
        "import asyncio\nfrom openai import AsyncOpenAI",
        """
async def ask(client, text):
    response = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
    return response.choices[0].message.content
async with AsyncOpenAI(api_key="k") as client:
    replies = await asyncio.gather(ask(client, "one"), ask(client, "two"))
""",
        "def said():\n    return replies\ndef sync():\n    return asyncio.run(asyncio.sleep(0, 'done'))",
    ]

    def answer(request: Request) -> Response:
        return respond(request, request.body["messages"][0]["content"].upper())

    with PipeLearner(cells, answer) as learner:
        assert [result.error for result in learner.cell_results] == ["", "", ""]
        assert learner.call("said").value == ["ONE", "TWO"]
        assert learner.fresh(["said"]).call("said").value == ["ONE", "TWO"]
        assert learner.call("sync").value == "done"


def test_without_an_answer_cells_are_refused() -> None:
    ask = "import os\nos.environ['OPENAI_API_KEY'] = 'x'\nfrom openai import OpenAI\nOpenAI().models.list()"
    with PipeLearner([ask]) as learner:
        assert "nothing is sent" in learner.cell_results[0].error


def test_closing_ends_the_process_and_what_it_started() -> None:
    cells = [
        "import os, subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])",
        "def pids():\n    return os.getpid(), child.pid",
    ]
    with PipeLearner(cells) as learner:
        pids = learner.call("pids").value
    deadline = time.monotonic() + 10
    while any(map(_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_alive, pids))
    learner.close()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        # One that has ended and that nobody has waited for still has a number.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return not Path("/proc").is_dir()
