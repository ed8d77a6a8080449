"""Real shards of a real collection: how long the retrieve stage takes on each, and what a broker does with the answers.

A broker plans by the dictionaries of all shards and sends each the plan as a record. A shard decodes it, runs the whole
retrieve stage and encodes its reply; the broker decodes and merges replies: all with the classes of the cluster.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus import Passage
from fanout_model import ShardTimes
from figures import folder_bytes
from peers.ours import page_visits
from periplus.index import BuildStatistics, Index, build_index
from periplus.query import parse_query
from periplus.records import Query
from periplus.search import (
    SHARD_METHODS,
    IndexSession,
    IndexShard,
    LocalShards,
    RetrievedCandidates,
    ShardedSearcher,
    decode_record,
    encode_record,
    merge_shards,
    present,
    rerank,
    retrieve,
)
from periplus.search.sharding.merged_columns import MergedColumns
from periplus.settings import Settings

LIMIT = 100
STAGES = ("plan", "retrieve", "encode", "decode", "rerank", "present")


class BuiltShard(NamedTuple):
    """A shard that can be asked."""

    shard: IndexShard
    session: IndexSession
    documents: int
    build_cpu: float
    bytes: dict[str, int]
    """On disk, by part."""


def build_shard(
    passages: Sequence[Passage], folder: Path, settings: Settings, statistics: BuildStatistics, number: int = 0
) -> BuiltShard:
    """Build one shard with default settings and the statistics of the collection."""
    began = time.process_time()
    build_index(page_visits(passages), folder / "index", settings.index, workers=1, statistics=statistics)
    cpu = time.process_time() - began
    index = Index.open(folder / "index", verify=False)
    parts: dict[str, int] = {}
    for name, size in index.statistics().parts.items():
        part = name.partition(".")[0]
        parts[part] = parts.get(part, 0) + size
    parts["all"] = folder_bytes(folder / "index")
    shard = IndexShard(folder, settings, number)
    return BuiltShard(shard, IndexSession(index, settings), index.documents, cpu, parts)


class RecordedShards(LocalShards):
    """Shards in this process that remember the first request to retrieve."""

    def __init__(self, shards: Sequence[IndexShard]) -> None:
        super().__init__(shards)
        self.request: bytes | None = None

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        """Call each shard."""
        if method == "retrieve" and requests and self.request is None:
            self.request = encode_record(next(iter(requests.values())))
        return super().call(method, requests, seconds)


def record_requests(shards: Sequence[BuiltShard], words: Sequence[str], settings: Settings) -> list[bytes]:
    """Return what a broker sends to shards for each query; those that it answers without them are left out."""
    group = RecordedShards([built.shard for built in shards])
    searcher = ShardedSearcher(group, settings)
    requests = []
    for query in words:
        group.request = None
        searcher.preview(Query(query), {})  # in stages, also where there is one shard
        if group.request is not None:
            requests.append(group.request)
    return requests


class Stages(NamedTuple):
    """CPU times of the stages of one query on one index, in seconds, and its record."""

    seconds: dict[str, float]
    record: RetrievedCandidates
    size: int


def run_stages(shard: BuiltShard, words: str, settings: Settings, rounds: int) -> Stages:
    """Run a query on one index, stage by stage; the least of several calls counts."""
    best = dict.fromkeys(STAGES, float("inf"))
    session, query = shard.session, Query(words)
    for _ in range(rounds):
        clock = _Clock(best)
        parsed = parse_query(words)
        plan = session.plan(parsed, query)
        clock.end("plan")
        retrieved = retrieve(session.ranker, plan, LIMIT)
        clock.end("retrieve")
        data = encode_record(retrieved)
        clock.end("encode")
        decode_record(data, RetrievedCandidates)
        clock.end("decode")
        order = rerank(retrieved, session.ranker.model, LIMIT, None)
        clock.end("rerank")
        present(session, plan, order, query, settings.search)
        clock.end("present")
    return Stages(best, retrieved, len(data))


class _Clock:
    def __init__(self, best: dict[str, float]) -> None:
        self._best = best
        self._last = time.thread_time_ns()

    def end(self, stage: str) -> None:
        """Note the time of a stage."""
        now = time.thread_time_ns()
        self._best[stage] = min(self._best[stage], (now - self._last) / 1e9)
        self._last = time.thread_time_ns()


def answer(shard: IndexShard, request: bytes) -> bytes:
    """Do what a shard server does with a request: bytes in, bytes out."""
    types = SHARD_METHODS["retrieve"]
    return encode_record(shard.retrieve(decode_record(request, types.request)))


def measure_shards(
    shards: Sequence[BuiltShard], requests: Sequence[bytes], rounds: int
) -> tuple[ShardTimes, list[list[bytes]]]:
    """Run every query on every shard several times; return the times, and the replies to each query."""
    base, delay = np.full((len(requests), len(shards)), np.inf), []
    replies: list[list[bytes]] = [[] for _ in requests]
    for number, built in enumerate(shards):
        for query, request in enumerate(requests):
            clocks = []
            for turn in range(rounds + 1):
                began, cpu = time.perf_counter_ns(), time.thread_time_ns()
                data = answer(built.shard, request)
                clock, spent = time.perf_counter_ns() - began, time.thread_time_ns() - cpu
                if turn:  # The first call reads from disk and fills caches.
                    base[query, number] = min(base[query, number], spent / 1e9)
                    clocks.append(clock / 1e9)
            delay += [max(0.0, clock - base[query, number]) for clock in clocks]
            replies[query].append(data)
    return ShardTimes(base, np.array(delay)), replies


def measure_broker(
    replies: Sequence[Sequence[bytes]], model: Any, counts: Sequence[int], least_seconds: float = 0.2
) -> list[dict[str, Any]]:
    """Return what decoding, merging and reranking take with the replies of 1 to very many shards.

    The replies are those of real shards, each as often as needed.
    """
    rows, types = [], SHARD_METHODS["retrieve"]
    for count in counts:
        spent: dict[str, list[float]] = {"decode": [], "merge": [], "rerank": []}
        total = 0.0
        for query in range(len(replies)):
            parts = [replies[query][n % len(replies[query])] for n in range(count)]
            at = [time.thread_time_ns()]
            decoded = [decode_record(data, types.reply) for data in parts]
            at.append(time.thread_time_ns())
            merged = merge_shards([reply.retrieved for reply in decoded])
            MergedColumns(dict(enumerate(decoded)))
            at.append(time.thread_time_ns())
            rerank(merged, model, LIMIT, None)
            at.append(time.thread_time_ns())
            for name, begin, end in zip(spent, at, at[1:], strict=False):
                spent[name].append((end - begin) / 1e9)
            total += (at[-1] - at[0]) / 1e9
            if total > least_seconds and query >= 2:
                break
        row: dict[str, Any] = {"parts": count, "queries": len(spent["merge"])}
        row |= {f"{name}_us": round(float(np.median(values)) * 1e6, 1) for name, values in spent.items()}
        row["bytes"] = sum(len(replies[0][n % len(replies[0])]) for n in range(count))
        rows.append(row)
    return rows
