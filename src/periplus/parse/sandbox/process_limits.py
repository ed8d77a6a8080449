"""What a process that parses gives up: memory, time, files, network, new processes, and outliving its parent.

Limits of the operating system (rlimits) apply everywhere. Where the kernel has them, Landlock and a seccomp filter deny
the same again: a limit of open files stops `socket`, the filter stops the system call itself.
"""

import contextlib
import ctypes
import math
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Final

from periplus.parse.sandbox.landlock import restrict_files
from periplus.parse.sandbox.system_call_filter import install_filter

__all__ = ["allow_seconds", "die_with_parent", "drop_rights", "resident_mb"]

_PR_SET_PDEATHSIG: Final = 1
_NICE: Final = 5
_PR_SET_DUMPABLE: Final = 4
_PR_SET_NO_NEW_PRIVS: Final = 38
_LIFETIME_SECONDS: Final = 3_600
"""CPU seconds after which a process is ended, whatever it has parsed."""
_PAGE: Final = resource.getpagesize()


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; end it now if the parent has ended already."""
    _control_process(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def drop_rights(memory_mb: int) -> tuple[str, ...]:
    """Drop all rights that parsing does not need, for good; return the names of the mechanisms that are in force.

    `memory_mb` is what may be allocated beyond what the process has already.
    """
    _control_process(_PR_SET_DUMPABLE, 0)
    with contextlib.suppress(OSError):
        # Of all processes, this is the one to kill when the machine has no memory left.
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
    with contextlib.suppress(OSError):
        os.nice(_NICE)  # what fetches and what serves searches go first
    _limit(resource.RLIMIT_AS, _address_space() + (memory_mb << 20))
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
        _limit(kind, 0)
    _limit(resource.RLIMIT_CPU, _LIFETIME_SECONDS)
    mechanisms = ["rlimits"]
    unprivileged = _control_process(_PR_SET_NO_NEW_PRIVS, 1)
    mechanisms += ["landlock"] * (unprivileged and restrict_files())
    _limit(resource.RLIMIT_NOFILE, 0)
    mechanisms += ["seccomp"] * (unprivileged and install_filter())
    return tuple(mechanisms)


def allow_seconds(seconds: float) -> None:
    """Allow this process so many CPU seconds from now on; then the kernel ends it."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def resident_mb() -> float:
    """Return the peak of the resident memory of this process, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _limit(kind: int, value: int) -> None:
    """Lower a limit; one that is lower already, or that this system does not have, is left as it is."""
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or value < hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value))


def _address_space() -> int:
    """Return the bytes of address space in use; half a gigabyte, which is typical, where that is not known."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 512 << 20


def _control_process(operation: int, value: int) -> bool:
    """Call prctl; return False where there is none."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(operation, value, 0, 0, 0) == 0)
