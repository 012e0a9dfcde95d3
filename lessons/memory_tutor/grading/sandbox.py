"""Where notebooks of others are run: a sandbox that is opened once, and gives a learner for each notebook.

    with open_sandbox() as sandbox:
        with sandbox.learner(cells, answer, lesson="02_manual_history", seconds=120) as learner:
            ...

On Linux, bubblewrap keeps the process of `memory_tutor.warm` in: it sees the system's programs, Python and its
packages, all read-only, and those modules of this package that a learner's code needs; no network, no environment,
no file of the user's, no check, no solution, no recording. From it, each notebook gets a process by a fork, which
takes milliseconds, with namespaces, a user, limits and a filter of system calls of its own (see `warm`, `limits`,
`seccomp`). What no limit of the kernel's counts for all processes of a notebook together, memory and time, is
watched from here.

Folders that the learner's code and a check share are in the notebook's own memory, bounded with it. The check reaches
them through `/proc/<holder>/root`, to which a link in /tmp leads, so that both sides know a folder by one path. No
other links can be there: to make one is refused by the filter, or a check would have to look twice before it reads
or writes anything. To open a database is more than to read: a journal that lies beside it may tell SQLite to delete
any file. So that is done inside, by `Host.run`, in a process of ours beside the learner's.

Elsewhere, and where bubblewrap does not work, the notebook runs as a program of this user, with those limits that the
system has, and `Sandbox.isolation` says so.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Protocol, TypeVar

from memory_tutor import course, leftovers, lending, notebooks, seccomp
from memory_tutor.cassette import Request, Response
from memory_tutor.errors import TutorError
from memory_tutor.exercises import CheckFailed
from memory_tutor.hosts import Host, Running, ThisMachine
from memory_tutor.learner import PipeLearner
from memory_tutor.limits import MB, Limits
from memory_tutor.names import parsed
from memory_tutor.pipe import Allowance

T = TypeVar("T")
Answer = Callable[[Request], Response]

#: Seconds that a notebook may take, and bytes that its processes may send.
SECONDS, SENT = 120.0, 256 * MB
#: Bytes of memory that all processes of a notebook may have together, and seconds between two looks at it.
MEMORY, LOOK = 1536 * MB, 0.1
#: Seconds until the sandbox has started, and until it does what it is told.
START, DO = 60.0, 20.0
#: Seconds for what a check does with a learner's files.
ASIDE = 20.0
#: Bytes and files below which there is no room in a notebook's folder: what could not be written has been taken back.
SPARE, SPARE_FILES = MB // 4, 10
#: What the learner's side needs of this package. Nothing else of it is in the sandbox.
MODULES = (
    "__init__", "cassette", "channel", "codec", "course", "errors", "exercises", "extras", "inside", "limits",
    "live", "miss", "names", "namespaces", "pictures", "process", "raised", "remaking", "replay", "restart",
    "seccomp", "stores.__init__", "stores.json_files", "stores.keys", "strip", "tables", "texts", "timelimit",
    "toolbox", "transcript", "warm", "worker",
)  # fmt: skip
#: Where it stands there.
INSIDE = "/memory-tutor"


class SandboxMissing(TutorError):
    """There is no sandbox here, and one was required."""


class Sandbox(Protocol):
    """Gives learners; one at a time, or more."""

    @property
    def isolation(self) -> str:
        """What is not kept from a learner's code, one line for every report; "" if all is."""

    def learner(
        self,
        cells: Sequence[str],
        answer: Answer | None = None,
        *,
        lesson: str | None = None,
        seconds: float = SECONDS,
        seed: int | None = None,
    ) -> PipeLearner:
        """Run a notebook's cells in an empty folder, and give its functions.

        Args:
            cells: sources of its code cells.
            answer: gives the recorded responses to what the cells send; None refuses every request.
            lesson: that is marked; None if none is.
            seconds: that the notebook may take until it is marked, by a clock on the wall; then what is still to be
                checked is not gradable.
            seed: of what checks make up; see `PipeLearner`.

        Raises:
            NotGradable: too many cells end the process, or all its time.
        """


@contextmanager
def open_sandbox(*, require: bool = False) -> Iterator[Sandbox]:
    """Open the best sandbox that this machine has; the thread that opens it must live as long.

    Args:
        require: whether to refuse to do without bubblewrap.

    Raises:
        SandboxMissing: it was required, and is missing or does not work here.
    """
    try:
        warm = _Warm()
    except _Unusable as error:
        if require:
            raise SandboxMissing(
                f"There is no sandbox for the notebooks of others: {error}.\n"
                "Install bubblewrap on a Linux system (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install "
                "bubblewrap),\nor leave out --require-sandbox to run them as programs of yours."
            ) from error
        yield _Open(str(error))
        return
    try:
        yield warm
    finally:
        warm.close()


class _Unusable(Exception):
    """Why bubblewrap cannot be used, without a full stop."""


def _learner(
    cells: Sequence[str],
    answer: Answer | None,
    host: Host,
    lesson: str | None,
    seconds: float,
    seed: int | None,
) -> PipeLearner:
    lend = None if lesson is None else lending.for_lesson(lesson)
    return PipeLearner(cells, answer, host=host, lend=lend, allowance=Allowance(seconds, SENT), seed=seed)


# -- without a sandbox -----------------------------------------------------------------------------------


class _Open:
    """Runs notebooks as programs of this user.

    Args:
        why: there is nothing better.
    """

    def __init__(self, why: str) -> None:
        limits = "time" if sys.platform == "win32" else "time, memory, open files and the size of files"
        alive = "" if sys.platform == "linux" else " What it has started may be running still."
        self.isolation = (
            f"NOT ISOLATED ({why}): the code of this notebook ran with the rights of who marked it, files and network "
            f"included; only {limits} were limited.{alive}"
        )

    def learner(
        self,
        cells: Sequence[str],
        answer: Answer | None = None,
        *,
        lesson: str | None = None,
        seconds: float = SECONDS,
        seed: int | None = None,
    ) -> PipeLearner:
        # A limit on processes would count all of this user's.
        host = ThisMachine(limits=Limits(processes=None))
        return _learner(cells, answer, host, lesson, seconds, seed)


# -- with bubblewrap -------------------------------------------------------------------------------------


class _Warm:
    """The process in the sandbox from which all others are forked.

    Raises:
        _Unusable: it cannot be had here.
    """

    isolation = ""

    def __init__(self) -> None:
        if not seccomp.is_possible():
            raise _Unusable("this is no Linux on x86-64 or 64-bit ARM")
        program = shutil.which("bwrap")
        if program is None:
            raise _Unusable("bubblewrap is not installed")
        self._program = program
        self._users = _spare_users()
        with tempfile.TemporaryFile() as said:
            self._begin(said)
            try:
                with self.learner(["tried = True"]) as trial:
                    if trial.find("tried").value is not True:
                        raise OSError("a notebook cannot be run in it")
            except (OSError, CheckFailed) as error:
                self.close()
                said.seek(0)
                lines = said.read().decode("utf-8", "replace").strip().splitlines() or [str(error.__cause__ or error)]
                raise _Unusable(f"bubblewrap does not work here: {lines[-1].rstrip('.')}{_hindrance()}") from error
            except BaseException:
                self.close()
                raise

    def _begin(self, said: IO[bytes] | int) -> None:
        """Start the process.

        Args:
            said: gets what goes wrong.
        """
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._popen = subprocess.Popen(
                _command(self._program, theirs.fileno(), bool(self._users)),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def learner(
        self,
        cells: Sequence[str],
        answer: Answer | None = None,
        *,
        lesson: str | None = None,
        seconds: float = SECONDS,
        seed: int | None = None,
    ) -> PipeLearner:
        if self._popen.poll() is not None:  # somebody has killed it, or the system for want of memory
            self.close()
            self._begin(subprocess.DEVNULL)
        return _learner(cells, answer, self._host(lesson), lesson, seconds, seed)

    def _host(self, lesson: str | None) -> _Submission:
        user = secrets.choice(self._users) if self._users else 0
        asked = {"holder": user, "modules": [] if lesson is None else _imported(lesson)}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(self._control, [json.dumps(asked).encode()], [theirs.fileno()])
        return _Submission(ours)

    def close(self) -> None:
        """End all that runs in the sandbox."""
        self._control.close()
        self._popen.kill()
        self._popen.wait()


def _hindrance() -> str:
    """What is known to stand in bubblewrap's way."""
    switch = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    try:
        closed = os.geteuid() != 0 and switch.read_text(encoding="ascii").strip() == "1"
    except OSError:
        closed = False
    return (
        " (AppArmor forbids it: see the system setting kernel.apparmor_restrict_unprivileged_userns)" if closed else ""
    )


@cache
def _imported(lesson: str) -> list[str]:
    """The modules of others that a lesson's own cells import: to import some of them takes seconds."""
    found = set()
    for cell in notebooks.read(course.path("lessons", lesson)).cells:
        if cell.cell_type == "code":
            for node in ast.walk(parsed(cell.source)):
                names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
                found |= {*names, node.module or ""} if isinstance(node, ast.ImportFrom) else set(names)
    return sorted(name for name in found if name.partition(".")[0] not in ("", "memory_tutor"))


def _spare_users() -> range:
    """Numbers of users that nobody has, where this process may become any of them; else none."""
    if os.geteuid() != 0:
        return range(0)
    first, _, many = map(int, Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()[0].split())
    many = min(many, 2**31)
    return range(first + many // 2, first + many - 1) if many > 1000 else range(0)


def _command(program: str, descriptor: int, root: bool) -> list[str]:
    """The command that starts the warm process in the sandbox.

    Args:
        program: bubblewrap.
        descriptor: of the socket that the process gets.
        root: whether to run it as the system's root, which forks processes of other users; else as nobody special.
    """
    shown, site = _shown()
    keep = [place for place in shown if place.startswith("/tmp/")]
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "IPYTHONDIR": "/tmp/.ipython",
        "PYTHONPATH": ":".join([INSIDE, *site]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MEMORY_TUTOR_LEARNER": "1",
        # Each thread would reserve addresses of its own, which count as memory.
        "MALLOC_ARENA_MAX": "2",
    }
    return [
        program,
        *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
        *("--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"),
        *(part for name, value in environment.items() for part in ("--setenv", name, value)),
        *("--cap-drop", "ALL"),
        *(_capabilities("SYS_ADMIN", "SETUID", "SETGID", "SETPCAP", "CHOWN") if root else _nobody()),
        *_system(),
        *("--proc", "/proc", "--tmpfs", "/dev", "--tmpfs", "/tmp"),
        *_devices(),
        *_places(shown),
        *_modules(),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"),
        *(sys.executable, "-P", "-m", "memory_tutor.warm", str(descriptor), json.dumps(keep)),
    ]


def _capabilities(*names: str) -> Iterator[str]:
    for name in names:
        yield from ("--cap-add", f"CAP_{name}")


def _nobody() -> Iterator[str]:
    yield "--unshare-user"
    if os.geteuid() == 0:  # the root of a container that has no other users
        yield from ("--uid", "1000", "--gid", "1000")


def _system() -> Iterator[str]:
    """Programs and libraries of the system."""
    for name in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if Path(name).is_symlink():
            yield from ("--symlink", str(Path(name).readlink()), name)
        else:
            yield from ("--ro-bind-try", name, name)
    for name in ("/etc/ld.so.cache", "/nix/store", "/gnu/store"):
        yield from ("--ro-bind-try", name, name)


def _devices() -> Iterator[str]:
    """Those that programs expect, and no terminals."""
    for name in ("null", "zero", "full", "random", "urandom"):
        yield from ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
    yield from ("--symlink", "/proc/self/fd", "/dev/fd", "--dir", "/dev/shm")


def _shown() -> tuple[list[str], list[str]]:
    """The folders of Python and its packages that are not the system's, and those that PYTHONPATH has to name."""
    prefixes = {sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix}
    found = [place for place in prefixes if not place.startswith("/usr")]
    site = [
        place
        for place in sys.path
        if Path(place).name in ("site-packages", "dist-packages")
        and not place.startswith("/usr/")
        and not any(place.startswith(f"{prefix}/") for prefix in found)
    ]
    return sorted({*found, *site}), site


def _places(shown: Sequence[str]) -> Iterator[str]:
    """Show these folders, and hide what of the user's and of this package's lies in them or in the system's."""
    hidden = {course.PACKAGE, Path.home()}
    if course.PACKAGE.parent.name == "lessons":
        hidden.add(course.PACKAGE.parent.parent)
    hidden |= {Path(place) / "memory_tutor" for place in sys.path if place and (Path(place) / "memory_tutor").is_dir()}
    wanted: dict[str, str] = dict.fromkeys(shown, "show")
    for place in map(str, hidden):
        if place not in wanted and any(place.startswith(f"{outer}/") for outer in ("/usr", "/nix", *shown)):
            wanted[place] = "hide"
    # A folder above may be closed to others, as /root is; here all may pass.
    above = {str(folder) for place in shown for folder in Path(place).parents} - {"/", "/tmp"}
    for folder in sorted(above):
        yield from ("--perms", "0755", "--dir", folder)
    # What lies within another comes after it.
    for place in sorted(wanted):
        yield from ("--ro-bind", place, place) if wanted[place] == "show" else ("--tmpfs", place, "--remount-ro", place)


def _modules() -> Iterator[str]:
    for folder in (INSIDE, f"{INSIDE}/memory_tutor", f"{INSIDE}/memory_tutor/stores"):
        yield from ("--perms", "0755", "--dir", folder)
    for name in MODULES:
        file = name.replace(".", "/") + ".py"
        yield from ("--ro-bind", str(course.PACKAGE / file), f"{INSIDE}/memory_tutor/{file}")


# -- one notebook in it ----------------------------------------------------------------------------------


class _Submission:
    """A host whose processes share a /tmp, and nothing with those of another.

    Args:
        control: the way to its holder; see `warm`.

    Raises:
        OSError: there is none.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._control.settimeout(START)
        self._clerks: dict[str, PipeLearner] = {}
        self._clerking, self._talking = threading.Lock(), threading.Lock()
        self._links: list[Path] = []
        self._holder = self._receive()
        self._control.settimeout(DO)
        self._root = Path(f"/proc/{_number(self._holder)}/root")

    def start(self, *, aside: bool = False) -> Running:
        """Start a process; see `Host.start`.

        Args:
            aside: whether it is one of ours, which must not import what the learner's code has written.
        """
        ours, theirs = socket.socketpair()
        with self._talking, theirs:
            socket.send_fds(self._control, [json.dumps({"aside": aside}).encode()], [theirs.fileno()])
            return _Confined(ours, self._receive())

    def folder(self) -> str:
        name = leftovers.prefix() + secrets.token_hex(8)
        inside = self._root / "tmp" / name
        folder = inside / "in"
        for made in (inside, folder):
            made.mkdir()
            made.chmod(0o777)  # the learner's user may be another one
        link = Path("/tmp") / name
        link.symlink_to(inside)
        self._links.append(link)
        return str(link / folder.name)

    def no_room(self) -> str:
        try:
            room = os.statvfs(self._root / "tmp")
        except OSError:  # it has ended
            return ""
        if room.f_bavail * room.f_frsize < SPARE:
            return f"The code of this notebook left no room in its folder ({room.f_blocks * room.f_frsize // MB} MB)."
        if room.f_favail < SPARE_FILES:
            return f"The code of this notebook left no room in its folder ({room.f_files:,} files)."
        return ""

    def run(self, function: Callable[..., T], *args: object) -> T:
        module = inspect.getmodule(function)
        assert module is not None
        with self._clerking:
            clerk = self._clerks.get(module.__name__)
            if clerk is None:
                clerk = self._clerks[module.__name__] = PipeLearner([inspect.getsource(module)], host=_Beside(self))
            # A function's type is not known here, nor what a learner has made of the files: not gradable, then.
            returned: T = clerk.call(function.__name__, *args, seconds=ASIDE).value
            return returned

    def close(self) -> None:
        while self._clerks:
            self._clerks.popitem()[1].close()
        for link in self._links:
            link.unlink(missing_ok=True)
        self._links.clear()
        self._control.close()
        if self._holder >= 0:
            _kill(self._holder)
            os.close(self._holder)
            self._holder = -1

    def _receive(self) -> int:
        """The descriptor of a process that the holder has started."""
        data, descriptors, _, _ = socket.recv_fds(self._control, 4096, 1)
        if not descriptors:
            raise OSError(json.loads(data)["failed"] if data else "The sandbox has ended")
        return descriptors[0]


class _Beside(ThisMachine):
    """A host for a process of ours among those of a submission.

    Args:
        submission: whose files it sees.
    """

    def __init__(self, submission: _Submission) -> None:
        super().__init__()
        self._submission = submission

    def start(self) -> Running:
        return self._submission.start(aside=True)


class _Confined:
    """A learner's process in the sandbox.

    Args:
        ours: our end of its socket.
        descriptor: that stands for it.
    """

    def __init__(self, ours: socket.socket, descriptor: int) -> None:
        self.stopped = ""
        self.incoming: IO[bytes] = ours.makefile("rb")
        self.outgoing: IO[bytes] = ours.makefile("wb")
        ours.close()  # it goes with the two
        self._descriptor = descriptor
        self._over = threading.Event()
        self._watching = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._watching.start()

    def end(self) -> None:
        if self._over.is_set():
            return
        self._over.set()
        self._watching.join()
        _kill(self._descriptor)
        os.close(self._descriptor)

    def _watch(self) -> None:
        # Its own list of processes: those that it has started are there, whatever they have done.
        processes = Path("/proc", str(_number(self._descriptor)), "root", "proc")
        while not self._over.wait(LOOK):
            if _memory(processes) > MEMORY:
                self.stopped = f"It took more than {MEMORY // MB:,} MB of memory, and was stopped."
                _kill(self._descriptor)
                return


def _number(descriptor: int) -> int:
    """The number that a process has on this side."""
    for line in Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines():
        key, _, value = line.partition(":")
        if key == "Pid":
            return int(value)
    raise OSError("The kernel does not tell the number of a process")


def _kill(descriptor: int) -> None:
    """Kill a process, and wait until it and all in its namespace are gone."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    select.select([descriptor], [], [], DO)


def _memory(processes: Path) -> int:
    """Bytes of memory that some processes have, what they share counted once."""
    total = sum(_resident(place) for place in _listed(processes))
    return total if total <= MEMORY else sum(_share(place) for place in _listed(processes))


def _listed(processes: Path) -> list[Path]:
    try:
        return [processes / name for name in os.listdir(processes) if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []


def _resident(process: Path) -> int:
    """Bytes that a process has, also those that it shares with what it was forked from."""
    try:
        _, resident, shared, *_ = (process / "statm").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def _share(process: Path) -> int:
    """Bytes that a process has, what it shares divided by those who share it."""
    try:
        text = (process / "smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:"))
