"""robots.txt on its way: requests in flight for our own pages, those asked of other shards, and those that they asked.

A robots.txt may have moved to a host that another shard crawls. Only the owner of a host sends requests to it, so the
owner is asked for the file, and fetches it within the politeness limits of that host.
"""

from typing import Final, NamedTuple

from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.sharding.mailbox import RobotsRequest, RobotsResponse
from periplus.crawl.sharding.shard import Shard
from periplus.fetch import Fetcher
from periplus.records import Address, FetchRequest, FetchResult
from periplus.url import parse_address

__all__ = ["RobotsExchange"]

_TIMEOUT: Final = 60.0
"""Seconds after which a response of another shard is no longer awaited, and a request not worth answering."""
_MAX_BODY: Final = 512_000


class _ForeignRequest(NamedTuple):
    """A robots.txt at one of our hosts that another shard asked for."""

    shard: int
    origin: str
    target: Address
    received: float


class RobotsExchange:
    """Fetches robots.txt for the pages of this shard and, from hosts of this shard, for other shards."""

    def __init__(self, state: CrawlState, fetcher: Fetcher, shard: Shard) -> None:
        self._state, self._fetcher, self._shard = state, fetcher, shard
        self._local: dict[int, FetchRequest] = {}
        """Page requests that wait for a robots.txt in flight, by the id of the request for it."""
        self._remote: dict[str, tuple[FetchRequest, float]] = {}
        """Page requests whose robots.txt another shard was asked for, and when, by origin."""
        self._queued: list[_ForeignRequest] = []
        self._foreign: dict[int, _ForeignRequest] = {}

    def is_waiting(self) -> bool:
        """Return whether another shard is to respond, or to be responded to."""
        return bool(self._remote or self._queued)

    def fetch_for(self, request: FetchRequest, now: float) -> None:
        """Fetch the robots.txt of a page's origin; if it has moved to another host, within that host's limits too."""
        target = self._state.robots.target(request.address)
        if not self._shard.owns(target.host):
            self._remote[request.address.origin] = (request, now)
            self._shard.request_robots(RobotsRequest(request.address.origin, target.url))
            return
        if target.host != request.address.host:
            wait = self._state.frontier.reserve(target.host, now)
            if wait > 0:
                self._state.frontier.postpone(request, now, wait)
                return
        robots = FetchRequest(target)
        self._local[id(robots)] = request
        self._fetcher.start(robots, any_type=True)

    def enqueue(self, shard: int, request: RobotsRequest, now: float) -> None:
        """Queue the request of another shard; raise `BadUrl` if its target is malformed."""
        self._queued.append(_ForeignRequest(shard, request.origin, parse_address(request.target), now))

    def start_queued(self, now: float, paused: bool) -> None:
        """Start what other shards asked for, as the limits of our hosts allow; drop what has waited too long."""
        queued, self._queued = self._queued, []
        for foreign in queued:
            if now - foreign.received > _TIMEOUT or not self._shard.owns(foreign.target.host):
                continue  # nobody waits for it any more, or its host has moved to another shard
            if paused or self._state.frontier.reserve(foreign.target.host, now) > 0:
                self._queued.append(foreign)
                continue
            robots = FetchRequest(foreign.target)
            self._foreign[id(robots)] = foreign
            self._fetcher.start(robots, any_type=True)

    def expire(self, now: float) -> None:
        """Postpone the pages whose robots.txt another shard did not send in time."""
        for origin, (request, since) in list(self._remote.items()):
            if now - since > _TIMEOUT:
                del self._remote[origin]
                self._state.frontier.postpone(request, now, _TIMEOUT)

    def cancel(self, now: float) -> None:
        """Return the pages whose robots.txt another shard was asked for to their queues; drop what others asked for."""
        for request, _ in self._remote.values():
            self._state.frontier.postpone(request, now, 0.0)
        self._remote.clear()
        self._queued.clear()

    def awaits(self, result: FetchResult) -> bool:
        """Return whether a result is a robots.txt that was requested here."""
        number = id(result.request)
        return number in self._local or number in self._foreign

    def pop_page(self, result: FetchResult) -> FetchRequest | None:
        """Return the page request that waited for this result, if it is a robots.txt."""
        return self._local.pop(id(result.request), None)

    def respond(self, result: FetchResult, now: float) -> bool:
        """Send a result to the shard that asked for it; return whether one did."""
        foreign = self._foreign.pop(id(result.request), None)
        if foreign is None:
            return False
        self._state.frontier.release(foreign.target.host, result.outcome, now, result.elapsed)
        response = RobotsResponse(
            foreign.origin,
            foreign.target.url,
            result.outcome,
            result.status,
            result.elapsed,
            result.location,
            result.header("retry-after"),
            result.body[:_MAX_BODY],
        )
        self._shard.respond_robots(foreign.shard, response)
        return True

    def accept(self, response: RobotsResponse, now: float) -> tuple[FetchRequest, FetchResult] | None:
        """Return the page request that waited for a response, and the response as if it had been fetched here."""
        target = parse_address(response.target)
        request, _ = self._remote.pop(response.origin, (None, 0.0))
        if request is None:
            return None
        return request, FetchResult(
            FetchRequest(target),
            response.outcome,
            now,
            response.status,
            (("retry-after", response.retry_after),) if response.retry_after else (),
            response.body,
            response.elapsed,
            location=response.location,
        )
