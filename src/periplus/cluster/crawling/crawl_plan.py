"""The state machine of a crawl's coordinator: reports of shards in, plans for shards out. It does no I/O.

    settled  --resize-->  moving  --all shards have settled in the new epoch, leaving ones are drained-->  forwarding
    forwarding  --pages of all hosts that moved are in checkpoints of their new owners-->  settled

While pages are forwarded, the crawl goes on. Shards that leave own no hosts any more, and run until nothing is left.

Its durable part is a `CrawlPlanState`: whoever has the last one can go on. It is saved before any shard acts on it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from periplus.cluster.crawling.mail_records import ShardPlan, ShardReport
from periplus.crawl import CrawlStatus, Quotas
from periplus.errors import BadInput

__all__ = ["CrawlPlan", "CrawlPlanState"]

_FORMAT: Final = 1
_MAX_SHARDS: Final = 4096
_DELIVERY_SECONDS: Final = 15.0
"""How long a plan may take to its shard, for which the lease begins when it arrives; more than the client's timeout."""


class CrawlPlanState(msgspec.Struct, frozen=True, kw_only=True):
    """What a coordinator must not forget."""

    format: int = _FORMAT
    term: int = 0
    """Grows with every coordinator."""
    coordinator: str = ""
    """Identifies the coordinator that has written the state, where several may try to."""
    epoch: int = 1
    shards: tuple[int, ...]
    previous: tuple[int, ...] = ()
    """Shards of the epoch before; those that are not in `shards` leave."""
    is_moving: bool = False
    """Whether hosts move: nothing is crawled."""
    is_forwarding: bool = False
    """Whether pages of hosts that moved have not all arrived."""
    seeds: tuple[str, ...] = ()
    incarnations: dict[int, int] = {}
    """By shard: number of the last process."""
    instances: dict[int, str] = {}
    """By shard: the process that has this number."""


class _Process(msgspec.Struct):
    """What is known of the process of a shard."""

    address: str
    report: ShardReport | None = None
    renewed: float = -1e9
    """When it was last sent a plan that lets it crawl."""


class CrawlPlan:
    """Decides what each shard does. Time is an argument, in seconds."""

    def __init__(self, state: CrawlPlanState, pages: int, *, recrawl: bool = False, lease: float = 30.0) -> None:
        """Continue from `state` as a new coordinator; `pages` is the limit of the whole crawl."""
        self.state = msgspec.structs.replace(state, term=state.term + 1)
        self.paused = False
        self.stopped = False
        self._recrawl, self._lease = recrawl, lease
        self._quotas = Quotas(None, pages)
        self._processes: dict[int, _Process] = {}
        self._blocked: dict[int, float] = {}
        """By shard: until when an earlier process of it may still crawl."""
        self._unconfirmed: dict[int, float] = {}
        """The same, of shards that an earlier coordinator had: if the process is still the same one, it goes on."""
        self._idle: dict[int, ShardReport] | None = None
        """Reports of all shards in which nothing was left to do."""

    @property
    def is_resizing(self) -> bool:
        """Whether hosts or their pages move: shards that leave are still needed, and no other move can begin."""
        return self.state.is_moving or self.state.is_forwarding

    def members(self) -> tuple[int, ...]:
        """Return the shards that are to run: those of the topology and, while hosts or pages move, those that leave."""
        leaving = set(self.state.previous) - set(self.state.shards) if self.is_resizing else set()
        return tuple(sorted({*self.state.shards, *leaving}))

    def reports(self) -> dict[int, ShardReport]:
        """Return the last report of each shard that runs."""
        members = self.members()
        return {n: p.report for n, p in self._processes.items() if p.report is not None and n in members}

    def attach(self, number: int, address: str, now: float, *, is_dead: bool = False) -> None:
        """Note where the process of a shard listens.

        Unless the earlier process is known to be dead (`is_dead`), the new one gets its first plan when the lease of
        the earlier one has ended: two processes must not crawl the same hosts.
        """
        before = self._processes.get(number)
        if before is not None and before.address == address:
            return
        if is_dead:
            self._blocked.pop(number, None)
        elif before is not None:
            self._blocked[number] = max(
                before.renewed + self._lease + _DELIVERY_SECONDS, self._blocked.get(number, -1e9)
            )
        elif number in self.state.instances:
            self._unconfirmed[number] = now + self._lease + _DELIVERY_SECONDS
        if before is not None and before.report is not None and self._recrawl and before.report.status is not None:
            self._quotas.note_restart(number, before.report.status.pages)
        self._processes[number] = _Process(address)
        self._idle = None

    def detach(self, number: int, *, is_dead: bool) -> None:
        """Note that the process of a shard is gone or, if it is not known to be dead, cannot be reached."""
        process = self._processes.get(number)
        if process is not None and process.report is not None:
            process.report = None
            self._idle = None
        if is_dead:
            self._blocked.pop(number, None)

    def note_report(self, report: ShardReport) -> bool:
        """Store the report of a shard; return whether `state` has changed and must be saved."""
        process = self._processes.get(report.number)
        if process is None:
            return False
        process.report = report
        before = self.state
        unconfirmed = self._unconfirmed.pop(report.number, None)
        if self.state.instances.get(report.number) != report.instance:
            if unconfirmed is not None:
                self._blocked[report.number] = unconfirmed
            incarnation = self.state.incarnations.get(report.number, 0) + 1
            self.state = msgspec.structs.replace(
                self.state,
                incarnations={**self.state.incarnations, report.number: incarnation},
                instances={**self.state.instances, report.number: report.instance},
            )
            self._idle = None
        seeds = tuple(dict.fromkeys((*self.state.seeds, *report.seeds)))
        if seeds != self.state.seeds:
            self.state = msgspec.structs.replace(self.state, seeds=seeds)
        return self.state is not before

    def advance(self) -> bool:
        """Distribute quotas, and end a move that is complete; return whether `state` has changed and must be saved."""
        reports = self.reports()
        if self.state.is_moving:
            if set(reports) < set(self.members()) or not self._is_settled(reports):
                return False
            self.state = msgspec.structs.replace(self.state, is_moving=False)
            return True
        if self.state.is_forwarding and set(reports) == set(self.members()) and self._is_forwarded(reports):
            self.state = msgspec.structs.replace(self.state, is_forwarding=False)
            for number in set(self._processes) - set(self.state.shards):
                del self._processes[number]
            return True
        reports = {number: report for number, report in reports.items() if number in self.state.shards}
        if set(reports) < set(self.state.shards):
            return False
        if len(statuses := _statuses(reports)) == len(reports):
            self._quotas.distribute(statuses)
        return False

    def _is_forwarded(self, reports: Mapping[int, ShardReport]) -> bool:
        """Return whether the pages of all hosts that moved are in durable checkpoints of their new owners."""
        return self._is_settled(reports) and all(report.forwarded == self.state.epoch for report in reports.values())

    def _is_settled(self, reports: Mapping[int, ShardReport]) -> bool:
        """Return whether every shard has all its hosts, durably, and nothing is on its way to a shard that leaves."""
        leaving = set(reports) - set(self.state.shards)
        return (
            all(report.settled == self.state.epoch == report.epoch for report in reports.values())
            and all(reports[number].is_drained for number in leaving)
            and all(_is_delivered(reports, number) for number in leaving)
        )

    def plan_for(self, number: int, now: float) -> ShardPlan | None:
        """Return the plan of a shard; None if it must not have one yet, since an earlier process may still crawl."""
        process = self._processes.get(number)
        if process is None or now < self._blocked.get(number, -1e9):
            return None
        process.renewed = now
        state = self.state
        return ShardPlan(
            term=state.term,
            incarnation=state.incarnations.get(number, 0),
            instance=state.instances.get(number, ""),
            epoch=state.epoch,
            shards=state.shards,
            previous=state.previous,
            addresses={other: process.address for other, process in self._processes.items()},
            seeds=state.seeds,
            quota=0 if state.is_moving else self._quotas.assigned().get(number, 0),
            paused=self.paused,
            stopped=self.stopped,
            forwards=state.is_forwarding and not state.is_moving,
            lease=self._lease,
        )

    def resize(self, shards: Iterable[int]) -> None:
        """Begin an epoch in which `shards` own all hosts; raise `BadInput` while an earlier move is not complete."""
        wanted = tuple(sorted(set(shards)))
        if not 1 <= len(wanted) <= _MAX_SHARDS or wanted[0] < 0 or wanted[-1] >= 1 << 16:
            raise BadInput(f"A crawl cannot have the shards {list(wanted)[:10]}.", f"It can have 1 to {_MAX_SHARDS}.")
        if self.is_resizing:
            raise BadInput("Hosts are moving between shards already.", "Wait until this is complete.")
        if wanted != self.state.shards:
            self.state = msgspec.structs.replace(
                self.state,
                epoch=self.state.epoch + 1,
                shards=wanted,
                previous=self.state.shards,
                is_moving=True,
                is_forwarding=True,
            )
            self._idle = None

    def add_seeds(self, seeds: Iterable[str]) -> None:
        """Add seeds to the crawl."""
        self.state = msgspec.structs.replace(self.state, seeds=tuple(dict.fromkeys((*self.state.seeds, *seeds))))
        self._idle = None

    def is_done(self) -> bool:
        """Return whether nothing is left to do: call it after every round of reports.

        All shards were idle and had applied every message, in two rounds, and each has reported in between: nothing was
        on its way during the first of them.
        """
        reports = self.reports()
        if self.is_resizing or set(reports) != set(self.state.shards) or not self._is_idle(reports):
            self._idle = None
            return False
        first = self._idle
        if first is None:
            self._idle = dict(reports)
            return False
        if any(report.serial <= first[number].serial for number, report in reports.items()):
            return False  # the second round is not complete yet
        self._idle = dict(reports)
        return all(_activity(report) == _activity(first[number]) for number, report in reports.items())

    def _is_idle(self, reports: Mapping[int, ShardReport]) -> bool:
        states = {report.state for report in reports.values()}
        is_full = states <= {"idle", "full"} and self._quotas.is_exhausted(_statuses(reports))
        return (states <= {"idle"} or is_full) and all(_is_delivered(reports, number) for number in reports)

    def is_stopped(self) -> bool:
        """Return whether all shards have stopped, with everything in a durable checkpoint."""
        reports = self.reports()
        return set(reports) == set(self.members()) and all(report.state == "stopped" for report in reports.values())


def _statuses(reports: Mapping[int, ShardReport]) -> dict[int, CrawlStatus]:
    return {number: report.status for number, report in reports.items() if report.status is not None}


def _is_delivered(reports: Mapping[int, ShardReport], receiver: int) -> bool:
    """Return whether a shard has applied all messages that the others have written for it."""
    processed = reports[receiver].processed
    return all(
        report.written.get(receiver, 0) <= processed.get(number, 0)
        for number, report in reports.items()
        if number != receiver
    )


def _activity(report: ShardReport) -> tuple[str, str, dict[int, int], dict[int, int]]:
    """Return values of which at least one changes with any activity of a shard."""
    return report.instance, report.state, report.written, report.processed
