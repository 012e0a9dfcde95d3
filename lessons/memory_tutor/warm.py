"""The process in the sandbox that has imported everything, and forks: `python -m memory_tutor.warm` (Linux).

    parent, outside                    this process        a holder for each notebook       a learner's process
    {"holder": user, …} + socket ----> imports, fork ----> namespaces, memory over /tmp
    {"aside": bool} + socket ----------------------------> fork, fork ------------------> rights, limits, filter; serves

It gets the number of a socket, and over it the socket of each new holder, with the modules that the lesson's own
cells import. A holder says {"ready": true} with a descriptor that stands for it, then starts a process for each
{"aside": …}: one after another, or two at once, which see the same /tmp and not each other. It gives a descriptor for
each. A process that is killed takes with it all that it has started, since it is the first in a namespace of
processes; when a holder's socket is closed, the holder ends and /tmp is gone. The learner's process holds no
descriptor but that of its own socket.

Where this process is the system's root, a submission has a user of its own, whose number nobody else has. Elsewhere
it has a namespace of users, in which it is nobody and outside of which it is who started the sandbox.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from memory_tutor import namespaces, process, seccomp
from memory_tutor.limits import MB, Limits

#: Bytes and files that fit into a submission's /tmp, and bytes into its /dev/shm, where locks between processes are.
ROOM, FILES, SHARED = 64 * MB, 4_000, 4 * MB
#: Where a learner's cells run, and where a process of ours does: a file of theirs must not stand for a module of it.
FOLDER, ASIDE = "/tmp/notebook", "/"


def main() -> None:
    """Fork a holder for each socket that comes, until the parent goes."""
    (number, keep) = sys.argv[1:]
    sys.argv[1:] = []
    control = socket.socket(fileno=int(number))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that end
    with Path(os.devnull).open("r+b") as nothing:
        for standard in (0, 1, 2):
            os.dup2(nothing.fileno(), standard)
    ready = process.prepare()
    gc.collect()
    gc.freeze()
    while True:
        message, descriptor = _receive(control)
        if descriptor is None:
            os._exit(0)
        for name in message["modules"]:
            _import(name)
        _fork(_hold, descriptor, message["holder"], json.loads(keep), ready)
        os.close(descriptor)


def _import(name: str) -> None:
    """Import a module, so that no process need do it, where there is such a module."""
    if name not in sys.modules:
        with suppress(Exception):
            import_module(name)
        gc.freeze()


def _hold(descriptor: int, user: int, keep: list[str], ready: process.Ready) -> NoReturn:
    """Be a holder.

    Args:
        descriptor: of its socket.
        user: number of the submission's own user, 0 where it gets a namespace of users.
        keep: folders below /tmp that are to be seen as before.
        ready: what its processes need.
    """
    control = socket.socket(fileno=_only(descriptor))
    try:
        namespaces.leave(
            namespaces.NEW_MOUNTS | namespaces.NEW_IPC | namespaces.NEW_NETWORK | (0 if user else namespaces.NEW_USERS)
        )
        if not user:
            namespaces.become_nobody()
        namespaces.keep_mounts_private()
        namespaces.mount_memory("/tmp", ROOM, FILES, keep)
        namespaces.mount_memory("/dev/shm", SHARED, FILES)
        _make_folder(user)
        _say(control, {"ready": True}, os.pidfd_open(os.getpid()))
    except OSError as error:
        _say(control, {"failed": str(error)})
        os._exit(1)
    while True:
        message, theirs = _receive(control)
        if theirs is None:
            os._exit(0)
        _fork(_start, control, theirs, user, ASIDE if message["aside"] else FOLDER, ready)
        os.close(theirs)


def _make_folder(user: int) -> None:
    Path(FOLDER).mkdir()
    if user:
        os.chown(FOLDER, user, user)


def _start(control: socket.socket, theirs: int, user: int, folder: str, ready: process.Ready) -> NoReturn:
    """Fork a learner's process into a new namespace of processes."""
    try:
        namespaces.leave(namespaces.NEW_PROCESSES)
        child = _fork(_learn, theirs, user, folder, ready)
        _say(control, {"started": True}, os.pidfd_open(child))
    except OSError as error:
        _say(control, {"failed": str(error)})
    os._exit(0)


def _learn(descriptor: int, user: int, folder: str, ready: process.Ready) -> NoReturn:
    """Be a learner's process; nothing of theirs has run yet."""
    descriptor = _only(descriptor)
    ends = socket.socket(fileno=descriptor)
    try:
        _shut_in(user, folder)
    except OSError as error:
        ends.sendall(json.dumps({"failed": str(error)}).encode() + b"\n")
        os._exit(1)
    process.serve(ready, ends.makefile("rb"), ends.makefile("wb"))


def _shut_in(user: int, folder: str) -> None:
    """Give up all that a learner's process must not have."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    namespaces.leave(namespaces.NEW_MOUNTS)
    namespaces.mount_processes()
    # When memory is short, the system ends this first.
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    namespaces.drop_rights(user)
    Limits().apply()
    seccomp.install()
    os.chdir(folder)


def _fork(then: Callable[..., NoReturn], *args: object) -> int:
    """Do something in a new process, which ends whatever comes of it; the number of the process."""
    child = os.fork()
    if child == 0:
        try:
            then(*args)
        finally:
            os._exit(1)
    return child


def _only(descriptor: int) -> int:
    """Close all descriptors but the standard ones and this one."""
    os.dup2(descriptor, 3)
    os.closerange(4, 1 << 20)
    return 3


def _receive(control: socket.socket) -> tuple[dict[str, Any], int | None]:
    """The next message, and the descriptor that comes with it; None when the other end has gone."""
    data, descriptors, _, _ = socket.recv_fds(control, 4096, 1)
    return (json.loads(data), descriptors[0]) if descriptors else ({}, None)


def _say(control: socket.socket, message: dict[str, Any], descriptor: int | None = None) -> None:
    socket.send_fds(control, [json.dumps(message).encode()], [] if descriptor is None else [descriptor])


if __name__ == "__main__":
    main()
