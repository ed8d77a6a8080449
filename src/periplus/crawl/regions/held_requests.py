"""Requests on their way into and out of what the frontier holds back."""

import sys
from collections.abc import Callable, Set
from functools import partial

from periplus.crawl.regions.regions import RegionTable
from periplus.frontier import Frontier
from periplus.records import FetchRequest

__all__ = ["hold_back", "recount_held", "release_earned", "release_named"]


def hold_back(frontier: Frontier, regions: RegionTable, request: FetchRequest, now: float) -> bool:
    """Hold back a request, which the frontier has returned, if its region has brought nothing new; return whether."""
    reason = regions.hold_reason(request.address)
    if reason:
        regions.note_held(request.address, reason)
        frontier.hold(request, now)
    return bool(reason)


def release_earned(frontier: Frontier, regions: RegionTable) -> None:
    """Queue the URLs held back whose regions have earned it, or to which a better page links."""
    for key, count in regions.earned.items():
        _release(frontier, regions, key.partition(" ")[0], partial(regions.contains, key), count)
    for host, urls in regions.relinked.items():
        _release(frontier, regions, host, urls.__contains__, len(urls), urls)
    regions.earned.clear()
    regions.relinked.clear()


def release_named(frontier: Frontier, regions: RegionTable, name: str) -> bool:
    """Queue what is held back of a region or a host ('*' stands for all); return whether there was anything.

    Templates change while a crawl learns, so that URLs may be of other regions than when they were held back: what is
    held is counted again, and of a region that was listed and no longer holds any all of its host is released.
    """
    listed = any(region.region == name for region in regions.held())
    recount_held(frontier, regions)
    chosen = regions.release(name) or (regions.release(name.partition(" ")[0]) if listed else set())
    for host in dict.fromkeys(key.partition(" ")[0] for key in chosen):
        _release(frontier, regions, host, lambda url: regions.region_of(url) in chosen, sys.maxsize)
    return bool(chosen)


def recount_held(frontier: Frontier, regions: RegionTable) -> None:
    """Count again what is held back of each region, by the templates of today."""
    regions.recount((regions.region_of(url), url) for _, urls in frontier.held_urls() for url in urls)


def _release(
    frontier: Frontier,
    regions: RegionTable,
    host: str,
    wanted: Callable[[str], bool],
    most: int,
    urls: Set[str] | None = None,
) -> None:
    for url in frontier.release_held(host, wanted, most, urls):
        regions.note_released(url)
