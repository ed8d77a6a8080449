"""Real shards of a real collection: how long the retrieve stage takes on each, and what a broker does with the answers.

The plan of a query is made once, by the index of the whole collection, and bound to each shard, as a broker does.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus import Passage
from fanout_model import ShardTimes
from figures import folder_bytes
from peers.ours import page_visits
from periplus.index import Index, build_index
from periplus.query import QueryPlan, parse_query
from periplus.records import Query
from periplus.search import (
    IndexSession,
    RetrievedCandidates,
    decode_record,
    encode_record,
    merge_shards,
    present,
    rerank,
    retrieve,
)
from periplus.settings import Settings

LIMIT = 100
STAGES = ("plan", "retrieve", "encode", "decode", "rerank", "present")


class BuiltShard(NamedTuple):
    """A shard that can be asked."""

    session: IndexSession
    documents: int
    build_cpu: float
    bytes: dict[str, int]
    """On disk, by part."""


def build_shard(passages: Sequence[Passage], folder: Path, settings: Settings) -> BuiltShard:
    """Build one shard with default settings."""
    began = time.process_time()
    build_index(page_visits(passages), folder / "index", settings.index, workers=1)
    cpu = time.process_time() - began
    index = Index.open(folder / "index", verify=False)
    parts: dict[str, int] = {}
    for name, size in index.statistics().parts.items():
        part = name.partition(".")[0]
        parts[part] = parts.get(part, 0) + size
    parts["all"] = folder_bytes(folder / "index")
    return BuiltShard(IndexSession(index, settings), index.documents, cpu, parts)


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


def measure_shards(
    shards: Sequence[BuiltShard], plans: Sequence[QueryPlan], rounds: int
) -> tuple[ShardTimes, list[list[bytes]]]:
    """Run every query on every shard several times; return the times, and the records of each query."""
    base, delay = np.full((len(plans), len(shards)), np.inf), []
    records: list[list[bytes]] = [[] for _ in plans]
    for number, shard in enumerate(shards):
        for query, plan in enumerate(plans):
            clocks = []
            for turn in range(rounds + 1):
                began, cpu = time.perf_counter_ns(), time.thread_time_ns()
                data = encode_record(retrieve(shard.session.ranker, plan.bind(shard.session.index), LIMIT))
                clock, spent = time.perf_counter_ns() - began, time.thread_time_ns() - cpu
                if turn:  # The first call reads from disk and fills caches.
                    base[query, number] = min(base[query, number], spent / 1e9)
                    clocks.append(clock / 1e9)
            delay += [max(0.0, clock - base[query, number]) for clock in clocks]
            records[query].append(data)
    return ShardTimes(base, np.array(delay)), records


def measure_broker(
    records: Sequence[Sequence[bytes]], model: Any, counts: Sequence[int], least_seconds: float = 0.2
) -> list[dict[str, Any]]:
    """Return what decoding, merging and reranking take with the answers of 1 to very many shards.

    The records are those of real shards, each as often as needed.
    """
    rows = []
    for count in counts:
        spent: dict[str, list[float]] = {"decode": [], "merge": [], "rerank": []}
        total = 0.0
        for query in range(len(records)):
            parts = [records[query][n % len(records[query])] for n in range(count)]
            at = [time.thread_time_ns()]
            decoded = [decode_record(data, RetrievedCandidates) for data in parts]
            at.append(time.thread_time_ns())
            merged = merge_shards(decoded)
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
        row["bytes"] = sum(len(records[0][n % len(records[0])]) for n in range(count))
        rows.append(row)
    return rows
