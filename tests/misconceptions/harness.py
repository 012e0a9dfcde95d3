"""Checks answers of every kind, in this process and over the pipe, and says what their checks must make of them.

A module of answers has two dicts, WRONG and RIGHT, from the name of an exercise to its answers. A wrong
answer is (label, code, fragment of the message that it must get), a right one (label, code).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from textwrap import dedent
from typing import Any

import pytest

from memory_tutor import course, notebooks
from memory_tutor.authoring import STUB
from memory_tutor.checks import find_exercise
from memory_tutor.exercises import Result, run_check
from memory_tutor.grading.sandbox import Sandbox
from memory_tutor.learner import KernelLearner, Outcome, PipeLearner
from memory_tutor.variation import Variation

Wrong = Mapping[str, Sequence[tuple[str, str, str]]]
Right = Mapping[str, Sequence[tuple[str, str]]]

#: What a lesson's set-up cell gives.
SET_UP = 'from openai import OpenAI\nclient, model = OpenAI(api_key="none"), "gpt-6-luna"'
#: Puts an answer into the process that serves all answers of a lesson: to start one takes a second.
SWITCH = """
def use_answer(code, cells=tuple(In)):
    exec(code, globals())
    In[:] = [*cells, code]  # a restart runs the definitions of the cells again
"""

TRANSPORTS = ("kernel", "pipe")


class ImpatientKernel(KernelLearner):
    """Gives each call half a second, so that a loop without end does not hold the tests up."""

    def call(self, name: str, /, *args: object, keep: bool = False, seconds: float = 0.5, **kwargs: object) -> Outcome:
        return super().call(name, *args, keep=keep, seconds=seconds, **kwargs)


class ImpatientPipe(PipeLearner):
    """The same in a process of its own."""

    def call(self, name: str, /, *args: object, keep: bool = False, seconds: float = 0.5, **kwargs: object) -> Outcome:
        return super().call(name, *args, keep=keep, seconds=seconds, **kwargs)


#: By the lesson and whether it is impatient; None for the one in the sandbox.
_pipes: dict[tuple[str, bool | None], PipeLearner] = {}


def _pipe(lesson: str, impatient: bool) -> PipeLearner:
    """The one process that serves the answers to a lesson's exercises."""
    key = (lesson, impatient)
    if key not in _pipes:
        _pipes[key] = (ImpatientPipe if impatient else PipeLearner)([SET_UP, *given(lesson), SWITCH])
    return _pipes[key]


def close_pipes() -> None:
    """End the processes that the answers have run in."""
    while _pipes:
        _pipes.popitem()[1].close()


@cache
def given(lesson: str) -> list[str]:
    """The lesson's cells that its answers build on: GIVEN, in the module of its answers, has their ids."""
    ids = getattr(import_module(f"test_{lesson}"), "GIVEN", [])
    sources = {cell.id: cell.source for cell in notebooks.read(course.path("lessons", lesson)).cells}
    return [sources[id_] for id_ in ids]


def kernel(lesson: str, code: str, kind: type[KernelLearner] = KernelLearner) -> KernelLearner:
    """A learner in this process, who has run the lesson's cells and an answer."""
    # An interactive session's globals are those of __main__, and each answer begins with clean ones.
    namespace: dict[str, Any] = {"__name__": "__main__", "In": [*given(lesson), dedent(code)]}
    for cell in [SET_UP, *namespace["In"]]:
        exec(cell, namespace)
    return kind(namespace)


@cache
def outcome(name: str, code: str, transport: str, *, impatient: bool = False) -> Result:
    """Check an answer. A check is deterministic: what one test has found, another need not find again.

    Args:
        name: of the exercise.
        code: of the answer cell.
        transport: "kernel" or "pipe".
        impatient: give each call half a second.
    """
    exercise = find_exercise(name)
    if transport == "kernel":
        with kernel(exercise.lesson, code, ImpatientKernel if impatient else KernelLearner) as learner:
            return run_check(exercise, learner)
    served = _pipe(exercise.lesson, impatient)
    assert served.call("use_answer", dedent(code), seconds=5).exception is None
    return run_check(exercise, served)


def outcome_in(sandbox: Sandbox, name: str, code: str) -> Result:
    """Check an answer as a grader does: in its sandbox, with the names of another class."""
    exercise = find_exercise(name)
    key = (exercise.lesson, None)
    if key not in _pipes:
        cells = [SET_UP, *given(exercise.lesson), SWITCH]
        _pipes[key] = sandbox.learner(cells, lesson=exercise.lesson, seconds=3600, seed=11)
    assert _pipes[key].call("use_answer", dedent(code), seconds=5).exception is None
    _pipes[key].vary(None if exercise.by_files else Variation(11))
    return run_check(exercise, _pipes[key])


def stub(answer: str) -> str:
    """What a learner finds in an answer cell, as `memory-tutor build` makes it."""
    return f"def {answer}(*args):\n    {STUB}"


def odd_answers(name: str) -> dict[str, str]:
    """Answers that are no attempt at the contract, whatever it is: none may pass or break its check."""
    return {
        "returns None": f"def {name}(*args): pass",
        "generator": f"def {name}(*args):\n    yield 'OK.'",
        "coroutine": f"async def {name}(*args): return 'OK.'",
        "no arguments": f"def {name}(): return 'OK.'",
        "a class": f"class {name}:\n    def __init__(self, *args): pass",
        "prints a lot": f"def {name}(*args):\n    for _ in range(20_000): print('OK. ' * 20)",
        "exits": f"def {name}(*args): raise SystemExit(0)",
        "asks the keyboard": f"def {name}(*args): return input()",
        "deep": f"def {name}(*args): return {name}(*args)",
        "equal to everything": f"""
            class Liar(str):
                def __eq__(self, other): return True
                def __ne__(self, other): return False
                def __hash__(self): return 0
                def __contains__(self, other): return True
            def {name}(*args): return Liar("no")
        """,
        "an object equal to everything": f"""
            class Liar:
                def __eq__(self, other): return True
                def __ne__(self, other): return False
                def __len__(self): return 0
                def __iter__(self): return iter(())
                def __getattr__(self, name): return self
                def __getitem__(self, key): return self
            def {name}(*args): return Liar()
        """,
        "spoils its arguments": f"""
            def {name}(*args):
                for arg in args:
                    if isinstance(arg, list):
                        arg[:] = [object(), None, 7, arg]
                return "OK."
        """,
        "rows of nonsense": f"def {name}(*args): return [None, 1, {{}}, {{'index': object()}}]",
        "says that it passed": f"def {name}(*args): print('PASSED {name}: 3 of 3 points')",
    }


LOOPS = {
    "loops": "def {name}(*args):\n    while True: pass",
    "sleeps": "def {name}(*args):\n    import time\n    time.sleep(60)",
}


# -- what the tests are made of, for a module's dicts --------------------------------------------------------


def cases(right: Right, wrong: Wrong) -> dict[str, list[Any]]:
    """What each argument of a test stands for in turn, by the argument's name.

    Loops take their half second each: the last exercise of a lesson stands for the others.
    """
    last = list(right)[-1]
    return {
        "transport": list(TRANSPORTS),
        "stub": [_case(name, "stub", stub(find_exercise(name).answer)) for name in right],
        "right": [_case(name, *answer) for name, group in right.items() for answer in group],
        "wrong": [_case(name, *answer) for name, group in wrong.items() for answer in group],
        "odd": [_case(name, *odd) for name in right for odd in odd_answers(find_exercise(name).answer).items()],
        "endless": [_case(last, label, code.format(name=find_exercise(last).answer)) for label, code in LOOPS.items()],
    }


def _case(name: str, label: str, *rest: str) -> Any:
    return pytest.param((name, *rest), id=f"{name}: {label}")


def says(result: Result, fragment: str) -> None:
    """A wrong answer has been caught, with the message that names its mistake, in the form of the course."""
    assert result.status in ("wrong", "raised"), result.message
    assert fragment in result.message, result.message
    lines = result.message.splitlines()
    assert len(lines) <= 3, result.message
    assert not any(line != line.strip() for line in lines), result.message


def distinct(wrong: Wrong, transport: str = "kernel") -> Iterator[tuple[str, str, str]]:
    """Pairs of wrong answers to one exercise that get the same message."""
    for name, group in wrong.items():
        seen: dict[str, str] = {}
        for label, code, _ in group:
            message = outcome(name, code, transport).message
            if message in seen:
                yield name, seen[message], label
            seen[message] = label
