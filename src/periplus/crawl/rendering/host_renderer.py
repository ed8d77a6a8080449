"""Pages of hosts with `render` set: rendered in Chromium while the crawl goes on, what they load fetched like pages.

The host of a page counts as in flight until the page is rendered, so nothing else is requested from it meanwhile. What
the page loads from its own host follows with the delays of that host; what it loads from hosts in `render_from` takes a
turn there, as a robots.txt does that has moved. robots.txt, the guard of addresses and all limits of a request apply.
"""

import math
from collections import OrderedDict
from typing import Final, NamedTuple

import msgspec

from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.fetch_records import make_failure_record
from periplus.crawl.robots_cache import robots_path
from periplus.crawl.sharding.shard import Shard
from periplus.errors import BadUrl
from periplus.fetch import Fetcher
from periplus.records import Address, FetchRequest, FetchResult, Outcome
from periplus.render import PageRenderer, ResourceRequest
from periplus.settings import Settings
from periplus.url import parse_address

__all__ = ["HostRenderer"]

_HTML: Final = ("text/html", "application/xhtml+xml")
_PASSED_ON: Final = frozenset(
    {"access-control-allow-credentials", "access-control-allow-origin", "content-type", "location"}
)
"""Headers of responses that a page gets to see: no cookies."""
_CACHE_BYTES: Final = 32 << 20
_CACHE_SECONDS: Final = 600.0
"""Scripts of a site are the same on all of its pages."""
_MAX_WAITING: Final = 64
"""Pages that wait or are open, beyond which no request is started."""
_OWN_HEADER: Final = "x-rendered-by"


class _Resource(NamedTuple):
    """A script or data that a page waits for."""

    request: ResourceRequest
    address: Address
    target: Address | None = None
    """What was requested: itself, or a robots.txt first."""
    is_reserved: bool = False
    """Whether it has a turn at a host that is not that of an open page."""


class HostRenderer:
    """Renders pages for one crawl."""

    def __init__(self, settings: Settings, state: CrawlState, fetcher: Fetcher, shard: Shard) -> None:
        """Raise `SettingsError` if a host is to be rendered and Chromium is not installed."""
        self._state, self._fetcher, self._shard = state, fetcher, shard
        self._max_bytes = settings.fetch.max_bytes
        wanted = any(section.render for section in settings.host.values())
        self._renderer = PageRenderer(settings.render) if wanted else None
        self._pages: dict[int, FetchResult] = {}
        self._queue: list[_Resource] = []
        self._in_flight: dict[int, _Resource] = {}
        self._robots: dict[int, _Resource] = {}
        """Resources that wait for the robots.txt of their origin, by the request for it."""
        self._finished: list[tuple[str, FetchResult]] = []
        """Rendered pages, whose hosts are still sending what the page has asked for."""
        self._ready: dict[str, float] = {}
        """When the next request may be sent to the host of a page that is open."""
        self._cache: OrderedDict[str, tuple[float, FetchResult]] = OrderedDict()
        self._cached_bytes = 0
        self._faults: dict[str, int] = {}
        if self._renderer is not None:
            fetcher.watch(self._renderer.fileno())

    def wants(self, host: str) -> bool:
        """Return whether pages of a host are rendered."""
        section = self._state.host_table.find(host) if self._renderer is not None else None
        return section is not None and section.render

    def busy(self) -> int:
        """Return the number of pages that are not rendered yet, or were not returned."""
        return len(self._pages) + len(self._finished)

    def is_full(self) -> bool:
        """Return whether so many pages wait that no more should be fetched."""
        return len(self._pages) >= _MAX_WAITING

    def submit(self, result: FetchResult, as_list: bool, now: float) -> bool:
        """Have a page rendered; return False for one that is not to be."""
        host = result.request.address.host
        if as_list or not result.body or not self.wants(host) or result.outcome is not Outcome.OK:
            return False
        kind = result.header("content-type")
        if kind and kind.partition(";")[0].strip().lower() not in _HTML:
            return False
        assert self._renderer is not None
        self._pages[self._renderer.submit(result.request.address.url, kind, result.body)] = result
        self._ready[host] = now + self._pause(host)
        return True

    def poll(self, now: float) -> list[FetchResult]:
        """Start what pages wait for, and return the pages that are rendered; one that failed is as it was sent."""
        if self._renderer is None or not self.busy():
            return []
        asked, rendered = self._renderer.poll()
        for request in asked:
            self._accept(request, now)
        queue, self._queue = self._queue, []
        for resource in queue:
            if resource.request.page in self._pages and not self._start(resource, now):
                self._queue.append(resource)
        for page in rendered:
            result = self._pages.pop(page.number)
            if page.fault:
                self._faults[page.fault] = self._faults.get(page.fault, 0) + 1
            html = page.html[: self._max_bytes]
            self._finished.append((result.request.address.host, _replace_body(result, html) if html else result))
        return self._pop_finished()

    def _pop_finished(self) -> list[FetchResult]:
        """Return rendered pages, except of hosts that have not sent the last response: they are not free yet."""
        if not self._finished:
            return []
        under_way = (*self._in_flight.values(), *self._robots.values())
        sending = {resource.target.host for resource in under_way if resource.target is not None}
        free = [result for host, result in self._finished if host not in sending]
        self._finished = [(host, result) for host, result in self._finished if host in sending]
        for result in free:
            self._ready.pop(result.request.address.host, None)
        return free

    def receive(self, result: FetchResult, now: float) -> bool:
        """Hand a response to the page that waits for it; return False if it is for no page."""
        resource = self._in_flight.pop(id(result.request), None)
        robots = self._robots.pop(id(result.request), None)
        if resource is not None:
            self._release(resource, result, now)
            self._keep(result, now)
            self._answer(resource.request, result)
        elif robots is not None:
            self._release(robots, result, now)
            outcome = self._state.robots.learn(robots.address.origin, result, now)
            if outcome in (Outcome.OK, Outcome.REDIRECT):
                self._queue.append(_Resource(robots.request, robots.address))
            elif self._renderer is not None:
                self._renderer.refuse(robots.request)
        return resource is not None or robots is not None

    def notes(self) -> tuple[str, ...]:
        """Return a sentence for each reason why pages are indexed as they were sent."""
        return tuple(
            f"{count:,} page{'' if count == 1 else 's'} could not be rendered, and {'is' if count == 1 else 'are'} "
            f"indexed without scripts: {fault.rstrip('.')}."
            for fault, count in self._faults.items()
        )

    def close(self) -> None:
        """End Chromium; pages that were open are fetched again by the next run."""
        if self._renderer is not None:
            self._renderer.close()

    def _accept(self, request: ResourceRequest, now: float) -> None:
        """Answer what a page asks for at once if it is known or not allowed, else queue it."""
        assert self._renderer is not None
        host = self._pages[request.page].request.address.host if request.page in self._pages else ""
        try:
            address = parse_address(request.url)
        except BadUrl:
            self._renderer.refuse(request)
            return
        when, cached = self._cache.get(address.url, (0.0, None))
        if cached is not None and now - when < _CACHE_SECONDS:
            self._answer(request, cached)
        elif self._allows(address, host):
            self._queue.append(_Resource(request, address))
        else:
            self._renderer.refuse(request)

    def _allows(self, address: Address, host: str) -> bool:
        """Return whether a page of a host may load something: from its own host, or from one in `render_from`."""
        if address.host == host:
            return True
        section = self._state.host_table.find(host)
        named = section is not None and address.host in section.render_from
        return named and self._shard.owns(address.host)

    def _start(self, resource: _Resource, now: float) -> bool:
        """Start a request if its robots.txt and the delays of its host allow; return whether it needs no other turn."""
        assert self._renderer is not None
        rules = self._state.robots.rules(resource.address.origin, now)
        if rules is not None and not rules.allows(robots_path(resource.address)):
            self._renderer.refuse(resource.request)
            return True
        target = resource.address if rules is not None else self._state.robots.target(resource.address)
        if not self._shard.owns(target.host):
            self._renderer.refuse(resource.request)
            return True
        is_reserved = target.host not in self._ready
        if is_reserved and self._state.frontier.reserve(target.host, now) > 0:
            return False
        if not is_reserved:
            if now < self._ready[target.host]:
                return False
            self._ready[target.host] = math.inf  # until the response is there
        request = FetchRequest(target)
        started = resource._replace(target=target, is_reserved=is_reserved)
        (self._in_flight if rules is not None else self._robots)[id(request)] = started
        self._fetcher.start(request, any_type=True)
        return True

    def _release(self, resource: _Resource, result: FetchResult, now: float) -> None:
        """End the turn of a request at its host."""
        host = result.request.address.host
        self._state.host_limits.count(make_failure_record(result.request, result.outcome, result), host)
        if resource.is_reserved:
            self._state.frontier.release(host, result.outcome, now, result.elapsed)
        else:
            self._ready[host] = now + self._pause(host)

    def _pause(self, host: str) -> float:
        known = self._state.frontier.host(host)
        return self._state.frontier.delays.seconds(known) if known is not None else 0.0

    def _answer(self, request: ResourceRequest, result: FetchResult) -> None:
        assert self._renderer is not None
        if result.status and result.outcome in (Outcome.OK, Outcome.REDIRECT, Outcome.GONE):
            headers = tuple((name, value) for name, value in result.headers if name in _PASSED_ON)
            self._renderer.fulfil(request, result.status, headers, result.body)
        else:
            self._renderer.refuse(request)

    def _keep(self, result: FetchResult, now: float) -> None:
        """Keep a script: the next page of the site asks for it again."""
        kind, url = result.header("content-type"), result.request.address.url
        if result.outcome is not Outcome.OK or "javascript" not in kind or len(result.body) > _CACHE_BYTES // 8:
            return
        _, old = self._cache.pop(url, (0.0, None))
        self._cached_bytes += len(result.body) - (len(old.body) if old is not None else 0)
        self._cache[url] = (now, result)
        while self._cached_bytes > _CACHE_BYTES:
            _, (_, oldest) = self._cache.popitem(last=False)
            self._cached_bytes -= len(oldest.body)


def _replace_body(result: FetchResult, html: bytes) -> FetchResult:
    """Return a result with the rendered page: what is parsed is what is stored, and a header says so."""
    gone = ("content-encoding", "content-length", "content-type", "transfer-encoding")
    headers = tuple((name, value) for name, value in result.headers if name not in gone)
    own = (("content-type", "text/html; charset=utf-8"), (_OWN_HEADER, "chromium"))
    return msgspec.structs.replace(result, body=html, raw=b"", headers=headers + own)
