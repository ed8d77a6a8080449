"""The coordinator of a crawl on a cluster: exchanges plans and reports with all shards, by signed HTTP.

All that it must not forget is saved before shards act on it, so that it can be killed and started again anywhere.
Shards go on without it until their lease ends, and then pause.
"""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Protocol

import msgspec

from periplus.cluster.crawling.crawl_plan import CrawlPlan, CrawlPlanState
from periplus.cluster.crawling.mail_records import ShardPlan, ShardReport
from periplus.cluster.crawling.mailbox_client import MailboxClient
from periplus.cluster.wire.signing import ClusterKey
from periplus.errors import ClusterError, PeerFailed
from periplus.files import decode_json, disk_errors, encode_json, make_folder, read_file, write_atomically
from periplus.settings import Settings
from periplus.typed_decoding import parse_msgpack

__all__ = ["CrawlCoordinator", "PlanFile", "PlanStore"]

_TIMEOUT: Final = 10.0
_THREADS: Final = 16
_FORMAT: Final = 1


class PlanStore(Protocol):
    """Where the coordinator keeps its state."""

    def load(self) -> CrawlPlanState | None:
        """Return the last state; None if there is none."""

    def save(self, state: CrawlPlanState) -> None:
        """Replace the state durably; raise `CoordinatorConflict` if another coordinator has done so."""


class PlanFile:
    """The state of a coordinator in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> CrawlPlanState | None:
        """Return the last state; None if there is no file."""
        try:
            return decode_json(self._path, read_file(self._path), CrawlPlanState, _FORMAT, checksum_since=1)
        except FileNotFoundError:
            return None

    def save(self, state: CrawlPlanState) -> None:
        """Replace the file."""
        with disk_errors(self._path):
            make_folder(self._path.parent)
        write_atomically(self._path, encode_json(state, indent=1))


class CrawlCoordinator:
    """Runs the crawl of all shards: call `poll` a few times a second until `is_done`."""

    def __init__(
        self,
        settings: Settings,
        key: ClusterKey,
        plans: PlanStore,
        shards: Iterable[int] = (0,),
        seeds: Iterable[str] = (),
        *,
        lease: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Continue from the saved state; without one, begin with `shards`. Add `seeds` in any case."""
        state = plans.load() or CrawlPlanState(shards=tuple(sorted(set(shards))))
        crawl = settings.crawl
        self.plan = CrawlPlan(state, crawl.pages, recrawl=crawl.recrawl, lease=lease)
        self.plan.add_seeds(seeds)
        self._key, self._plans, self._clock = key, plans, clock
        self._clients: dict[int, MailboxClient] = {}
        self._threads = ThreadPoolExecutor(_THREADS, "crawl-coordinator")
        self.is_done = False
        self.faults: dict[int, str] = {}
        """By shard: why it could not be reached."""
        plans.save(self.plan.state)

    def attach(self, number: int, address: str, *, is_dead: bool = False) -> None:
        """Note where the process of a shard listens; `is_dead` if its earlier process has certainly ended."""
        self.plan.attach(number, address, self._clock(), is_dead=is_dead)

    def detach(self, number: int, *, is_dead: bool = False) -> None:
        """Note that the process of a shard has ended, or cannot be reached."""
        self.plan.detach(number, is_dead=is_dead)

    def resize(self, shards: Iterable[int]) -> None:
        """Begin an epoch in which `shards` own all hosts; processes of new shards are attached as others are."""
        self.plan.resize(shards)
        self._plans.save(self.plan.state)

    def add_seeds(self, seeds: Iterable[str]) -> None:
        """Add seeds to the crawl."""
        self.plan.add_seeds(seeds)
        self._plans.save(self.plan.state)

    def pause(self, is_paused: bool = True) -> None:
        """Pause the crawl, or resume it."""
        self.plan.paused = is_paused

    def stop(self) -> None:
        """Stop all shards, in an orderly way."""
        self.plan.stopped = True

    def poll(self) -> dict[int, ShardReport]:
        """Exchange plans and reports with all shards once; return the reports of those that answered."""
        now = self._clock()
        plans = {number: self.plan.plan_for(number, now) for number in self.plan.members()}
        ready = {number: plan for number, plan in plans.items() if plan is not None}
        answers = dict(zip(ready, self._threads.map(self._exchange, ready, ready.values()), strict=True))
        changed = False
        for number, report in answers.items():
            if report is None:
                self.plan.detach(number, is_dead=False)
            else:
                changed |= self.plan.note_report(report)
        changed |= self.plan.advance()
        if changed:
            self._plans.save(self.plan.state)
        self.is_done = self.plan.is_done()
        return {number: report for number, report in answers.items() if report is not None}

    def _exchange(self, number: int, plan: ShardPlan) -> ShardReport | None:
        address = plan.addresses[number]
        client = self._clients.get(number)
        if client is None or client.address != address:
            if client is not None:
                client.close()
            client = self._clients[number] = MailboxClient(number, self._key, address, _TIMEOUT)
        try:
            answer = client.post("/plan", msgspec.msgpack.encode(plan))
            if answer.status != 200:
                raise PeerFailed(f"Shard {number} is busy.")
            report = parse_msgpack(answer.body, ShardReport)
        except (ClusterError, msgspec.MsgspecError) as error:
            self.faults[number] = str(error)
            return None
        self.faults.pop(number, None)
        return report if report.number == number else None

    def close(self) -> None:
        """Close all connections; shards are not affected."""
        self._threads.shutdown(wait=True)
        for client in self._clients.values():
            client.close()
