"""Queries asked of several engines in turn, so that all of them run under the same conditions.

The turn begins with another engine for each query: who is asked later finds what the query reads in the caches of the
processor, and would seem faster if it was always the same one.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from periplus.records import Query

Item = TypeVar("Item")
REPEATS: Final = 5
"""How often each query is asked."""


def quantiles(seconds: Sequence[float] | npt.NDArray[np.float64]) -> dict[str, float]:
    """Return p50 and p99 in milliseconds."""
    p50, p99 = np.quantile(np.array(seconds) * 1000, [0.5, 0.99])
    return {"p50_ms": round(float(p50), 3), "p99_ms": round(float(p99), 3)}


class Samples(NamedTuple):
    """Seconds of queries: a row for each time that all were asked, a column for each query."""

    wall: npt.NDArray[np.float64]
    cpu: npt.NDArray[np.float64]
    """Of the thread that asks."""

    def figures(self) -> dict[str, float]:
        """Return p50 and p99, and the processor time at p50."""
        return quantiles(self.wall.reshape(-1)) | {"cpu_p50_ms": round(float(np.median(self.cpu)) * 1000, 3)}


def median_difference(some: npt.NDArray[np.float64], others: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the median over queries by how many milliseconds the first take longer.

    By the medians of all times that a query was asked, and by the least: other work on the machine disturbs that less.
    """
    typical = np.median(np.median(some, axis=0) - np.median(others, axis=0))
    least = np.median(some.min(axis=0) - others.min(axis=0))
    return round(float(typical) * 1000, 3), round(float(least) * 1000, 3)


def ask_in_turn(searches: Sequence[Callable[[Query], Any]], queries: Sequence[str]) -> list[Samples]:
    """Ask each query of each in turn, `REPEATS` times, after all have answered it once."""
    for words in queries:
        for search in searches:
            search(Query(words))
    shape = (REPEATS, len(queries))
    samples = [Samples(np.zeros(shape), np.zeros(shape)) for _ in searches]
    engines = list(zip(searches, samples, strict=True))
    for repeat in range(REPEATS):
        for number, words in enumerate(queries):
            for search, (wall, cpu) in rotate(engines, repeat + number):
                began, used = time.perf_counter(), time.thread_time()
                search(Query(words))
                wall[repeat, number], cpu[repeat, number] = time.perf_counter() - began, time.thread_time() - used
    return samples


def rotate(items: Sequence[Item], turn: int) -> list[Item]:
    """Return items in their order, but beginning with another one in each turn."""
    start = turn % len(items) if items else 0
    return [*items[start:], *items[:start]]


def throughput(search: Callable[[Query], Any], queries: Sequence[str], clients: int) -> float:
    """Return the queries a second of some clients together."""

    def ask() -> None:
        for words in queries:
            search(Query(words))

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return round(clients * len(queries) / (time.perf_counter() - began), 1)
