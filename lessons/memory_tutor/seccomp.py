"""System calls that a learner's process may not make: a filter in the kernel, for good and for all that it starts.

Namespaces and limits keep the process in; what is refused here is what they leave open:

- links by name and device files: a check reads what the learner's code has left in a folder, and a link that is put
  there at the right moment would lead it to a file of the teacher's;
- memory that belongs to no process and so escapes from the count (memory files, System V and POSIX IPC, attributes);
- the doors by which programs have left such places before (mounts, namespaces, tracing, io_uring, bpf, keys);
- sockets of other families than the network's, which is empty, and Unix's.

What is younger than the list does not exist (ENOSYS); the C library does without it.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import socket
import struct
import sys
from collections.abc import Iterator

#: Refused system calls: their numbers on x86-64 and on 64-bit ARM, None where there is none.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    "symlink": (88, None), "symlinkat": (266, 36), "mknod": (133, None), "mknodat": (259, 33),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "mq_open": (240, 180),
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "unshare": (272, 97), "setns": (308, 268), "quotactl": (179, 60),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438), "kcmp": (312, 272), "perf_event_open": (298, 241), "personality": (135, 92),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "bpf": (321, 280), "userfaultfd": (323, 282), "fanotify_init": (300, 262),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "init_module": (175, 105), "finit_module": (313, 273), "kexec_load": (246, 104),
}  # fmt: skip
#: The number that is the kernel's name for a processor, and where its numbers stand in the lists here.
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
CLONE, CLONE3, FCNTL, SOCKET = (56, 220), 435, (72, 25), (41, 198)
#: The first number that is too young to be known here, and the first of x86-64's second set of numbers.
YOUNG, SECOND_SET = 450, 0x40000000
#: A process in namespaces of its own; a lease, which lets whoever opens the file wait.
NEW_NAMESPACES, SET_LEASE = 0x7E020000, 1024
FAMILIES = (socket.AF_INET, getattr(socket, "AF_INET6", 10), getattr(socket, "AF_UNIX", 1))

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_PR_SET_SECCOMP, _MODE_FILTER, _PR_SET_NO_NEW_PRIVS = 22, 2, 38
#: Where the kernel puts the number, the processor and the first two arguments (their lower halves).
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24

Instruction = tuple[int, int, int, int]


def is_possible() -> bool:
    """Whether the numbers of this system's calls are known here."""
    return sys.platform == "linux" and sys.byteorder == "little" and platform.machine() in MACHINES


def install() -> None:
    """Put the filter over this process and all that it starts.

    Raises:
        OSError: the kernel does not take it.
    """
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in _program(platform.machine()))
    buffer = ctypes.create_string_buffer(program, len(program))
    pointer = ctypes.create_string_buffer(struct.pack("HL", len(program) // 8, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _MODE_FILTER, pointer, 0, 0)):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "The filter of system calls cannot be set")


def _program(machine: str) -> Iterator[Instruction]:
    """The filter, in the kernel's small language: (code, steps if so, steps if not, value)."""
    name, column = MACHINES[machine]
    yield from (_load(_MACHINE), (_EQUAL, 1, 0, name), _give(_KILL), _load(_NUMBER))
    if machine == "x86_64":
        yield from ((_AT_LEAST, 0, 1, SECOND_SET), _give(_KILL))
    yield from ((_EQUAL, 1, 0, CLONE3), (_AT_LEAST, 0, 1, YOUNG), _give(_REFUSE | errno.ENOSYS))
    for numbers in REFUSED.values():
        if (number := numbers[column]) is not None:
            yield from ((_EQUAL, 0, 1, number), _give(_REFUSE | errno.EPERM))
    yield from ((_EQUAL, 0, 4, CLONE[column]), _load(_FIRST), (_ANY_BIT, 0, 1, NEW_NAMESPACES))
    yield from (_give(_REFUSE | errno.EPERM), _give(_ALLOW))
    yield from ((_EQUAL, 0, 4, FCNTL[column]), _load(_SECOND), (_EQUAL, 0, 1, SET_LEASE))
    yield from (_give(_REFUSE | errno.EPERM), _give(_ALLOW))
    yield from ((_EQUAL, 1, 0, SOCKET[column]), _give(_ALLOW), _load(_FIRST))
    for place, family in enumerate(FAMILIES):
        yield (_EQUAL, len(FAMILIES) - place, 0, family)
    yield from (_give(_REFUSE | errno.EAFNOSUPPORT), _give(_ALLOW))


def _load(offset: int) -> Instruction:
    return (_LOAD, 0, 0, offset)


def _give(verdict: int) -> Instruction:
    return (_RETURN, 0, 0, verdict)
