"""What happens to one request: started, answered, parsed, its record stored, its links returned."""

from collections.abc import Callable, Sequence
from typing import Final

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

_WITH_PAGE: Final = (Outcome.OK, Outcome.TOO_LARGE)

FetchObserver = Callable[[FetchRecord, FetchRecord | None, FetchResult | None], None]
"""observer(record, before, result): a fetch, what was stored of the page before if it is a revisit, the response."""


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
            for result in batch:
                requests += self.receive(result, ahead.get(id(result)))
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
        return parse_ahead(pages, settings.parse, settings.crawl.forms > 0, state.duplicates.urls)

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
        state, now = self._state, self._now()
        key = request.address.key
        before = None
        if key in state.history.pages:
            record = msgspec.structs.replace(record, revisit=True)
            before = self._shard.find_record(self._store, key) if self.observer is not None else None
        record = self._store.append(record, result)
        state.frontier.done(request, record.outcome, now, record.elapsed, record.retry_after or None, ip=ip)
        if state.count(record, request.address.host):
            self.meter.count(record.url, now)
        self._log.add(request, record, ip)
        links = self._log.note_links(state.outlinks.extract(record), record.url)
        if self.observer is not None:
            self.observer(record, before, result)
        return links

    def flush(self) -> None:
        """Hand what was stored and logged to the operating system."""
        self._store.flush()
        self._log.flush()
