"""The state of a crawl: frontier, robots.txt cache, outlinks, duplicates and totals; how it is saved and recovered."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, islice
from pathlib import Path
from typing import Final

from periplus.crawl.crawl_snapshot import (
    CrawlSnapshot,
    LongSnapshot,
    Totals,
    extend_snapshot,
    read_snapshot,
    write_snapshot,
)
from periplus.crawl.crawl_statistics import CrawlStatistics, RateMeter, explain_wait
from periplus.crawl.fetch_records import DuplicateTable
from periplus.crawl.focus.focus import FocusState, group_ranks_by_host, open_focus
from periplus.crawl.hosts.host_limits import HostLimits
from periplus.crawl.inspection.cuts import Cut, CutKind, count_cuts, list_cuts
from periplus.crawl.inspection.host_view import HostView
from periplus.crawl.outlinks import OutlinkExtractor
from periplus.crawl.policies.host_table import HostTable
from periplus.crawl.policies.original_urls import OriginalUrls
from periplus.crawl.policies.seed_list import read_seeds_file, write_seeds_file
from periplus.crawl.policies.traps import Traps
from periplus.crawl.regions.held_requests import hold_back, recount_held, release_earned, release_named
from periplus.crawl.regions.regions import RegionTable
from periplus.crawl.reported_visits import POSITION_FILE, VisitReportReader, read_position, write_position
from periplus.crawl.revisits import CrawlHistory, history_of_record, read_history
from periplus.crawl.robots_cache import RobotsCache
from periplus.crawl.sharding.mailbox import ForeignMessage, ShardMessage
from periplus.crawl.sharding.shard import LinkRouter, SingleShard
from periplus.crawl.sharding.topology import read_topology, shard_dir
from periplus.errors import BadUrl, CorruptFile, NoNetwork
from periplus.frontier import Frontier
from periplus.records import LIST_KIND, Address, FetchRecord, FetchRequest, Outcome, VisitReport
from periplus.settings import Settings
from periplus.signals import LogPosition
from periplus.store import PageStore
from periplus.url import parse_address

__all__ = ["CrawlState"]

_MAX_FOREIGN_SEEDS: Final = 10_000
"""Seeds above which those of other sites are ignored: the scope is checked against each."""
_SEED_BATCH: Final = 10_000
_NO_ERRORS: Final = (Outcome.OK, Outcome.REDIRECT, Outcome.NOT_MODIFIED)
_UNREACHABLE: Final = {Outcome.DNS.value, Outcome.CONNECT.value, Outcome.TIMEOUT.value}


class CrawlState:
    """The state of a crawl, except for the stored pages."""

    def __init__(self, path: Path, settings: Settings, router: LinkRouter | None = None) -> None:
        self._path = path
        self._data = path.parents[1]
        self.router: LinkRouter = router or SingleShard(self._data)
        if self.router.number:
            self._data = path.parents[2]
        self.first_seeds = 0
        """How many seeds were in the snapshot or given at the start; seeds after these are sent to other shards."""
        self._seeds_file = path.with_name("seeds.txt")
        self._seeds_written = 0
        self.settings = settings
        self._spill = path.with_name("spill")
        self.frontier = Frontier(settings.frontier, self._spill)
        self.host_table = HostTable(settings.host)
        self.host_limits = HostLimits(settings, self.host_table)
        self.robots = RobotsCache(settings.fetch.user_agent)
        self.outlinks = self._make_extractor(())
        self._connect_frontier()
        self._originals = path.with_name("originals")
        self.duplicates = DuplicateTable(OriginalUrls(self._originals))
        self.totals = Totals()
        self.pages_of_host: dict[str, int] = {}
        self.errors_of_host: dict[str, int] = {}
        self._host_view = HostView()
        self.history = CrawlHistory()
        """The fetch history of pages that are fetched again in this run."""
        self.notes: list[str] = []
        self._focus_state: FocusState | None = None
        self.visit_reports = VisitReportReader(self._data)
        self.forward_report: Callable[[Address, VisitReport], None] | None = None
        """What happens to reports about hosts of other shards, if each shard has a log of its own."""

    @classmethod
    def recover(
        cls,
        path: Path,
        settings: Settings,
        store: PageStore,
        seeds: Iterable[Address],
        now: float = 0.0,
        router: LinkRouter | None = None,
    ) -> "CrawlState":
        """Read the snapshot and replay the records after it; if it is damaged, replay all records."""
        state = cls(path, settings, router)
        start: int | None = None
        damaged = False
        try:
            snapshot = read_snapshot(path)
            if snapshot is not None:
                start = state._restore(snapshot, store.commit())
        except CorruptFile as error:
            state, start, damaged = cls(path, settings, router), 0, True
            state.notes.append(f"{error} It was rebuilt from the stored records.")
            state.add_seeds(read_seeds_file(state._seeds_file))
        state._open_focus(store)
        state.add_seeds(seeds)
        state.first_seeds = len(state.outlinks.seeds)
        if start is not None:
            for record in state.router.read_records(store) if damaged else store.records(start):
                state._replay(record, damaged)
            if state.frontier.requeue_in_flight(now):
                recount_held(state.frontier, state.outlinks.regions)
        state.frontier.revive()
        state._release_named(settings.crawl.release)
        if settings.crawl.recrawl:
            state.history = read_history(state.router.read_records(store))
            due = state.history.select_due(now, settings.crawl.recrawl_per_day)
            if not due:
                state.notes.append(state.history.explain_none(now, settings.crawl.recrawl_per_day))
            state._add_revisits(due)
        return state

    def _make_extractor(self, seeds: Iterable[Address]) -> OutlinkExtractor:
        return OutlinkExtractor(self.settings.crawl, seeds, None, self.host_table, self.settings.parse.max_links)

    def _release_named(self, names: Sequence[str]) -> None:
        """Queue what is held back of the regions and hosts that the operator names."""
        for name in names:
            if not release_named(self.frontier, self.outlinks.regions, name) and not self.router.supervised:
                self.notes.append(f"Nothing is held back under '{name}'; see periplus crawl --held.")

    def _add_revisits(self, requests: list[FetchRequest]) -> None:
        self.frontier.add_revisits(request for request in requests if self.router.owns(request.address.host))

    def _restore(self, snapshot: LongSnapshot, stored: int) -> int:
        """Restore the state from a snapshot, and return the number of records that it reflects.

        A crawl in which no server has answered yet starts again from its seeds.
        """
        if snapshot.visits > stored:
            raise CorruptFile(f"{self._path} reflects {snapshot.visits} records, but only {stored} are stored.")
        self.router.load_mail(snapshot.mail)
        self.outlinks = self._make_extractor(map(parse_address, snapshot.seeds))
        if not snapshot.totals.answered and snapshot.totals.outcomes and not self.router.supervised:
            self._queue_seeds(self.outlinks.seeds)
            return snapshot.visits
        self.frontier.close()
        self.frontier = Frontier.load(snapshot.frontier, self.settings.frontier, self._spill)
        self.robots = RobotsCache(self.settings.fetch.user_agent, snapshot.robots)
        self.outlinks.traps = Traps(snapshot.traps)
        self.outlinks.regions = RegionTable(snapshot.regions)
        self.outlinks.forms.state = snapshot.forms
        self.outlinks.lists.update(snapshot.lists)
        self.outlinks.lists_of_host.update(snapshot.lists_of_host)
        self.outlinks.links_to_host.update(snapshot.links_to_host)
        self.outlinks.cuts.update(snapshot.cuts)
        urls = OriginalUrls.load(self._originals, snapshot.originals, snapshot.original_files)
        self.duplicates = DuplicateTable(urls, snapshot.near)
        self.totals = snapshot.totals
        self.visit_reports.state = snapshot.passive
        self.pages_of_host, self.errors_of_host = snapshot.pages_of_host, snapshot.errors_of_host
        self.host_limits.usage.update(snapshot.usage)
        self._focus_state = snapshot.focus
        self._connect_frontier()
        return snapshot.visits

    def _open_focus(self, store: PageStore) -> None:
        """Open the topic of the settings or of earlier runs; its example pages become seeds."""
        focus = open_focus(self.settings.focus, self._data / "crawl", self._focus_state)
        self.outlinks.focus = focus
        self.frontier.best_first = focus.choice if focus is not None else None
        if focus is not None:
            focus.add_fetched_examples(store.find)
            self.add_seeds(list(focus.urls.values()))

    def _connect_frontier(self) -> None:
        """Connect the frontier with the delays of hosts, and the counts of links to them, which determine budgets."""
        if self.host_table:
            self.frontier.delays.own = self.host_table.delay
        links = self.outlinks.links_to_host
        self.frontier.reputation = lambda name: links.get(name, 0)
        self.outlinks.regions.seen_each = self.frontier.seen_each

    def learn_forwarded(self, record: FetchRecord) -> None:
        """Apply a record that another shard has fetched and counted: from now on, the page is revisited here."""
        if self.settings.crawl.recrawl:
            self.history.learn(record)

    def _replay(self, record: FetchRecord, damaged: bool = False) -> None:
        """Apply a stored record to the state, as when it was fetched; `damaged` if there was no snapshot to use."""
        if record.forwarded and not damaged:
            return  # what is known of its host has come with the host
        try:
            address = parse_address(record.url)
        except BadUrl:
            return
        if not self.router.owns(address.host):
            # To rebuild a snapshot the records of all shards are read: their pages link to hosts of this shard.
            requests = self.outlinks.extract(record)
            self.frontier.add([request for request in requests if self.router.owns(request.address.host)])
            return
        request = FetchRequest(address, record.depth, self.outlinks.rank(address, record.depth), 0, record.hops)
        end = record.when + record.elapsed
        self.frontier.replay(request, record.outcome, end, record.elapsed, record.retry_after or None)
        if not record.forwarded:
            self.totals.answered += record.status > 0
            self.count(record, address.host)
        self.add(self.outlinks.extract(record))

    def add(self, requests: list[FetchRequest]) -> None:
        """Add requests for hosts of this shard to the frontier, and send the others to their shards."""
        own = self.router.route(requests, self.outlinks.lists)
        focus = self.outlinks.focus
        seen = self.frontier.seen_each([request.address.key for request in own]) if focus is not None else []
        queued = list(compress(own, seen))
        self.frontier.add(own)
        if focus is not None:
            # The priority of a queued URL rises with further links to it, and with the score of hubs that link to it.
            self.frontier.reprioritize(group_ranks_by_host(queued))
            self.frontier.reprioritize(focus.update_ranks())
        release_earned(self.frontier, self.outlinks.regions)

    def accept_message(self, message: ShardMessage) -> None:
        """Add the links and seeds that another shard has sent; of another site, what is within the scope here."""
        is_foreign = isinstance(message, ForeignMessage)
        for seed in message.seeds:
            if is_foreign and len(self.outlinks.seeds) >= _MAX_FOREIGN_SEEDS:
                break
            with contextlib.suppress(BadUrl):
                self.outlinks.add_seed(parse_address(seed))
        requests = []
        for link in message.links:
            try:
                address = self.outlinks.traps.rewrite(parse_address(link.url))
            except BadUrl:
                continue
            if is_foreign and not self.outlinks.accepts(address, link.is_list):
                continue
            if link.is_list:
                self.outlinks.lists.add(address.key)
            self.outlinks.regions.note_linked(address)
            self.outlinks.links_to_host[address.host] = self.outlinks.links_to_host.get(address.host, 0) + 1
            requests.append(FetchRequest(address, link.depth, link.rank, 0, link.hops))
        self.add(requests)

    def add_seeds(self, seeds: Iterable[Address]) -> None:
        """Add seeds to the crawl, a batch at a time: an address takes ten times the memory of a queued URL."""
        remaining = iter(seeds)
        while batch := list(islice(remaining, _SEED_BATCH)):
            for seed in batch:
                self.outlinks.add_seed(seed)
            self._queue_seeds(seed for seed in batch if self.router.owns(seed.host))

    def _queue_seeds(self, seeds: Iterable[Address]) -> None:
        self.frontier.add([FetchRequest(seed, 0, self.outlinks.rank(seed, 0)) for seed in seeds])

    def count(self, record: FetchRecord, host: str) -> bool:
        """Add a record to the totals; return whether it is a new page."""
        totals, page = self.totals, record.page
        outcome = str(record.outcome)
        totals.outcomes[outcome] = totals.outcomes.get(outcome, 0) + 1
        totals.fetched += record.outcome is not Outcome.ROBOTS
        totals.bytes += record.bytes
        if record.outcome not in _NO_ERRORS:
            self.errors_of_host[host] = self.errors_of_host.get(host, 0) + 1
        totals.copies += bool(record.duplicate_of)
        self.host_limits.count(record, host)
        count_cuts(self.outlinks.cuts, record, self.settings)
        past = self.history.pages.get(record.key)
        if past is not None:
            # A change that a list reports later in this run has been seen by this fetch.
            past.when = max(past.when, record.when)
        if page is not None and page.changed:
            self._add_revisits(self.history.read_dates(page, record.when)[: self.settings.crawl.recrawl_per_day])
        if page is None or page.kind == LIST_KIND:
            return False
        self.duplicates.learn(record)
        if record.revisit:
            return False
        totals.pages += 1
        self.pages_of_host[host] = self.pages_of_host.get(host, 0) + 1
        return True

    def read_reports(self, store: PageStore, until: LogPosition | None = None) -> bool:
        """Read the next visit reports; return whether there were any."""
        router = self.router
        reported = self.visit_reports.read(
            self.outlinks,
            lambda key: router.find_record(store, key),
            lambda address: router.owns(address.host),
            until,
            self.forward_report,
        )
        self.frontier.add(reported.requests)
        for _, record in reported.revisits:
            self.history.pages.setdefault(record.key, history_of_record(record))
        self.frontier.add_revisits(request for request, _ in reported.revisits)
        return reported.read

    def hold_back(self, request: FetchRequest, now: float) -> bool:
        """Hold back a request whose region has brought nothing new; sitemaps, seeds and revisits never are."""
        key, outlinks = request.address.key, self.outlinks
        if key in outlinks.lists or key in self.history.pages or outlinks.is_seed(request.address):
            return False
        return hold_back(self.frontier, outlinks.regions, request, now)

    def holds(self, host: str, crawl_delay: float | None, now: float) -> bool:
        """Return whether a host is left alone for the rest of this run; see `HostLimits`."""
        return self.host_limits.holds(host, self.pages_of_host.get(host, 0), crawl_delay, now)

    def statistics(self, meter: RateMeter, busy: int, began: float, now: float) -> CrawlStatistics:
        """Return the figures of a crawl, with `busy` requests under way, that began its run at `began`."""
        frontier, totals = self.frontier.statistics(), self.totals
        return CrawlStatistics(
            pages=totals.pages,
            fetched=totals.fetched,
            rate=meter.rate(now, began),
            errors={name: count for name, count in totals.outcomes.items() if name != Outcome.OK},
            bytes=totals.bytes,
            waiting=frontier.waiting,
            busy=busy,
            hosts=frontier.hosts,
            seen=frontier.seen,
            seconds=now - began,
            copies=totals.copies,
            given_up=frontier.given_up,
            held=frontier.held,
            behind=frontier.behind,
            cuts=self._list_cuts(frontier.waiting, began, now, anew=not busy),
            host_rows=self._host_view.rows(self.frontier, self.pages_of_host, self.errors_of_host, now),
            recent=tuple(meter.recent),
            slowest=tuple(self.frontier.slowest.top(3)),
            notes=(*self.notes, *self.host_limits.notes(), *(() if busy else explain_wait(self.frontier, now))),
        )

    def _list_cuts(self, waiting: int, began: float, now: float, *, anew: bool) -> tuple[Cut, ...]:
        limits, totals = self.settings.crawl, self.totals
        behind = self.host_limits.waiting(self.frontier, now, anew=anew)
        if totals.pages >= limits.pages and not limits.recrawl:
            behind[CutKind.PAGES] = waiting, ()
        elif 0 < limits.bytes <= totals.bytes:
            behind[CutKind.BYTES] = waiting, ()
        elif 0 < limits.minutes * 60 < now - began:
            behind[CutKind.MINUTES] = waiting, ()
        return list_cuts(self.settings, self.outlinks.cuts, totals.outcomes, behind)

    def check_network(self, now: float) -> None:
        """Raise `NoNetwork` if no host ever answered, and nothing is left to try."""
        outcomes = set(self.totals.outcomes)
        if outcomes and not self.totals.answered and outcomes <= _UNREACHABLE and self.frontier.wait(now) is None:
            hosts = ", ".join(sorted({seed.host for seed in self.outlinks.seeds})[:3])
            raise NoNetwork(f"No host could be reached (tried {hosts}).", "Check the network and the seeds.")

    def save(self, visits: int, now: float, path: Path | None = None) -> None:
        """Write the snapshot, which reflects the first `visits` records of the store."""
        seeds = tuple(self.outlinks.seeds.urls)
        if len(seeds) != self._seeds_written:
            write_seeds_file(self._seeds_file, seeds)
            self._seeds_written = len(seeds)
        self.router.send(everything=True)
        snapshot = CrawlSnapshot(
            visits=visits,
            frontier=self.frontier.dump(),
            seeds=seeds,
            robots=self.robots.entries(now),
            originals=self.duplicates.urls.newest,
            near=self.duplicates.near.dump(),
            lists=tuple(self.outlinks.lists),
            lists_of_host=self.outlinks.lists_of_host,
            links_to_host=self.outlinks.links_to_host,
            cuts=self.outlinks.cuts,
            pages_of_host=self.pages_of_host,
            errors_of_host=self.errors_of_host,
            totals=self.totals,
            traps=self.outlinks.traps.state,
            regions=self.outlinks.regions.dump(),
            forms=self.outlinks.forms.state,
            passive=self.visit_reports.state,
            focus=self.outlinks.focus.dump() if self.outlinks.focus is not None else None,
        )
        mail, usage, files = self.router.dump_mail(), self.host_limits.usage, tuple(self.duplicates.urls.files)
        write_snapshot(path or self._path, extend_snapshot(snapshot, mail, usage, files))
        if path is None:
            with contextlib.suppress(CorruptFile):  # without the list of shards their positions are unknown
                self._write_position()

    def _write_position(self) -> None:
        """Write the position in the visit report log; the first shard deletes reports that all shards have read."""
        shards = read_topology(self._data).shards
        if len(shards) > 1 and self.visit_reports.position != LogPosition():
            write_position(self._path.with_name(POSITION_FILE), self.visit_reports.position)
        if self.router.number == 0:
            self.visit_reports.prune(
                read_position(shard_dir(self._data, number) / POSITION_FILE) for number in shards if number
            )
