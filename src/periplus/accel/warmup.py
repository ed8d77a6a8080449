"""Compile every kernel once, so that no query and no page waits for the compiler.

A kernel module is any module under a package's `kernels`. The ones that define `warm` call each of their kernels there,
with the types that production uses.
"""

import shutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

import numba

from periplus.accel.compile_cache import FOLDER, fingerprint_all, kernel_sources

__all__ = ["cache_folder", "is_compiled", "warm_up"]


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


def warm_up(report: Callable[[str, int, int], None] = lambda stage, done, total: None) -> bool:
    """Compile every kernel that is not in the cache; return whether there was anything to compile."""
    if is_compiled():
        return False
    modules = [name for name, source in sorted(kernel_sources().items()) if b"\ndef warm()" in source]
    for number, name in enumerate(modules):
        report("compiling kernels", number, len(modules))
        import_module(f"periplus.{name}").warm()
    report("compiling kernels", len(modules), len(modules))
    _remove_stale()
    _complete_marker().touch()
    return True


def _remove_stale() -> None:
    """Remove what earlier versions of the kernels left behind."""
    for folder in FOLDER.parent.glob("numba-*"):
        if folder != FOLDER:
            shutil.rmtree(folder, ignore_errors=True)
    for marker in FOLDER.glob("complete-*"):
        marker.unlink(missing_ok=True)
