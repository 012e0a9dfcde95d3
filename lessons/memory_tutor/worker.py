"""The learner's side: runs their functions on request and reports what came of it.

One `Worker` serves both transports: in the kernel it stands in the same process as the check; for a
notebook that is graded elsewhere it stands in a process of its own, behind a pipe. A worker knows no
expected value: a message says what to call, the report says what that did.

A message to the worker is a dict with "op" and "seconds":

- call: "name" of a function in "space", or of a method of "handle"; "args", "kwargs", "keep"
- find: keeps what "name" is in "space"
- get: attribute "name" of "handle"; value: of "handle"; same: whether "handle" and "other" are one object
- fresh: runs "names" again in a new space; the report's "value" is its number

The report has "value" or "exception", "args" and "kwargs" as the call left them, "stdout" and "stderr",
and "handle" where the value is kept; or "missing", a sentence, where there is no such function.

Meanwhile the worker asks the check's side, by a dict with "ask", and gets "value", "response" or "raised":

- http: the "method", "path" and "body" of a request; callback: "number", "name", "args", "kwargs"
- reference: the "name" of an answer of the course's own, and gets "cells", or "refused", a sentence
"""

from __future__ import annotations

import builtins
import io
import linecache
import locale
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from functools import partial
from itertools import islice
from types import CoroutineType, TracebackType
from typing import Any, TypeVar

from memory_tutor import codec
from memory_tutor.cassette import Request, Response
from memory_tutor.raised import LINE, MESSAGE
from memory_tutor.restart import rerun
from memory_tutor.timelimit import Interrupted, TimeLimitReached, within

T = TypeVar("T")
Message = dict[str, Any]
Ask = Callable[[Message], Message]

#: Characters that are kept of what one call prints.
PRINTED = 20_000
#: Characters that are quoted of a long line behind what failed in it.
AFTER = 10
#: Seconds for what a report needs of the learner's own methods: a repr, the text of an exception. On a busy machine a
#: collection of garbage, which may fall into it, takes its time, too.
ASIDE = 5.0


class Worker:
    """Serves one learner's namespace.

    Args:
        namespace: the globals in which their cells were run.
        cells: the sources of these cells, in order; the list may grow.
        ask: sends a question to the check's side and returns the answer.
    """

    def __init__(self, namespace: dict[str, Any], cells: Sequence[str], ask: Ask) -> None:
        self._spaces = [namespace]
        self._cells = cells
        self._ask = ask
        self._kept: list[object] = []

    def handle(self, message: Message) -> Message:
        """Do what a message says.

        Returns:
            The report. Whatever the learner's code raises is in it, SystemExit and a KeyboardInterrupt
            of its own included.

        Raises:
            KeyboardInterrupt: the user interrupted it.
        """
        match message["op"]:
            case "call":
                return self._call(message)
            case "find":
                return self._find(message)
            case "get":
                kept = self._kept[message["handle"]]
                return self._attempt(message, lambda: getattr(kept, message["name"]))
            case "value":
                return self._attempt(message, lambda: self._kept[message["handle"]])
            case "same":
                return {"value": self._kept[message["handle"]] is self._kept[message["other"]]}
            case "fresh":
                return self._attempt(message, lambda: self._fresh(message["names"]))
        raise ValueError(f"A worker knows no {message['op']!r}.")

    def forward(self, request: Request) -> Response:
        """Have the check's side answer an HTTP request; for `replay.scripted`.

        Raises:
            Exception: what the check's side says that the request raises.
        """
        body = codec.encode(request.body)
        answer = self._ask({"ask": "http", "method": request.method, "path": request.path, "body": body})
        if "raised" in answer:
            raise _exception({}, **answer["raised"])
        return Response(*answer["response"])

    def describe(self, error: BaseException, seconds: float) -> Message:
        """What a report says of an exception.

        Args:
            error: that came out of the learner's code.
            seconds: the limit that was set for it.
        """
        number, line = self._own_line(_traceback(error))
        if type(error) is TimeLimitReached:
            names, text = ["TimeLimit"], over_time(seconds)
        else:
            names = [codec.class_name(kind) for kind in codec.class_mro(error)[:-1] if kind is not Interrupted]
            text = _aside(lambda: str.__str__(str(error)), "")
        text = codec.printable(codec.shorten(text, MESSAGE))
        return {"names": names, "message": text, "line_number": number, "line": codec.printable(line)}

    # -- running their code ----------------------------------------------------------------------------

    def _call(self, message: Message) -> Message:
        name, space = message["name"], self._spaces[message["space"]]
        restore = partial(self._restore, space)
        args: list[Any] = [codec.decode(wire, restore) for wire in message["args"]]
        kwargs = {key: codec.decode(wire, restore) for key, wire in message["kwargs"].items()}
        if message["handle"] is not None:
            kept = self._kept[message["handle"]]
            return self._attempt(message, lambda: getattr(kept, name)(*args, **kwargs), args, kwargs)
        if name not in space:
            return {"missing": f"`{name}` is not defined yet."}
        function = space[name]
        if not callable(function):
            return {"missing": f"`{name}` is {codec.safe_repr(function)} here, not a function."}
        return self._attempt(message, lambda: function(*args, **kwargs), args, kwargs)

    def _find(self, message: Message) -> Message:
        name, space = message["name"], self._spaces[message["space"]]
        if name not in space:
            return {"missing": f"`{name}` is not defined yet."}
        self._kept.append(space[name])
        return {"handle": len(self._kept) - 1}

    def _attempt(
        self,
        message: Message,
        action: Callable[[], object],
        args: Sequence[object] = (),
        kwargs: dict[str, object] | None = None,
    ) -> Message:
        out, err = _Printed(), _Printed()
        encoder = codec.Encoder()
        report: Message = {}

        def run() -> None:
            value = action()
            if type(value) is CoroutineType:
                value.close()
                value = codec.Opaque("coroutine", "<a coroutine: write `def`, not `async def`>")
            if message.get("keep"):
                self._kept.append(value)
                report["handle"] = len(self._kept) - 1
            report["value"] = encoder.encode(value)

        def changed(value: object) -> codec.Wire:
            lost = {"opaque": ["unreadable", "<a value that does not let itself be read>"]}
            return _aside(lambda: encoder.encode(value), lost)

        with redirect_stdout(out), redirect_stderr(err):
            try:
                with _on_ascii() if message.get("ascii") else nullcontext():
                    within(message["seconds"], run)
            except Interrupted:
                raise KeyboardInterrupt from None
            except BaseException as error:
                report = {"exception": self.describe(error, message["seconds"])}
            report["args"] = [changed(value) for value in args]
            report["kwargs"] = {key: changed(value) for key, value in (kwargs or {}).items()}
        return {**report, "stdout": out.text(), "stderr": err.text()}

    def _fresh(self, names: list[str]) -> int:
        self._spaces.append(rerun(self._cells, names, self._spaces[0]))
        return len(self._spaces) - 1

    def _own_line(self, trace: TracebackType | None) -> tuple[int | None, str]:
        """Number and text of the last line, on the way to an exception, that stands in a learner's cell."""
        own: tuple[int | None, str] = (None, "")
        while trace is not None:
            if any(trace.tb_frame.f_globals is space for space in self._spaces):
                line = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
                own = (trace.tb_lineno, _quoted(line, trace))
            trace = trace.tb_next
        return own

    # -- what the check lends --------------------------------------------------------------------------

    def _restore(self, space: dict[str, Any], tag: str, inside: Any) -> Any:
        """A value that is no data: something that was kept, or something that the check serves."""
        if tag == "handle":
            return self._kept[inside]
        number, name, methods = inside
        if methods is None:
            return self._served(space, number, name)
        served = {method: staticmethod(self._served(space, number, method)) for method in methods}
        return type(name, (), served)()

    def _served(self, space: dict[str, Any], number: int, name: str) -> Callable[..., Any]:
        """A function that the check's side runs: values go there, a value or an exception comes back."""

        def served(*args: object, **kwargs: object) -> Any:
            encoder = codec.Encoder()
            ask: Message = {"ask": "callback", "number": number, "name": name}
            ask["args"] = [encoder.encode(value) for value in args]
            ask["kwargs"] = {key: encoder.encode(value) for key, value in kwargs.items()}
            answer = self._ask(ask)
            if "raised" in answer:
                raise _exception(space, **answer["raised"])
            return codec.decode(answer["value"], partial(self._restore, space))

        served.__name__ = served.__qualname__ = name
        return served


def over_time(seconds: float) -> str:
    """The sentence for code that did not return within so many seconds."""
    return f"It did not return within {seconds:g} second{'' if seconds == 1 else 's'}."


@contextmanager
def _on_ascii() -> Iterator[None]:
    """Have the locale of plain C: in it, the encoding of files for which none is named is ASCII."""
    before = locale.setlocale(locale.LC_CTYPE)
    locale.setlocale(locale.LC_CTYPE, "C")
    try:
        yield
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


def _aside(action: Callable[[], T], instead: T) -> T:
    """What a learner's own method gives, where it gives something in time."""
    try:
        return within(ASIDE, action)
    except Interrupted:
        raise
    except BaseException:
        return instead


def _traceback(error: BaseException) -> TracebackType | None:
    """The real traceback: a class of the learner's may say what it likes."""
    found: TracebackType | None = BaseException.__dict__["__traceback__"].__get__(error)
    return found


def _quoted(line: str, trace: TracebackType) -> str:
    """A line of code, which is cut, where it is long, so that what failed in it stays.

    Args:
        line: as it stands in the cell.
        trace: of the frame that was in it.
    """
    text = line.strip()
    if len(text) <= LINE:
        return text
    positions = islice(trace.tb_frame.f_code.co_positions(), trace.tb_lasti // 2, None)
    first, last, start, end = next(positions, (None, None, None, None))
    if first != last:  # what failed goes on in the next line
        end = start
    counted = line.encode("utf-8", "surrogatepass")  # Python counts bytes, from the beginning of the line
    begin, stop = (len(counted[: at or 0].decode("utf-8", "replace").lstrip()) for at in (start, end))
    if stop < LINE or begin < LINE // 4:
        return codec.shorten(text, LINE)
    begin = min(begin, min(len(text), stop + AFTER) - LINE + 2)
    return codec.shorten("…" + text[begin:], LINE)


def _exception(space: dict[str, Any], names: Sequence[str], args: codec.Wire) -> Exception:
    """The exception that the check's side raised, as the learner's code knows it.

    Args:
        space: globals of the learner, who may have been given a class of their own.
        names: of its classes, the most special first; the first that is known here is made.
        args: of the exception, in wire form.
    """
    import openai

    known = codec.decode(args)
    for name in names:
        for source in (vars(builtins), vars(openai), space):
            kind = source.get(name)
            if isinstance(kind, type) and issubclass(kind, Exception):
                return _made(kind, known)
    return RuntimeError(*known)


def _made(kind: type[Exception], args: Sequence[Any]) -> Exception:
    import httpx2
    import openai

    if issubclass(kind, openai.APIConnectionError):
        # These two differ in how they are made, but both need a request and find their own words.
        return kind(request=httpx2.Request("POST", "https://api.openai.com/v1/chat/completions"))
    try:
        return kind(*args)
    except Exception:  # its __init__ wants something else
        return kind.__new__(kind, *args)


class _Printed(io.TextIOBase):
    """Keeps the beginning of what is printed; code that prints without end must not eat the memory."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._room = PRINTED

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if not issubclass(type(text), str):
            raise TypeError(f"write() argument must be str, not {codec.type_name(text)}")
        text = str.__str__(text)
        if self._room > 0 and text:
            self._parts.append(text[: self._room])
        self._room -= len(text)
        return len(text)

    def text(self) -> str:
        cut = "\n[the rest is left out]" if self._room < 0 else ""
        return codec.printable("".join(self._parts)) + cut
