"""The command `memory-tutor`: for learners here, for teachers in `teach`, for maintainers in `maintain`."""

from __future__ import annotations

import errno
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

import memory_tutor
from memory_tutor import checks, course, maintain, teach
from memory_tutor.errors import TutorError

if TYPE_CHECKING:
    from rich.console import Console

    from memory_tutor.headless import Report

# Whatever takes time to import (openai, vcrpy, Jupyter) is imported by the command that needs it,
# so that --help and a mistyped name are answered at once.

app = typer.Typer(
    name="memory-tutor",
    help="A course in the short-term memory of LLM applications, in graded notebooks that run offline.\n\n"
    "Begin with: memory-tutor start",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
teach.add_to(app)
maintain.add_to(app)

LessonsArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Numbers or names of lessons; all that you have by default.", show_default=False),
]
FolderOption = Annotated[
    Path | None,
    typer.Option("--folder", help="Your folder of lessons, if you are not in it.", show_default=False),
]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command; an expected problem is told in a sentence or two, with exit code 1.

    Args:
        arguments: of the command; those of this process when omitted.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character gets a "?"
            stream.reconfigure(errors="replace")
    try:
        app(args=arguments, prog_name="memory-tutor")
    except TutorError as error:
        problem = error.message
    except OSError as error:
        problem = sentence(error)
    else:
        sys.exit(0)
    print(problem, file=sys.stderr)
    sys.exit(1)


def sentence(error: OSError) -> str:
    """What an error of the operating system means, and what to do about it."""
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full{where}. Your notebooks are as they were. Make room, then try again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"This may not be read or written{where}. Use a folder that is yours, for example in your home folder."
    if error.errno == errno.ENOENT and not error.filename:  # os.getcwd names no file
        return "The folder that you are in is gone. Go to another one (cd), then try again."
    return f"{error.strerror or error}{where}."


def _version(wanted: bool) -> None:
    if wanted:
        print(f"memory-tutor {memory_tutor.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


# -- for learners --------------------------------------------------------------------------------------


@app.command()
def start(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Where your lessons are or shall be: made if it is not there. "
            "By default the one that you are in, else my-lessons.",
            show_default=False,
        ),
    ] = None,
    lesson: Annotated[
        str | None,
        typer.Option(help="Number or name of the lesson to open. By default where you stopped.", show_default=False),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser, or print the address only.")
    ] = True,
) -> None:
    """Open a lesson in JupyterLab. Run it again to go on where you stopped.

    New lessons are copied to your folder; what is there already is never overwritten. Where the course has a new
    version of a lesson, it is offered, with your answers carried over and the old notebook kept.
    JupyterLab is open to this machine alone. Stop it with Ctrl-C.
    """
    from memory_tutor import launch, offering, workspace
    from memory_tutor.progress import Progress, find_folder

    chosen = course.find_lesson(lesson) if lesson else None
    place = workspace.make(folder or find_folder() or workspace.DEFAULT)
    copied = workspace.copy_lessons(place)
    progress = Progress(place)
    chosen = chosen or progress.next_lesson()
    if chosen is None:
        raise course.CourseError(f"There are no lessons in {course.folder('lessons')}. Install memory-tutor again.")
    progress.record_lesson_opened(chosen)
    offering.offer(place)
    new = f", {len(copied)} copied to it now" if copied else ""
    print(f"Your lessons are in {place}{new}. Opening {chosen}. To stop: Ctrl-C.", flush=True)
    raise typer.Exit(launch.open_lab(place, chosen, browser=browser))


@app.command()
def doctor(
    local: Annotated[
        bool, typer.Option("--local", help="Look only for a model on this machine, and say how to play with it.")
    ] = False,
) -> None:
    """Look whether a lesson will run here, and say how to mend what is not right."""
    if local:
        _look_for_a_local_model()
        return
    from rich.table import Column, Table
    from rich.text import Text

    from memory_tutor.doctor import Finding, examine

    out = _console()
    findings: list[Finding] = []
    with out.status("Looking; the kernel takes a few seconds"):
        findings.extend(examine())
    table = Table("", Column("Looked at", no_wrap=True), Column("Found", overflow="fold"))
    for each in findings:
        table.add_row(each.state, each.what, Text(each.says))
    out.print(table)
    problems = [each for each in findings if each.state == "problem"]
    for each in problems:
        print(f"{each.what}: {each.mend}")
    print("A lesson will not run here yet." if problems else "A lesson will run here.")
    raise typer.Exit(1 if problems else 0)


def _look_for_a_local_model() -> None:
    """Never a problem by itself: no lesson needs a model."""
    from memory_tutor import local

    for line in local.lines(local.endpoints()):
        print(line)


@app.command()
def check(
    lessons: LessonsArgument = None,
    folder: FolderOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 unless every exercise is passed.")] = False,
) -> None:
    """Check your answers to all exercises, as saved, without opening a notebook."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from memory_tutor import headless, workspace
    from memory_tutor.progress import Progress as Done
    from memory_tutor.progress import find_folder

    place = workspace.find_to_read(folder)
    names = [course.find_lesson(text) for text in lessons or []]
    names = names or [name for name in course.lesson_names() if workspace.notebook(place, name).exists()]
    if not names:
        raise workspace.WorkspaceError(f"There are no lessons in {place}. To copy them: memory-tutor start {place}")
    done = Done(find_folder(place))
    reports = []
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=_console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=sum(len(checks.lesson(name).exercises) for name in names))
        for name in dict.fromkeys(names):
            bar.update(task, description=name)
            report = headless.check(workspace.notebook(place, name), name, lambda: bar.advance(task))
            for result in report.results:
                done.record_check(result)
            reports.append(report)
    _print_reports(reports)
    if strict and any(report.points < report.of for report in reports):
        raise typer.Exit(1)


def _print_reports(reports: list[Report]) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from memory_tutor.progress_table import folded

    table = Table(*folded("Exercise"), Column("Points", no_wrap=True), *folded("Message"), show_lines=True)
    for report in reports:
        table.add_section()
        table.add_row(Text(report.lesson, style="bold"), f"{report.points} of {report.of}", Text(report.problem))
        for result in report.results:
            table.add_row(result.exercise, f"{result.points} of {result.of}", Text(result.message))
    if len(reports) > 1:
        table.add_section()
        points, of = sum(report.points for report in reports), sum(report.of for report in reports)
        table.add_row(Text("Total", style="bold"), f"{points} of {of}", "")
    _console().print(table)


@app.command()
def hint(
    name: Annotated[str, typer.Argument(help="Of the exercise, which is that of the function to write.")],
    folder: FolderOption = None,
) -> None:
    """Print the next hint for an exercise, one more at each call."""
    from memory_tutor import workspace
    from memory_tutor.progress import Progress

    exercise = checks.find_exercise(name)
    seen = Progress(workspace.find(folder)).record_hint(name)
    for number, text in enumerate(exercise.hints[:seen], start=1):
        print(f"Hint {number} of {len(exercise.hints)}: {text}")


@app.command()
def progress(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[LESSON|FILE]",
            help="A lesson to see in detail; with --html, the file to write (progress.html in your folder by default).",
            show_default=False,
        ),
    ] = None,
    html: Annotated[bool, typer.Option("--html", help="Write a page with everything, for a browser.")] = False,
    folder: FolderOption = None,
) -> None:
    """Show how far you are in each lesson, or how one lesson went, or write a page with both."""
    from memory_tutor import progress_page, progress_table, workspace
    from memory_tutor.progress import Progress

    place = workspace.find(folder)
    done = Progress(place)
    if html:
        written = progress_page.write(Path(what).expanduser() if what else place / progress_page.NAME, done)
        print(f"Your progress is in {written}. Open it in a browser.")
    elif what:
        _console().print(progress_table.of_lesson(checks.lesson(course.find_lesson(what)), done))
    else:
        rows = done.summary()
        _console().print(progress_table.of_course(rows))
        if any(not row.complete for row in rows):
            print(f"Go on with {done.next_lesson()}: memory-tutor start")
        elif rows:
            print("Every exercise is passed.")


@app.command()
def reset(
    lesson: Annotated[str, typer.Argument(help="Number or name of the lesson.")],
    name: Annotated[
        str | None, typer.Argument(help="Of one exercise; the whole lesson by default.", show_default=False)
    ] = None,
    folder: FolderOption = None,
) -> None:
    """Begin a lesson or one exercise anew. A dated copy of your notebook is kept first.

    The copy goes to the folder "backups" beside your lessons.
    """
    from memory_tutor import resetting, workspace
    from memory_tutor.progress import Progress

    place = workspace.find(folder)
    found = course.find_lesson(lesson)
    made = resetting.reset_exercise(place, found, name) if name else resetting.reset_lesson(place, found)
    Progress(place).record_reset(made.names)
    print(f"{name or found} begins anew in {made.notebook}.")
    if name and (others := [each for each in made.names if each != name]):
        print(f"It shares one answer with {', '.join(others)}: they begin anew, too.")
    if made.backup:
        print(f"What you had is kept in {made.backup}.")
    if made.also_defined:
        cells = ", ".join(map(str, made.also_defined))
        print(f"{name} is also defined in cell {cells} of the notebook, and the last one counts: delete it there.")
    print("If the notebook is open in JupyterLab: File, Reload Notebook from Disk.")


@app.command()
def update(
    lessons: LessonsArgument = None,
    folder: FolderOption = None,
) -> None:
    """Take over the new versions of lessons, with your answers in them.

    Each old notebook is kept, with its date, in the folder "backups" beside your lessons.
    """
    from memory_tutor import offering, workspace

    place = workspace.find_to_read(folder)
    names = [course.find_lesson(text) for text in lessons or []]
    names = names or [name for name in course.lesson_names() if workspace.notebook(place, name).exists()]
    raise typer.Exit(0 if offering.take(place, list(dict.fromkeys(names))) else 1)


@app.command()
def chat(
    folder: FolderOption = None,
    mode: Annotated[
        str,
        typer.Option(help="replay: the recorded talk. live: any talk, with OPENAI_API_KEY or OPENAI_BASE_URL set."),
    ] = "replay",
    session: Annotated[str, typer.Option(help="Name of the talk to go on with.")] = "s1",
    reference: Annotated[
        bool, typer.Option("--reference", help="Talk to the course's own Assistant, not to yours.")
    ] = False,
) -> None:
    """Talk to your Assistant of lesson 8, offline or live."""
    from memory_tutor import chat as talks
    from memory_tutor import workspace
    from memory_tutor.progress import find_folder

    place = workspace.find(folder) if folder else find_folder() or find_folder(workspace.DEFAULT)
    with talks.opened(place, mode=mode, session=session, course_own=reference) as made:
        made.run()


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr)
