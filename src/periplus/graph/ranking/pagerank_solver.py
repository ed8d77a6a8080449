"""PageRank over an adjacency: several threads process parts of it, round after round, until the ranks converge.

The ranks are the solution of one linear system, which is solved part by part (see `kernels.pagerank`); the sum of the
changes of a round bounds the error as it does for plain iteration. Links are unpacked once if they fit into the given
memory, else again in every round.

The adjacency may be that of one shard: its last nodes are then imported from other shards. They have no links to them;
their shares are received after each round, and all shards stop in the same round.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from periplus.graph.adjacency import Adjacency
from periplus.graph.exchange.imports import ValueExchange
from periplus.graph.exchange.rounds import Program, run_program
from periplus.graph.kernels import adjacency as kernel
from periplus.graph.kernels import cross_part_links, pagerank

__all__ = ["PagerankResult", "PagerankSolver", "RoundCallback"]

_MAX_ROUNDS: Final = 1_000
_PART_LINKS: Final = 800_000
"""Links of a part, approximately: fewer parts need fewer rounds, more parts leave threads less idle."""
_MAX_PARTS: Final = 512
_BATCH_LINKS: Final = 1 << 18
"""Links that are unpacked at a time, when there is not enough memory for all of them."""

_T = TypeVar("_T")
Vector = npt.NDArray[np.float64]
RoundCallback = Callable[[int, float], None]
"""Called after each round with its number and its change."""


class PagerankResult(NamedTuple):
    """The rank of every node, not normalised; the number of rounds, and the change of each."""

    ranks: Vector
    rounds: int
    changes: tuple[float, ...]

    @property
    def shares(self) -> Vector:
        """Ranks that sum to 1."""
        return self.ranks / (float(self.ranks.sum()) or 1.0)


class _RowBatch(NamedTuple):
    """Some rows of a part, with their links if these stay in memory; else they are unpacked in every round."""

    first: int
    last: int
    part_start: int
    links: kernel.LinkRows | None


class PagerankSolver:
    """Computes ranks of the nodes of one adjacency, for any number of bases."""

    def __init__(
        self,
        links: Adjacency,
        same_host_weight: float,
        memory: int,
        workers: int,
        exchange: ValueExchange | None = None,
    ) -> None:
        self._links, self._workers = links, max(1, workers)
        self._exchange = exchange or ValueExchange(links.nodes, {}, {})
        self._kind_weights = np.array([1.0, same_host_weight], np.float32)
        self._local = threading.local()
        spans = list(self._split_rows(0, links.nodes, self._links_per_part()))
        size = (8 if links.counted else 4) * links.links + 16 * links.nodes
        self._parts = [self._make_batches(*span, in_memory=size <= memory) for span in spans]
        self.out_weights = self._sum_out_weights()
        self._cross_links: cross_part_links.CrossPartLinks | None = None
        if size <= memory and not links.counted:
            self._separate_cross_links(spans, memory - size)

    def _separate_cross_links(self, spans: list[tuple[int, int]], memory: int) -> None:
        """Move links from part to part out of the rows, if there is enough memory for them."""
        nodes, count = self._links.nodes, len(spans)
        block_parts = np.repeat(
            np.arange(count, dtype=np.int32), [-(-(last - first) // kernel.BLOCK_ROWS) for first, last in spans]
        )
        sizes = np.zeros((count, count), np.int64)
        for part, (batch,) in enumerate(self._parts):
            cross_part_links.count_links(self._unpack_batch(batch), nodes, block_parts, part, sizes)
        inner_sizes = np.diagonal(sizes).copy()
        np.fill_diagonal(sizes, 0)
        total = int(sizes.sum())
        # Each takes 16 bytes, and is no longer in the rows, where it took 4.
        if 12 * total > memory:
            return
        source_starts = np.concatenate(([0], np.cumsum(sizes.ravel())))[:-1].reshape(sizes.shape)
        target_starts = np.concatenate(([0], np.cumsum(sizes.T.ravel())))[:-1].reshape(sizes.shape)
        self._cross_links = cross_part_links.CrossPartLinks(
            np.empty(total, np.uint32),
            np.empty(total, np.uint32),
            np.empty(total, np.float64),
            sizes,
            source_starts,
            target_starts,
        )
        for part, (batch,) in enumerate(self._parts):
            inner = kernel.allocate_rows(batch.last - batch.first, int(inner_sizes[part]), False, self._kind_weights)
            cross_part_links.split_links(
                self._unpack_batch(batch), batch.first, nodes, block_parts, part, inner, self._cross_links
            )
            self._parts[part] = [batch._replace(links=inner)]

    def _links_per_part(self) -> int:
        return max(_PART_LINKS, -(-self._links.links // _MAX_PARTS))

    def _split_rows(self, first: int, last: int, links: int) -> Iterator[tuple[int, int]]:
        """Split rows into ranges of about `links` links, at the beginnings of blocks."""
        block_links = self._links.packed.block_links
        begin, end = first // kernel.BLOCK_ROWS, -(-last // kernel.BLOCK_ROWS)
        while begin < end:
            stop = int(np.searchsorted(block_links, block_links[begin] + links))
            stop = min(max(stop, begin + 1), end)
            yield begin * kernel.BLOCK_ROWS, min(stop * kernel.BLOCK_ROWS, last)
            begin = stop

    def _make_batches(self, first: int, last: int, in_memory: bool) -> list[_RowBatch]:
        """Split a part into batches; one that is unpacked now if its links are to stay in memory."""
        if in_memory:
            rows = self._links.unpack(first, last, first, self._allocate(first, last))
            return [_RowBatch(first, last, first, rows)]
        return [_RowBatch(*span, first, None) for span in self._split_rows(first, last, _BATCH_LINKS)]

    def _allocate(self, first: int, last: int) -> kernel.LinkRows:
        links = self._links.links_before(last) - self._links.links_before(first)
        return kernel.allocate_rows(last - first, links, self._links.counted, self._kind_weights)

    def _unpack_batch(self, batch: _RowBatch) -> kernel.LinkRows:
        """Return the links of a batch, unpacked into this thread's own arrays if they are not in memory."""
        if batch.links is not None:
            return batch.links
        links = self._links.links_before(batch.last) - self._links.links_before(batch.first)
        rows: kernel.LinkRows | None = getattr(self._local, "rows", None)
        if rows is None or len(rows.same_host_starts) < batch.last - batch.first or len(rows.share_slots) < links:
            rows = self._local.rows = self._allocate(batch.first, batch.last)
        return self._links.unpack(batch.first, batch.last, batch.part_start, rows)

    def _sum_out_weights(self) -> Vector:
        weights = np.zeros(self._links.nodes, np.float64)
        for batches in self._parts:
            for batch in batches:
                kernel.add_out_weights(self._unpack_batch(batch), self._links.nodes, weights)
        return weights

    @property
    def own_nodes(self) -> int:
        """The number of nodes that are ranked."""
        return self._exchange.own

    def share_out_weights(self, name: str) -> Program[None]:
        """Add the weights of links to pages of other shards; called once, before the first ranks are computed."""
        yield from self._exchange.send_back(name, self.out_weights)
        # What imported nodes give is divided by their weights where they are at home.
        self.out_weights[self._exchange.own :] = 0.0

    def solve(
        self,
        base: Vector,
        damping: float,
        tolerance: float,
        on_round: RoundCallback = lambda number, change: None,
    ) -> PagerankResult:
        """Return the ranks for `base`; stop when a round changes less than `tolerance` of their sum."""
        return run_program(self.rounds("ranks", base, damping, tolerance, on_round))

    def rounds(
        self,
        name: str,
        base: Vector,
        damping: float,
        tolerance: float,
        on_round: RoundCallback = lambda number, change: None,
    ) -> Program[PagerankResult]:
        """Return the ranks of the shard's own nodes; after each round their shares are sent to other shards."""
        exchange = self._exchange
        state = pagerank.initial_state(self.out_weights, _extend(base, self._links.nodes))
        shares = state.shares[: self._links.nodes]
        # No rank depends on that of a sink, so they are computed last; until then they have at least their base.
        (sink_base,) = yield from exchange.send(name, shares, (float(state.base[self.out_weights == 0].sum()),))
        changes: list[float] = []
        with ThreadPoolExecutor(self._workers) as pool:
            while len(changes) < _MAX_ROUNDS and (not changes or changes[-1] >= tolerance):
                summary = self._run_round(pool, state, damping, False)
                if self._cross_links is None:
                    pagerank.end_round(state)
                change, total = yield from exchange.send(name, shares, summary)
                changes.append(change / ((total + sink_base) or 1.0))
                on_round(len(changes), changes[-1])
            self._run_round(pool, state, damping, True)
        return PagerankResult(state.ranks[: exchange.own], len(changes), tuple(changes))

    def _run_round(
        self, pool: ThreadPoolExecutor, state: pagerank.PagerankState, damping: float, sinks: bool
    ) -> tuple[float, float]:
        """Compute a round of all parts, either of sinks or of all other nodes; return its change and sum of ranks."""
        parts = range(len(self._parts))
        cross_links = self._cross_links

        def compute_part(part: int) -> tuple[float, float]:
            batches = self._parts[part]
            if cross_links is not None:
                state.sums[batches[0].first : batches[-1].last] = 0.0
                cross_part_links.receive_shares(cross_links, self._kind_weights, part, state.sums)
            sums = [
                pagerank.pull_ranks(self._unpack_batch(batch), state, batch.first, damping, sinks, cross_links is None)
                for batch in batches
            ]
            return sum(change for change, _ in sums), sum(total for _, total in sums)

        if cross_links is not None:
            self._map_parts(pool, lambda part: cross_part_links.send_shares(cross_links, state.shares, part), parts)
        # Results are added up in the order of the parts, whichever thread was first.
        results = self._map_parts(pool, compute_part, parts)
        return sum(change for change, _ in results), sum(total for _, total in results)

    def _map_parts(self, pool: ThreadPoolExecutor, work: Callable[[int], _T], parts: range) -> list[_T]:
        return list(map(work, parts) if self._workers == 1 else pool.map(work, parts))


def _extend(base: Vector, nodes: int) -> Vector:
    """Return a base for imported nodes too: none, for they are ranked elsewhere."""
    return np.concatenate((base, np.zeros(nodes - len(base)))) if len(base) < nodes else base
