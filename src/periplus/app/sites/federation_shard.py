"""The crawl of a running site: follows who joins and leaves, measures how far hosts are, records what it does."""

import contextlib
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from periplus.app.sites.master_chooser import site_places
from periplus.crawl import Control, ForwardedLink
from periplus.errors import BadInput
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome
from periplus.settings import SiteSettings
from periplus.signals import read_visit_counts
from periplus.sites import (
    DataStore,
    DocumentState,
    ForwardedLinks,
    GeographicPartitioner,
    MetricLog,
    Outbox,
    RoundTripReport,
    RoundTripTable,
    SiteFolder,
    SiteShard,
    UrlDiscovery,
    UrlItem,
    write_host_owners,
)
from periplus.typed_decoding import parse_json
from periplus.url import parse_address

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

__all__ = ["OWNERS_FILE", "ROUND_TRIPS", "FederationShard"]

_LOG: Final = logging.getLogger("periplus.sites")
OWNERS_FILE: Final = "host-owners.arrays"
ROUND_TRIPS: Final = "round-trips"
"""Name of the data: what each site has measured."""
_TOPOLOGY_SECONDS: Final = 2.0
_ROUND_TRIP_SECONDS: Final = 300.0
"""Between two reports of round-trip times."""
_REVIEW_SECONDS: Final = 3_600.0
_COUNT_SECONDS: Final = 60.0
_MAX_DISCOVERED: Final = 300_000
_MAX_REPORT: Final = 8 << 20


class FederationShard(SiteShard):
    """The shard of a crawl that belongs to a running site; the thread of the crawl uses it."""

    def __init__(
        self,
        folder: Path,
        site: SiteFolder,
        settings: SiteSettings,
        partitioner: GeographicPartitioner,
        round_trips: RoundTripTable,
        outbox: Outbox,
    ) -> None:
        name = site.config().name
        super().__init__(
            folder,
            site.path,
            name,
            partitioner,
            outbox,
            settings.batch_kb << 10,
            settings.batch_seconds,
            self._note_links,
            others=lambda: [other for other in partitioner.sites if other != name],
            accept_seeds=settings.accept_seeds,
        )
        self._data_folder, self._site_folder, self._partitioner = folder, site, partitioner
        self._round_trips, self._data, self._metrics = round_trips, DataStore(site.path), MetricLog(folder)
        self.known_seeds: Callable[[], Sequence[str]] = tuple
        """Returns the seeds of the crawl, which sites that join are sent."""
        self.queued_hosts: Callable[[], Sequence[str]] = tuple
        self.release_hosts: Callable[[Sequence[str]], tuple[Sequence[ForwardedLink], Collection[str]]] = _keep_all
        """Removes hosts from the queues of the crawl; returns what waited there, and the hosts that cannot go yet."""
        self._leaving: set[str] | None = None
        """Hosts of other sites of which something may be queued here; None until it was looked for."""
        self._places = site_places(site)
        now = time.monotonic()
        self._checked, self._counted = 0.0, -_COUNT_SECONDS
        self._reported, self._reviewed = now - _ROUND_TRIP_SECONDS + 10.0, now
        self._discovered: set[int] = set()

    def poll_control(self) -> Control:
        """Follow the topology, exchange round-trip times and review who crawls which host, from time to time."""
        now = time.monotonic()
        if now - self._checked >= _TOPOLOGY_SECONDS:
            self._checked = now
            self.follow_topology()
            self.send_queues()
        if now - self._reported >= _ROUND_TRIP_SECONDS:
            self._reported = now
            self.exchange_round_trips()
        if now - self._reviewed >= _REVIEW_SECONDS:
            self._reviewed = now
            self.review_hosts()
        return super().poll_control()

    def follow_topology(self) -> None:
        """Share hosts among the sites that there are now; new ones are sent the seeds."""
        places = site_places(self._site_folder)
        if places == self._places:
            return
        new = {place.name for place in places} - {place.name for place in self._places}
        self._places = places
        self._partitioner.update_sites(places)
        self._round_trips.update_sites([place.name for place in places])
        self.send_seeds_to(sorted(new), self.known_seeds())

    def exchange_round_trips(self) -> None:
        """Offer what was measured here to other sites, and read what they have measured."""
        report = self._round_trips.report()
        if report.times:
            self._data.set(ROUND_TRIPS, msgspec.json.encode(report))
        for name in self._others():
            body = self._data.of_site(name, ROUND_TRIPS)
            if body is not None and len(body) <= _MAX_REPORT:
                with contextlib.suppress(BadInput, msgspec.MsgspecError):
                    self._round_trips.accept(name, parse_json(body, RoundTripReport))

    def review_hosts(self) -> None:
        """Move hosts to sites that have been nearer for long; what is queued of them is sent there."""
        moves = self._partitioner.review()
        if self._leaving is not None:
            self._leaving |= {move.host for move in moves if move.after != self._site}
        if moves:
            _LOG.info("%d hosts move to other sites, such as %s.", len(moves), moves[0].host)

    def send_queues(self) -> None:
        """Send what is queued of hosts that other sites crawl now to them, once no request to a host is under way.

        The crawl may have been stopped between the move of a host and its next snapshot: so all hosts are looked at
        when it begins.
        """
        if self._leaving is None:
            owners = ((host, self._partitioner.explain(host)) for host in self.queued_hosts())
            self._leaving = {host for host, owner in owners if owner is not None and owner.site != self._site}
        if not self._leaving:
            return
        links, staying = self.release_hosts(sorted(self._leaving))
        self._leaving = set(staying)
        for link in links:
            owner = self._partitioner.owner(parse_address(link.url).host)
            self._outgoing.setdefault(owner, []).append(UrlItem(*link))
            self._oldest.setdefault(owner, time.monotonic())

    def acknowledge(self) -> None:
        """Delete the batches that a snapshot reflects, and save the owners of hosts."""
        super().acknowledge()
        write_host_owners(self._site_folder.path / OWNERS_FILE, self._partitioner.owners())

    def route(self, requests: list[FetchRequest], lists: set[int]) -> list[FetchRequest]:
        """Return the requests for hosts of this site; record which URLs the crawl has come across."""
        now = time.time()
        for request in requests:
            key = request.address.key
            if key not in self._discovered and key not in lists:
                if len(self._discovered) >= _MAX_DISCOVERED:
                    self._discovered.clear()
                self._discovered.add(key)
                self._metrics.write(UrlDiscovery(now, self._site, key, "crawl"))
        return super().route(requests, lists)

    def _note_links(self, target: str, count: int) -> None:
        self._metrics.write(ForwardedLinks(time.time(), self._site, target, count))

    def note_fetch(self, record: FetchRecord, before: FetchRecord | None, result: FetchResult | None) -> None:
        """Measure the round trip of a fetch, and record what it says of the document in the index.

        before: what was stored of the page, if this is a revisit.
        """
        if result is not None and result.connect > 0 and result.ip:
            self._round_trips.measure(result.ip, 1000 * result.connect)
        if record.outcome is Outcome.NOT_MODIFIED or record.page is not None:
            is_stale = before is not None and record.page is not None and before.content != record.content
            is_passive = before is None and self._is_passive(record.key)
            self._metrics.write(DocumentState(max(record.when, 0.0), self._site, record.key, is_passive, is_stale))

    def _is_passive(self, key: int) -> bool:
        """Return whether people have visited a page that the crawl did not come across since it began."""
        if key in self._discovered:
            return False
        if time.monotonic() - self._counted >= _COUNT_SECONDS:
            self._counted = time.monotonic()
            self._visits_of = read_visit_counts(self._data_folder)
        return self._visits_of.lookup(key) > 0


def _keep_all(hosts: "Sequence[str]") -> "tuple[Sequence[ForwardedLink], Collection[str]]":
    """Release nothing: there is no crawl yet."""
    return (), hosts
