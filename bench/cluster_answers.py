"""Answers of several shards beside those of one index over the same pages, on Simple English Wikipedia.

.venv/bin/python bench/cluster_answers.py [--documents 187721] [--shards 4] [--queries 500] [--no-save]

Pages get one of many hosts each, and shards own hosts. The one index has the pages shard by shard. Both are built with
the same collection statistics. Every query of the log is answered by both, with its best hundred results: everything in
the answers must be equal. Then planning is timed at the broker and at the index, in processor time; messages are
counted as encoded records. A third index, of one segment, shows what is left of differences where names and spelling
are learned from all pages together.
"""

import argparse
import itertools
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

import record
from periplus.evaluate import read_documents
from periplus.hashing import fingerprint_text
from periplus.index import build_index, gather_build_statistics, sum_build_statistics
from periplus.query import parse_query
from periplus.records import FetchRecord, Query, ResultPage
from periplus.search import IndexShard, LocalShards, Searcher, ShardedSearcher
from periplus.settings import SearchSettings, Settings

DATA = Path(__file__).parents[2] / "shared" / "data"
HOSTS = 97
SIZE = 100
CLOCK = ("seconds", "timings", "generation", "work")
"""Fields of an answer that depend on the clock, or on when and where an index was built."""
SETTINGS = msgspec.structs.replace(Settings(), search=SearchSettings(budget_ms=600_000))


def read_pages(most: int) -> list[FetchRecord]:
    """Read pages, each with a host by its fingerprint."""
    pages = []
    for item in itertools.islice(read_documents(DATA / "ir" / "simplewiki_entity" / "docs.jsonl.zst", []), most):
        assert item.page is not None
        url = f"https://h{item.key % HOSTS}.invalid/{item.url.rpartition('/')[2]}"
        page = msgspec.structs.replace(item.page, url=url)
        pages.append(msgspec.structs.replace(item, url=url, key=fingerprint_text(url), page=page))
    return pages


def read_queries(count: int) -> list[str]:
    """Read the first queries of the log."""
    lines = (DATA / "queries" / "search-benchmark-game.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["query"] for line in lines[:count]]


def split(pages: Sequence[FetchRecord], shards: int) -> list[list[FetchRecord]]:
    """Return the pages of each shard."""
    parts: list[list[FetchRecord]] = [[] for _ in range(shards)]
    for page in pages:
        parts[fingerprint_text(page.url.split("/")[2]) % shards].append(page)
    return parts


def same(one: ResultPage, many: ResultPage) -> bool:
    """Return whether two answers are equal."""
    return all(getattr(one, name) == getattr(many, name) for name in one.__struct_fields__ if name not in CLOCK)


def plan_micros(plan: Callable[[str], Any], queries: Sequence[str]) -> dict[str, float]:
    """Return the processor time of planning each query, in microseconds: the second time that it is asked."""
    for words in queries:
        plan(words)
    times = []
    for words in queries:
        began = time.process_time_ns()
        plan(words)
        times.append((time.process_time_ns() - began) / 1000)
    times.sort()
    return {"p50": round(times[len(times) // 2], 1), "p99": round(times[len(times) * 99 // 100], 1)}


def build(folder: Path, parts: Sequence[Sequence[FetchRecord]], *, single: bool) -> dict[str, float]:
    """Build shards, the one index, and that of one segment; return the seconds of each step."""
    seconds: dict[str, float] = {}

    def timed(name: str, run: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        value = run()
        seconds[name] = round(seconds.get(name, 0.0) + time.perf_counter() - began, 1)
        return value

    gathered = [timed("gather", lambda part=part: gather_build_statistics(part)) for part in parts]
    statistics = sum_build_statistics(gathered, 1)
    for number, part in enumerate(parts):
        own, one = folder / f"shard-{number:02}" / "index", folder / "one" / "index"
        timed("shards", lambda p=part, f=own: build_index(p, f, SETTINGS.index, statistics=statistics))
        more = number > 0
        timed("one", lambda p=part, f=one, m=more: build_index(p, f, SETTINGS.index, append=m, statistics=statistics))
    if single:
        every = [page for part in parts for page in part]
        target = folder / "single" / "index"
        timed("single", lambda: build_index(every, target, SETTINGS.index, statistics=statistics))
    return seconds


def overlap(one: ResultPage, other: ResultPage, depth: int) -> float:
    """Return the share of the first results that two answers have in common."""
    first, second = ({hit.key for hit in page.hits[:depth]} for page in (one, other))
    return len(first & second) / max(1, len(first | second))


def run(folder: Path, pages: Sequence[FetchRecord], shards: int, queries: Sequence[str]) -> dict[str, Any]:
    """Build everything and compare the answers; return the figures."""
    parts = split(pages, shards)
    seconds = build(folder, parts, single=True)
    whole, single = Searcher.open(folder / "one", SETTINGS), Searcher.open(folder / "single", SETTINGS)
    group = LocalShards([IndexShard(folder / f"shard-{n:02}", SETTINGS, n) for n in range(shards)], encoded=True)
    began = time.perf_counter()
    broker = ShardedSearcher(group, SETTINGS)
    broker.load_spelling()
    seconds["open the broker"] = round(time.perf_counter() - began, 1)
    opened = whole._session
    assert opened is not None
    opened.suggester.ready()
    assert single._session is not None
    single._session.suggester.ready()
    group.calls.clear()
    group.bytes = 0
    different, overlaps = [], []
    for words in queries:
        query = Query(words, size=SIZE)
        one, many = whole.search(query), broker.search(query)
        if not same(one, many):
            different.append(words)
        overlaps.append((overlap(one, single.search(query), 10), overlap(one, single.search(query), SIZE)))
    rounds = Counter(method for method, _ in group.calls)
    sent = group.bytes
    local = LocalShards([IndexShard(folder / f"shard-{n:02}", SETTINGS, n) for n in range(shards)])
    beside = ShardedSearcher(local, SETTINGS)
    beside.load_spelling()
    local.calls.clear()
    planned = {
        "broker": plan_micros(lambda words: beside.plan(Query(words)), queries),
        "index": plan_micros(lambda words: opened.plan(parse_query(words), Query(words)), queries),
    }
    sizes = broker.collection.sizes
    return {
        "documents": len(pages),
        "shards": shards,
        "queries": len(queries),
        "different": len(different),
        "examples": different[:10],
        "rounds per query": {name: round(count / len(queries), 3) for name, count in sorted(rounds.items())},
        "bytes per query and shard": round(sent / len(queries) / shards),
        "planning, microseconds": planned,
        "dictionary, bytes per document": {name: round(size / len(pages), 1) for name, size in sizes.items()},
        "beside one segment": {
            "overlap of 10": round(sum(a for a, _ in overlaps) / len(overlaps), 4),
            "overlap of 100": round(sum(b for _, b in overlaps) / len(overlaps), 4),
        },
        "seconds": seconds,
    }


def main() -> None:
    """Compare, print and store the figures; exit with 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1 << 30)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--no-save", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="periplus-answers-"))
    try:
        figures = run(folder, read_pages(arguments.documents), arguments.shards, read_queries(arguments.queries))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(figures, indent=1))
    if not arguments.no_save:
        record.save("cluster_answers", figures)
    if figures["different"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
