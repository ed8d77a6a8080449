"""Queries through a broker and shard servers on this machine, beside one index over the same pages.

.venv/bin/python bench/cluster_serving.py [--documents 50000] [--queries 500] [--built FOLDER] [--try]

Simple English Wikipedia, split by host into 1, 2 and 4 shards, each served by a process on loopback; the broker is this
process. All have answered every query of the log before anything is measured. Then one client asks them one by one,
five times: each query of one index in this process, of the broker, of the broker with one shard after the other, and of
the same shards in this process, in turn, so that all run under the same conditions (p50 and p99 of wall time, processor
time of the broker's thread). Last, four clients ask together (queries a second).

What is added at p50 is the median over queries of the difference between the medians of all times that a query was
asked (and, for a machine that does other work, between the least of them):

- by broker and wire, beside one index: everything. One shard has the same pages and the same work; several share it.
  On a machine with fewer cores than shards, processes wait for cores, which is in the figure and is not of the wire;
- with the shards apart, beside one index: what it would be with a machine for each shard. The broker asks one shard
  after the other, over the same wire; of a round, what its own thread computes counts for all of them, and what it
  waits for the slowest;
- by the wire, beside the same shards in this process: messages, encoding and processes. The shards of a round are
  counted as if they had run at once, each on a core of its own (the slowest counts).

Pages are published through two brokers in turn, from the moment that a replica is open; each broker refreshes every
0.2 s, as behind `periplus serve`. A page counts as found once both brokers find it.
"""

import argparse
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
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
from periplus.records import Query
from periplus.search import IndexShard, LocalShards, Searcher, ShardedSearcher
from periplus.settings import ClusterSettings, SearchSettings, Settings
from periplus.storage import open_storage
from query_turns import Samples, ask_in_turn, median_difference, quantiles, throughput

KEY: Final = ClusterKey(bytes(range(32)))
SETTINGS: Final = msgspec.structs.replace(
    Settings(), search=SearchSettings(budget_ms=60_000), cluster=ClusterSettings(deadline=30.0)
)
CLIENTS: Final = 4
PUBLICATIONS: Final = 200
REFRESH_SECONDS: Final = 0.2
"""How often a broker behind `periplus serve` asks its shards what they have."""
POLL_SECONDS: Final = 0.01


class TimedShards(LocalShards):
    """Shards in this process that note how long each took in each round."""

    def __init__(self, shards: Sequence[IndexShard]) -> None:
        super().__init__(shards)
        self.sequential = self.parallel = 0.0
        self.rounds = 0

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        """Call each shard; add up all of the time, and that of the slowest."""
        replies, times = {}, [0.0]
        for shard, request in requests.items():
            began = time.perf_counter()
            replies |= super().call(method, {shard: request}, seconds)
            times.append(time.perf_counter() - began)
        self.rounds += bool(requests)
        self.sequential += sum(times)
        self.parallel += max(times)
        return replies


class OneByOne:
    """Asks the shards of a round one after the other, and notes how much less they would take together.

    Of the time of each, what the broker's thread computes counts, and of what it waits, the longest.
    """

    def __init__(self, broker: Broker) -> None:
        self._call = broker._group.call_shards
        self.saved = 0.0
        broker._group.call_shards = self.call_shards  # type: ignore[method-assign]

    def call_shards(self, generation: int, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        """Send each shard its request, once the one before has answered."""
        replies: dict[int, Any] = {}
        waits = [0.0]
        for shard, request in requests.items():
            began, used = time.perf_counter(), time.thread_time()
            replies |= self._call(generation, method, {shard: request}, seconds)
            waits.append(time.perf_counter() - began - (time.thread_time() - used))
        self.saved += sum(waits) - max(waits)
        return replies


def read_cpu_seconds(processes: Sequence[Any]) -> float:
    """Return the processor time of processes so far."""
    threads = [thread for process in processes for thread in Path(f"/proc/{process.pid}/task").iterdir()]
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def serve(folder: str, position: int, address: Any, storage: str = "") -> None:
    """Serve one shard, until killed. storage: of published pages, if any are to be published."""
    opened = open_storage(storage, SETTINGS.storage, create=True) if storage else None
    server = ShardServer(position, ("127.0.0.1", 0), KEY, SETTINGS, opened)
    server.open(1, Path(folder), position)
    server.start()
    address.put((position, server.address))
    signal.pause()


def check_complete(broker: Broker, query: Query, local: ShardedSearcher) -> None:
    """Raise `AssertionError` if a shard does not answer, or the answer is not that of the same shards in this process.

    That of one index may differ: spelling and pairs of words are learned by segment, and where more candidates of one
    score are found than are reranked, those that come first in the index are taken. `bench/cluster_answers.py`
    compares with an index of the same segments.
    """
    page, expected = broker.search(query), local.search(query)
    assert page.shards[0], "the answer is not that of a cluster"
    assert not page.shards[1], f"shards did not answer: {page.shards}"
    assert [(hit.key, hit.score) for hit in page.hits] == [(hit.key, hit.score) for hit in expected.hits], query


def measure_shards(
    folders: Sequence[Path], scratch: Path, queries: Sequence[str], whole: Searcher
) -> tuple[dict[str, Any], Samples]:
    """Return the figures of shards behind a broker, and the times of the one index beside them."""
    context = multiprocessing.get_context("spawn")
    addresses = context.Queue()
    servers = [context.Process(target=serve, args=(str(f), n, addresses), daemon=True) for n, f in enumerate(folders)]
    for server in servers:
        server.start()
    try:
        positions = dict(addresses.get(timeout=300) for _ in servers)
        entries = tuple(ShardEntry(number, (format_address(positions[number]),)) for number in sorted(positions))
        table = scratch / f"table-{len(folders)}.json"
        write_serving_table(table, ServingTable(1, 1, entries))
        broker = Broker(TableReader.of_file(table), KEY, SETTINGS)
        shards = [IndexShard(folder, SETTINGS, number) for number, folder in enumerate(folders)]
        group = TimedShards(shards)
        local = ShardedSearcher(group, SETTINGS)
        local.load_spelling()
        for shard in shards:
            shard.ready()
        patient = Broker(TableReader.of_file(table), KEY, SETTINGS)
        one_by_one = OneByOne(patient)
        waited: list[float] = []
        saved: list[float] = []

        def ask_local(query: Query) -> None:
            group.sequential = group.parallel = 0.0
            local.search(query)
            waited.append(group.sequential - group.parallel)

        def ask_one_by_one(query: Query) -> None:
            one_by_one.saved = 0.0
            patient.search(query)
            saved.append(one_by_one.saved)

        for words in queries:
            check_complete(broker, Query(words), local)
        one, remote, apart, inside = ask_in_turn([whole.search, broker.search, ask_one_by_one, ask_local], queries)
        together = inside.wall - np.array(waited[len(queries) :]).reshape(inside.wall.shape)
        alone = apart.wall - np.array(saved[len(queries) :]).reshape(apart.wall.shape)
        rounds = group.rounds
        for words in queries:
            local.search(Query(words))
        check_complete(broker, Query(queries[0]), local)
        before, used = broker.group_statistics(), read_cpu_seconds(servers)
        for words in queries:
            broker.search(Query(words))
        used, after = read_cpu_seconds(servers) - used, broker.group_statistics()
        figures: dict[str, Any] = {"shards": len(folders), **remote.figures()}
        figures["queries_per_second"] = throughput(broker.search, queries, CLIENTS)
        figures["rounds_per_query"] = round((group.rounds - rounds) / len(queries), 2)
        figures["sent_bytes_per_query"] = round((after.sent_bytes - before.sent_bytes) / len(queries))
        figures["received_bytes_per_query"] = round((after.received_bytes - before.received_bytes) / len(queries))
        figures["shard_cpu_ms_per_query"] = round(used * 1000 / len(queries), 3)
        for name, times, other in (
            ("beside_one_index", remote.wall, one.wall),
            ("with_shards_apart", alone, one.wall),
            ("by_the_wire", remote.wall, together),
        ):
            figures[f"added_{name}_p50_ms"], figures[f"added_{name}_least_ms"] = median_difference(times, other)
        figures["without_wire_p50_ms"] = quantiles(together.reshape(-1))["p50_ms"]
        broker.close()
        patient.close()
    finally:
        for server in servers:
            server.kill()
            server.join()
    return figures, one


def measure_publishing(folder: Path, scratch: Path, count: int) -> dict[str, Any]:
    """Return how long it takes until a published page is found through both of two brokers, which refresh as served."""
    context = multiprocessing.get_context("spawn")
    addresses = context.Queue()
    server = context.Process(target=serve, args=(str(folder), 0, addresses, f"file://{scratch}/storage"), daemon=True)
    server.start()
    stopped = threading.Event()

    def refresh(broker: Broker) -> None:
        while not stopped.wait(REFRESH_SECONDS):
            broker.refresh()

    try:
        table = scratch / "table-publishing.json"
        address = format_address(addresses.get(timeout=300)[1])
        write_serving_table(table, ServingTable(1, 1, (ShardEntry(0, (address,)),)))
        brokers = [Broker(TableReader.of_file(table), KEY, SETTINGS) for _ in range(2)]
        for broker in brokers:
            broker.search(Query("first"))  # as replicas and brokers of a cluster do before they are asked
        threads = [threading.Thread(target=refresh, args=(broker,), daemon=True) for broker in brokers]
        for thread in threads:
            thread.start()
        acknowledged, visible = [], []
        for number in range(count):
            word = f"zeppelin{number:04}"
            began = time.perf_counter()
            brokers[number % 2].publish(make_published_record("Zeppelin", word, f"https://a.test/{number}"))
            acknowledged.append(time.perf_counter() - began)
            waiting = list(brokers)
            while waiting:
                time.sleep(POLL_SECONDS)
                waiting = [broker for broker in waiting if not broker.search(Query(word)).total]
            visible.append(time.perf_counter() - began)
        stopped.set()
        for thread in threads:
            thread.join()
        for broker in brokers:
            broker.close()
    finally:
        stopped.set()
        server.kill()
        server.join()
    p50, p90, p99 = np.quantile(np.array(visible) * 1000, [0.5, 0.9, 0.99]).round(1).tolist()
    return {
        "pages": count,
        "acknowledged_p50_ms": quantiles(acknowledged)["p50_ms"],
        "found_p50_ms": p50,
        "found_p90_ms": p90,
        "found_p99_ms": p99,
        "found_most_ms": round(max(visible) * 1000, 1),
        "first_ms": round(visible[0] * 1000, 1),
        "within_a_second": sum(seconds < 1.0 for seconds in visible),
    }


def build_all(folder: Path, documents: int, counts: Sequence[int]) -> dict[int, list[Path]]:
    """Build one index of so many pages, and the shards of each number of shards, with the same collection statistics.

    One shard is the one index. What is in the folder already is used as it is.
    """
    folders = {
        count: [folder / f"of-{count}" / f"shard-{number:02}" for number in range(count)]
        if count > 1
        else [folder / "one"]
        for count in counts
    }
    if (folder / "one").exists():
        return folders
    pages = read_pages(documents)
    statistics = sum_build_statistics([gather_build_statistics(pages)], 1)
    build_index(pages, folder / "one" / "index", SETTINGS.index, statistics=statistics)
    for count in counts:
        for target, part in zip(folders[count], split(pages, count), strict=True) if count > 1 else ():
            build_index(part, target / "index", SETTINGS.index, statistics=statistics)
    return folders


def measure_serving(documents: int, count: int, publications: int, built: Path | None = None) -> dict[str, Any]:
    """Return the figures of one index and of 1, 2 and 4 shards; built: where these are, or are to be."""
    before = os.getloadavg()[0]
    queries = read_queries(count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shards = build_all(built or folder, documents, (1, 2, 4))
        published = measure_publishing(shutil.copytree(shards[1][0], folder / "published"), folder, publications)
        print(
            f"{publications} published pages: acknowledged after {published['acknowledged_p50_ms']} ms, found through "
            f"both brokers after {published['found_p50_ms']} ms (p50), {published['found_p99_ms']} ms (p99), "
            f"{published['found_most_ms']} ms at most; {published['within_a_second']} within a second"
        )
        whole = Searcher.open(shards[1][0], SETTINGS)
        rows, one_times = [], []
        for folders in shards.values():
            row, times = measure_shards(folders, folder, queries, whole)
            rows.append(row)
            one_times.append(times)
            print(
                f"{row['shards']} shards: p50 {row['p50_ms']} ms, p99 {row['p99_ms']} ms, "
                f"{row['queries_per_second']} queries/s, {row['rounds_per_query']} rounds; added at p50 beside one "
                f"index {row['added_beside_one_index_p50_ms']} ms (by the least times "
                f"{row['added_beside_one_index_least_ms']}), with shards apart "
                f"{row['added_with_shards_apart_p50_ms']} ms ({row['added_with_shards_apart_least_ms']}), "
                f"by the wire {row['added_by_the_wire_p50_ms']} ms "
                f"({row['added_by_the_wire_least_ms']}); "
                f"{row['sent_bytes_per_query']:,} bytes sent and {row['received_bytes_per_query']:,} received"
            )
        one: dict[str, Any] = one_times[0].figures()
        one["queries_per_second"] = throughput(whole.search, queries, CLIENTS)
        print(f"one index: p50 {one['p50_ms']} ms, p99 {one['p99_ms']} ms, {one['queries_per_second']} queries/s")
        documents = whole.statistics().documents
    figures: dict[str, Any] = {"documents": documents, "queries": len(queries), "cores": os.cpu_count()}
    figures["load_average_before_and_after"] = [round(before, 2), round(os.getloadavg()[0], 2)]
    return figures | {"one_index": one, "clusters": rows, "publishing": published}


def main() -> None:
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--publications", type=int, default=PUBLICATIONS)
    parser.add_argument("--built", type=Path, help="where the indexes are, or are built and kept")
    parser.add_argument("--try", dest="trial", action="store_true", help="few pages and queries; nothing is written")
    arguments = parser.parse_args()
    if arguments.trial:
        measure_serving(1_500, 60, 10)
    else:
        record.save(
            "cluster_serving",
            measure_serving(arguments.documents, arguments.queries, arguments.publications, arguments.built),
        )


if __name__ == "__main__":
    sys.exit(main())
