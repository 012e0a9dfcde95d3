"""How a check reaches a learner's code: by function name, with plain values, over one of two transports.

    outcome = learner.call("say", history, "Hello")
    outcome.value      # what it returned
    outcome.args[0]    # the history as the call left it

`KernelLearner` runs the code in this process, `PipeLearner` in a process of its own that is given the
notebook's cells. Both send the same messages to the same `worker.Worker`, and every value crosses through
`codec`: what a check gets is made of built-in types and `Opaque`, and is a copy.
"""

from __future__ import annotations

import inspect
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from memory_tutor import codec
from memory_tutor.cassette import Request, Response
from memory_tutor.codec import CodecError, Opaque
from memory_tutor.exercises import CheckFailed, LearnerRaised, NotAttempted, NotGradable
from memory_tutor.hosts import Host, ThisMachine
from memory_tutor.pipe import NONSENSE, UNREADABLE, Allowance, CellResult, Pipe
from memory_tutor.raised import MESSAGE, Raised
from memory_tutor.scripting import FALLBACK, Failure, Reply, Scripted, ScriptedError, Sent, asks_model, respond
from memory_tutor.variation import Variation
from memory_tutor.worker import PRINTED, Ask, Message, Worker

__all__ = [
    "CellResult",
    "Failure",
    "Handle",
    "KernelLearner",
    "Learner",
    "Opaque",
    "Outcome",
    "PipeLearner",
    "Raised",
    "Reply",
    "Sent",
]

T = TypeVar("T")
#: Seconds that a call may take.
SECONDS = 5.0
#: From which checks make up conversations, unless a class has a seed of its own.
SEED = 8


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of a call.

    Args:
        name: of what was called, for messages.
        args: the positional arguments as the call left them.
        kwargs: the keyword arguments likewise.
        stdout: what it printed, the beginning of it.
        stderr: likewise.
        exception: that came out of it, or None.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    stdout: str
    stderr: str
    exception: Raised | None
    _value: Any
    _handle: Handle | None

    @property
    def value(self) -> Any:
        """What the call returned.

        Raises:
            LearnerRaised: it raised an exception instead.
        """
        self._must_have_returned()
        return self._value

    @property
    def handle(self) -> Handle:
        """The returned object itself, where the call was made with `keep=True`.

        Raises:
            LearnerRaised: it raised an exception instead.
        """
        self._must_have_returned()
        if self._handle is None:
            raise ValueError(f"Call {self.name} with keep=True to have a handle.")
        return self._handle

    def _must_have_returned(self) -> None:
        if self.exception is not None:
            raise LearnerRaised(self.exception.tell(self.name))


@dataclass(frozen=True, eq=False)
class Handle:
    """An object on the learner's side. It may be passed as an argument."""

    _learner: Learner
    _number: int
    _generation: int
    _name: str

    def call(
        self, method: str, /, *args: object, keep: bool = False, seconds: float = SECONDS, **kwargs: object
    ) -> Outcome:
        """Call a method of the object; see `Learner.call`."""
        return self._learner._call(method, self, args, kwargs, keep=keep, seconds=seconds)

    def get(self, attribute: str) -> Any:
        """The value of an attribute.

        Raises:
            LearnerRaised: it has none, or reading it raised an exception.
        """
        return self._learner._read("get", self, f"{self._name}.{attribute}", name=attribute)

    @property
    def value(self) -> Any:
        """The object as a value, as it is now."""
        return self._learner._read("value", self, self._name)

    def same(self, other: Handle) -> bool:
        """Whether both are one and the same object."""
        return self._learner._read("same", self, self._name, other=self._learner._number(other)) is True


@dataclass(frozen=True)
class Callback:
    """Something of the check's, as an argument: a function, or an object with some methods."""

    number: int
    name: str
    methods: tuple[str, ...] | None


class Desk:
    """What the check serves to the learner's code: scripted replies, and its own functions and stores.

    The code may ask from several threads at once.

    Args:
        host: has the folders that both sides reach.
    """

    #: From which checks make up what they try, and how names in what they say are exchanged.
    seed = SEED
    variation: Variation | None = None

    def __init__(self, host: Host) -> None:
        self.host = host
        self.requests: list[Sent] = []
        self._script: deque[Scripted] = deque()
        self._lent: list[tuple[Any, Callback]] = []
        self._lock = threading.Lock()
        self._fault: Exception | None = None

    def script(self, replies: Iterable[Scripted]) -> None:
        """Forget what was sent, and queue replies."""
        with self._lock:
            self.requests = []
            self._script = deque(replies)

    def lend(self, thing: Any) -> Callback:
        """Make something of the check's callable from the learner's code."""
        number = len(self._lent)
        public = [name for name in dir(thing) if not name.startswith("_") and callable(getattr(thing, name))]
        if inspect.isroutine(thing) or (callable(thing) and not public):
            callback = Callback(number, getattr(thing, "__name__", type(thing).__name__), None)
        else:
            callback = Callback(number, type(thing).__name__, tuple(public))
        self._lent.append((thing, callback))
        return callback

    def serve(self, question: Message) -> Message:
        """Answer a question of the learner's side.

        Raises:
            Exception: one of UNREADABLE: it is no question.
        """
        if self.variation is None:
            return self._serve(question)
        answer: Message = self.variation.theirs(self._serve(self.variation.ours(question)))
        return answer

    def _serve(self, question: Message) -> Message:
        if question["ask"] == "http":
            request = _read_request(question)
            try:
                return _response(self._reply(request))
            except Exception as error:
                import openai

                # A failure that was scripted is for the learner's code; anything else is the check's own.
                return self._raised(error, own=not isinstance(error, openai.OpenAIError | ScriptedError))
        function = self._function(question["number"], question["name"])
        args = [codec.decode(wire) for wire in question["args"]]
        kwargs = {key: codec.decode(wire) for key, wire in question["kwargs"].items()}
        try:
            value = function(*args, **kwargs)
        except Exception as error:
            return self._raised(error, own=isinstance(error, CheckFailed))
        try:
            return {"value": codec.encode(value, _lent)}
        except Exception as error:
            return self._raised(error, own=True)

    def take_fault(self) -> Exception | None:
        """What the check has raised while it served, and is to end the check; it is given once."""
        fault, self._fault = self._fault, None
        return fault

    def _reply(self, request: Request) -> Response:
        sent = Sent.of(request)
        scripted: Scripted = FALLBACK
        with self._lock:
            self.requests.append(sent)
            if self._script and asks_model(request):
                scripted = self._script.popleft()
        return respond(request, scripted(sent) if callable(scripted) else scripted)

    def _function(self, number: int, name: str) -> Callable[..., Any]:
        thing, callback = self._lent[number]
        if callback.methods is None:
            function: Callable[..., Any] = thing
        elif name in callback.methods:
            function = getattr(thing, name)
        else:
            raise CodecError(f"The check serves no {name!r}.")
        return function

    def _raised(self, error: Exception, *, own: bool) -> Message:
        if own:
            self._fault = self._fault or error
        return _raised(error)


def _raised(error: Exception) -> Message:
    """The answer to a question that says what was raised: names of classes, never a class."""
    names = [kind.__name__ for kind in type(error).__mro__]
    return {"raised": {"names": names, "args": codec.encode(list(error.args))}}


def _response(response: Response) -> Message:
    return {"response": [response.status, response.content_type, response.body]}


def _read_request(question: Message) -> Request:
    return Request(str(question["method"]), str(question["path"]), codec.decode(question["body"]))


def _lent(value: object) -> codec.Wire:
    """The wire form of what a check passes beside plain values."""
    if isinstance(value, Callback):
        return {"callback": [value.number, value.name, value.methods]}
    if isinstance(value, Handle):
        return {"handle": value._learner._number(value)}
    raise TypeError(
        f"A check passes plain values, handles and callbacks, not a {type(value).__name__}: "
        "learner.callback(…) makes a callback of a function or a store."
    )


class Transport(Protocol):
    """The way to a learner's code."""

    #: Grows when the code had to be started anew and all that was kept there is lost.
    generation: int

    def ready(self) -> None:
        """See that the code can be reached; raises NotGradable where it cannot."""

    def exchange(self, message: Message) -> Message:
        """Send a message to the worker, return its report."""

    def close(self) -> None:
        """End what was started."""


class Learner:
    """A learner's functions.

    Args:
        transport: the way to them.
        desk: serves them.
        names: of the definitions to run again with clean globals; none for the notebook as it is.
    """

    def __init__(self, transport: Transport, desk: Desk, names: Sequence[str] = ()) -> None:
        self._transport = transport
        self._desk = desk
        self._names = names
        self._space = (0, 0)  # generation, number
        self._ascii = False

    def call(
        self, name: str, /, *args: object, keep: bool = False, seconds: float = SECONDS, **kwargs: object
    ) -> Outcome:
        """Call a function of the learner's.

        Args:
            name: of the function.
            args: plain values, handles and callbacks; the function gets copies.
            keep: whether the returned object is kept on their side, for `Outcome.handle`.
            seconds: that the call may take.
            kwargs: likewise.

        Raises:
            NotAttempted: there is no such function, or it is still the stub.
        """
        return self._call(name, None, args, kwargs, keep=keep, seconds=seconds)

    def find(self, name: str) -> Handle:
        """A global object of the learner's, such as the notebook's `client`, to be handed to a call.

        Raises:
            NotAttempted: there is no such name.
        """
        self._transport.ready()
        generation = self._transport.generation
        report = self._exchange({"op": "find", "name": name, "space": self._find_space(), "seconds": SECONDS})
        if "missing" in report:
            raise NotAttempted(_told(report["missing"], MESSAGE))
        try:
            return Handle(self, _whole(report["handle"]), generation, name)
        except UNREADABLE as error:
            raise NotGradable(NONSENSE) from error

    def callback(self, thing: Any) -> Callback:
        """An argument that the check serves: a function, or an object with its public methods.

        Values cross in both directions; an exception that it raises is raised in the learner's code as
        their, the SDK's or Python's exception of that name. A CheckFailed ends the check.
        """
        return self._desk.lend(thing)

    def folder(self) -> str:
        """A new empty folder that both the learner's code and the check can reach; `close` removes it.

        What is in it afterwards is the learner's doing: a check reads only regular files, and not without end.

        Returns:
            Its path, as a text that crosses to the learner's code.
        """
        return self._desk.host.folder()

    def no_room(self) -> str:
        """That the learner's code has used up the room for its files, a sentence; "" if it has not: see `Host`."""
        return self._desk.host.no_room()

    def aside(self, function: Callable[..., T], *args: object) -> T:
        """Do something of the check's with the files in such a folder, where they can do no harm.

        To open a database is to believe what it says of itself, and of other files: where a learner's code is kept in
        a sandbox, so is what opens its files. A regular file of bytes is read without this.

        Args:
            function: of a module that imports nothing of this package.
            args: plain values, which the returned value is, too.
        """
        return self._desk.host.run(function, *args)

    def fresh(self, names: Iterable[str]) -> Learner:
        """The same learner after a restart: these definitions, and what they need, run again.

        Args:
            names: of functions and classes.

        Returns:
            A learner that shares the script and the requests with this one.
        """
        fresh = Learner(self._transport, self._desk, tuple(names))
        self._transport.ready()
        fresh._find_space()
        return fresh

    def on_ascii(self) -> Learner:
        """The same learner on a machine whose own encoding is ASCII: a file that is opened without naming one has it.

        It is so while a function or method is called, and only where Python takes the machine's encoding from the
        locale of the moment: not in its UTF-8 mode, nor under Windows.

        Returns:
            A learner that shares the script, the requests and the globals with this one.
        """
        plain = Learner(self._transport, self._desk, self._names)
        plain._space, plain._ascii = self._space, True
        return plain

    def script(self, *replies: Scripted) -> None:
        """Queue the model's replies, and forget what was sent; when they are used up, it says "OK."

        Args:
            replies: a text, None, a Reply, a Failure, or a function that makes one from what was Sent.
        """
        self._desk.script(replies)

    @property
    def requests(self) -> list[Sent]:
        """What was sent since the last `script`."""
        return list(self._desk.requests)

    def vary(self, variation: Variation | None) -> None:
        """Exchange the names in what is said from here on, or leave them as they are."""
        self._desk.variation = variation

    @property
    def seed(self) -> int:
        """From which a check makes up what it tries, so that another class meets other conversations."""
        return self._desk.seed

    def close(self) -> None:
        """End what was started for this learner, and remove their folders."""
        self._transport.close()
        self._desk.host.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- messages --------------------------------------------------------------------------------------

    def _call(
        self,
        name: str,
        handle: Handle | None,
        args: Sequence[object],
        kwargs: dict[str, object],
        *,
        keep: bool,
        seconds: float,
    ) -> Outcome:
        self._transport.ready()
        encoder = codec.Encoder(_lent)
        generation = self._transport.generation
        message: Message = {"op": "call", "name": name, "keep": keep, "seconds": seconds, "ascii": self._ascii}
        message["handle"] = None if handle is None else self._number(handle)
        message["space"] = self._find_space()
        message["args"] = [encoder.encode(value) for value in args]
        message["kwargs"] = {key: encoder.encode(value) for key, value in kwargs.items()}
        report = self._exchange(message)
        if "missing" in report:
            raise NotAttempted(_told(report["missing"], MESSAGE))
        what = f"`{name}`" if handle is None else f"`{handle._name}.{name}`"
        try:
            exception = Raised.read(report["exception"]) if "exception" in report else None
            lost = {"opaque": ["lost", "<not known: the process was stopped>"]}
            after = report.get("args", [lost] * len(args))
            after_named = report.get("kwargs", dict.fromkeys(kwargs, lost))
            number = report.get("handle")
            outcome = Outcome(
                what,
                tuple(codec.decode(wire) for wire in after),
                {key: codec.decode(wire) for key, wire in after_named.items()},
                _told(report.get("stdout", ""), 2 * PRINTED),
                _told(report.get("stderr", ""), 2 * PRINTED),
                exception,
                None if exception else codec.decode(report["value"]),
                None if number is None else Handle(self, _whole(number), generation, name),
            )
            if len(outcome.args) != len(args) or outcome.kwargs.keys() != kwargs.keys():
                raise CodecError("These are not the arguments of the call.")
        except UNREADABLE as error:
            raise NotGradable(NONSENSE) from error
        # Its own name: the error of input() where nobody can answer is a NotImplementedError too.
        if exception is not None and exception.name == "NotImplementedError":
            raise NotAttempted(f"{what} is waiting for your code: it still raises NotImplementedError.")
        return outcome

    def _read(self, operation: str, handle: Handle, what: str, **more: object) -> Any:
        self._transport.ready()
        message = {"op": operation, "handle": self._number(handle), "seconds": SECONDS, **more}
        return self._result(message, f"`{what}`")

    def _result(self, message: Message, what: str) -> Any:
        """The value that a message other than a call gets."""
        report = self._exchange(message)
        try:
            if "exception" in report:
                raise LearnerRaised(Raised.read(report["exception"]).tell(what))
            return codec.decode(report["value"])
        except UNREADABLE as error:
            raise NotGradable(NONSENSE) from error

    def _exchange(self, message: Message) -> Message:
        try:
            report = self._exchange_varied(message)
        except BaseException:
            self._desk.take_fault()
            raise
        if (fault := self._desk.take_fault()) is not None:
            raise fault
        return report

    def _exchange_varied(self, message: Message) -> Message:
        if (variation := self._desk.variation) is None:
            return self._transport.exchange(message)
        report = self._transport.exchange(variation.theirs(message))
        try:
            varied: Message = variation.ours(report)
        except ValueError as error:
            raise NotGradable(NONSENSE) from error
        return varied

    def _number(self, handle: Handle) -> int:
        """The number under which the worker keeps an object."""
        if handle._generation != self._transport.generation:
            raise LearnerRaised(
                f"What `{handle._name}` returned is lost: an earlier call had to be stopped, and your code "
                "was started anew."
            )
        return handle._number

    def _find_space(self) -> int:
        """The number of the namespace on the worker's side, made when there is none."""
        generation, number = self._space
        if self._names and generation != self._transport.generation:
            generation = self._transport.generation
            message = {"op": "fresh", "names": list(self._names), "seconds": SECONDS}
            number = self._result(message, "Running your definitions again")
            self._space = (generation, number)
        return number


def _told(said: object, most: int) -> str:
    """What the learner's side says, of a length and in letters that any file of ours can hold."""
    return codec.printable(codec.shorten(str(said), most))


def _whole(number: object) -> int:
    """A number under which something is kept; JSON has others, and infinity."""
    if type(number) is not int:
        raise CodecError("This is no number of anything.")
    return number


class KernelLearner(Learner):
    """The functions of a notebook in this process.

    Args:
        namespace: its globals; IPython keeps the sources of the cells in "In" there.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        desk = Desk(ThisMachine())
        super().__init__(_Kernel(namespace, desk), desk)


class _Kernel:
    """The transport within one process. Messages are copied as JSON: it behaves like the pipe."""

    generation = 1

    def __init__(self, namespace: dict[str, Any], desk: Desk) -> None:
        cells = namespace.get("In")
        self._desk = desk
        self._worker = Worker(namespace, cells if isinstance(cells, list) else [], self._ask)

    def ready(self) -> None:
        pass

    def exchange(self, message: Message) -> Message:
        from memory_tutor import replay

        with replay.scripted(self._worker.forward):
            return _copy(self._worker.handle(_copy(message)))

    def close(self) -> None:
        pass

    def _ask(self, question: Message) -> Message:
        return _copy(self._desk.serve(_copy(question)))


def _copy(message: Message) -> Message:
    copy: Message = json.loads(json.dumps(message))
    return copy


class PipeLearner(Learner):
    """The functions of a notebook that runs in a process of its own; a context manager that ends it.

    Args:
        cells: sources of its code cells.
        answer: gives the recorded responses to what the cells send when they are run; what it raises is
            raised there. None refuses every request.
        directory: in which the cells run, as a notebook's cells run where it lies; None for one of their own.
        host: starts the process; None for this machine, as it is.
        lend: gives the course's own answers that the notebook asks for; None refuses each.
        allowance: what the process may take of our time; None for what it likes.
        seed: exchanges the names in the texts that checks say, and is what they make up theirs from; None for the
            course's own.
    """

    def __init__(
        self,
        cells: Sequence[str],
        answer: Callable[[Request], Response] | None = None,
        directory: Path | None = None,
        host: Host | None = None,
        lend: Callable[[str], Message] | None = None,
        allowance: Allowance | None = None,
        seed: int | None = None,
    ) -> None:
        desk = Desk(host or ThisMachine(directory))
        if seed is not None:
            desk.seed, desk.variation = seed, Variation(seed)
        self._pipe = Pipe(
            cells,
            _or_lend(lend, desk.serve),
            _or_lend(lend, lambda question: _answer_cells(question, answer or _refuse)),
            desk.host,
            allowance or Allowance(),
        )
        super().__init__(self._pipe, desk)
        try:
            self._pipe.ready()
        except BaseException:
            self.close()
            raise

    @property
    def cell_results(self) -> list[CellResult]:
        """What became of each cell when it was run last."""
        return list(self._pipe.results)


def _or_lend(lend: Callable[[str], Message] | None, serve: Ask) -> Ask:
    """Answer questions for the course's own answers, and leave others to somebody else."""

    def answer(question: Message) -> Message:
        if question["ask"] != "reference":
            return serve(question)
        name = str(question["name"])
        return {"refused": f"The course's own {name} is not to be had here."} if lend is None else lend(name)

    return answer


def _answer_cells(question: Message, answer: Callable[[Request], Response]) -> Message:
    if question["ask"] != "http":
        raise CodecError("While cells are run, nothing is lent.")
    request = _read_request(question)
    try:
        return _response(answer(request))
    except Exception as error:
        return _raised(error)


def _refuse(request: Request) -> Response:
    import openai

    raise openai.OpenAIError(f"No recording answers {request.method} {request.path}: nothing is sent.")
