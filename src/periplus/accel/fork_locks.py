"""Forking without the locks of the compiler: a child inherits them locked, without the thread that would unlock them.

While a process forks, the forking thread holds these locks itself, so no other thread does; they are free in the child.
"""

import os
from typing import Any, Final

import llvmlite.binding as llvm
from numba.core.compiler_lock import global_compiler_lock

__all__ = ["install_fork_locks"]

_SECONDS: Final = 120.0
"""How long a fork waits for a thread that compiles; a child gets fresh locks even if it takes longer."""


def _locks() -> list[Any]:
    """Return the locks of Numba and of LLVM, in the order in which they are taken."""
    locks = [getattr(global_compiler_lock, "_lock", None)]
    locks.append(getattr(getattr(getattr(llvm.ffi, "lib", None), "_lock", None), "_lock", None))
    return [lock for lock in locks if hasattr(lock, "_at_fork_reinit")]


def install_fork_locks() -> None:
    """Hold the locks of the compiler during each fork of this process."""
    locks = _locks()
    held: list[Any] = []

    def before() -> None:
        held.extend(lock for lock in locks if lock.acquire(timeout=_SECONDS))

    def in_parent() -> None:
        while held:
            held.pop().release()

    def in_child() -> None:
        held.clear()
        for lock in locks:
            lock._at_fork_reinit()

    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)
