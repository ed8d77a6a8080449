"""A crawl on several shards with mailboxes and storage, each shard a process: speed, or kills at random moments.

.venv/bin/python bench/cluster_crawl.py [--try]                          pages/s of 1, 2 and 4 shards, bytes on the wire
.venv/bin/python bench/cluster_crawl.py --kills 40 [--seed 1] [--quick]  kill shards, and take away their folders

A kill hits a shard; half of the time its folder is deleted too, as if its machine were lost, and the shard is restored
from storage. Every fifth time the coordinator is replaced, and every eighth time shards are added or removed. Judged
at the server's side and by the stores: every good page is stored, none twice; no host is asked again before its pause
is over. Ends with 1 when one fails.
"""

import argparse
import multiprocessing
import random
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from kills import shortest_pause
from periplus.cluster.crawling import (
    CrawlCoordinator,
    PlanRecord,
    ShardCheckpoints,
    ShardReport,
    ShardRunner,
)
from periplus.cluster.wire.signing import ClusterKey
from periplus.crawl import select_owned
from periplus.errors import BadInput
from periplus.fakeweb import FakeWeb, FakeWebPlan, run_in_process
from periplus.records import FetchRecord
from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings
from periplus.storage import open_storage
from periplus.store import PageStore
from record import save

LEASE = 20.0


def run_shard(folder: Path, settings: Settings, number: int, secret: bytes, seconds: float, answer: Connection) -> None:
    """Run a shard until it is stopped or killed; send its address, and its traffic at the end."""
    storage = open_storage(settings.storage.url, settings.storage)
    checkpoints = ShardCheckpoints(storage, number)
    runner = ShardRunner(folder, settings, number, ClusterKey(secret), checkpoints=checkpoints, durable_seconds=seconds)
    runner.start()
    answer.send(runner.address)
    runner.join()
    answer.send(runner.traffic())
    time.sleep(600)  # until it is ended: its mailbox goes on to answer


class ProcessCluster:
    """Shards as processes, the coordinator in this one, storage in a folder."""

    def __init__(self, folder: Path, settings: Settings, shards: int, seeds: Iterable[str], seconds: float) -> None:
        url = f"file://{folder / 'storage'}"
        storage = settings.storage
        self.settings = Settings(
            fetch=settings.fetch,
            frontier=settings.frontier,
            crawl=settings.crawl,
            storage=type(storage)(url=url, retry_seconds=storage.retry_seconds),
        )
        self.folder, self._secret, self._seconds = folder, secrets.token_bytes(32), seconds
        self.storage = open_storage(url, self.settings.storage, create=True)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["periplus.cluster.crawling", "periplus.parse"])
        self._processes: dict[int, tuple[BaseProcess, Connection]] = {}
        self.reports: dict[int, ShardReport] = {}
        self.coordinator = self._make_coordinator(range(shards), seeds)
        for number in range(shards):
            self.start(number)

    def _make_coordinator(self, shards: Iterable[int] = (0,), seeds: Iterable[str] = ()) -> CrawlCoordinator:
        key, plans = ClusterKey(self._secret), PlanRecord(self.storage)
        return CrawlCoordinator(self.settings, key, plans, shards, seeds, lease=LEASE)

    def shard_folder(self, number: int) -> Path:
        """Return the folder of a shard."""
        return self.folder / f"shard-{number:02d}"

    def start(self, number: int) -> None:
        """Start the process of a shard; its earlier one is dead."""
        receiver, sender = self._context.Pipe(duplex=False)
        arguments = (self.shard_folder(number), self.settings, number, self._secret, self._seconds, sender)
        process = self._context.Process(target=run_shard, args=arguments, daemon=True)
        process.start()
        sender.close()
        address = receiver.recv()
        self._processes[number] = (process, receiver)
        self.coordinator.attach(number, address, is_dead=True)
        self._addresses = {**getattr(self, "_addresses", {}), number: address}

    def kill(self, number: int, *, with_folder: bool) -> None:
        """Kill a shard and, `with_folder`, delete all that it had on disk; start it again."""
        process, receiver = self._processes.pop(number)
        process.kill()
        process.join()
        receiver.close()
        if with_folder:
            shutil.rmtree(self.shard_folder(number))
        self.start(number)

    def replace_coordinator(self) -> None:
        """Go on with a coordinator that knows only what is in storage."""
        self.coordinator.close()
        self.coordinator = self._make_coordinator()
        for number in self._processes:
            self.coordinator.attach(number, self._addresses[number])

    def poll(self) -> None:
        """Exchange plans and reports once; end shards that have left."""
        reports = self.coordinator.poll()
        faults = [report.fault for report in reports.values() if report.state == "failed"]
        if faults:
            sys.exit(f"A shard failed: {faults}")
        self.reports = reports
        for number in set(self._processes) - set(self.coordinator.plan.members()):
            self.end(number)

    def resize(self, shards: Iterable[int]) -> None:
        """Begin to change the shards."""
        shards = list(shards)
        self.coordinator.resize(shards)
        for number in set(shards) - set(self._processes):
            self.start(number)

    def run_until(self, condition: Callable[[], object], seconds: float = 600.0) -> None:
        """Poll until a condition holds."""
        limit = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > limit:
                sys.exit(f"No end after {seconds:.0f} s: {self.reports} {self.coordinator.faults}")
            self.poll()
            time.sleep(0.03)

    def pages(self) -> int:
        """Return the number of pages that the shards have reported."""
        return sum(report.status.pages for report in self.reports.values() if report.status is not None)

    def stop(self) -> dict[int, dict[str, int]]:
        """Stop all shards in an orderly way; return their traffic."""
        self.coordinator.stop()
        self.run_until(self.coordinator.plan.is_stopped)
        return {number: receiver.recv() for number, (_, receiver) in self._processes.items()}

    def end(self, number: int) -> None:
        """End the process of a shard that has stopped or left."""
        process, receiver = self._processes.pop(number)
        process.kill()
        process.join()
        receiver.close()

    def close(self) -> None:
        """End all processes."""
        for number in list(self._processes):
            self.end(number)
        self.coordinator.close()

    def records(self) -> list[FetchRecord]:
        """Return what all shards have stored of the hosts that they own."""
        records: list[FetchRecord] = []
        shards = self.coordinator.plan.state.shards
        for number in shards:
            with PageStore.open(self.shard_folder(number) / "store", self.settings.store) as store:
                records += select_owned(store.records(), shards, number)
        return records


def crawl_settings(hosts: Path, delay: float, connections: int) -> Settings:
    """Return settings for a fake web."""
    return Settings(
        fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(hosts), connections=connections),
        frontier=FrontierSettings(delay=delay, delay_factor=0, max_delay=delay, per_address=0),
        crawl=CrawlSettings(scope="web", commit_seconds=0.2, checkpoint_seconds=0.5),
    )


def kill_often(cluster: ProcessCluster, kills: int, chance: random.Random) -> Counter[str]:
    """Kill shards at random moments until the crawl is done; return what was done how often."""
    counts: Counter[str] = Counter()
    for number in range(kills):
        if number % 8 == 3 and not cluster.coordinator.plan.is_resizing:
            try:
                cluster.resize(range(chance.randint(2, 4)))
                counts["resizes"] += 1
            except BadInput:
                counts["refused_resizes"] += 1
        if number % 5 == 4:
            cluster.replace_coordinator()
            counts["coordinators"] += 1
        end = time.monotonic() + (chance.uniform(0.0, 0.3) if number % 2 else chance.uniform(0.3, 1.5))
        cluster.run_until(lambda end=end: time.monotonic() > end or cluster.coordinator.is_done)
        if cluster.coordinator.is_done:
            break
        with_folder = chance.random() < 0.5
        cluster.kill(chance.choice(list(cluster._processes)), with_folder=with_folder)
        counts["machines" if with_folder else "processes"] += 1
    return counts


def measure_kills(options: argparse.Namespace) -> None:
    plan = FakeWebPlan(seed=options.seed, hosts=options.hosts, pages=options.pages)
    truth = FakeWeb(plan).truth()
    folder = Path(tempfile.mkdtemp(prefix="bench-cluster-crawl-"))
    try:
        with run_in_process(plan, folder / "hosts", log=True) as server:
            settings = crawl_settings(folder / "hosts", options.delay, 16)
            cluster = ProcessCluster(folder / "data", settings, options.shards, truth.seeds, seconds=0.3)
            try:
                counts = kill_often(cluster, options.kills, random.Random(options.seed))
                began = time.monotonic()
                cluster.run_until(lambda: cluster.coordinator.is_done)
                rest = time.monotonic() - began
                cluster.stop()
            finally:
                cluster.close()
            records, requests = cluster.records(), server.requests()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    urls = {record.url for record in records if record.page is not None or record.duplicate_of}
    figures = {
        **{name: counts[name] for name in ("processes", "machines", "coordinators", "resizes")},
        "good_pages": len(truth.pages),
        "lost": sum(page.url not in urls for page in truth.pages),
        "stored_twice": sum(count - 1 for count in Counter(record.url for record in records).values()),
        "asked_again": sum(n - 1 for url, n in requests.counts.items() if not url.endswith("/robots.txt")),
        "shortest_pause": round(shortest_pause(requests), 4),
        "pause_wanted": options.delay,
        "seconds_after_the_last_kill": round(rest, 1),
    }
    if not options.quick:
        save("cluster-crawl-kills", figures)
    for name, value in figures.items():
        print(f"{name:>28}  {value}")
    if figures["lost"] or figures["stored_twice"] or figures["shortest_pause"] < options.delay:
        sys.exit("FAILED")
    kills = counts["processes"] + counts["machines"]
    print(f"{kills} kills: no page lost, none stored twice, no pause broken")


def measure_speed(options: argparse.Namespace) -> None:
    plan = FakeWebPlan(seed=options.seed, hosts=options.hosts, pages=options.pages)
    seeds = FakeWeb(plan).truth().seeds
    figures: dict[str, dict[str, float]] = {}
    for shards in (1, 2, 4):
        folder = Path(tempfile.mkdtemp(prefix="bench-cluster-crawl-"))
        try:
            with run_in_process(plan, folder / "hosts") as _:
                settings = crawl_settings(folder / "hosts", 0.0, 64)
                cluster = ProcessCluster(folder / "data", settings, shards, seeds, seconds=5.0)
                try:
                    cluster.run_until(lambda cluster=cluster: cluster.pages() > 0)
                    began, first = time.monotonic(), cluster.pages()
                    cluster.run_until(lambda cluster=cluster: cluster.coordinator.is_done)
                    pages, seconds = cluster.pages(), time.monotonic() - began
                    traffic = cluster.stop()
                finally:
                    cluster.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        sent = sum(entry["sent_bytes"] for entry in traffic.values())
        figures[f"shards_{shards}"] = {
            "pages": pages,
            "seconds": round(seconds, 2),
            "pages_per_second": round((pages - first) / seconds, 1),
            "wire_bytes": sent,
            "wire_bytes_per_page": round(sent / pages, 1),
        }
        print(shards, figures[f"shards_{shards}"])
    if not options.quick:
        save("cluster-crawl", figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--hosts", type=int, default=0)
    parser.add_argument("--pages", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--try", dest="small", action="store_true", help="a small web, no figures stored")
    parser.add_argument("--quick", action="store_true", help="store no figures")
    options = parser.parse_args()
    options.quick |= options.small
    options.hosts = options.hosts or (40 if options.kills else 20 if options.small else 200)
    options.pages = options.pages or (1_500 if options.kills else 600 if options.small else 20_000)
    if options.kills:
        measure_kills(options)
    else:
        measure_speed(options)


if __name__ == "__main__":
    main()
