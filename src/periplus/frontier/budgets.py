"""Which hosts go first when more are ready than can be contacted: budgets that grow with reputation, a share penalty.

A host over its budget, or with more than its share of the last million requests, is deferred: it waits behind
all others, and has its turn when none of them is ready. No URL is ever dropped for it.
"""

import math
from typing import Final

from periplus.frontier.host import Host
from periplus.settings import FrontierSettings

__all__ = ["budget", "count_request", "decayed_requests", "is_deferred", "never_deferred", "no_reputation", "penalty"]

WINDOW: Final = 1_000_000.0
"""Requests over which the share of a host is computed; older ones decay."""
_SHARE_FROM: Final = 0.001
_SHARE_TO: Final = 0.05


def count_request(host: Host, number: int) -> None:
    """Count request `number` of the whole crawl as one of this host's."""
    host.recent = decayed_requests(host, number) + 1.0
    host.counted = number


def decayed_requests(host: Host, number: int) -> float:
    """Return the requests of a host in the window that ends with request `number`, older ones decayed."""
    return host.recent if host.counted == number else host.recent * math.exp((host.counted - number) / WINDOW)


def budget(reputation: float, settings: FrontierSettings) -> float:
    """Return the requests that a host may have in the window before it is deferred."""
    return settings.host_budget * math.sqrt(1.0 + max(0.0, reputation))


def penalty(share: float) -> float:
    """Return how often a host with this share of the window is deferred: never up to 0.1 %, always from 5 %."""
    return min(1.0, max(0.0, (share - _SHARE_FROM) / (_SHARE_TO - _SHARE_FROM)))


def never_deferred(settings: FrontierSettings) -> float:
    """Return the requests in the window up to which no host is deferred, whatever its reputation."""
    return min(settings.host_budget - 1.0, _SHARE_FROM * WINDOW)


def is_deferred(host: Host, number: int, reputation: float, settings: FrontierSettings) -> bool:
    """Return whether a host waits behind others for its next turn."""
    recent = decayed_requests(host, number)
    if recent >= budget(reputation, settings):
        return True
    chance = penalty(recent / WINDOW)
    # A hash of the number replaces chance, so that the same crawl takes the same course.
    return chance > 0.0 and (number * 2_654_435_761 & 0xFFFFFFFF) / 0x1_0000_0000 < chance


def no_reputation(name: str) -> float:
    """Return 0.0, the reputation of a host without links from elsewhere."""
    return 0.0
