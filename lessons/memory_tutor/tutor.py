"""The object that a notebook works with: `tutor = memory_tutor.start("01_stateless_calls")`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_tutor import checks, course, extras, in_browser, kernel_state, live, replay
from memory_tutor.errors import TutorError, wrapped
from memory_tutor.exercises import CheckFailed, Exercise, Result, run_check
from memory_tutor.progress import Progress, find_folder
from memory_tutor.progress_view import ProgressView
from memory_tutor.solutions import reference, solution_source
from memory_tutor.toolbox import MODEL, Toolbox, notebook_globals
from memory_tutor.transcript import Transcript

if TYPE_CHECKING:
    from memory_tutor.stores import Store

#: Failed checks after which a solution is shown without giving up.
TRIES = 3
#: Why requests are refused after a start that was interrupted.
UNFINISHED = "The last memory_tutor.start(…) did not end, so nothing is sent. Run the set-up cell again."


class StartError(TutorError):
    """`start` was called with a mode that does not exist or cannot be used here."""


def start(lesson: str | int | None = None, mode: str | None = None) -> Tutor:
    """Open a lesson's recording for the life of this kernel; see `memory_tutor.start`."""
    chosen = str(mode or "") or os.environ.get("MEMORY_TUTOR_MODE") or "replay"
    if chosen in replay.MODES and chosen != "replay":
        in_browser.ask_for_endpoint()
    model = os.environ.get("OPENAI_MODEL") or MODEL
    if not os.environ.get("OPENAI_API_KEY"):
        # OpenAI() wants one even where nothing is sent.
        os.environ["OPENAI_API_KEY"] = live.PLACEHOLDER
    try:
        name = None if lesson is None else course.find_lesson(lesson)
        if chosen not in replay.MODES:
            raise StartError(f"There is no mode {chosen!r}. {course.suggest(chosen, list(replay.MODES))}")
        # The endpoint is asked before the tape is open: the question belongs to no recording.
        replay.close()
        lines = [] if chosen == "replay" else live.check_endpoint(chosen, model)
        record_to = os.environ.get("MEMORY_TUTOR_RECORD_TO")
        tape = replay.open(name, chosen, record_to=Path(record_to) if record_to else None)
    except BaseException as error:  # an interrupt too: what was open before is closed by now
        replay.open_blocked(error.message if isinstance(error, TutorError) else UNFINISHED)
        if chosen != "replay":
            in_browser.forget_endpoint()
        raise
    in_browser.prepare(name)
    print("\n".join([*wrapped(_where_from(tape)), *lines]))
    return Tutor(name, model, tape)


def _where_from(tape: replay.Tape) -> str:
    """Where the answers come from, and which model really gives them: a sentence a line, so that none is cut."""
    source = tape.recording.metadata
    recorded = f"recordings of {source.get('model')}, made on {source.get('recorded')}."
    if tape.mode == "replay":
        return f"Answers are {recorded}\nNothing is sent; no key is used."
    where = live.base_url()
    if tape.mode == "explore":
        return f"Answers are {recorded}\nWhat is not recorded is sent to {where}."
    kept = ", and recorded" if tape.mode == "record" else ""
    return f"Every request is sent to {where}{kept}."


class Tutor(Toolbox):
    """What a lesson needs of the course, and nothing of the model: the code of a lesson is plain openai.

    Args:
        lesson: full name, or None for all lessons.
        model: the name that the code asks for.
        tape: that answers.
    """

    def __init__(self, lesson: str | None, model: str, tape: replay.Tape) -> None:
        super().__init__(lesson, model, tape)
        self._folder = find_folder()
        self._progress = Progress(self._folder)
        if lesson:
            self._progress.record_lesson_opened(lesson)

    @property
    def transcript(self) -> Transcript:
        """Every request of this kernel since `start`, checks aside.

        Raises:
            NoRequest: there is none, as a browser could not run the cells that send.
        """
        made = super().transcript
        if not len(made):
            in_browser.need_requests()
        return made

    @property
    def progress(self) -> ProgressView:
        """How far you are, lesson by lesson; `tutor.progress.page()` writes all of it to a file."""
        return ProgressView(self._progress, self._folder)

    def stores(self, *engines: str, conflict: type[Exception]) -> Iterator[tuple[str, Store]]:
        """Stores like lesson 6's `SqliteStore`, each on a server that is started for this kernel and ends with it.

        An engine that cannot be used here is left out, with a line that says why.

        Args:
            engines: "redis", "postgres" or "mongo"; MongoDB needs a server of your own, in MONGODB_URI.
            conflict: the exception that says that a version is out of date.

        Returns:
            Pairs of a server's name and its store.
        """
        from memory_tutor import stores
        from memory_tutor.stores import servers

        for engine in engines:
            try:
                extras.need(engine)
                yield extras.EXTRAS[engine][0], stores.open(servers.address(engine), conflict=conflict)
            except (extras.MissingExtra, stores.StoreError) as left_out:
                print("\n".join(wrapped(left_out.message)))

    def answer(self, name: str) -> Any:
        """Your answer to an exercise once all its checks have passed, else the course's own.

        Args:
            name: of a function or class that an exercise of any lesson asks for.
        """
        asked = checks.lesson(checks.find_answer(name).lesson).answered_by(name)
        best = [self._progress.best(exercise.name) for exercise in asked]
        yours = notebook_globals().get(name)
        if yours is None or not all(result is not None and result.passed for result in best):
            return self.reference(name)
        print(f"{name} is yours.")
        return yours

    # -- exercises -------------------------------------------------------------------------------------

    def check(self, name: str = "") -> None:
        """Check your answer to an exercise: prints one line for a pass, else raises one that says why.

        Args:
            name: of the exercise, which is that of the function to write.

        Raises:
            CourseError: there is no such exercise, or none was named; the message says what there is.
            CheckFailed: not attempted, wrong, stopped by an error, or not gradable here.
        """
        from memory_tutor.learner import KernelLearner

        exercise, namespace = self._exercise(name), notebook_globals()
        with KernelLearner(namespace) as learner:
            result = run_check(exercise, learner)
        self._progress.record_check(result)
        names = checks.lesson(exercise.lesson).answers
        notes = kernel_state.notes(exercise.answer, result.message, namespace, names)
        if not result.passed:
            raise CheckStopped(result, "\n".join(filter(None, [*notes, self._offer(exercise, result)])))
        _show(Passed(result, exercise.another_way, notes))

    def _offer(self, exercise: Exercise, result: Result) -> str:
        """What to do next after a check that did not pass."""
        if result.status in ("not attempted", "not gradable"):
            return ""
        name, seen, left = exercise.name, self._progress.hints_seen(exercise.name), self._failures_left(exercise.name)
        offers = []
        if seen < len(exercise.hints):
            offers.append(f'For hint {seen + 1} of {len(exercise.hints)}: tutor.hint("{name}")')
        if not left:
            offers.append(f'To see a solution: tutor.solution("{name}")')
        elif not offers:
            offers.append(f'To see a solution at once: tutor.solution("{name}", give_up=True)')
        return "\n".join(offers)

    def _failures_left(self, name: str) -> int:
        """How many more checks have to fail before a solution is shown."""
        return max(0, TRIES - self._progress.failures(name))

    def hint(self, name: str = "") -> None:
        """Print the next hint of an exercise: from a question, to the place, to the shape of the answer."""
        exercise = self._exercise(name)
        seen = min(self._progress.record_hint(name), len(exercise.hints))
        lines = [
            f"Hint {number} of {len(exercise.hints)}: {exercise.hints[number - 1]}" for number in range(1, seen + 1)
        ]
        print("\n".join(wrapped("\n".join(lines))))

    def solution(self, name: str = "", give_up: bool = False) -> None:
        """Print a solution of an exercise, after a pass, after three failed checks, or when you give up.

        Args:
            name: of the exercise.
            give_up: show it at once; progress tells it apart.
        """
        exercise = self._exercise(name)
        best = self._progress.best(name)
        passed = best is not None and best.passed
        left = self._failures_left(name)
        if left and not (passed or give_up):
            print(
                f"A solution of {name} is shown after a pass or after {TRIES} failed checks: {left} to go.\n"
                f'To see it now: tutor.solution("{name}", give_up=True)'
            )
            return
        source = solution_source(exercise)
        self._progress.record_solution(name, gave_up=bool(left) and not passed)
        print(source)

    def reference(self, name: str) -> Any:
        """The course's own answer to an exercise, working with this notebook's `client` and `model`.

        Args:
            name: of a function or class that an exercise of any lesson asks for.
        """
        exercise = checks.find_answer(name)
        found = reference(exercise, notebook_globals())
        print(f"{name} is the course's own solution of lesson {exercise.lesson}, not yours.")
        return found

    # -- predictions -----------------------------------------------------------------------------------

    def predict(self, name: str, choice: str = "") -> None:
        """Keep your prediction; it is never in the way.

        Args:
            name: of the prediction.
            choice: the letter that you choose; "" for none.
        """
        prediction = self._prediction(name)
        letter = str(choice).strip().strip("()").lower()
        if not letter:
            print("No choice yet. Write a letter between the quotes and run the cell again, or read on.")
        elif letter not in prediction.choices:
            print(f"{choice!r} is not one of the choices: {', '.join(prediction.choices)}.")
        else:
            self._progress.record_prediction(name, letter)
            print(f"You chose ({letter}) {prediction.choices[letter]}. Run on to see.")

    def reveal(self, name: str) -> None:
        """Say which choice was right, and why each of the others is tempting."""
        prediction = self._prediction(name)
        chosen = self._progress.choice(name)
        lines = []
        for letter, text in prediction.choices.items():
            mark = "right" if letter == prediction.right else "wrong"
            yours = ", your choice" if letter == chosen else ""
            lines += [f"({letter}) {text}", f"    {mark}{yours}: {prediction.why[letter]}"]
        print("\n".join(wrapped("\n".join(lines))))

    def _exercise(self, name: str) -> Exercise:
        return checks.find_exercise(name, self.lesson)

    def _prediction(self, name: str) -> Any:
        known = {key: value for each in checks.lessons() for key, value in each.predictions.items()}
        if not isinstance(name, str) or name not in known:
            here = checks.lesson(self.lesson).predictions if self.lesson else ()
            raise course.unknown("prediction", name, known, here)
        return known[name]


class CheckStopped(CheckFailed):
    """What a check cell shows when the check did not pass; `result` says which way it went."""

    def __init__(self, result: Result, offer: str) -> None:
        super().__init__("\n".join(filter(None, [result.message, offer])))
        self.result = result
        self.status = result.status


class Passed:
    """The line of a passed check, and what there is to note; a notebook folds another right way below it."""

    def __init__(self, result: Result, another_way: str, notes: Sequence[str] = ()) -> None:
        self.lines = [result.message, *notes]
        self.another_way = another_way

    def __repr__(self) -> str:
        return "\n".join(wrapped("\n".join(self.lines)))

    def _repr_markdown_(self) -> str:
        shown = "\n\n".join(self.lines)
        if not self.another_way:
            return shown
        return f"{shown}\n\n<details><summary>Another right way</summary>\n\n{self.another_way}\n\n</details>"


def _show(thing: Passed) -> None:
    """Show an object as a notebook does, as plain text elsewhere."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        sys.modules["IPython"].display.display(thing)
    else:
        print(thing)
