"""Requests on their way into and out of what the frontier holds back."""

from collections.abc import Callable
from functools import partial

from periplus.crawl.regions.regions import RegionTable
from periplus.frontier import Frontier
from periplus.records import FetchRequest

__all__ = ["hold_back", "release_earned"]


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
        _release(frontier, regions, host, urls.__contains__, len(urls))
    regions.earned.clear()
    regions.relinked.clear()


def _release(frontier: Frontier, regions: RegionTable, host: str, wanted: Callable[[str], bool], most: int) -> None:
    for url in frontier.release_held(host, wanted, most):
        regions.note_released(url)
