"""What a crawl knows: frontier, robots, harvest, copies and totals; how it is saved, and how it is recovered."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from periplus.crawl.crawl_snapshot import CrawlSnapshot, Totals, read_snapshot, write_snapshot
from periplus.crawl.fetch_records import DuplicateTable
from periplus.crawl.focus.focus import FocusState, by_host, open_focus
from periplus.crawl.outlinks import OutlinkExtractor
from periplus.crawl.policies.traps import Traps
from periplus.crawl.reported_visits import POSITION_FILE, VisitReportReader, read_position, write_position
from periplus.crawl.revisits import CrawlHistory, history_of_record, read_history
from periplus.crawl.robots_cache import RobotsCache
from periplus.crawl.sharding.mailbox import ShardMessage
from periplus.crawl.sharding.shard import LinkRouter, SingleShard
from periplus.crawl.sharding.topology import read_topology, shard_dir
from periplus.errors import BadUrl, CorruptFile
from periplus.files import write_atomically
from periplus.frontier import Frontier
from periplus.records import LIST_KIND, Address, FetchRecord, FetchRequest, Outcome
from periplus.settings import Settings
from periplus.signals import LogPosition
from periplus.store import PageStore
from periplus.url import parse_address

__all__ = ["CrawlState"]


class CrawlState:
    """All state of a crawl but the pages themselves."""

    def __init__(self, path: Path, settings: Settings, router: LinkRouter | None = None) -> None:
        self._path = path
        self._data = path.parents[1]
        self.router: LinkRouter = router or SingleShard(self._data)
        if self.router.number:
            self._data = path.parents[2]
        self.first_seeds = 0
        """Seeds that the snapshot knows, or that were given: those after them are news to other shards."""
        self._seeds_file = path.with_name("seeds.txt")
        self._noted = 0
        self.settings = settings
        self._spill = path.with_name("spill")
        self.frontier = Frontier(settings.frontier, self._spill)
        self.robots = RobotsCache(settings.fetch.user_agent)
        self.outlinks = OutlinkExtractor(settings.crawl, ())
        self._introduce()
        self.originals = DuplicateTable()
        self.totals = Totals()
        self.pages_of_host: dict[str, int] = {}
        self.history = CrawlHistory()
        """The past of pages that are looked at again in this run."""
        self.notes: list[str] = []
        self._learnt: FocusState | None = None
        self.passive = VisitReportReader(self._data)

    @classmethod
    def recover(
        cls,
        path: Path,
        settings: Settings,
        store: PageStore,
        seeds: Sequence[Address],
        now: float = 0.0,
        router: LinkRouter | None = None,
    ) -> "CrawlState":
        """Read the snapshot and replay the visits after it; when it is damaged, replay all there are."""
        memory = cls(path, settings, router)
        start: int | None = None
        damaged = False
        try:
            state = read_snapshot(path)
            if state is not None:
                start = memory._restore(state, store.commit())
        except CorruptFile as error:
            memory, start, damaged = cls(path, settings, router), 0, True
            memory.notes.append(f"{error} It was made again from the visits.")
            memory.add_seeds(memory._noted_seeds())
        memory._keep_to_topic(store)
        memory.add_seeds(seeds)
        memory.first_seeds = len(memory.outlinks.seeds)
        if start is not None:
            for visit in memory.router.read_records(store) if damaged else store.records(start):
                memory._replay(visit)
        memory.frontier.requeue_in_flight(now if start is not None else 0.0)
        memory.frontier.revive()
        if settings.crawl.recrawl:
            memory.history = read_history(memory.router.read_records(store))
            memory._look_again(memory.history.select_due(now, settings.crawl.recrawl_per_day))
        return memory

    def _look_again(self, dues: list[FetchRequest]) -> None:
        self.frontier.add_revisits(due for due in dues if self.router.owns(due.address.host))

    def _noted_seeds(self) -> list[Address]:
        """Read the seeds from their own small file, which outlives a damaged snapshot."""
        try:
            return [parse_address(line) for line in self._seeds_file.read_text("ascii").split()]
        except (OSError, ValueError, BadUrl):
            return []

    def _restore(self, state: CrawlSnapshot, stored: int) -> int:
        """Take over a snapshot; a crawl that never reached anybody begins anew. Give the visits it reflects."""
        if state.visits > stored:
            raise CorruptFile(f"{self._path} knows of {state.visits} visits, but only {stored} are stored.")
        self.outlinks = OutlinkExtractor(self.settings.crawl, [parse_address(seed) for seed in state.seeds])
        if not state.totals.answered and state.totals.outcomes and not self.router.supervised:
            self.frontier.add(self._seed_dues(self.outlinks.seeds))
            return state.visits
        self.frontier.close()
        self.frontier = Frontier.load(state.frontier, self.settings.frontier, self._spill)
        self.robots = RobotsCache(self.settings.fetch.user_agent, state.robots)
        self.outlinks.traps = Traps(state.traps)
        self.outlinks.forms.state = state.forms
        self.outlinks.lists.update(state.lists)
        self.outlinks.lists_of_host.update(state.lists_of_host)
        self.outlinks.links_to_host.update(state.links_to_host)
        self.originals = DuplicateTable(state.originals, state.near)
        self.totals = state.totals
        self.passive.state = state.passive
        self.pages_of_host = state.pages_of_host
        self._learnt = state.focus
        self._introduce()
        return state.visits

    def _keep_to_topic(self, store: PageStore) -> None:
        """Take up the topic that was set or that earlier runs had; example pages are fetched first of all."""
        focus = open_focus(self.settings.focus, self._data / "crawl", self._learnt)
        self.outlinks.focus = focus
        self.frontier.best_first = focus.choice if focus is not None else None
        if focus is not None:
            focus.recall(store.find)
            self.add_seeds(list(focus.urls.values()))

    def _introduce(self) -> None:
        """Let the frontier know of the fame of hosts, by which their budgets grow."""
        known = self.outlinks.links_to_host
        self.frontier.reputation = lambda name: known.get(name, 0)

    def _replay(self, visit: FetchRecord) -> None:
        """Do with a visit from the log what was done with it when it was live."""
        try:
            place = parse_address(visit.url)
        except BadUrl:
            return
        if not self.router.owns(place.host):
            # All shards are read when a snapshot has to be made again: our own URLs were found on their pages too.
            self.frontier.add([due for due in self.outlinks.extract(visit) if self.router.owns(due.address.host)])
            return
        due = FetchRequest(place, visit.depth, self.outlinks.rank(place, visit.depth), 0, visit.hops)
        ended = visit.when + visit.elapsed
        self.frontier.replay(due, visit.outcome, ended, visit.elapsed, visit.retry_after or None)
        self.totals.answered += visit.status > 0
        self.count(visit, place.host)
        self.add(self.outlinks.extract(visit))

    def add(self, dues: list[FetchRequest]) -> None:
        """Queue dues of our own hosts, and send the others to the shards that have them."""
        own = self.router.route(dues, self.outlinks.lists)
        focus = self.outlinks.focus
        known = [due for due in own if self.frontier.seen(due.address.key)] if focus is not None else []
        self.frontier.add(own)
        if focus is not None:
            # What waits already may promise more by now, for where it was seen again or by the hubs that lead there.
            self.frontier.reprioritize(by_host(known))
            self.frontier.reprioritize(focus.raised())

    def accept_message(self, message: ShardMessage) -> None:
        """Add the links and seeds that another shard has sent."""
        for seed in message.seeds:
            with contextlib.suppress(BadUrl):
                self.outlinks.add_seed(parse_address(seed))
        dues = []
        for link in message.links:
            try:
                place = self.outlinks.traps.rewrite(parse_address(link.url))
            except BadUrl:
                continue
            if link.is_list:
                self.outlinks.lists.add(place.key)
            elif self.outlinks.traps.rejects(place):
                continue
            self.outlinks.links_to_host[place.host] = self.outlinks.links_to_host.get(place.host, 0) + 1
            dues.append(FetchRequest(place, link.depth, link.rank, 0, link.hops))
        self.add(dues)

    def add_seeds(self, seeds: Sequence[Address]) -> None:
        """Widen the crawl by more seeds."""
        for seed in seeds:
            self.outlinks.add_seed(seed)
        self.frontier.add([due for due in self._seed_dues(seeds) if self.router.owns(due.address.host)])

    def _seed_dues(self, seeds: Sequence[Address]) -> list[FetchRequest]:
        return [FetchRequest(seed, 0, self.outlinks.rank(seed, 0)) for seed in seeds]

    def count(self, visit: FetchRecord, host: str) -> bool:
        """Add a visit to the totals; tell whether it is a new page."""
        totals = self.totals
        totals.outcomes[visit.outcome.value] = totals.outcomes.get(visit.outcome.value, 0) + 1
        totals.fetched += visit.outcome is not Outcome.ROBOTS
        totals.bytes += visit.bytes
        totals.copies += bool(visit.duplicate_of)
        known = self.history.pages.get(visit.key)
        if known is not None:
            # A list that says so later in this run is not news.
            known.when = max(known.when, visit.when)
        if visit.page is not None and visit.page.changed:
            self._look_again(self.history.read_dates(visit.page, visit.when)[: self.settings.crawl.recrawl_per_day])
        if visit.page is None or visit.page.kind == LIST_KIND:
            return False
        self.originals.learn(visit)
        if visit.revisit:
            return False
        totals.pages += 1
        self.pages_of_host[host] = self.pages_of_host.get(host, 0) + 1
        return True

    def read_reports(self, store: PageStore, until: LogPosition | None = None) -> bool:
        """Take the next visits that others reported; tell whether there were any."""
        router = self.router
        reported = self.passive.read(
            self.outlinks, lambda key: router.find_record(store, key), lambda place: router.owns(place.host), until
        )
        self.frontier.add(reported.fresh)
        for _, visit in reported.again:
            self.history.pages.setdefault(visit.key, history_of_record(visit))
        self.frontier.add_revisits(due for due, _ in reported.again)
        return reported.read

    def is_host_full(self, host: str) -> bool:
        """Tell whether a host has given as many pages as one host may."""
        return self.pages_of_host.get(host, 0) >= self.settings.crawl.host_pages

    def save(self, visits: int, now: float, path: Path | None = None) -> None:
        """Write the snapshot, which reflects the first `visits` visits of the store."""
        seeds = tuple(seed.url for seed in self.outlinks.seeds)
        if len(seeds) != self._noted:
            write_atomically(self._seeds_file, "\n".join(seeds).encode("ascii"))
            self._noted = len(seeds)
        self.router.send(everything=True)
        state = CrawlSnapshot(
            visits=visits,
            frontier=self.frontier.dump(),
            seeds=seeds,
            robots=self.robots.entries(now),
            originals=self.originals.urls,
            near=self.originals.near.dump(),
            lists=tuple(self.outlinks.lists),
            lists_of_host=self.outlinks.lists_of_host,
            links_to_host=self.outlinks.links_to_host,
            pages_of_host=self.pages_of_host,
            totals=self.totals,
            traps=self.outlinks.traps.state,
            forms=self.outlinks.forms.state,
            passive=self.passive.state,
            focus=self.outlinks.focus.dump() if self.outlinks.focus is not None else None,
        )
        write_snapshot(path or self._path, state)
        if path is None:
            with contextlib.suppress(CorruptFile):  # without a list of shards nobody knows who has read what
                self._heard()

    def _heard(self) -> None:
        """Say how far we have read what others reported; the first shard clears away what all have read."""
        shards = read_topology(self._data).shards
        if len(shards) > 1 and self.passive.position != LogPosition():
            write_position(self._path.with_name(POSITION_FILE), self.passive.position)
        if self.router.number == 0:
            self.passive.prune(
                read_position(shard_dir(self._data, number) / POSITION_FILE) for number in shards if number
            )
