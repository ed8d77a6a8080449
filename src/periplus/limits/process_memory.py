"""The memory of a process and of all that it started, as Linux accounts it.

Counted is memory that would have to be swapped: anonymous and shared pages. Pages of mapped files, such as the index,
are not: the kernel drops them when it needs the memory. A page that several processes share since a fork counts for
each in `Rss`, and once over all of them in `Pss`; the second is exact and costs more, so the first is tried before.
"""

import ctypes
import gc
import os
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["process_tree", "release_memory", "tree_memory"]

_PROC: Final = "/proc"
_MAX_PROCESSES: Final = 4_096


def process_tree(root: int) -> list[int]:
    """Return a process and all of its living descendants."""
    children: dict[int, list[int]] = {}
    for process, parent in _all_parents():
        children.setdefault(parent, []).append(process)
    tree: list[int] = []
    waiting = [root]
    while waiting and len(tree) < _MAX_PROCESSES:
        process = waiting.pop()
        tree.append(process)
        waiting += children.get(process, [])
    return tree


def _all_parents() -> Iterator[tuple[int, int]]:
    try:
        names = os.listdir(_PROC)
    except OSError:
        return
    for name in names:
        if name.isdigit():
            try:
                with open(f"{_PROC}/{name}/stat", "rb") as file:
                    # The name of the program, in brackets, may contain anything.
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if len(fields) > 1:
                yield int(name), int(fields[1])


def _sum_fields(path: str, names: tuple[bytes, ...]) -> int | None:
    """Return the sum of some 'Name:  123 kB' lines in bytes; None if the file cannot be read."""
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(names))


def tree_memory(root: int, exact_above: float = 0.0) -> int:
    """Return the memory of a process and its descendants in bytes; shared pages count once if it is `exact_above`.

    0 where there is no /proc.
    """
    tree = process_tree(root)
    quick = {process: _sum_fields(f"{_PROC}/{process}/status", (b"RssAnon:", b"RssShmem:")) or 0 for process in tree}
    total = sum(quick.values())
    if total <= exact_above or len(tree) == 1:
        return total
    exact = 0
    for process in tree:
        shared = _sum_fields(f"{_PROC}/{process}/smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:"))
        exact += quick[process] if shared is None else shared
    return exact


def release_memory() -> None:
    """Collect garbage, and return freed memory to the system where the C library can."""
    gc.collect()
    try:
        trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None)
    except OSError:
        return
    if trim is not None:
        trim(0)
