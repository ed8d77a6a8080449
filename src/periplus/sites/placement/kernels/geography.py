"""Distances between hosts and sites, and which site is the nearest of each host."""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["BY_DISTANCE", "BY_TIME", "EARTH_RADIUS", "UNDECIDED", "choose_sites", "find_moves", "measure_distances"]

EARTH_RADIUS: Final = 6371.0088
"""Mean radius of the earth in kilometres."""
UNDECIDED: Final = 0
BY_DISTANCE: Final = 1
BY_TIME: Final = 2


@njit(cache=True, nogil=True)
def measure_distances(
    latitudes: npt.NDArray[np.float64],
    longitudes: npt.NDArray[np.float64],
    site_latitudes: npt.NDArray[np.float64],
    site_longitudes: npt.NDArray[np.float64],
    distances: npt.NDArray[np.float64],
) -> None:  # pragma: no cover - compiled
    """Compute the great-circle distance between every host and every site by the haversine formula.

    Parameters
    ----------
    latitudes, longitudes: of hosts, in degrees; NaN where they are unknown.
    site_latitudes, site_longitudes: of sites, in degrees; NaN where they are unknown.
    distances: hosts by sites, in kilometres, filled in; NaN where a place is unknown.
    """
    to_radians = math.pi / 180.0
    for host in range(len(latitudes)):
        latitude = latitudes[host] * to_radians
        longitude = longitudes[host] * to_radians
        for site in range(len(site_latitudes)):
            other = site_latitudes[site] * to_radians
            north = math.sin((other - latitude) / 2.0)
            east = math.sin((site_longitudes[site] * to_radians - longitude) / 2.0)
            haversine = north * north + math.cos(latitude) * math.cos(other) * east * east
            # Rounding may exceed 1 for antipodes; NaN stays NaN.
            if haversine > 1.0:
                haversine = 1.0
            distances[host, site] = 2.0 * EARTH_RADIUS * math.asin(math.sqrt(haversine))


@njit(cache=True, nogil=True)
def choose_sites(
    distances: npt.NDArray[np.float64],
    times: npt.NDArray[np.float64],
    distance_tie: float,
    time_tie: float,
    chosen: npt.NDArray[np.int64],
    tied: npt.NDArray[np.uint64],
    reasons: npt.NDArray[np.uint8],
) -> None:  # pragma: no cover - compiled
    """Choose the nearest site of each host.

    Round-trip times decide where two sites or more have measured them and the nearest by distance, if any, is among
    them: the others cannot be compared with it. Elsewhere distances decide.

    Parameters
    ----------
    distances: hosts by sites, in kilometres; NaN where it is unknown.
    times: hosts by sites, round-trip times in milliseconds; NaN where they were not measured.
    distance_tie, time_tie: sites that are farther than the nearest by no more than this are as near.
    chosen: the nearest site of each host, the first of equals, filled in; -1 if nothing is known.
    tied: a bit for each site that is as near as the chosen one, which is among them; filled in.
    reasons: `BY_DISTANCE`, `BY_TIME` or `UNDECIDED`, filled in.
    """
    sites = distances.shape[1]
    for host in range(len(distances)):
        nearest, fastest, measured = -1, -1, 0
        for site in range(sites):
            if not math.isnan(distances[host, site]) and (
                nearest < 0 or distances[host, site] < distances[host, nearest]
            ):
                nearest = site
            if not math.isnan(times[host, site]):
                measured += 1
                if fastest < 0 or times[host, site] < times[host, fastest]:
                    fastest = site
        by_time = measured >= 2 and (nearest < 0 or not math.isnan(times[host, nearest]))
        best = fastest if by_time else nearest
        chosen[host], tied[host], reasons[host] = best, np.uint64(0), UNDECIDED
        if best < 0:
            continue
        reasons[host] = BY_TIME if by_time else BY_DISTANCE
        for site in range(sites):
            if by_time:
                is_tied = times[host, site] <= times[host, best] + time_tie
            else:
                is_tied = distances[host, site] <= distances[host, best] + distance_tie
            if is_tied:
                tied[host] |= np.uint64(1) << np.uint64(site)


@njit(cache=True, nogil=True)
def find_moves(
    distances: npt.NDArray[np.float64],
    times: npt.NDArray[np.float64],
    owners: npt.NDArray[np.int64],
    chosen: npt.NDArray[np.int64],
    reasons: npt.NDArray[np.uint8],
    ratio: float,
    least_distance: float,
    least_time: float,
    moves: npt.NDArray[np.bool_],
) -> None:  # pragma: no cover - compiled
    """Find the hosts that another site is so much nearer to that they should move.

    Parameters
    ----------
    distances, times: as for `choose_sites`.
    owners: the site of each host now; -1 if it has none, which always moves where a site was chosen.
    chosen, reasons: what `choose_sites` has filled in.
    ratio: a host moves only if the new site is nearer by this factor, below 1.
    least_distance, least_time: and by at least so many kilometres, or milliseconds.
    moves: whether each host should move, filled in.
    """
    for host in range(len(owners)):
        owner, best = owners[host], chosen[host]
        if best < 0 or best == owner:
            moves[host] = False
            continue
        if owner < 0:
            moves[host] = True
            continue
        if reasons[host] == BY_TIME:
            before, after, least = times[host, owner], times[host, best], least_time
        else:
            before, after, least = distances[host, owner], distances[host, best], least_distance
        # The owner may not have measured: then there is nothing to compare with. The place of one may be unknown.
        if math.isnan(before):
            moves[host] = reasons[host] == BY_DISTANCE
        else:
            moves[host] = after <= before * ratio and before - after >= least


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    values, table = np.zeros(1), np.zeros((1, 1))
    owners, tied, reasons = np.zeros(1, np.int64), np.zeros(1, np.uint64), np.zeros(1, np.uint8)
    measure_distances(values, values, values, values, table)
    choose_sites(table, table, 1.0, 1.0, owners, tied, reasons)
    find_moves(table, table, owners, owners, reasons, 0.7, 1.0, 1.0, np.zeros(1, np.bool_))
