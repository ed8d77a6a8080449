"""Queries through a broker and shard servers on this machine, beside one index over the same pages.

.venv/bin/python bench/cluster_serving.py [--documents 50000] [--queries 500] [--try]

Simple English Wikipedia, split by host into 1, 2 and 4 shards, each served by a process on loopback; the broker is this
process. One client asks the log of queries one by one (p50 and p99), then four clients together (queries a second).

What broker and wire add is measured against the same shards in this process: their time, if all shards of a round had
run at once, each on a core of its own (the slowest of a round counts), and the broker's own work. With one shard, that
is close to the time of one index. On a machine with fewer cores than shards, processes wait for cores, which is shown
with the figure but is not of the wire.
"""

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

import record
from cluster_answers import read_pages, read_queries, split
from periplus.cluster import Broker, ClusterKey, ServingTable, ShardEntry, ShardServer, TableReader, format_address
from periplus.cluster import write_table as write_serving_table
from periplus.index import build_index, gather_build_statistics, sum_build_statistics
from periplus.publish import make_published_record
from periplus.records import FetchRecord, Query
from periplus.search import IndexShard, LocalShards, Searcher, ShardedSearcher
from periplus.settings import ClusterSettings, SearchSettings, Settings
from periplus.storage import open_storage

KEY: Final = ClusterKey(bytes(range(32)))
SETTINGS: Final = msgspec.structs.replace(
    Settings(), search=SearchSettings(budget_ms=60_000), cluster=ClusterSettings(deadline=30.0)
)
CLIENTS: Final = 4
PUBLICATIONS: Final = 20
REFRESH_SECONDS: Final = 0.2
"""How often a broker behind `periplus serve` asks its shards what they have."""


class TimedShards(LocalShards):
    """Shards in this process that note how long each took in each round."""

    def __init__(self, shards: Sequence[IndexShard]) -> None:
        super().__init__(shards)
        self.sequential = self.parallel = 0.0

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        """Call each shard; add up all of the time, and that of the slowest."""
        replies, times = {}, [0.0]
        for shard, request in requests.items():
            began = time.perf_counter()
            replies |= super().call(method, {shard: request}, seconds)
            times.append(time.perf_counter() - began)
        self.sequential += sum(times)
        self.parallel += max(times)
        return replies


def serve(folder: str, position: int, address: Any, storage: str = "") -> None:
    """Serve one shard, until killed. storage: of published pages, if any are to be published."""
    opened = open_storage(storage, SETTINGS.storage, create=True) if storage else None
    server = ShardServer(position, ("127.0.0.1", 0), KEY, SETTINGS, opened)
    server.open(1, Path(folder), position)
    server.start()
    address.put((position, server.address))
    signal.pause()


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return p50 and p99 in milliseconds."""
    p50, p99 = np.quantile(np.array(seconds) * 1000, [0.5, 0.99])
    return {"p50_ms": round(float(p50), 3), "p99_ms": round(float(p99), 3)}


def ask_all(search: Callable[[Query], Any], queries: Sequence[str]) -> list[float]:
    """Ask every query twice; return the seconds of the second time."""
    times = []
    for words in queries:
        search(Query(words))
    for words in queries:
        began = time.perf_counter()
        search(Query(words))
        times.append(time.perf_counter() - began)
    return times


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


def local_times(folders: Sequence[Path], queries: Sequence[str]) -> list[float]:
    """Return the seconds of each query over shards in this process, as if all shards of a round ran at once."""
    group = TimedShards([IndexShard(folder, SETTINGS, number) for number, folder in enumerate(folders)])
    searcher = ShardedSearcher(group, SETTINGS)
    searcher.load_spelling()
    for words in queries:
        searcher.search(Query(words))
    times = []
    for words in queries:
        group.sequential = group.parallel = 0.0
        began = time.perf_counter()
        searcher.search(Query(words))
        times.append(time.perf_counter() - began - group.sequential + group.parallel)
    return times


def measure_shards(folders: Sequence[Path], scratch: Path, queries: Sequence[str]) -> dict[str, Any]:
    """Return the figures of shards behind a broker."""
    context = multiprocessing.get_context("spawn")
    addresses = context.Queue()
    servers = [context.Process(target=serve, args=(str(f), n, addresses), daemon=True) for n, f in enumerate(folders)]
    for server in servers:
        server.start()
    try:
        found = dict(addresses.get(timeout=300) for _ in servers)
        entries = tuple(ShardEntry(number, (format_address(found[number]),)) for number in sorted(found))
        table = scratch / f"table-{len(folders)}.json"
        write_serving_table(table, ServingTable(1, 1, entries))
        broker = Broker(TableReader.of_file(table), KEY, SETTINGS)
        times = ask_all(broker.search, queries)
        before = broker.group_statistics()
        for words in queries:
            broker.search(Query(words))
        after = broker.group_statistics()
        figures = {"shards": len(folders), **quantiles(times)}
        figures["queries_per_second"] = throughput(broker.search, queries, CLIENTS)
        figures["sent_bytes_per_query"] = round((after.sent_bytes - before.sent_bytes) / len(queries))
        figures["received_bytes_per_query"] = round((after.received_bytes - before.received_bytes) / len(queries))
        broker.close()
    finally:
        for server in servers:
            server.kill()
            server.join()
    local = local_times(folders, queries)
    figures["without_wire_ms"] = quantiles(local)["p50_ms"]
    figures["added_p50_ms"] = round(float(np.median(np.array(times) - np.array(local))) * 1000, 3)
    return figures


def measure_publishing(folder: Path, scratch: Path, count: int) -> dict[str, Any]:
    """Return how long it takes until a published page is found through both of two brokers, which refresh as served."""
    context = multiprocessing.get_context("spawn")
    addresses = context.Queue()
    server = context.Process(target=serve, args=(str(folder), 0, addresses, f"file://{scratch}/storage"), daemon=True)
    server.start()
    try:
        table = scratch / "table-publishing.json"
        address = format_address(addresses.get(timeout=300)[1])
        write_serving_table(table, ServingTable(1, 1, (ShardEntry(0, (address,)),)))
        brokers = [Broker(TableReader.of_file(table), KEY, SETTINGS) for _ in range(2)]
        acknowledged, visible = [], []
        for number in range(count):
            word = f"zeppelin{number:04}"
            began = time.perf_counter()
            brokers[0].publish(make_published_record("Zeppelin", word, f"https://a.test/{number}"))
            acknowledged.append(time.perf_counter() - began)
            waiting = list(brokers)
            while waiting:
                time.sleep(REFRESH_SECONDS)
                for broker in waiting:
                    broker.refresh()
                waiting = [broker for broker in waiting if not broker.search(Query(word)).total]
            visible.append(time.perf_counter() - began)
        for broker in brokers:
            broker.close()
    finally:
        server.kill()
        server.join()
    found, stored = quantiles(visible), quantiles(acknowledged)
    return {"pages": count, "acknowledged_p50_ms": stored["p50_ms"], "found_p50_ms": found["p50_ms"]} | {
        "found_most_ms": round(max(visible) * 1000, 1)
    }


def build_all(folder: Path, pages: Sequence[FetchRecord], counts: Sequence[int]) -> dict[int, list[Path]]:
    """Build one index, and the shards of each number of shards, with the same collection statistics."""
    statistics = sum_build_statistics([gather_build_statistics(pages)], 1)
    build_index(pages, folder / "one" / "index", SETTINGS.index, statistics=statistics)
    folders: dict[int, list[Path]] = {}
    for count in counts:
        folders[count] = [folder / f"of-{count}" / f"shard-{number:02}" for number in range(count)]
        for target, part in zip(folders[count], split(pages, count), strict=True):
            build_index(part, target / "index", SETTINGS.index, statistics=statistics)
    return folders


def measure_serving(documents: int, count: int) -> dict[str, Any]:
    """Return the figures of one index and of 1, 2 and 4 shards."""
    pages, queries = read_pages(documents), read_queries(count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shards = build_all(folder, pages, (1, 2, 4))
        whole = Searcher.open(folder / "one", SETTINGS)
        one = quantiles(ask_all(whole.search, queries))
        one["queries_per_second"] = throughput(whole.search, queries, CLIENTS)
        print(f"one index: p50 {one['p50_ms']} ms, p99 {one['p99_ms']} ms, {one['queries_per_second']} queries/s")
        rows = []
        for number, folders in shards.items():
            rows.append(measure_shards(folders, folder, queries))
            print(
                f"{number} shards: p50 {rows[-1]['p50_ms']} ms, p99 {rows[-1]['p99_ms']} ms, "
                f"{rows[-1]['queries_per_second']} queries/s; broker and wire add {rows[-1]['added_p50_ms']} ms; "
                f"{rows[-1]['sent_bytes_per_query']:,} bytes sent and {rows[-1]['received_bytes_per_query']:,} "
                "received for a query"
            )
        published = measure_publishing(shards[1][0], folder, PUBLICATIONS)
        print(
            f"published pages: acknowledged after {published['acknowledged_p50_ms']} ms, found through both brokers "
            f"after {published['found_p50_ms']} ms (p50), {published['found_most_ms']} ms at most"
        )
    figures: dict[str, Any] = {"documents": len(pages), "queries": len(queries), "cores": os.cpu_count()}
    return figures | {"one_index": one, "clusters": rows, "publishing": published}


def main() -> None:
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--try", dest="trial", action="store_true", help="few pages and queries; nothing is written")
    arguments = parser.parse_args()
    if arguments.trial:
        measure_serving(1_500, 60)
    else:
        record.save("cluster_serving", measure_serving(arguments.documents, arguments.queries))


if __name__ == "__main__":
    sys.exit(main())
