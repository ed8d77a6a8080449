"""PageRank over an adjacency: parts of it by several threads, round after round, until the ranks stay as they are.

The ranks are the solution of one linear system, which is solved part by part (see `kernels.pagerank`); what a round
changes in sum bounds the error as it does for plain iteration. Links are unpacked once when they fit into the memory
that was granted, else anew in every round.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from periplus.graph.adjacency import Adjacency
from periplus.graph.kernels import adjacency as kernel
from periplus.graph.kernels import crossing, pagerank

__all__ = ["Ranker", "Ranks", "Round"]

_MOST_ROUNDS: Final = 1_000
_PART_LINKS: Final = 800_000
"""A part has about this many links: with fewer parts rounds are fewer too, with more of them threads wait less."""
_MOST_PARTS: Final = 512
_STEP_LINKS: Final = 1 << 18
"""Links that are unpacked at a time, when all of them are too many to hold."""

_T = TypeVar("_T")
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
    """Some rows of a part, with their links if these are held; else they are unpacked in every round."""

    first: int
    last: int
    part: int
    held: kernel.Unpacked | None


class Ranker:
    """Ranks the nodes of one adjacency, as often as asked."""

    def __init__(self, links: Adjacency, near_weight: float, memory: int, workers: int) -> None:
        self._links, self._workers = links, max(1, workers)
        self._kinds = np.array([1.0, near_weight], np.float32)
        self._scratch = threading.local()
        spans = list(self._spans(0, links.nodes, self._share()))
        size = (8 if links.counted else 4) * links.links + 16 * links.nodes
        self._parts = [self._steps(*span, held=size <= memory) for span in spans]
        self.out = self._out_weights()
        self._crossing: crossing.Crossing | None = None
        if size <= memory and not links.counted:
            self._cross(spans, memory - size)

    def _cross(self, spans: list[tuple[int, int]], memory: int) -> None:
        """Take links from part to part out of the rows, if there is memory to have them apart."""
        nodes, number = self._links.nodes, len(spans)
        parts = np.repeat(
            np.arange(number, dtype=np.int32), [-(-(last - first) // kernel.ROWS) for first, last in spans]
        )
        sizes = np.zeros((number, number), np.int64)
        for own, (step,) in enumerate(self._parts):
            crossing.count(self._unpacked(step), nodes, parts, own, sizes)
        within = np.diagonal(sizes).copy()
        np.fill_diagonal(sizes, 0)
        total = int(sizes.sum())
        # Each takes 16 bytes, and is no longer among the rows, where it took 4.
        if 12 * total > memory:
            return
        by_source = np.concatenate(([0], np.cumsum(sizes.ravel())))[:-1].reshape(sizes.shape)
        by_target = np.concatenate(([0], np.cumsum(sizes.T.ravel())))[:-1].reshape(sizes.shape)
        places = np.empty(total, np.uint32), np.empty(total, np.uint32), np.empty(total, np.float64)
        self._crossing = crossing.Crossing(*places, sizes, by_source, by_target)
        for own, (step,) in enumerate(self._parts):
            to = kernel.make_room(step.last - step.first, int(within[own]), False, self._kinds)
            crossing.part(self._unpacked(step), step.first, nodes, parts, own, to, self._crossing)
            self._parts[own] = [step._replace(held=to)]

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
                if self._crossing is None:
                    pagerank.end_round(state)
                changes.append(change / ((total + least) or 1.0))
                told(len(changes), changes[-1])
            self._round(pool, state, damping, True)
        return Ranks(state.ranks, len(changes), tuple(changes))

    def _round(
        self, pool: ThreadPoolExecutor, state: pagerank.State, damping: float, sinks: bool
    ) -> tuple[float, float]:
        """Do a round of all parts; only of sinks, or only of all others."""
        parts = range(len(self._parts))
        across = self._crossing

        def do(part: int) -> tuple[float, float]:
            steps = self._parts[part]
            if across is not None:
                state.sums[steps[0].first : steps[-1].last] = 0.0
                crossing.receive(across, self._kinds, part, state.sums)
            done = [
                pagerank.pull(self._unpacked(step), state, step.first, damping, sinks, across is None) for step in steps
            ]
            return sum(change for change, _ in done), sum(total for _, total in done)

        if across is not None:
            self._each(pool, lambda part: crossing.send(across, state.shares, part), parts)
        # Sums are taken in the order of the parts, whichever thread was first.
        results = self._each(pool, do, parts)
        return sum(change for change, _ in results), sum(total for _, total in results)

    def _each(self, pool: ThreadPoolExecutor, work: Callable[[int], _T], parts: range) -> list[_T]:
        return list(map(work, parts) if self._workers == 1 else pool.map(work, parts))
