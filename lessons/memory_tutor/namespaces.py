"""Linux's namespaces and rights, as far as the grader's sandbox needs them; Python 3.11 has no functions for them."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence
from pathlib import Path

NEW_MOUNTS, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USERS, NEW_PROCESSES, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
NO_SUID, NO_DEVICES, NO_PROGRAMS = 2, 4, 8
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 24, 38
#: Who the learner's code is in its own namespace, where it has one.
NOBODY = 1000

_libc = ctypes.CDLL(None, use_errno=True)


def leave(what: int) -> None:
    """Give this process namespaces of its own.

    Args:
        what: NEW_MOUNTS and others, added.

    Raises:
        OSError: the kernel refuses.
    """
    _must(_libc.unshare(ctypes.c_int(what)), "unshare")


def become_nobody() -> None:
    """In a new namespace of users: be one without a name, who stands for the user outside."""
    for file, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{NOBODY} {_outer_uid} 1"),
        ("gid_map", f"{NOBODY} {_outer_gid} 1"),
    ):
        Path(f"/proc/self/{file}").write_text(text, encoding="ascii")


#: Taken before: within a new namespace nobody is anybody until he is named.
_outer_uid, _outer_gid = os.getuid(), os.getgid()


def keep_mounts_private() -> None:
    """Let no mount of this namespace be seen in another one."""
    _mount("none", "/", None, _RECURSIVE | _PRIVATE)


def mount_memory(place: str, size: int, files: int, keep: Sequence[str] = ()) -> None:
    """Put an empty folder in memory over a place.

    Args:
        place: over which.
        size: of all that is in it, bytes.
        files: that can be in it.
        keep: folders below the place that are to be seen as before.
    """
    kept = [(folder, os.open(folder, os.O_PATH)) for folder in keep]
    _mount("tmpfs", place, "tmpfs", NO_SUID | NO_DEVICES, f"size={size},nr_inodes={files},mode=1777")
    for folder, number in kept:
        Path(folder).mkdir(parents=True)
        _mount(f"/proc/self/fd/{number}", folder, None, _BIND | _RECURSIVE)
        os.close(number)


def mount_processes() -> None:
    """Put the list of this namespace's processes over /proc."""
    _mount("proc", "/proc", "proc", NO_SUID | NO_DEVICES | NO_PROGRAMS)


def drop_rights(user: int) -> None:
    """Give up every right beyond an ordinary user's, for good and for all that is started.

    Args:
        user: number of the user and of the group to be from now on; 0 to stay who one is.
    """
    number = 0
    while _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        # As before: what it may learn of itself in /proc does not depend on who started it.
        _must(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    _must(_libc.capset(header, nothing), "capset")
    _must(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def _mount(source: str, place: str, kind: str | None, flags: int, data: str = "") -> None:
    arguments = [text.encode() if text is not None else None for text in (source, place, kind)]
    _must(_libc.mount(*arguments, ctypes.c_ulong(flags), data.encode() or None), f"mount {place}")


def _must(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
