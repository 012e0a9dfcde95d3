"""The maintainers' commands: build the lessons, record their answers, audit the recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memory_tutor.errors import TutorError

PANEL = "For maintainers, in a checkout"


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line, in a group of their own."""
    for command in (build, record, audit, site):
        app.command(rich_help_panel=PANEL)(command)


def build(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if a lesson is out of date.")] = False,
) -> None:
    """Make lessons/ from solutions/, after a lint of both."""
    from rich.console import Console

    from memory_tutor import authoring

    with Console(stderr=True).status("Running stubs and solutions; a few seconds a lesson"):
        written = authoring.build(check)
    if check:
        print("The lessons are what their solutions make.")
    elif written:
        print("Written: " + ", ".join(f"lessons/{name}.ipynb" for name in written))
    else:
        print("The lessons were up to date.")


def record(
    lessons: Annotated[
        list[str] | None, typer.Argument(help="Numbers or names of lessons; all by default.", show_default=False)
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Of the endpoint; OPENAI_BASE_URL by default.", show_default=False)
    ] = None,
    model: Annotated[str | None, typer.Option(help="To ask for; OPENAI_MODEL by default.", show_default=False)] = None,
    weights_sha256: Annotated[
        str | None, typer.Option(help="SHA-256 of the model's file, if one can have it.", show_default=False)
    ] = None,
    server: Annotated[
        str | None, typer.Option(help="Program and version that runs the model.", show_default=False)
    ] = None,
    provider: Annotated[
        str | None, typer.Option(help="Of the service, if one cannot have the model.", show_default=False)
    ] = None,
    licence: Annotated[str | None, typer.Option(help="Of the model.", show_default=False)] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Send nothing: keep the recordings, store outputs and lessons.")
    ] = False,
) -> None:
    """Run the solutions against a live endpoint and store recordings, outputs and lessons, or nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column, Table

    from memory_tutor import recording

    source = recording.Source(weights=weights_sha256, server=server, provider=provider, licence=licence)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[spent]}"))
    with Bar(*columns, console=Console(stderr=True)) as bar:
        tasks = {}

        def show(progress: recording.Progress) -> None:
            key = (progress.lesson, progress.phase)
            if key not in tasks:
                tasks[key] = bar.add_task(f"{progress.lesson}, {progress.phase}", total=progress.cells, spent="")
            bar.update(tasks[key], completed=progress.cell, spent=f"{progress.tokens:,} tokens")

        if replay:
            names = recording.rerun(lessons or (), on_progress=show)
            bar.console.print("Outputs and lessons are those of the recordings: " + ", ".join(names))
            return
        done = recording.record(lessons or (), base_url=base_url, model=model, source=source, on_progress=show)
    table = Table(Column("Lesson", no_wrap=True), "Recorded", "Tokens sent", "received", "Cost")
    for each in done:
        cost = f"{each.spent.cost:.4f}" if each.spent.cost else "not reported"
        sent, received = f"{each.spent.prompt_tokens:,}", f"{each.spent.completion_tokens:,}"
        table.add_row(each.lesson, str(each.interactions), sent, received, cost)
    Console().print(table)
    for each in done:
        print("\n".join(f"{each.lesson}: {line}" for line in [f"answered by {each.model}.", *each.notes]))


def audit() -> None:
    """Prove that every request is recorded, every recording is used, and no secret is inside."""
    from rich.console import Console
    from rich.table import Column, Table

    from memory_tutor import audit as auditing

    with Console(stderr=True).status("") as status:
        found = auditing.audit(on_lesson=lambda name: status.update(f"Running {name} offline"))
    table = Table(Column("Lesson", no_wrap=True), "Recorded", "Requests", "Missing", "Unused", "Bytes")
    for row in found.rows:
        numbers = (row.interactions, row.requests, row.missing, row.unused)
        table.add_row(row.lesson, *map(str, numbers), f"{row.size:,}")
    Console().print(table)
    if not found.clean:
        raise TutorError("\n".join(found.findings))
    print("Every request is recorded, every recording is used, nothing secret is inside.")


def site(
    folder: Annotated[Path, typer.Argument(help="To make: the course as static files, for any web server.")],
    pyodide: Annotated[
        Path | None,
        typer.Option(help="Folder of Pyodide's npm package; fetched with npm by default.", show_default=False),
    ] = None,
) -> None:
    """Build the course as a site: its lessons run in a browser tab, with nothing to install."""
    from rich.console import Console

    from memory_tutor import site as sites

    with Console(stderr=True).status("Fetching wheels and building; about a minute"):
        made = sites.build(folder, pyodide)
    print(f"{made.folder} holds {made.lessons} lessons, {made.size / 1e6:.0f} MB in all. Try it on this machine:")
    print(f"python3 -m http.server --bind 127.0.0.1 --directory {made.folder}")
