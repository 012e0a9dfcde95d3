"""Will a lesson run here? Each thing that it needs is looked at, and each problem comes with its mend."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from memory_tutor import checks, course, launch
from memory_tutor.errors import TutorError
from memory_tutor.progress import MARKER, find_folder
from memory_tutor.workspace import DEFAULT

#: Seconds that a kernel may take to start, or to answer; a slow disk needs many, a healthy one two.
PATIENCE = 60.0

UNSET = "Unset MEMORY_TUTOR_MODE to use the recordings"

State = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """What one look found.

    Args:
        what: was looked at.
        state: "ok", "note" (worth knowing), or "problem" (a lesson will not run).
        says: what was found.
        mend: what to do about a problem.
    """

    what: str
    state: State
    says: str
    mend: str = ""


def examine() -> Iterator[Finding]:
    """Look at everything, in an order in which the first problem explains those after it."""
    yield Finding("Python", "ok", f"{sys.version.split()[0]} at {sys.executable}")
    yield from _versions()
    course_files = _course_files()
    yield course_files
    with _kernel() as kernel:
        yield kernel.finding
        if kernel.client is not None and course_files.state == "ok":
            yield _replayed_call(kernel.client)
    yield _writable_folder()
    yield from _environment()


# -- what is installed ---------------------------------------------------------------------------------


def _versions() -> Iterator[Finding]:
    """The packages that this one asks for, as its own metadata names them, and those that Jupyter brings."""
    from importlib import metadata

    from packaging.requirements import Requirement

    try:
        required = [Requirement(line) for line in metadata.requires("memory-tutor") or []]
    except metadata.PackageNotFoundError:
        yield Finding("memory-tutor", "problem", "is not installed", f"{sys.executable} -m pip install memory-tutor")
        return
    needed = [each for each in required if not (each.marker and "extra" in str(each.marker))]
    for each in [*needed, Requirement("jupyterlab>=4"), Requirement("ipykernel>=6")]:
        mend = f'{sys.executable} -m pip install "{each.name}{each.specifier}"'
        try:
            version = metadata.version(each.name)
        except metadata.PackageNotFoundError:
            yield Finding(each.name, "problem", "is not installed", mend)
            continue
        if each.specifier.contains(version, prereleases=True):
            yield Finding(each.name, "ok", version)
        else:
            yield Finding(each.name, "problem", f"{version}, but {each.specifier} is needed", mend)


def _course_files() -> Finding:
    from memory_tutor import cassette

    what, again = "Course files", f"{sys.executable} -m pip install --force-reinstall --no-deps memory-tutor"
    try:
        names = course.lesson_names()
        for name in names:
            checks.lesson(name)
            cassette.load(course.path("cassettes", name))
    except TutorError as error:
        says, _, mend = error.message.partition("\n")
        return Finding(what, "problem", says, mend or again)
    except Exception as error:  # whatever a damaged installation brings about
        return Finding(what, "problem", f"{type(error).__name__}: {error}", again)
    if not names:
        return Finding(what, "problem", f"no lessons in {course.folder('lessons')}", again)
    without = "" if course.has("solutions") else "; without solutions"
    return Finding(what, "ok", f"{len(names)} lessons with recordings in {course.folder('lessons')}{without}")


# -- a kernel ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kernel:
    finding: Finding
    client: Any = None


@contextmanager
def _kernel() -> Iterator[_Kernel]:
    """Start the kernel that JupyterLab would start for a lesson, and end it afterwards."""
    from jupyter_client.manager import KernelManager

    # Kernels are looked for under this process's environment: it must be the one that `start` makes.
    before = dict(os.environ)
    os.environ.update(launch.environment())
    try:
        manager = KernelManager(kernel_name="python3")
        client = None
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            try:
                manager.start_kernel(cwd=scratch, env=_replaying(), stderr=_nowhere(), stdout=_nowhere())
                client = manager.blocking_client()
                client.start_channels()
                client.wait_for_ready(timeout=PATIENCE)
                found = _interpreter(client, manager)
            except Exception as error:  # a missing binary, a kernel that dies, a folder that cannot be written
                found = _no_kernel(error)
            try:
                yield _Kernel(found, None if found.state == "problem" else client)
            finally:
                if client is not None:
                    client.stop_channels()
                if manager.has_kernel:
                    manager.shutdown_kernel(now=True)
    finally:
        os.environ.clear()
        os.environ.update(before)


def _nowhere() -> int:
    import subprocess

    return subprocess.DEVNULL


def _replaying() -> dict[str, str]:
    """A kernel's environment in which nothing is sent and nobody's progress is written."""
    settings = {name: value for name, value in launch.environment().items() if not name.startswith("MEMORY_TUTOR_")}
    return settings | {"MEMORY_TUTOR_MODE": "replay"}


def _interpreter(client: Any, manager: Any) -> Finding:
    """Whether the kernel is this Python: only then does it have this installation's packages."""
    executable, prefix = _ask(client, "import sys\nanswer = [sys.executable, sys.prefix]")
    if Path(prefix).resolve() == Path(sys.prefix).resolve():
        return Finding("Kernel", "ok", f"starts, with {executable}")
    return Finding("Kernel", "problem", f"is another Python, {executable}, by {_spec_folder()}", f"{_remove_spec()}")


def _no_kernel(error: Exception) -> Finding:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    folder = _spec_folder()
    mend = f"{sys.executable} -m pip install --force-reinstall ipykernel"
    if folder and not Path(folder).resolve().is_relative_to(Path(sys.prefix).resolve()):
        mend = _remove_spec()
    return Finding("Kernel", "problem", f"does not start: {reason} (described in {folder})", mend)


def _spec_folder() -> str:
    from jupyter_client.kernelspec import KernelSpecManager

    try:
        return str(KernelSpecManager().get_kernel_spec("python3").resource_dir)
    except Exception:  # none is found, or its file is damaged
        return str(KernelSpecManager().find_kernel_specs().get("python3", ""))


def _remove_spec() -> str:
    return f"{sys.executable} -m jupyter kernelspec remove python3"


def _replayed_call(client: Any) -> Finding:
    """One recorded request of the first lesson, sent as a learner's code sends it."""
    from memory_tutor import cassette

    lesson = course.lesson_names()[0]
    try:
        recording = cassette.load(course.path("cassettes", lesson))
        body = next(
            each.request.body
            for each in recording.interactions
            if each.request.path.endswith("/chat/completions")
            and each.response.status == 200
            and not each.response.streamed
        )
        reply = _ask(
            client,
            "import json, memory_tutor\nfrom openai import OpenAI\n"
            f"memory_tutor.start({lesson!r})\n"
            f"reply = OpenAI().chat.completions.create(**json.loads({json.dumps(body)!r}))\n"
            "answer = reply.choices[0].message.content",
        )
    except Exception as error:  # whatever goes wrong in a lesson would go wrong here
        reason = " ".join(str(error).split())[:300]
        return Finding("Replayed call", "problem", reason, f"{sys.executable} -m pip install --upgrade memory-tutor")
    return Finding("Replayed call", "ok", f"answered from the recording of {lesson}: {str(reply)[:60]!r}")


def _ask(client: Any, code: str) -> Any:
    """Run code in the kernel and return what it left in `answer`.

    Raises:
        RuntimeError: the code failed; with the exception's name and text.
        TimeoutError: it did not end in time.
    """
    heard: list[str] = []

    def listen(message: Any) -> None:
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            heard.append(message["content"]["text"])

    mark = "memory-tutor doctor: "
    reply = client.execute_interactive(
        f"{code}\nimport json\nprint({mark!r} + json.dumps(answer))",
        store_history=False,
        allow_stdin=False,
        timeout=PATIENCE,
        output_hook=listen,
    )["content"]
    if reply["status"] != "ok":
        raise RuntimeError(f"{reply.get('ename')}: {reply.get('evalue')}")
    return json.loads("".join(heard).rpartition(mark)[2])


# -- the folder and the environment --------------------------------------------------------------------


def _writable_folder() -> Finding:
    what = "Folder"
    try:
        folder = find_folder() or find_folder(DEFAULT)
        place = folder / MARKER if folder else Path.cwd()
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x" * 4096)
    except OSError as error:
        return Finding(
            what,
            "problem",
            f"cannot be written: {error.strerror} ({error.filename or Path.cwd()})",
            "Go to one of yours",
        )
    if folder:
        return Finding(what, "ok", f"your lessons in {folder} can be written")
    return Finding(what, "ok", f"{place} can be written; `memory-tutor start` makes my-lessons in it")


def _environment() -> Iterator[Finding]:
    """What the environment sets; a key is never shown."""
    from memory_tutor import replay

    mode = os.environ.get("MEMORY_TUTOR_MODE") or "replay"
    key = bool(os.environ.get("OPENAI_API_KEY"))
    unused = "not used in replay" if mode == "replay" else f"used in mode {mode}"
    if mode == "replay":
        yield Finding("Mode", "ok", "replay: answers come from recordings, nothing is sent")
        yield Finding("API key", "ok", f"OPENAI_API_KEY is set; {unused}" if key else "none set, none needed")
    elif mode in replay.MODES:
        yield _live(mode)
        yield Finding("API key", "note", f"OPENAI_API_KEY is set; {unused}" if key else "none set")
    else:
        says = f"MEMORY_TUTOR_MODE is {mode!r}, which is none of {', '.join(replay.MODES)}"
        yield Finding("Mode", "problem", says, UNSET)
    if endpoint := os.environ.get("OPENAI_BASE_URL"):
        yield Finding("Endpoint", "note", f"OPENAI_BASE_URL is set, to {_host(endpoint)}; {unused}")


def _live(mode: str) -> Finding:
    """Whether a live mode can start: the endpoint is asked for its models, as the lessons do, and for nothing else."""
    from memory_tutor import live
    from memory_tutor.toolbox import MODEL

    try:
        lines = live.check_endpoint(mode, os.environ.get("OPENAI_MODEL") or MODEL)
    except live.LiveError as error:
        told = error.message.replace(live.base_url(), _host(live.base_url()))
        return Finding("Mode", "problem", told, f"{UNSET}, or mend what is said above")
    return Finding("Mode", "note", "\n".join([f"{mode}: lessons send requests, which may cost. {UNSET}.", *lines]))


def _host(url: str) -> str:
    """A URL's host and port, without a password that may stand in it."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    except ValueError:
        return "something that is no address"
