"""Figures from times: summaries, agreement, growth, and what the process takes."""

import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Summary(NamedTuple):
    """Times of many queries, in microseconds."""

    mean: float
    p50: float
    p99: float


def summarise(nanoseconds: Sequence[int]) -> Summary:
    """Return mean, median and 99th percentile."""
    times = np.asarray(nanoseconds, np.float64) / 1000
    return Summary(float(times.mean()), float(np.percentile(times, 50)), float(np.percentile(times, 99)))


def overlap(ours: Sequence[Sequence[int]], theirs: Sequence[Sequence[int]]) -> float:
    """Return the mean share of hits that two engines have in common; two empty answers agree."""
    shares = [len(set(a) & set(b)) / max(len(a), len(b)) if a or b else 1.0 for a, b in zip(ours, theirs, strict=True)]
    return sum(shares) / len(shares) if shares else 1.0


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return e of value = c * size^e, by least squares; nan for a single size."""
    if len(sizes) < 2 or min(values) <= 0:
        return math.nan
    slope, _ = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(slope)


def use_one_core() -> int:
    """Keep this process, and those it starts, on one core, the idlest at the moment; give its number."""
    before = _idle_ticks()
    time.sleep(0.5)
    after = _idle_ticks()
    allowed = sorted(os.sched_getaffinity(0))
    chosen = max(allowed, key=lambda core: after.get(core, 0) - before.get(core, 0))
    os.sched_setaffinity(0, {chosen})
    return chosen


def _idle_ticks() -> dict[int, int]:
    rows = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    return {int(row[0][3:]): int(row[4]) for row in rows if row and row[0][:3] == "cpu" and row[0] != "cpu"}


def folder_bytes(folder: Path, without: tuple[str, ...] = ()) -> int:
    """Return the size of the files below a folder, except those whose names end in one of `without`."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(without))
    return sum(path.stat().st_size for path in files)


def memory_mb(process: int) -> float:
    """Return the resident memory of a process and its children in MB, shared memory counted once."""
    total = 0.0
    for child in [process, *_children(process)]:
        for line in Path(f"/proc/{child}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) / 1024
    return total


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process and its children, in seconds."""
    ticks = 0
    for child in [process, *_children(process)]:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _children(process: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *_children(int(child))]
    return found
