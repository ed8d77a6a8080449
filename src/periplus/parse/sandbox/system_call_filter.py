"""A seccomp filter: from then on a process can compute, allocate memory, and read and write what it has open.

Every other system call fails with EPERM: opening files, sockets, new processes, signals to others. Memory cannot become
executable either. The filter is a program for the kernel's packet filter machine, of eight bytes an instruction.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

__all__ = ["install_filter"]

_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2
_LOAD: Final = 0x20
_JUMP_IF_EQUAL: Final = 0x15
_JUMP_IF_SET: Final = 0x45
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_DENY: Final = 0x00050000 | errno.EPERM
_NUMBER_OFFSET: Final = 0
_ARCHITECTURE_OFFSET: Final = 4
_ARGUMENTS_OFFSET: Final = 16
_PROT_EXEC: Final = 4


class _Machine(NamedTuple):
    """One architecture: its number for the kernel's audit, and its column in the table of system calls."""

    audit: int
    column: int


_MACHINES: Final[Mapping[str, _Machine]] = MappingProxyType(
    {"x86_64": _Machine(0xC000003E, 0), "aarch64": _Machine(0xC00000B7, 1)}
)
_ALLOWED: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "read": (0, 63),
        "write": (1, 64),
        "close": (3, 57),
        "fstat": (5, 80),
        "poll": (7, 73),
        "lseek": (8, 62),
        "munmap": (11, 215),
        "brk": (12, 214),
        "rt_sigaction": (13, 134),
        "rt_sigprocmask": (14, 135),
        "rt_sigreturn": (15, 139),
        "sched_yield": (24, 124),
        "mremap": (25, 216),
        "madvise": (28, 233),
        "getpid": (39, 172),
        "exit": (60, 93),
        "gettimeofday": (96, 169),
        "getrusage": (98, 165),
        "times": (100, 153),
        "sigaltstack": (131, 132),
        "gettid": (186, 178),
        "futex": (202, 98),
        "sched_getaffinity": (204, 123),
        "restart_syscall": (219, 128),
        "clock_gettime": (228, 113),
        "clock_getres": (229, 114),
        "exit_group": (231, 94),
        "getrandom": (318, 278),
    }
)
"""Numbers on x86-64 and on ARM (where 'poll' is 'ppoll')."""
_MEMORY: Final = ((9, 222), (10, 226))
"""mmap and mprotect."""
_PRLIMIT: Final = (302, 261)
_TGKILL: Final = (234, 131)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def install_filter() -> bool:
    """Install the filter in this process, for good; return False where the kernel or the architecture has none.

    The process must have set `no_new_privs`.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None or not sys.platform.startswith("linux"):
        return False
    code = b"".join(_assemble(machine))
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _assemble(machine: _Machine) -> list[bytes]:
    code = [
        _instruction(_LOAD, _ARCHITECTURE_OFFSET),
        _instruction(_JUMP_IF_EQUAL, machine.audit, if_true=1),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER_OFFSET),
    ]
    for numbers in _ALLOWED.values():
        code += _when(numbers[machine.column], [_instruction(_RETURN, _ALLOW)])
    for numbers in _MEMORY:
        code += _when(numbers[machine.column], _check_argument(_JUMP_IF_SET, 2, _PROT_EXEC, allow=False))
    # Limits and signals of this process only.
    code += _when(_PRLIMIT[machine.column], _check_argument(_JUMP_IF_EQUAL, 0, 0, allow=True))
    code += _when(_TGKILL[machine.column], _check_argument(_JUMP_IF_EQUAL, 0, os.getpid(), allow=True))
    return [*code, _instruction(_RETURN, _DENY)]


def _when(number: int, body: list[bytes]) -> list[bytes]:
    """Return code that runs `body`, which returns, for the system call of this number."""
    return [_instruction(_JUMP_IF_EQUAL, number, if_false=len(body)), *body]


def _check_argument(test: int, argument: int, value: int, allow: bool) -> list[bytes]:
    """Return code that allows the call if the test of the lower half of an argument is true, or only if it is not."""
    return [
        _instruction(_LOAD, _ARGUMENTS_OFFSET + 8 * argument),
        _instruction(test, value, if_false=1),
        _instruction(_RETURN, _ALLOW if allow else _DENY),
        _instruction(_RETURN, _DENY if allow else _ALLOW),
    ]


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value & 0xFFFFFFFF)
