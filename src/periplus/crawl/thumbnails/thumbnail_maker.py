"""The stage after a crawl that makes thumbnails: fetch images as politely as pages, shrink them in limited processes.

Each host gets one request at a time, with the delay of the crawl between two, and its robots.txt is obeyed. The stage
is bounded by the number of images, of each page and in all, and by its time; what is left is made after the next crawl.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.crawl.robots_cache import RobotsCache, robots_path
from periplus.crawl.thumbnails.thumbnail_files import ThumbnailFiles, icon_url
from periplus.errors import BadUrl
from periplus.fetch import Fetcher
from periplus.parse import ParseJob, ParserPool
from periplus.records import Address, FetchRecord, FetchRequest, FetchResult, Outcome
from periplus.settings import Settings
from periplus.url import parse_address

__all__ = ["ThumbnailRun", "make_thumbnails"]

_PER_PAGE: Final = 4
"""Images of one page: as many as the media tab shows of one."""
_SIDE, _ICON_SIDE = 320, 32
_MAX_BYTES: Final = 4 << 20
_MAX_SECONDS: Final = 600.0
_MAX_KEPT: Final = 200_000
"""Thumbnails of a data folder; there are no more once it has so many."""
_POLL_SECONDS: Final = 0.2


class ThumbnailRun(NamedTuple):
    """What one run of the stage has done."""

    fetched: int
    made: int


class _Host:
    """The images that are wanted of one origin, and when the next request may be sent."""

    def __init__(self) -> None:
        self.waiting: deque[Address] = deque()
        self.next_at = 0.0
        self.busy = False


class _Stage:
    """One run: hosts with images to fetch, requests in flight, images that are being shrunk."""

    def __init__(self, settings: Settings, files: ThumbnailFiles, fetcher: Fetcher, pool: ParserPool) -> None:
        self._settings = settings
        self._files = files
        self._fetcher = fetcher
        self._pool = pool
        self._robots = RobotsCache(settings.fetch.user_agent)
        self._hosts: dict[str, _Host] = {}
        self._asked: dict[str, str] = {}
        """Origins by the URL of the robots.txt that was requested for them."""
        self._shrinking: dict[int, str] = {}
        self._fetched = self._made = 0

    def add(self, url: str) -> bool:
        """Add an image, unless it was tried before; return whether it is new."""
        try:
            address = parse_address(url)
        except BadUrl:
            return False
        if address.scheme not in ("http", "https") or self._files.is_known(url):
            return False
        self._hosts.setdefault(address.origin, _Host()).waiting.append(address)
        return True

    def run(self, end: float) -> ThumbnailRun:
        """Fetch and shrink all images, until a time (monotonic)."""
        while time.monotonic() < end and (self._hosts or self._shrinking):
            self._start_requests()
            for result in self._fetcher.poll(_POLL_SECONDS):
                self._handle(result)
            for parsed in self._pool.poll(0.0 if self._hosts else _POLL_SECONDS):
                url = self._shrinking.pop(parsed.number)
                self._files.write(url, parsed.image)
                self._made += bool(parsed.image)
        return ThumbnailRun(self._fetched, self._made)

    def _start_requests(self) -> None:
        now, busy = time.monotonic(), sum(host.busy for host in self._hosts.values())
        for origin, host in list(self._hosts.items()):
            if not host.waiting and not host.busy:
                del self._hosts[origin]
            elif not host.busy and host.next_at <= now and busy < self._settings.fetch.connections:
                busy += self._start(origin, host)

    def _start(self, origin: str, host: _Host) -> bool:
        """Send the next request of a host, for its robots.txt if that is not known; return whether one was sent."""
        address = host.waiting[0]
        rules = self._robots.rules(origin, time.time())
        if rules is None:
            address = self._robots.target(address)
            self._asked[address.url] = origin
        else:
            host.waiting.popleft()
            if not rules.allows(robots_path(address)):
                self._files.write(address.url, b"")
                return False
        host.busy = True
        self._fetcher.start(FetchRequest(address), any_type=True)
        return True

    def _handle(self, result: FetchResult) -> None:
        url = result.request.address.url
        origin = self._asked.pop(url, "")
        host = self._hosts.get(origin or result.request.address.origin)
        if host is not None:
            host.busy, host.next_at = False, time.monotonic() + self._settings.frontier.delay
        if origin:
            learned = self._robots.learn(origin, result, time.time())
            if learned not in (Outcome.OK, Outcome.REDIRECT) and host is not None:
                host.waiting.clear()  # its rules cannot be read now: nothing is fetched
            return
        self._fetched += 1
        if result.outcome is not Outcome.OK or not result.body:
            self._files.write(url, b"")
            return
        side = _ICON_SIDE if url.endswith("/favicon.ico") else _SIDE
        self._shrinking[self._pool.submit(ParseJob(result, self._settings.parse, thumbnail=side))] = url


def make_thumbnails(folder: Path, settings: Settings, records: Iterable[FetchRecord]) -> ThumbnailRun:
    """Make thumbnails of images of pages, and of the icons of their hosts, up to `crawl.thumbnails` of them."""
    files = ThumbnailFiles(folder)
    most = min(settings.crawl.thumbnails, max(0, _MAX_KEPT - files.count()))
    limits = msgspec.structs.replace(settings.fetch, max_bytes=min(settings.fetch.max_bytes, _MAX_BYTES))
    fetcher = Fetcher(limits)
    try:
        with ParserPool(settings.parse) as pool:
            stage = _Stage(settings, files, fetcher, pool)
            seen = set[str]()
            for url in _wanted(records):
                if len(seen) >= most:
                    break
                if url not in seen and stage.add(url):
                    seen.add(url)
            return stage.run(time.monotonic() + _MAX_SECONDS)
    finally:
        fetcher.close()


def _wanted(records: Iterable[FetchRecord]) -> Iterator[str]:
    """Yield the URLs of icons and images of pages."""
    for record in records:
        page = record.page
        if page is None or page.noindex:
            continue
        if icon := icon_url(record.url):
            yield icon
        images = [media.url for media in page.media if media.kind == "image" and media.text.strip()]
        yield from images[:_PER_PAGE]
