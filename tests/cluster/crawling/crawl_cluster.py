"""A crawl on several shards in threads of this process: real mailboxes on loopback, real folders."""

import contextlib
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from periplus.cluster.crawling import CrawlCoordinator, PlanFile, ShardReport, ShardRunner
from periplus.cluster.wire.signing import ClusterKey
from periplus.crawl import select_owned
from periplus.fakeweb import RequestCounts
from periplus.records import FetchRecord
from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings
from periplus.store import PageStore

KEY = ClusterKey(secrets.token_bytes(32))


def cluster_settings(hosts: Path, delay: float = 0.0, **crawl) -> Settings:
    crawl.setdefault("scope", "web")
    return Settings(
        fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(hosts), timeout=20, slow_seconds=10, connections=8),
        frontier=FrontierSettings(delay=delay, delay_factor=0, max_delay=delay, back_off=0.02, max_failures=4),
        crawl=CrawlSettings(**crawl),
    )


def wait_for(condition: Callable[[], object], seconds: float = 120.0, pause: float = 0.02) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, condition
        time.sleep(pause)


class CrawlCluster:
    """Shards, and the coordinator that tells them what to do."""

    def __init__(self, folder: Path, settings: Settings, shards: int, seeds: Iterable[str] = (), **options) -> None:
        self.folder, self.settings, self.options = folder, settings, options
        self.coordinator = CrawlCoordinator(settings, KEY, PlanFile(folder / "plan.json"), range(shards), seeds)
        self.runners: dict[int, ShardRunner] = {}
        self.reports: dict[int, ShardReport] = {}
        for number in self.coordinator.plan.members():
            self.start(number)

    def start(self, number: int) -> ShardRunner:
        """Start a shard; an earlier process of it has ended."""
        options = {"durable_seconds": 0.3, **self.options}
        runner = ShardRunner(self.folder / f"shard-{number:02d}", self.settings, number, KEY, **options)
        runner.start()
        self.runners[number] = runner
        self.coordinator.attach(number, runner.address, is_dead=True)
        return runner

    def restart_coordinator(self) -> None:
        """Replace the coordinator by one that has only its file, and learns the addresses anew."""
        self.coordinator.close()
        self.coordinator = CrawlCoordinator(self.settings, KEY, PlanFile(self.folder / "plan.json"))
        for number, runner in self.runners.items():
            self.coordinator.attach(number, runner.address)

    def pages(self) -> int:
        return sum(report.status.pages for report in self.reports.values() if report.status is not None)

    def poll(self) -> None:
        self.reports |= self.coordinator.poll()
        assert not [report.fault for report in self.reports.values() if report.state == "failed"]

    def run_until(self, condition: Callable[[], object]) -> None:
        def is_reached() -> bool:
            self.poll()
            return bool(condition())

        wait_for(is_reached)

    def resize(self, shards: Iterable[int]) -> None:
        """Change the shards; wait until all hosts have moved, and end the shards that left."""
        shards = list(shards)
        self.coordinator.resize(shards)
        for number in set(shards) - set(self.runners):
            self.start(number)
        self.run_until(lambda: not self.coordinator.plan.is_resizing)
        for number in set(self.runners) - set(shards):
            self.runners.pop(number).close()
            self.reports.pop(number, None)

    def run_to_end(self) -> None:
        self.run_until(lambda: self.coordinator.is_done)

    def stop(self) -> None:
        self.coordinator.stop()
        self.run_until(self.coordinator.plan.is_stopped)

    def close(self) -> None:
        for runner in self.runners.values():
            runner.close()
        self.coordinator.close()

    def records(self) -> list[FetchRecord]:
        """Return what all shards have stored of the hosts that they own."""
        return owned_records(self.folder, self.settings, self.coordinator.plan.state.shards)


def owned_records(folder: Path, settings: Settings, shards: tuple[int, ...]) -> list[FetchRecord]:
    records: list[FetchRecord] = []
    for number in shards:
        with PageStore.open(folder / f"shard-{number:02d}" / "store", settings.store) as store:
            records += select_owned(store.records(), shards, number)
    return records


@contextlib.contextmanager
def crawl_cluster(
    folder: Path, settings: Settings, shards: int, seeds: Iterable[str] = (), **options
) -> Iterator[CrawlCluster]:
    cluster = CrawlCluster(folder, settings, shards, seeds, **options)
    try:
        yield cluster
    finally:
        cluster.close()


def page_urls(records: list[FetchRecord]) -> set[str]:
    """Return the URLs that have a page, or whose content is stored under another URL."""
    return {
        record.url
        for record in records
        if record.duplicate_of or (record.page and record.page.kind.startswith("text/"))
    }


def stored_twice(records: list[FetchRecord]) -> list[str]:
    return [url for url, count in Counter(record.url for record in records).items() if count > 1]


def shortest_pause(requests: RequestCounts) -> float:
    """Return the shortest time between two requests to one host, as the server saw them."""
    last: dict[str, float] = {}
    shortest = float("inf")
    for request in requests.log:
        shortest = min(shortest, request.time - last.get(request.host, -1e9))
        last[request.host] = request.time
    return shortest
