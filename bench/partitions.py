"""One index split by documents and by terms: what each node does for a query, with its real postings and kernels.

    split by documents    every node has all terms of its documents; the broker asks all nodes, and merges their best
    split by terms        every node has all documents of its terms, and
      pipelined           the query goes through the nodes of its terms, one after the other, with its accumulators
      gathered            the node with most of the postings fetches the others, and matches alone

`Visit` is what one node does for one query: its CPU time, the postings it decodes, and the bytes it sends on.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

import pipeline_kernels as kernels
from corpus import Asked
from figures import folder_bytes
from peers.ours import PLAIN_BM25, token_visits, tree
from periplus.index import Index, build_index, gather_build_statistics, sum_build_statistics
from periplus.index.kernels import inversion
from periplus.index.kernels.postings_format import SPARSE, group_count
from periplus.index.kernels.term_dictionary import entry_of_row
from periplus.query import QueryPlan, Scoring, ScratchPool, TermLookup, plan_query, plan_segment
from periplus.query.kernels import match
from periplus.query.kernels.plan import WORK
from periplus.records import Candidates
from periplus.search import encode_record

GROUP_BYTES = 12
_SCRATCH = ScratchPool()
Result = TypeVar("Result")
_NO_POSITIONS = np.zeros(0, np.int64)


class Visit(NamedTuple):
    """What one node does for one query."""

    node: int
    cpu: float
    """Seconds, of the postings and of packing and unpacking; not of the network."""
    decoded: int
    """Postings; of the match kernel its work units, which are bytes of postings and 16 for each block."""
    sent: int
    """Bytes, to the next node or to the broker."""


class Evaluation(NamedTuple):
    """What one query takes, and its answer."""

    visits: tuple[Visit, ...]
    request: int
    """Bytes of the query itself, which every message on the way has."""
    scores: npt.NDArray[np.float32]
    documents: npt.NDArray[np.int64]
    merge: float = 0.0
    """Seconds of the broker."""
    sequential: bool = True
    """Whether the visits are made one after the other."""


def timed(call: Callable[[], Result], rounds: int) -> tuple[float, Result]:
    """Return the least CPU time of a call in seconds, and what it returns."""
    best, result = 1 << 62, call()
    for _ in range(rounds):
        began = time.thread_time_ns()
        result = call()
        best = min(best, time.thread_time_ns() - began)
    return best / 1e9, result


def request_bytes(plan: QueryPlan) -> int:
    """Return the size of a query as a message: terms, weights, program and phrases."""
    leaves = [(leaf.term, leaf.weight, leaf.group, leaf.fields) for leaf in plan.leaves]
    return len(msgspec.msgpack.encode((leaves, plan.program, plan.phrases, plan.groups)))


def is_plain(plan: QueryPlan) -> bool:
    """Return whether a plan is any of its terms, all of them, or one phrase: not a mixture, as with other spellings."""
    if any(leaf.languages is not None for leaf in plan.leaves):
        return False
    used = {operation for operation, _ in plan.program}
    return (
        used <= {match.LEAF, match.OR}
        or used <= {match.LEAF, match.AND}
        or (used == {match.PHRASE} and len(plan.phrases) == 1)
    )


class WholeIndex:
    """One index over all texts: what both kinds of splitting are compared with, and planned by."""

    def __init__(self, texts: Sequence[str], folder: Path, k: int) -> None:
        self.texts, self.k = texts, k
        self.statistics = sum_build_statistics([gather_build_statistics(token_visits(texts))], 1)
        build_index(token_visits(texts), folder, PLAIN_BM25, workers=1, statistics=self.statistics)
        self.index = Index.open(folder, verify=False)
        assert len(self.index.segments) == 1
        self.segment = self.index.segments[0]
        self.keys = self.segment.column("key").astype(np.int64) - 1
        self.terms = self.segment.terms()

    def posting_bytes(self, row: npt.NDArray[np.int64], *, positions: bool) -> int:
        """Return the bytes of a term's postings that a matching node needs, with positions for a phrase."""
        entry = entry_of_row(row.reshape(1, -1), 0)
        if not entry.frequency:
            return 0
        groups = 0 if entry.encoding == SPARSE else group_count(entry.headers, entry.encoding) * GROUP_BYTES
        ends = self.terms.position_end
        end = ends[np.searchsorted(ends, entry.positions, side="right")] if positions else entry.positions
        return int(entry.end - entry.begin + groups + end - entry.positions)

    def plan(self, asked: Asked) -> QueryPlan:
        """Return the plan of a query by the statistics of the whole collection."""
        return plan_query(self.index, tree(asked), Scoring())

    def run(self, plan: QueryPlan, rounds: int) -> tuple[float, match.MatchResult, int]:
        """Return the CPU time of matching a plan, its answer, and the work units."""
        return run_match(self.index, plan, self.k, rounds)


def run_match(index: Index, plan: QueryPlan, k: int, rounds: int) -> tuple[float, match.MatchResult, int]:
    """Return the CPU time in seconds of looking the terms up and matching, the answer, and the work units."""
    segment = index.segments[0]

    def once() -> match.MatchResult:
        bound = plan_segment(segment, plan._replace(lookup=TermLookup(index)))
        scratch = _SCRATCH.get(len(segment.live), bound, k)
        result = match.match(segment.pinned_postings, bound, scratch, k, 0)
        once.work = int(scratch.arrays.progress[WORK])
        return result

    cpu, result = timed(once, rounds)
    return cpu, result, once.work


class DocumentPartition:
    """Nodes that have a share of the documents each."""

    name = "documents"

    def __init__(self, whole: WholeIndex, nodes: int, folder: Path) -> None:
        self._whole, self.nodes = whole, nodes
        self.indexes, self.bytes = [], []
        for node in range(nodes):
            own = folder / str(node)
            build_index(token_visits(whole.texts[node::nodes]), own, PLAIN_BM25, workers=1, statistics=whole.statistics)
            self.indexes.append(Index.open(own, verify=False))
            self.bytes.append(folder_bytes(own))
        self._keys = [index.segments[0].column("key").astype(np.int64) - 1 for index in self.indexes]

    def evaluate(self, plan: QueryPlan, rounds: int, without: int = -1) -> Evaluation:
        """Run a query on all nodes, but for one that has failed."""
        visits, parts = [], []
        for node, index in enumerate(self.indexes):
            if node == without:
                continue
            cpu, result, work = run_match(index, plan, self._whole.k, rounds)
            rows = Candidates(
                np.zeros(len(result.documents), np.int32), result.documents, result.scores, 0, True, False
            )
            packing, record = timed(lambda rows=rows: encode_record(rows), rounds)
            visits.append(Visit(node, cpu + packing, work, len(record)))
            parts.append((result.scores, self._keys[node][result.documents] * self.nodes + node))
        merge, (scores, documents) = timed(lambda: _merge(parts, self._whole.k), rounds)
        return Evaluation(tuple(visits), request_bytes(plan), scores, documents, merge, sequential=False)


def _merge(parts: Sequence[tuple[Any, Any]], k: int) -> tuple[Any, Any]:
    scores, documents = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((documents, -scores))[:k]
    return scores[order], documents[order]


class TermPartition:
    """Nodes that have a share of the terms each; every node holds the document lengths of the whole collection."""

    def __init__(
        self, whole: WholeIndex, nodes: int, place: Callable[[bytes], int], name: str, *, gather: bool
    ) -> None:
        self._whole, self.nodes, self._place, self.name, self._gather = whole, nodes, place, name, gather
        self._bounds: dict[bytes, tuple[int, int]] = {}

    def node_of(self, term: bytes) -> int:
        """Return the node that has a term."""
        return self._place(term)

    def evaluate(self, plan: QueryPlan, rounds: int) -> Evaluation:
        """Run a query; where one node has all of its terms, that one matches as an index does."""
        by_node: dict[int, list[int]] = {}
        for number, leaf in enumerate(plan.leaves):
            by_node.setdefault(self._place(leaf.term), []).append(number)
        if len(by_node) > 1 and not self._gather:
            return self._pipeline(plan, by_node, rounds)
        cpu, result, work = self._whole.run(plan, rounds)
        answer = (result.scores, self._whole.keys[result.documents])
        rows = self._rows(plan)
        sizes = {
            node: sum(self._whole.posting_bytes(rows[n], positions=bool(plan.phrases)) for n in own)
            for node, own in by_node.items()
        }
        last = max(sizes, key=lambda node: sizes[node])
        stream = self._whole.segment.postings.stream
        visits = []
        for node, own in by_node.items():
            if node != last:
                copying, _ = timed(lambda own=own: [stream[rows[n, 1] : rows[n, 2]].tobytes() for n in own], rounds)
                visits.append(Visit(node, copying, 0, sizes[node]))
        visits.append(Visit(last, cpu, work, 8 * len(result.scores)))
        return Evaluation(tuple(visits), request_bytes(plan), *answer, sequential=False)

    def _rows(self, plan: QueryPlan) -> npt.NDArray[np.int64]:
        return self._whole.segment.find_terms([leaf.term for leaf in plan.leaves])

    def _bound(self, term: bytes, row: npt.NDArray[np.int64]) -> tuple[int, int]:
        """Return the highest and the k-th highest impact of a term, which the broker's directory of terms has."""
        if term not in self._bounds:
            address = self._whole.segment.pinned_postings.addresses
            found = kernels.kth_impact(address, row.reshape(1, -1), self._whole.k) if row[0] else (0, 0)
            self._bounds[term] = (int(found[0]), int(found[1]))
        return self._bounds[term]

    def _pipeline(self, plan: QueryPlan, by_node: dict[int, list[int]], rounds: int) -> Evaluation:
        rows = self._rows(plan)
        weights = np.array([leaf.weight / inversion.MAX_IMPACT for leaf in plan.leaves], np.float32)
        impacts = np.array([self._bound(leaf.term, row) for leaf, row in zip(plan.leaves, rows, strict=True)])
        bounds, floors = (weights * impacts[:, n].astype(np.float32) for n in (0, 1))
        mode = kernels.ANY if match.OR in {operation for operation, _ in plan.program} else kernels.ALL
        # The highest bounds first, so that few documents are left for long lists; where all count, the rarest first.
        order = np.argsort(-bounds if mode == kernels.ANY else rows[:, 0], kind="stable").tolist()
        rank = {leaf: n for n, leaf in enumerate(order)}
        route = sorted(by_node, key=lambda node: min(rank[leaf] for leaf in by_node[node]))
        least = np.float32(floors.max()) if mode == kernels.ANY else np.float32(0)
        step = _Step(self._whole, plan, rows, weights, bounds, mode)
        visits: list[Visit] = []
        bundle, data = None, None
        for number, node in enumerate(route):
            own = sorted(by_node[node], key=lambda leaf: rank[leaf])
            rest = np.float32(sum(bounds[leaf] for later in route[number + 1 :] for leaf in by_node[later]))
            last = number == len(route) - 1
            cpu, (bundle, data, least, decoded) = timed(
                lambda own=own, data=data, rest=rest, least=least, last=last: step.run(own, data, rest, least, last),
                rounds,
            )
            visits.append(Visit(node, cpu, int(decoded), len(data)))
        assert bundle is not None
        return Evaluation(tuple(visits), request_bytes(plan), bundle.scores, self._whole.keys[bundle.documents])


class _Step:
    """What one node does with a bundle."""

    def __init__(self, whole: WholeIndex, plan: QueryPlan, rows: Any, weights: Any, bounds: Any, mode: int) -> None:
        self._whole, self._plan = whole, plan
        self._rows, self._weights, self._bounds, self._mode = rows, weights, bounds, mode
        self._places = [
            [place for place, leaf in enumerate(phrase.leaves) if leaf == number]
            for number in range(len(plan.leaves))
            for phrase in plan.phrases[:1]
        ]

    def run(self, own: list[int], data: Any, rest: Any, least: Any, last: bool) -> tuple[kernels.Bundle, Any, Any, int]:
        """Unpack a bundle, add the node's terms, and pack it, or the best k of it on the last node."""
        segment, phrase, k = self._whole.segment, bool(self._plan.phrases), self._whole.k
        rows = segment.find_terms([self._plan.leaves[leaf].term for leaf in own])
        address = segment.pinned_postings.addresses
        if data is None:
            documents, scores = np.zeros(0, np.int32), np.zeros(0, np.float32)
            starts, begins = _NO_POSITIONS, _NO_POSITIONS
        else:
            documents, scores, starts, begins = kernels.unpack_bundle(data, phrase)
        before = documents
        documents, scores, least, decoded = kernels.add_terms(
            address, rows, self._weights[own], self._bounds[own], documents.copy(), scores, self._mode, data is None,
            rest, least, k,
        )  # fmt: skip
        if phrase:
            starts, begins = _narrow(before, documents, starts, begins)
            for leaf, row in zip(own, rows, strict=True):
                for place in self._places[leaf]:
                    stays, starts, begins = kernels.keep_phrase(
                        address, row.reshape(1, -1), place, documents, starts, begins, len(begins) == 0
                    )
                    documents, scores = documents[stays], scores[stays]
        if not last:
            return (
                kernels.Bundle(documents, scores),
                kernels.pack_bundle(documents, scores, starts, begins),
                least,
                decoded,
            )
        order = np.lexsort((documents, -scores))[:k] if len(scores) <= 4 * k else _best(documents, scores, k)
        best = kernels.Bundle(documents[order], scores[order])
        return best, best.documents.tobytes() + best.scores.tobytes(), least, decoded


def _best(documents: Any, scores: Any, k: int) -> Any:
    """Return the rows of the best k, of many."""
    chosen = np.flatnonzero(scores >= kernels.kth_best(scores, k))
    return chosen[np.lexsort((documents[chosen], -scores[chosen]))[:k]]


def _narrow(before: Any, documents: Any, starts: Any, begins: Any) -> tuple[Any, Any]:
    """Return the starts of those documents only that are still there."""
    if not len(begins):
        return starts, begins
    rows = np.searchsorted(before, documents)
    counts = (begins[1:] - begins[:-1])[rows]
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return starts[np.repeat(begins[rows] - ends[:-1], counts) + np.arange(ends[-1])], ends
