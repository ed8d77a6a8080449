"""Compile every kernel once, so that no query and no page waits for the compiler.

A kernel module is any module under a package's `kernels`. The ones that define `warm` call each of their kernels there,
with the types that production uses. They are compiled in several processes. When two programs start at once, one
compiles and the other waits for it; when it is killed, the other goes on with what is not compiled yet.
"""

import contextlib
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import numba

from periplus.accel.compile_cache import FOLDER, fingerprint_all, kernel_sources
from periplus.accel.lazy_loading import is_supported
from periplus.accel.parallel_compilation import compile_modules, count_processes, kernels_of

__all__ = ["cache_folder", "is_compiled", "load_imported", "take_precompiled", "warm_up"]

_STAGE: Final = "compiling kernels"
_TURN: Final = "compiling.lock"
"""The file that the process that compiles has locked; it contains how far it is."""
_LOOK_SECONDS: Final = 0.2


@cache
def _complete_marker() -> Path:
    """Return the file that says that every kernel of this version has been compiled."""
    return FOLDER / f"complete-{fingerprint_all()}"


def cache_folder() -> Path:
    """Return the folder of compiled kernels."""
    return FOLDER


def is_compiled() -> bool:
    """Return whether every kernel has been compiled on this machine."""
    return numba.config.DISABLE_JIT or _complete_marker().exists()


def warm_up(
    report: Callable[[str, int, int], None] = lambda stage, done, total: None, processes: int | None = None
) -> bool:
    """Compile every kernel that is not in the cache; return whether there was anything to compile.

    Parameters
        report: is called with the name of the stage, the number of kernels that are compiled, and of all
        processes: how many compile at once; without it, as many as there are cores and memory for
    """
    if is_compiled():
        return False
    with compiling_turn(FOLDER, is_compiled, lambda done, total: report(_STAGE, done, total)) as tell:
        if tell is None:
            return False
        _compile_all(count_processes() if processes is None else processes, tell)
        _remove_stale()
        _complete_marker().touch()
    return True


def take_precompiled() -> str:
    """Copy the kernels that the package was built with; return why that is not possible, or an empty string."""
    from periplus.accel.precompiled import take_over

    if numba.config.BOUNDSCHECK:
        return "kernels that check bounds are compiled here"
    with compiling_turn(FOLDER, is_compiled, lambda done, total: None) as tell:
        obstacle = "" if tell is None else take_over(FOLDER)
        if tell is not None and not obstacle:
            _remove_stale()
            _complete_marker().touch()
    return obstacle


def load_imported() -> None:
    """Call every kernel of the modules that are imported: for processes that cannot open files later on."""
    modules = [(name, module) for name, module in sys.modules.items() if name.startswith("periplus.")]
    for name, module in sorted(modules):
        if ".kernels." in name and hasattr(module, "warm"):
            module.warm()


def _compile_all(processes: int, tell: Callable[[int, int], None]) -> None:
    """Compile in other processes, and what those leave, in this one; what fails here raises its error."""
    sources = kernel_sources()
    names = sorted(name for name, source in sources.items() if b"\ndef warm()" in source)
    left = compile_modules(names, sources, processes, tell) if processes > 1 and is_supported() else names
    total = sum(len(kernels_of(name, source)) for name, source in sources.items())
    for number, name in enumerate(left):
        tell(total * number // len(left), total)
        import_module(f"periplus.{name}").warm()
    tell(total, total)


@contextlib.contextmanager
def compiling_turn(
    folder: Path, is_done: Callable[[], bool], report: Callable[[int, int], None]
) -> Iterator[Callable[[int, int], None] | None]:
    """Wait until no other process compiles for this folder; yield how to report, or None if there is nothing to do.

    While another process compiles, its progress is reported.
    """
    descriptor = os.open(folder / _TURN, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def tell(done: int, total: int) -> None:
        os.pwrite(descriptor, b"%10d %10d" % (done, total), 0)
        report(done, total)

    try:
        while not _is_locked(descriptor):
            words = os.pread(descriptor, 21, 0).split()
            if len(words) == 2 and all(word.isdigit() for word in words):
                report(int(words[0]), int(words[1]))
            time.sleep(_LOOK_SECONDS)
        yield None if is_done() else tell
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    """Return whether this process has the lock now, or the file system has none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _remove_stale() -> None:
    """Remove what earlier versions of the kernels left behind."""
    for folder in FOLDER.parent.glob("numba-*"):
        if folder != FOLDER:
            shutil.rmtree(folder, ignore_errors=True)
    for marker in FOLDER.glob("complete-*"):
        marker.unlink(missing_ok=True)
