"""Which site crawls a host: the nearest one, by distance or by measured round-trip times.

In: the sites with their places, and where hosts are (`HostLocator`). Out: the owner of a host, which does not change
unless another site is nearer by far:

- Sites that are as near as the nearest one, within 25 km or 1 ms, share hosts by hash, as shards do
  (`HostPartitioner`); so do all sites the hosts whose place is unknown.
- Once assigned, a host stays with its owner. `review` moves it if another site is nearer by 30 % and by 200 km (or
  5 ms), has been so for a day, and the host has not moved within a week; and at once if its owner has left.
- The owner that another site has chosen is accepted (`assign`): whoever is sent links of a host, crawls it. So two
  sites that see a host at different addresses do not send its links to and fro.

The table of owners is bounded, and is saved with the crawl; hosts beyond its bound are assigned without memory.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.crawl import HostPartitioner
from periplus.errors import BadInput
from periplus.hashing import fingerprint_text
from periplus.sites.placement.distances import measure_distances
from periplus.sites.placement.host_locator import LocatedHost
from periplus.sites.placement.kernels import geography
from periplus.sites.placement.round_trips import RoundTripTable
from periplus.sites.site_topology import Place

__all__ = ["GeographicPartitioner", "HostMove", "HostOwner", "SitePlace"]

MAX_SITES: Final = 64
_DISTANCE_TIE: Final = 25.0
_TIME_TIE: Final = 1.0
_RATIO: Final = 0.7
_LEAST_DISTANCE: Final = 200.0
_LEAST_TIME: Final = 5.0
_SETTLING: Final = 86_400.0
"""Seconds for which another site has to be nearer before a host moves."""
_REST: Final = 7 * 86_400.0
"""Seconds in which a host moves at most once."""
_MAX_HOSTS: Final = 500_000
_REASONS: Final = ("hash", "distance", "time")
_EITHER: Final = (_DISTANCE_TIE, _TIME_TIE)


class SitePlace(NamedTuple):
    """A site and where it is."""

    name: str
    place: Place | None = None


class HostOwner(NamedTuple):
    """The owner of a host, and why it is."""

    site: str
    reason: str
    """'distance', 'time', 'hash', or 'sender' for one that another site has chosen."""
    since: float = 0.0
    """When it was assigned, in seconds since 1970."""


class HostMove(NamedTuple):
    """A host that moves to another site."""

    host: str
    before: str
    after: str
    reason: str


class _Candidate(NamedTuple):
    """A site that is nearer than the owner, and since when."""

    site: str
    since: float


class GeographicPartitioner:
    """Assigns hosts to sites."""

    def __init__(
        self,
        sites: Sequence[SitePlace],
        locate: Callable[[str], LocatedHost | None],
        round_trips: RoundTripTable | None = None,
        *,
        max_hosts: int = _MAX_HOSTS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """locate: returns where a host is, None while that is looked up; for example `HostLocator.find`."""
        self._locate = locate
        self._round_trips = round_trips
        self._max_hosts = max_hosts
        self._clock = clock
        self._owners: dict[str, HostOwner] = {}
        self._candidates: dict[str, _Candidate] = {}
        self._sites: tuple[SitePlace, ...] = ()
        self.update_sites(sites)

    @property
    def sites(self) -> tuple[str, ...]:
        """The names of the sites, sorted: numbers of sites are positions in it."""
        return tuple(site.name for site in self._sites)

    def update_sites(self, sites: Sequence[SitePlace]) -> None:
        """Replace the sites. Hosts of those that have left are assigned anew when they are asked for, or reviewed."""
        ordered = tuple(sorted(sites, key=lambda site: site.name))
        if not 1 <= len(ordered) <= MAX_SITES or len({site.name for site in ordered}) < len(ordered):
            raise BadInput(f"Hosts are shared by 1 to {MAX_SITES} sites with different names, not {len(ordered)}.")
        self._sites = ordered
        self._numbers = {site.name: number for number, site in enumerate(ordered)}
        self._places = [site.place for site in ordered]
        self._names_by_hash = {fingerprint_text(site.name): site.name for site in ordered}
        self._hashed: dict[int, HostPartitioner] = {}

    def owner(self, host: str) -> str:
        """Return the site that crawls a host; while its place is looked up, the one that its hash selects."""
        return self.settled_owner(host) or self._by_hash(host, -1)

    def number(self, host: str) -> int:
        """Return the number of the owner."""
        return self._numbers[self.owner(host)]

    def settled_owner(self, host: str) -> str | None:
        """Return the site that crawls a host; None while its place is looked up: its links had better wait."""
        owner = self._owners.get(host)
        if owner is not None and owner.site in self._numbers:
            return owner.site
        located = self._locate(host)
        if located is None:
            return None
        site, reason = self._choose([host], [located])[0]
        self._remember(host, HostOwner(site, reason, self._clock()))
        return site

    def explain(self, host: str) -> HostOwner | None:
        """Return the owner of a host with the reason; None if it has not been assigned."""
        return self._owners.get(host)

    def assign(self, host: str, site: str) -> None:
        """Accept that another site has chosen the owner of a host, unless it has one already."""
        owner = self._owners.get(host)
        if site in self._numbers and (owner is None or owner.site not in self._numbers):
            self._remember(host, HostOwner(site, "sender", self._clock()))

    def review(self, max_moves: int = 1_000) -> list[HostMove]:
        """Return the hosts that move now, at most `max_moves`; they have their new owners then."""
        now = self._clock()
        hosts = list(self._owners)
        located = [self._locate(host) or LocatedHost() for host in hosts]
        owners = np.array([self._numbers.get(self._owners[host].site, -1) for host in hosts], np.int64)
        chosen, reasons, distances, times = self._nearest(hosts, located, owners)
        wanted = np.zeros(len(hosts), np.bool_)
        geography.find_moves(distances, times, owners, chosen, reasons, _RATIO, _LEAST_DISTANCE, _LEAST_TIME, wanted)
        moves: list[HostMove] = []
        for row, host in enumerate(hosts):
            if len(moves) >= max_moves:
                break
            owner = self._owners[host]
            if owners[row] < 0:
                choice = int(chosen[row])
                site = self.sites[choice] if choice >= 0 else self._by_hash(host, -1)
            elif not wanted[row]:
                self._candidates.pop(host, None)
                continue
            else:
                site = self.sites[int(chosen[row])]
                candidate = self._candidates.get(host)
                if candidate is None or candidate.site != site:
                    candidate = self._candidates[host] = _Candidate(site, now)
                if now - candidate.since < _SETTLING or now - owner.since < _REST:
                    continue
            self._candidates.pop(host, None)
            moves.append(HostMove(host, owner.site, site, _REASONS[reasons[row]]))
            self._owners[host] = HostOwner(site, _REASONS[reasons[row]], now)
        return moves

    def owners(self) -> dict[str, HostOwner]:
        """Return the owners of all hosts that have been assigned, for saving."""
        return dict(self._owners)

    def restore(self, owners: dict[str, HostOwner]) -> None:
        """Restore the owners of hosts that were saved."""
        for host, owner in owners.items():
            self._remember(host, owner)

    def _remember(self, host: str, owner: HostOwner) -> None:
        if host in self._owners or len(self._owners) < self._max_hosts:
            self._owners[host] = owner

    def _choose(self, hosts: Sequence[str], located: Sequence[LocatedHost]) -> list[tuple[str, str]]:
        """Return the site of each host, and why; owners are not considered."""
        none = np.full(len(hosts), -1, np.int64)
        chosen, reasons, _, _ = self._nearest(hosts, located, none)
        return [
            (self.sites[int(number)] if number >= 0 else self._by_hash(host, -1), _REASONS[reason])
            for host, number, reason in zip(hosts, chosen.tolist(), reasons.tolist(), strict=True)
        ]

    def _nearest(
        self, hosts: Sequence[str], located: Sequence[LocatedHost], owners: npt.NDArray[np.int64]
    ) -> tuple[
        npt.NDArray[np.int64],
        npt.NDArray[np.uint8],
        npt.NDArray[np.float64],
        npt.NDArray[np.float64],
    ]:
        """Return the nearest site of each host, of equals the owner or the one that its hash selects, and why."""
        distances = measure_distances([where.place for where in located], self._places)
        times = np.full_like(distances, np.nan)
        if self._round_trips is not None and len(hosts):
            times = self._round_trips.times(self.sites, [where.network for where in located])
        chosen, tied = np.zeros(len(hosts), np.int64), np.zeros(len(hosts), np.uint64)
        reasons = np.zeros(len(hosts), np.uint8)
        geography.choose_sites(distances, times, *_EITHER, chosen, tied, reasons)
        for row in np.flatnonzero(tied & (tied - np.uint64(1))).tolist():
            bits = int(tied[row])
            owner = int(owners[row])
            if owner >= 0 and bits >> owner & 1:
                chosen[row] = owner
            else:
                chosen[row] = self._numbers[self._by_hash(hosts[row], bits)]
        return chosen, reasons, distances, times

    def _by_hash(self, host: str, bits: int) -> str:
        """Return the site that the hash of a host's registered domain selects, of all sites or of those with a bit."""
        partitioner = self._hashed.get(bits)
        if partitioner is None:
            names = [site.name for number, site in enumerate(self._sites) if bits < 0 or bits >> number & 1]
            partitioner = HostPartitioner(tuple(fingerprint_text(name) for name in names))
            if len(self._hashed) >= MAX_SITES * MAX_SITES:
                self._hashed.clear()
            self._hashed[bits] = partitioner
        return self._names_by_hash[partitioner.owner(host)]
