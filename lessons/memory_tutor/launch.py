"""Opening JupyterLab on a lesson: on this machine only, without first-start dialogs, with this Python."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from memory_tutor import files
from memory_tutor.errors import TutorError
from memory_tutor.progress import MARKER

#: The plugin that asks about news at the first start and looks for updates on the web.
ANNOUNCEMENTS = "@jupyterlab/apputils-extension:announcements"
#: Seconds that Jupyter has to end its kernels before a second request to end is passed on.
PATIENCE = 5.0


def open_lab(folder: Path, lesson: str, *, browser: bool) -> int:
    """Run JupyterLab until it is stopped.

    Args:
        folder: the learner's folder.
        lesson: whose notebook to open.
        browser: whether to open one; the address is printed either way.

    Returns:
        JupyterLab's exit code.

    Raises:
        TutorError: JupyterLab is not installed for this Python.
        OSError: its settings cannot be written in the folder.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise TutorError(f"JupyterLab is not installed. Type: {sys.executable} -m pip install jupyter")
    _write_settings(folder)
    own_group = None if sys.platform == "win32" else 0
    with (
        # Before Jupyter is started: signals that are handled here are not ignored there, even where a script
        # in the background has this process ignore them.
        _ends_as_interrupts(),
        # Apart from the terminal, so that Jupyter gets one signal, ours: a second one during its
        # shutdown would end it at once and leave its kernels behind.
        subprocess.Popen(command(folder, lesson, browser), env=environment(folder), process_group=own_group) as jupyter,
    ):
        asked: float | None = None
        while True:
            try:
                code = jupyter.wait()
                return code if code >= 0 else 128 - code
            except KeyboardInterrupt:
                now = time.monotonic()
                if sys.platform != "win32" and (asked is None or now - asked > PATIENCE):
                    jupyter.send_signal(signal.SIGINT if asked is None else signal.SIGTERM)
                    asked = now


def command(folder: Path, lesson: str, browser: bool) -> list[str]:
    """The command line of JupyterLab."""
    line = [
        sys.executable,
        "-P",  # a random.py in the current folder is not the one that Jupyter means
        "-m",
        "jupyterlab",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{lesson}.ipynb",
        # The tabs that are open here are no business of the learner's other work.
        f"--LabApp.workspaces_dir={_settings(folder) / 'workspaces'}",
        # An interrupt stops it at once instead of asking; notebooks save themselves.
        "--ServerApp.answer_yes=True",
        f"--ServerApp.open_browser={browser}",
        "--Application.log_level=ERROR",
    ]
    if sys.platform != "win32":
        # Sockets in a folder of the user's own: over TCP, each kernel warns that others could listen.
        line.append("--KernelManager.transport=ipc")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # as in a container, where Jupyter would refuse
        line.append("--ServerApp.allow_root=True")
    return line


def environment(folder: Path | None = None, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of JupyterLab and its kernels.

    Args:
        folder: the learner's, whose settings to add to the learner's own; None leaves them out.
        base: the environment to start from; this process's when omitted.
    """
    made = dict(os.environ if base is None else base)
    # The kernel of this Python goes before one of the same name that another installation left behind.
    made.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    if folder is not None:
        paths = [str(_settings(folder)), made.get("JUPYTER_CONFIG_PATH", "")]
        made["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))
    return made


def _settings(folder: Path) -> Path:
    return folder / MARKER / "jupyter"


def _write_settings(folder: Path) -> None:
    """Switch the news off, for this folder only; the learner's own settings (a theme, say) stay in force."""
    file = _settings(folder) / "labconfig" / "page_config.json"
    data = json.dumps({"disabledExtensions": {ANNOUNCEMENTS: True}}, indent=2).encode() + b"\n"
    if not file.is_file() or file.read_bytes() != data:
        file.parent.mkdir(parents=True, exist_ok=True)
        files.replace(file, data, folder / MARKER)


@contextmanager
def _ends_as_interrupts() -> Iterator[None]:
    """Let a request to end, or a terminal that closes, reach Jupyter too: its kernels must not stay behind."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, *numbers)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
