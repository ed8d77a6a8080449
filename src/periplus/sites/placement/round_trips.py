"""Round-trip times that sites measure to networks, and report to each other.

A site notes how long connections to hosts take, and keeps the smallest time of each network: congestion only adds to
it. What others report is checked: a site reports its own times only, for at most `MAX_NETWORKS` networks, each within
bounds. See `kernels/geography` for when times decide instead of distances.
"""

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.sites.placement.host_locator import network_of

__all__ = ["MAX_NETWORKS", "RoundTripReport", "RoundTripTable"]

MAX_NETWORKS: Final = 50_000
_LEAST_TIME: Final = 0.01
_LARGEST_TIME: Final = 10_000.0
_MAX_NAME: Final = 49
"""Characters of the longest network."""


class RoundTripReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The times that one site has measured."""

    site: str
    times: dict[str, float]
    """Milliseconds by network: '192.0.2.0/24', '2001:db8::/48'."""


class RoundTripTable:
    """The times of all sites, by network."""

    def __init__(self, sites: Sequence[str], own: str, max_networks: int = MAX_NETWORKS) -> None:
        self._own = own
        self._max_networks = max_networks
        self._times: dict[str, dict[str, float]] = {site: {} for site in sites}
        """By site and network; the networks that were measured or reported last are last."""

    def measure(self, address: str, milliseconds: float) -> None:
        """Note the time of one connection of this site."""
        network = network_of(address)
        if not network or not _is_plausible(milliseconds):
            return
        times = self._times.setdefault(self._own, {})
        least = times.pop(network, math.inf)
        times[network] = min(least, milliseconds)
        if len(times) > self._max_networks:
            del times[next(iter(times))]

    def report(self) -> RoundTripReport:
        """Return what this site has measured."""
        return RoundTripReport(self._own, {n: round(t, 2) for n, t in self._times.get(self._own, {}).items()})

    def accept(self, sender: str, report: RoundTripReport) -> None:
        """Replace the times of another site; raise `BadInput` for a report that cannot be right, which is dropped."""
        if report.site != sender or sender == self._own:
            raise BadInput(f"{sender} reports round-trip times of {report.site[:40]}.")
        if sender not in self._times:
            raise BadInput(f"{sender} reports round-trip times, and is not a site.")
        if len(report.times) > self._max_networks:
            raise BadInput(f"{sender} reports round-trip times of {len(report.times):,} networks.")
        for network, milliseconds in report.times.items():
            if len(network) > _MAX_NAME or network_of(network.partition("/")[0]) != network:
                raise BadInput(f"{sender} reports a round-trip time of {network[:60]!r}, which is not a network.")
            if not _is_plausible(milliseconds):
                raise BadInput(f"{sender} reports a round-trip time of {milliseconds} ms.")
        self._times[sender] = dict(report.times)

    def update_sites(self, sites: Sequence[str]) -> None:
        """Forget the times of sites that have left, and accept those of new ones."""
        self._times = {site: self._times.get(site, {}) for site in sites}

    def times(self, sites: Sequence[str], networks: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the times to networks, networks by sites; NaN where they were not measured."""
        columns = [self._times.get(site, {}) for site in sites]
        rows = [[column.get(network, math.nan) for column in columns] for network in networks]
        return np.array(rows, np.float64).reshape(len(networks), len(columns))


def _is_plausible(milliseconds: float) -> bool:
    return math.isfinite(milliseconds) and _LEAST_TIME <= milliseconds <= _LARGEST_TIME
