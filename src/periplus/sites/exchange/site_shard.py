"""The crawl of a site: the ordinary one, which keeps to the hosts of its site and sends links to others to theirs.

Batches of links that other sites have sent are files until a snapshot of the crawl reflects them:

    received/urls/SENDER-LANE-NUMBER.urls     magic "PERIURLS", version u32, xxh3 of what follows u64, msgpack: list of
                                              `UrlItem`

A URL of depth 0 is a seed of the sender, which this site crawls; one of depth -1 is a seed that another site crawls.
Both widen the scope here, so that all sites crawl one part of the web together, unless `accept_seeds` is off. Other
links count if they are within the scope of this crawl.

So each link arrives at least once, whichever process is killed when; one that arrives twice is known to the frontier.
"""

import contextlib
import math
import os
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from periplus.crawl import ForeignMessage, ForwardedLink, RobotsRequest, ShardMessage, SingleShard
from periplus.errors import BadUrl, Overloaded
from periplus.files import disk_errors, make_folder, read_file, sweep_torn, write_atomically
from periplus.hashing import fingerprint
from periplus.records import Address, FetchRequest, VisitReport
from periplus.sites.messaging.batches import Batch, UrlItem
from periplus.sites.messaging.outbox import Outbox
from periplus.typed_decoding import parse_msgpack
from periplus.url import parse_address

__all__ = ["HostOwners", "ReceivedUrls", "SiteShard", "read_received_urls"]

_SUFFIX: Final = ".urls"
_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERIURLS"
_VERSION: Final = 1
_MAX_FILES: Final = 4_096
"""Batches that wait for the crawl; above it, further ones wait in the stream of the NATS server, and in outboxes."""
_READ_AT_ONCE: Final = 8
_MAX_UNSETTLED: Final = 50_000
"""Links to hosts whose places are being looked up; above it, hosts are assigned by hash."""
_MAX_SENT: Final = 300_000
_MAX_ITEMS: Final = 2_000
_MAX_RANK: Final = 1_000.0
_MAX_DEPTH: Final = 1_000
_URL_BYTES: Final = 120
"""About what one URL takes in a batch."""


def _bound_link(item: UrlItem, is_seed: bool) -> ForwardedLink:
    """Return a link with numbers that an ordinary crawl can have: those of another site may be anything.

    Unless it is a seed, whose redirects extend the scope, its depth is at least 1.
    """
    rank = max(-_MAX_RANK, min(_MAX_RANK, item.rank)) if math.isfinite(item.rank) else 0.0
    least_depth = 0 if is_seed else 1
    depth, hops = (max(least, min(_MAX_DEPTH, number)) for least, number in ((least_depth, item.depth), (0, item.hops)))
    return ForwardedLink(item.url, depth, rank, hops, item.is_list)


class HostOwners(Protocol):
    """Which site crawls a host; `GeographicPartitioner` for example."""

    def settled_owner(self, host: str) -> str | None:
        """Return the site that crawls a host; None while its place is looked up."""
        ...

    def owner(self, host: str) -> str:
        """Return the site that crawls a host; while its place is looked up, the one that its hash selects."""
        ...

    def assign(self, host: str, site: str) -> None:
        """Accept that another site has chosen the owner of a host, unless it has one already."""
        ...


class ReceivedUrls:
    """Writes the batches of the sink for URLs to files; `apply` is the handler of the sink."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "received" / "urls"
        with disk_errors(self._folder):
            make_folder(self._folder, 0o700)

    def apply(self, batch: Batch) -> None:
        """Write a batch, durably. Raise `Overloaded` if too many wait: it comes again."""
        header = batch.header
        with disk_errors(self._folder):
            waiting = sum(name.endswith(_SUFFIX) for name in os.listdir(self._folder))
        if waiting >= _MAX_FILES:
            raise Overloaded("Too many batches of URLs wait for the crawl.", "Does it run?")
        name = f"{header.sender}-{header.lane}-{header.number:012d}{_SUFFIX}"
        body = msgspec.msgpack.encode(batch.items)
        write_atomically(self._folder / name, _PREFIX.pack(_MAGIC, _VERSION, fingerprint(body)) + body)


def read_received_urls(path: Path) -> list[UrlItem]:
    """Return the URLs of a batch; none if the file is gone or damaged: they may be found again on other pages."""
    try:
        data = read_file(path)
    except FileNotFoundError:
        return []
    magic, version, checksum = _PREFIX.unpack_from(data) if len(data) >= _PREFIX.size else (b"", 0, 0)
    body = data[_PREFIX.size :]
    if magic != _MAGIC or version != _VERSION or fingerprint(body) != checksum:
        return []
    with contextlib.suppress(msgspec.MsgspecError):
        return parse_msgpack(body, list[UrlItem])
    return []


class SiteShard(SingleShard):
    """The shard of a crawl that belongs to a site; implements `Shard`."""

    supervised = True

    def __init__(
        self,
        folder: Path,
        site_folder: Path,
        site: str,
        owners: HostOwners,
        outbox: Outbox,
        batch_bytes: int = 512 << 10,
        batch_seconds: float = 2.0,
        on_links: Callable[[str, int], None] = lambda site, count: None,
        *,
        others: Callable[[], Sequence[str]] = tuple,
        accept_seeds: bool = True,
    ) -> None:
        """Crawl `folder` for a site.

        on_links: called with the receiver and the number of links of each batch;
        others: names of the other sites; accept_seeds: whether their seeds widen the scope of this crawl.
        """
        super().__init__(folder)
        self._others, self._accept_seeds = others, accept_seeds
        self._site, self._owners, self._outbox, self._on_links = site, owners, outbox, on_links
        self._received = site_folder / "received" / "urls"
        self._batch_items = max(1, min(_MAX_ITEMS, batch_bytes // _URL_BYTES))
        self._batch_seconds = batch_seconds
        self._outgoing: dict[str, list[UrlItem]] = {}
        self._visits: dict[str, list[VisitReport]] = {}
        self._oldest: dict[str, float] = {}
        self._unsettled: list[tuple[FetchRequest, bool]] = []
        self._settled_here: list[ForwardedLink] = []
        self._sent: set[int] = set()
        self._robots_hosts: set[str] = set()
        self._unacknowledged: dict[str, None] = {}
        with disk_errors(self._received):
            make_folder(self._received, 0o700)
            sweep_torn(self._received)

    def owns(self, host: str) -> bool:
        """Return whether this site crawls a host."""
        return host in self._robots_hosts or self._owners.owner(host) == self._site

    def route(self, requests: list[FetchRequest], lists: set[int]) -> list[FetchRequest]:
        """Return the requests for hosts of this site; others go to their sites, or wait until a place is known."""
        own = []
        for request in requests:
            is_list = request.address.key in lists
            owner = self._owners.settled_owner(request.address.host)
            if owner == self._site:
                own.append(request)
            elif owner is not None:
                self._forward(request, is_list, owner)
            elif len(self._unsettled) < _MAX_UNSETTLED:
                self._unsettled.append((request, is_list))
            elif (owner := self._owners.owner(request.address.host)) == self._site:
                own.append(request)
            else:
                self._forward(request, is_list, owner)
        return own

    def _forward(self, request: FetchRequest, is_list: bool, owner: str) -> None:
        address = request.address
        if address.key in self._sent:
            return
        if len(self._sent) >= _MAX_SENT:
            self._sent.clear()
        self._sent.add(address.key)
        item = UrlItem(address.url, request.depth, request.rank, request.hops, is_list)
        self._outgoing.setdefault(owner, []).append(item)
        self._oldest.setdefault(owner, time.monotonic())

    def forward_visit(self, address: Address, report: VisitReport) -> None:
        """Send the report of a visit to the site that crawls the host."""
        owner = self._owners.owner(address.host)
        if owner != self._site:
            self._visits.setdefault(owner, []).append(report)
            self._oldest.setdefault(owner, time.monotonic())

    def _settle(self, everything: bool) -> None:
        """Route links whose hosts have been placed meanwhile; `everything`, the others by hash."""
        waiting, self._unsettled = self._unsettled, []
        for request, is_list in waiting:
            host = request.address.host
            owner = self._owners.owner(host) if everything else self._owners.settled_owner(host)
            if owner is None:
                self._unsettled.append((request, is_list))
            elif owner == self._site:
                link = ForwardedLink(request.address.url, request.depth, request.rank, request.hops, is_list)
                self._settled_here.append(link)
            else:
                self._forward(request, is_list, owner)

    def send(self, everything: bool = False, at_once: bool = False) -> None:
        """Write batches that are full or old enough to the outbox; before a snapshot, `everything`."""
        if self._unsettled:
            self._settle(everything)
        now = time.monotonic()
        for site in list({**self._outgoing, **self._visits}):
            items, visits = self._outgoing.get(site, []), self._visits.get(site, [])
            is_old = now - self._oldest.get(site, now) >= self._batch_seconds
            if everything or is_old or len(items) >= self._batch_items or len(visits) >= self._batch_items:
                for start in range(0, len(items), self._batch_items):
                    part = items[start : start + self._batch_items]
                    self._outbox.append(site, "urls", part)
                    self._on_links(site, len(part))
                for start in range(0, len(visits), self._batch_items):
                    self._outbox.append(site, "visits", visits[start : start + self._batch_items])
                self._outgoing.pop(site, None)
                self._visits.pop(site, None)
                self._oldest.pop(site, None)

    def unsent(self) -> int:
        """Return the number of links that wait for a batch, or for the place of their host."""
        return sum(map(len, self._outgoing.values())) + len(self._unsettled) + len(self._settled_here)

    def receive(self) -> list[ShardMessage]:
        """Return the links of some batches of other sites, which remain on disk until `acknowledge`."""
        messages = []
        if self._settled_here:
            messages.append(ShardMessage(self.number, self._settled_here))
            self._settled_here = []
        with contextlib.suppress(FileNotFoundError):
            names = sorted(name for name in os.listdir(self._received) if name.endswith(_SUFFIX))
            for name in [name for name in names if name not in self._unacknowledged][:_READ_AT_ONCE]:
                messages.append(self._read(name))
                self._unacknowledged[name] = None
        return messages

    def _read(self, name: str) -> ForeignMessage:
        message = ForeignMessage(self.number)
        for item in read_received_urls(self._received / name):
            with contextlib.suppress(BadUrl):
                address = parse_address(item.url)
                is_seed = item.depth <= 0 and self._accept_seeds
                if is_seed:
                    message.seeds.append(address.url)
                if item.depth >= 0:
                    self._owners.assign(address.host, self._site)
                    message.links.append(_bound_link(item, is_seed))
        return message

    def send_seeds(self, seeds: Sequence[Address]) -> None:
        """Send seeds, such as the targets of redirected ones, to all other sites: they widen the scope there."""
        self.send_seeds_to(self._others(), [seed.url for seed in seeds])

    def send_seeds_to(self, sites: Sequence[str], seeds: Sequence[str]) -> None:
        """Send seeds that others crawl to some sites."""
        for site in sites if seeds else ():
            self._outgoing.setdefault(site, []).extend(UrlItem(seed, -1) for seed in seeds)
            self._oldest.setdefault(site, time.monotonic())

    def acknowledge(self) -> None:
        """Delete the batches that were received: a snapshot reflects them."""
        for name in self._unacknowledged:
            with contextlib.suppress(OSError):
                (self._received / name).unlink()
        self._unacknowledged.clear()

    def request_robots(self, request: RobotsRequest) -> None:
        """Fetch a robots.txt that has moved to a host of another site from here, when it is tried again."""
        with contextlib.suppress(BadUrl):
            self._robots_hosts.add(parse_address(request.target).host)
