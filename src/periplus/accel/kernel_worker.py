"""A process that compiles kernels: names of modules in, one in each line, and what was compiled out.

    = index.kernels.inversion           all kernels of a module are compiled
    + index.kernels.inversion.invert    one of them is

It ends when there are no more names. When nobody is there to read what it says, it ends after the kernel at hand.
"""

import os
import sys
from importlib import import_module
from typing import Any, Final

from numba.core import event

__all__ = ["COMMAND", "run_worker"]

COMMAND: Final = "from periplus.accel.kernel_worker import run_worker; run_worker()"
"""What an interpreter runs to be such a process."""
_PREFIX: Final = "periplus."


def run_worker() -> None:
    """Compile the modules that are named on standard input."""
    # Whatever else writes to standard output while a kernel is compiled does not get between these lines.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)

    def say(sign: str, name: str) -> None:
        try:
            output.write(f"{sign} {name.removeprefix(_PREFIX)}\n")
        except BrokenPipeError:
            os._exit(1)

    class CompilationListener(event.Listener):  # type: ignore[misc]
        def on_start(self, started: Any) -> None:
            pass

        def on_end(self, ended: Any) -> None:
            say("+", _name_of(ended))

    event.register("numba:compile", CompilationListener())
    for line in sys.stdin:
        import_module(_PREFIX + line.strip()).warm()
        say("=", line.strip())


def _name_of(ended: Any) -> str:
    """Return the name of the function whose compilation has ended."""
    function = ended.data["dispatcher"].py_func
    return f"{function.__module__}.{function.__name__}"
