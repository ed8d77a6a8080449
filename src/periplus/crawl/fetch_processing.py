"""What happens to one request: started, answered, parsed, its record stored, its links returned."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.crawl_statistics import RateMeter
from periplus.crawl.documents.document_parser import INTERRUPTED, DocumentParser
from periplus.crawl.documents.parsing_ahead import PageAhead, batches_of, parse_ahead
from periplus.crawl.fetch_records import make_failure_record, make_page_record
from periplus.crawl.inspection.crawl_log import CrawlLog
from periplus.crawl.policies.profanity import ProfanityFilter
from periplus.crawl.rendering.host_renderer import HostRenderer
from periplus.crawl.robots_cache import robots_path
from periplus.crawl.sharding.robots_exchange import RobotsExchange
from periplus.crawl.sharding.shard import Shard
from periplus.fetch import Fetcher
from periplus.parse import ParsedDocument, is_html
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome
from periplus.settings import Settings
from periplus.store import PageStore

__all__ = ["FetchObserver", "FetchProcessor"]

_NONE_TOGETHER: Final = frozenset[str]()
_WITH_PAGE: Final = (Outcome.OK, Outcome.TOO_LARGE)

FetchObserver = Callable[[FetchRecord, FetchRecord | None, FetchResult | None], None]
"""observer(record, before, result): a fetch, what was stored of the page before if it is a revisit, the response."""


class _FetchedPage(NamedTuple):
    """A record that is about to be stored."""

    request: FetchRequest
    record: FetchRecord
    result: FetchResult | None
    """The response, if it is to be stored."""
    ip: str
    before: FetchRecord | None
    """What was stored of the page before, if it is a revisit and there is an observer."""


class FetchProcessor:
    """Starts requests of one crawl, and turns their results into stored records and further requests."""

    def __init__(
        self,
        settings: Settings,
        state: CrawlState,
        store: PageStore,
        fetcher: Fetcher,
        documents: DocumentParser,
        renderer: HostRenderer,
        shard: Shard,
        log: CrawlLog,
        clock: Callable[[], float],
    ) -> None:
        self._settings, self._state, self._store, self._fetcher = settings, state, store, fetcher
        self._documents, self._renderer = documents, renderer
        self._shard, self._log, self._now = shard, log, clock
        self.robots = RobotsExchange(state, fetcher, shard)
        self.meter = RateMeter()
        self._profanity = ProfanityFilter.read(settings.crawl)
        state.outlinks.hooks.load()
        self.fetched = 0
        """Pages requested in this run."""
        self._together = _NONE_TOGETHER
        """The hosts of the results that are processed together, if each has one of them."""
        self._waiting: list[_FetchedPage] = []
        """Pages of this turn that are known, but neither stored nor followed yet."""
        self.observer: FetchObserver | None = None
        """Called with every record that is stored."""

    def start(self, request: FetchRequest, now: float) -> None:
        """Fetch a page, or its robots.txt first; a URL that robots.txt disallows ends here."""
        state, address = self._state, request.address
        rules = state.robots.rules(address.origin, now)
        if state.holds(address.host, rules.delay if rules else None, now):
            state.frontier.suspend(request, now)
        elif self._documents.pop_interrupted(address):
            failure = make_failure_record(request, Outcome.PARSE_FAILED, when=now, fault=INTERRUPTED)
            self._finish(request, failure, None)
        elif rules is None:
            self.robots.fetch_for(request, now)
        elif not rules.allows(robots_path(address)):
            self._finish(request, make_failure_record(request, Outcome.ROBOTS, when=now), None)
        else:
            past = state.history.pages.get(address.key)
            headers = past.headers if past is not None and not self._renderer.wants(address.host) else ()
            self._fetcher.start(request, headers, as_list=address.key in state.outlinks.lists)

    def receive_all(self, results: Sequence[FetchResult]) -> list[FetchRequest]:
        """Process the results of one turn in their order; return the requests that they lead to."""
        requests: list[FetchRequest] = []
        for batch in batches_of(results):
            ahead = self._parse_ahead(batch) if len(batch) > 1 else {}
            hosts = [result.request.address.host for result in batch]
            self._together = frozenset(hosts) if ahead and len(set(hosts)) == len(hosts) else _NONE_TOGETHER
            for result in batch:
                page = ahead.get(id(result))
                if page is None:
                    requests += self._settle()
                requests += self.receive(result, page)
            requests += self._settle()
        return requests

    def _parse_ahead(self, batch: Sequence[FetchResult]) -> dict[int, PageAhead]:
        """Parse those of several results that will be parsed here unless they turn out to be duplicates."""
        state, settings = self._state, self._settings
        if self._renderer.busy():
            return {}
        pages = [
            result
            for result in batch
            if result.outcome in _WITH_PAGE
            and result.request.address.key not in state.outlinks.lists
            and not self.robots.awaits(result)
            and not self._renderer.wants(result.request.address.host)
            and is_html(result)
        ]
        ahead = parse_ahead(pages, settings.parse, settings.crawl.forms > 0, state.duplicates.urls)
        state.outlinks.regions.expect([page.shingles for page in ahead.values() if page.shingles is not None])
        return ahead

    def receive(self, result: FetchResult, ahead: PageAhead | None = None) -> list[FetchRequest]:
        """Process the result of one request; return the requests that it leads to."""
        state, request = self._state, result.request
        state.totals.answered += result.status > 0
        now = self._now()
        if self.robots.respond(result, now) or self._renderer.receive(result, now):
            return []
        page_request = self.robots.pop_page(result)
        if page_request is not None:
            return self.learn_robots(page_request, result)
        self.fetched += 1
        as_list = request.address.key in state.outlinks.lists
        # Of what is too long the beginning is read.
        if result.outcome is not Outcome.OK and not (result.body and result.outcome is Outcome.TOO_LARGE):
            stored = result if result.outcome is Outcome.NOT_MODIFIED or self._settings.store.errors else None
            return self._finish(request, make_failure_record(request, result.outcome, result), stored, result.ip)
        if as_list:
            ahead = None  # a page before it in this turn has said so
        if self._renderer.submit(result, as_list, now):
            return []
        if ahead is None and self._documents.submit(result, as_list, state.duplicates):
            return []
        return self.finish_page(result, as_list, ahead)

    def finish_page(
        self, result: FetchResult, as_list: bool, parsed: ParsedDocument | PageAhead | None
    ) -> list[FetchRequest]:
        """Store what was parsed, or is parsed now; return the requests that it leads to."""
        state, settings, request = self._state, self._settings, result.request
        record = make_page_record(result, settings.parse, state.duplicates, as_list, settings.crawl.forms > 0, parsed)
        record = state.outlinks.traps.classify(record, request.address.host)
        if not as_list:
            record = state.outlinks.hooks.visit_page(record, result)
        if self._profanity is not None:
            record = self._profanity.mark(record)
        stored = result if record.page is not None and not as_list else None
        if isinstance(parsed, PageAhead) and self._can_wait(record, request.address.host):
            return self._postpone(self._find_before(request, record, stored, result.ip))
        return self._finish(request, record, stored, result.ip)

    def learn_robots(self, request: FetchRequest, result: FetchResult) -> list[FetchRequest]:
        """Process a robots.txt; the page that needs it waits for another turn, or fails as its robots.txt did."""
        now, state, origin = self._now(), self._state, request.address.origin
        self._log.add_robots(result)
        host = result.request.address.host
        if host != request.address.host and self._shard.owns(host):
            state.frontier.release(host, result.outcome, now, result.elapsed)
        outcome = state.robots.learn(origin, result, now)
        if outcome not in (Outcome.OK, Outcome.REDIRECT):
            return self._finish(request, make_failure_record(request, outcome, result), None)
        rules = state.robots.rules(origin, now)
        delay = state.host_limits.crawl_delay(rules.delay) if rules else None
        state.frontier.requeue(request, now, result.elapsed, delay)
        if rules is None or not self._settings.crawl.sitemaps:
            return []
        return state.outlinks.list_requests(rules.sitemaps, request.address.url)

    def _finish(
        self, request: FetchRequest, record: FetchRecord, result: FetchResult | None, ip: str = ""
    ) -> list[FetchRequest]:
        """Append a record to the store first, and only then update the frontier; return the outlinks."""
        links = self._settle()
        page = self._find_before(request, record, result, ip)
        record = self._store.append(page.record, result)
        self._end(page, record)
        self._count(request, record)
        return links + self._follow(page, record)

    def _postpone(self, page: _FetchedPage) -> list[FetchRequest]:
        """Leave a page to `_settle`; what decides about the pages behind it is learned now."""
        self._count(page.request, page.record)
        self._waiting.append(page)
        return self._settle() if self._may_change_a_list(page.record) else []

    def _can_wait(self, record: FetchRecord, host: str) -> bool:
        """Return whether nothing that follows from a page, but that it is known, matters for others of its turn."""
        is_plain = record.page is not None and not record.duplicate_of and record.outcome is Outcome.OK
        return is_plain and host in self._together and not self._state.outlinks.hooks

    def _may_change_a_list(self, record: FetchRecord) -> bool:
        """Return whether a page has a feed at the host of another page of its turn, which may be that feed."""
        feeds = record.page.feeds if record.page is not None else ()
        return bool(feeds) and not self._together.isdisjoint(self._state.outlinks.hosts_of(feeds, record.url))

    def _settle(self) -> list[FetchRequest]:
        """Do the rest for the pages that wait, stage by stage, each in their order; return their outlinks."""
        waiting, self._waiting = self._waiting, []
        stored = [self._store.append(page.record, page.result) for page in waiting]
        links: list[FetchRequest] = []
        for page, record in zip(waiting, stored, strict=True):
            self._end(page, record)
            links += self._follow(page, record)
        return links

    def _find_before(
        self, request: FetchRequest, record: FetchRecord, result: FetchResult | None, ip: str
    ) -> _FetchedPage:
        """Mark the record of a revisit, and find what was stored of its page before if somebody asks."""
        before = None
        if request.address.key in self._state.history.pages:
            record = msgspec.structs.replace(record, revisit=True)
            before = self._shard.find_record(self._store, request.address.key) if self.observer is not None else None
        return _FetchedPage(request, record, result, ip, before)

    def _end(self, page: _FetchedPage, record: FetchRecord) -> None:
        retry_after = record.retry_after or None
        self._state.frontier.done(page.request, record.outcome, self._now(), record.elapsed, retry_after, ip=page.ip)

    def _count(self, request: FetchRequest, record: FetchRecord) -> None:
        if self._state.count(record, request.address.host):
            self.meter.count(record.url, self._now())

    def _follow(self, page: _FetchedPage, record: FetchRecord) -> list[FetchRequest]:
        """Log a record and return its outlinks."""
        self._log.add(page.request, record, page.ip)
        links = self._log.note_links(self._state.outlinks.extract(record), record.url)
        if self.observer is not None:
            self.observer(record, page.before, page.result)
        return links

    def flush(self) -> None:
        """Hand what was stored and logged to the operating system."""
        self._store.flush()
        self._log.flush()
