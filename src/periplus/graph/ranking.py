"""PageRank over an adjacency: parts of it by several threads, round after round, until the ranks stay as they are.

The ranks are the solution of one linear system, which is solved part by part (see `kernels.pagerank`); what a round
changes in sum bounds the error as it does for plain iteration. Links are unpacked once when they fit into the memory
that was granted, else anew in every round.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.graph.adjacency import Adjacency
from periplus.kernels import adjacency as kernel
from periplus.kernels import pagerank

__all__ = ["Ranker", "Ranks", "Round"]

_MOST_ROUNDS: Final = 1_000
_PART_LINKS: Final = 1 << 18
"""A part has about this many links: with fewer parts rounds are fewer too, with more of them threads wait less."""
_MOST_PARTS: Final = 64
_STEP_LINKS: Final = 1 << 18
"""Links that are unpacked at a time, when all of them are too many to hold."""

Vector = npt.NDArray[np.float64]
Round = Callable[[int, float], None]
"""Told after each round: its number, and how much it has changed."""


class Ranks(NamedTuple):
    """The rank that every node has by its base, undivided; the rounds it took, and what each has changed."""

    ranks: Vector
    rounds: int
    changes: tuple[float, ...]

    @property
    def shares(self) -> Vector:
        """Ranks that sum to 1."""
        return self.ranks / (float(self.ranks.sum()) or 1.0)


class _Step(NamedTuple):
    first: int
    last: int
    part: int
    held: kernel.Unpacked | None


class Ranker:
    """Ranks the nodes of one adjacency, as often as asked."""

    def __init__(self, links: Adjacency, near_weight: float, memory: int, workers: int) -> None:
        self._links, self._workers = links, max(1, workers)
        self._kinds = np.array([1.0, near_weight], np.float32)
        size = (8 if links.counted else 4) * links.links + 16 * links.nodes
        self._parts = [self._steps(*span, held=size <= memory) for span in self._spans(0, links.nodes, self._share())]
        self._scratch = threading.local()
        self.out = self._out_weights()

    def _share(self) -> int:
        return max(_PART_LINKS, -(-self._links.links // _MOST_PARTS))

    def _spans(self, first: int, last: int, share: int) -> Iterator[tuple[int, int]]:
        """Cut rows into stretches of about `share` links, at the beginnings of blocks."""
        numbers = self._links.packed.block_links
        begin, end = first // kernel.ROWS, -(-last // kernel.ROWS)
        while begin < end:
            stop = int(np.searchsorted(numbers, numbers[begin] + share))
            stop = min(max(stop, begin + 1), end)
            yield begin * kernel.ROWS, min(stop * kernel.ROWS, last)
            begin = stop

    def _steps(self, first: int, last: int, held: bool) -> list[_Step]:
        """Cut a part into steps; unpack them now if they are to be held."""
        if held:
            return [_Step(first, last, first, self._links.unpack(first, last, first, self._room(first, last)))]
        return [_Step(*span, first, None) for span in self._spans(first, last, _STEP_LINKS)]

    def _room(self, first: int, last: int) -> kernel.Unpacked:
        links = self._links.links_before(last) - self._links.links_before(first)
        return kernel.make_room(last - first, links, self._links.counted, self._kinds)

    def _unpacked(self, step: _Step) -> kernel.Unpacked:
        """Give the links of a step, unpacked into this thread's own arrays if they are not held."""
        if step.held is not None:
            return step.held
        links = self._links.links_before(step.last) - self._links.links_before(step.first)
        room: kernel.Unpacked | None = getattr(self._scratch, "room", None)
        if room is None or len(room.middles) < step.last - step.first or len(room.places) < links:
            room = self._scratch.room = self._room(step.first, step.last)
        return self._links.unpack(step.first, step.last, step.part, room)

    def _out_weights(self) -> Vector:
        out = np.zeros(self._links.nodes, np.float64)
        for steps in self._parts:
            for step in steps:
                kernel.out_weights(self._unpacked(step), self._links.nodes, out)
        return out

    def rank(self, base: Vector, damping: float, tolerance: float, told: Round = lambda number, change: None) -> Ranks:
        """Solve for the ranks that come of `base`; stop when a round changes less than `tolerance` of their sum."""
        state = pagerank.begin(self.out, base)
        # Ranks of sinks move nothing, so they are found last; until then they have their base at least.
        least = float(base[self.out == 0].sum())
        changes: list[float] = []
        with ThreadPoolExecutor(self._workers) as pool:
            while len(changes) < _MOST_ROUNDS and (not changes or changes[-1] >= tolerance):
                change, total = self._round(pool, state, damping, False)
                pagerank.end_round(state)
                changes.append(change / ((total + least) or 1.0))
                told(len(changes), changes[-1])
            self._round(pool, state, damping, True)
        return Ranks(state.ranks, len(changes), tuple(changes))

    def _round(
        self, pool: ThreadPoolExecutor, state: pagerank.State, damping: float, sinks: bool
    ) -> tuple[float, float]:
        def do(steps: list[_Step]) -> tuple[float, float]:
            done = [pagerank.pull(self._unpacked(step), state, step.first, damping, sinks) for step in steps]
            return sum(change for change, _ in done), sum(total for _, total in done)

        # Sums are taken in the order of the parts, whichever thread was first.
        results = list(map(do, self._parts) if self._workers == 1 else pool.map(do, self._parts))
        return sum(change for change, _ in results), sum(total for _, total in results)
