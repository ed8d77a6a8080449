"""Compiles kernel modules in several processes at once, as `kernel_worker` does it."""

import os
import re
import selectors
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from periplus.accel.compile_cache import reached_modules
from periplus.accel.kernel_worker import COMMAND

__all__ = ["compile_modules", "count_processes", "kernels_of"]

_PACKAGE: Final = Path(__file__).parents[1]
_PROCESS_BYTES: Final = 1_300_000_000
"""What a process takes at most while it compiles."""
_MAX_PROCESSES: Final = 8
"""With more, the time is that of the largest kernel."""
_KERNEL: Final = re.compile(rb"^@njit\b.*\n(?:@.*\n)*def (\w+)", re.MULTILINE)


def kernels_of(name: str, source: bytes) -> set[str]:
    """Return the names of the kernels of a module: 'index.kernels.inversion.invert'."""
    return {f"{name}.{match[1].decode()}" for match in _KERNEL.finditer(source)}


def count_processes() -> int:
    """Return how many processes may compile at once: one for each core, as far as there is memory for them."""
    return max(1, min(len(os.sched_getaffinity(0)), _MAX_PROCESSES, _free_memory() // _PROCESS_BYTES))


def _free_memory() -> int:
    """Return how many bytes this process and its children may still use, of the machine and of its control group."""
    try:
        entries = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text("ascii").splitlines())
        free = int(entries["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return _MAX_PROCESSES * _PROCESS_BYTES
    try:
        group = Path("/proc/self/cgroup").read_text("utf-8").partition("0::/")[2].split("\n")[0]
        folder = Path("/sys/fs/cgroup") / group
        limit, used = (int((folder / name).read_text("ascii")) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # no control group, or one without a limit
        return free
    return min(free, limit - used)


def choose_module(waiting: Sequence[str], at_work: Iterable[str], sources: Mapping[str, bytes]) -> str:
    """Return the module to compile next: the one with the most code that no other process is compiling now."""
    busy: set[str] = set().union(*(reached_modules(name, sources) for name in at_work))
    return max(waiting, key=lambda name: sum(len(sources[one]) for one in reached_modules(name, sources) - busy))


def compile_modules(
    names: Sequence[str], sources: Mapping[str, bytes], processes: int, report: Callable[[int, int], None]
) -> list[str]:
    """Compile kernel modules; return those that no process has compiled, because it could not be started or has died.

    Parameters
        names: of the modules to compile
        sources: of all kernel modules
        processes: how many work at once
        report: is called with the number of kernels that are compiled, and of all
    """
    waiting, failed = list(names), []
    compiled: set[str] = set()
    every = set().union(*(kernels_of(name, source) for name, source in sources.items()))
    at_work: dict[Any, str] = {}

    def give_module(worker: Any) -> None:
        at_work.pop(worker, None)
        at_work[worker] = choose_module(waiting, at_work.values(), sources)
        waiting.remove(at_work[worker])
        _tell(worker, at_work[worker])

    with selectors.DefaultSelector() as selector:
        for worker in filter(None, (_start_worker() for _ in range(min(processes, len(names))))):
            selector.register(worker.stdout, selectors.EVENT_READ, worker)
            give_module(worker)
        try:
            while at_work:
                report(min(len(compiled), len(every) - 1), len(every))
                for key, _ in selector.select():
                    sign, _, name = key.data.stdout.readline().decode().strip().partition(" ")
                    if sign == "+":
                        compiled |= every & {name}
                        continue
                    for one in reached_modules(name, sources):  # what they call is compiled, too
                        compiled |= kernels_of(one, sources[one])
                    if sign == "=" and waiting:
                        give_module(key.data)
                        continue
                    if sign != "=":
                        failed.append(at_work[key.data])
                    selector.unregister(key.data.stdout)
                    _end(key.data)
                    del at_work[key.data]
        finally:
            _stop(at_work)
    return failed + waiting


def _start_worker() -> Any:
    """Return a process that waits for names of modules; None if there can be none."""
    # The same package, wherever this process has it from.
    command = f"import sys; sys.path.insert(0, {str(_PACKAGE.parent)!r}); {COMMAND}"
    try:
        return subprocess.Popen(
            [sys.executable, "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
    except (OSError, ValueError):
        return None


def _tell(worker: Any, name: str) -> None:
    """Send a process the name of its next module; if it has died, its output ends, which is noticed there."""
    try:
        worker.stdin.write(f"{name}\n".encode())
    except BrokenPipeError:
        pass


def _end(worker: Any) -> None:
    """Stop a process that has nothing more to do."""
    worker.stdin.close()
    worker.wait()
    worker.stdout.close()


def _stop(workers: Iterable[Any]) -> None:
    """Kill processes that are still at work, because this one was interrupted."""
    for worker in workers:
        worker.kill()
        _end(worker)
