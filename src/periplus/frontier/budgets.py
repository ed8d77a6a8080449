"""Who goes first when more hosts are ready than can be asked: budgets that grow with reputation, and a share penalty.

A host over its budget, or with more than its share of the last million requests, is not refused anything: it waits
behind all others, and has its turn when none of them is ready. Nothing is ever dropped for it.
"""

import math
from typing import Final

from periplus.frontier.host_state import Host
from periplus.settings import FrontierSettings

__all__ = ["budget", "count_request", "faded", "is_deferred", "penalty", "unknown_to_all"]

WINDOW: Final = 1_000_000.0
"""Requests over which a host's share is looked at; older ones fade."""
_SHARE_FROM: Final = 0.001
_SHARE_TO: Final = 0.05


def count_request(host: Host, number: int) -> None:
    """Count request `number` of the whole crawl as one of this host's."""
    host.recent = faded(host, number) + 1.0
    host.counted = number


def faded(host: Host, number: int) -> float:
    """Give the requests of a host within the window that ends with request `number`."""
    return host.recent * math.exp((host.counted - number) / WINDOW)


def budget(reputation: float, settings: FrontierSettings) -> float:
    """Give the requests that a host may have in the window before it waits behind others."""
    return settings.host_budget * math.sqrt(1.0 + max(0.0, reputation))


def penalty(share: float) -> float:
    """Give how often a host with this share of the window waits behind others: never up to 0.1 %, always from 5 %."""
    return min(1.0, max(0.0, (share - _SHARE_FROM) / (_SHARE_TO - _SHARE_FROM)))


def is_deferred(host: Host, number: int, reputation: float, settings: FrontierSettings) -> bool:
    """Tell whether a host waits behind others for its next turn."""
    recent = faded(host, number)
    if recent >= budget(reputation, settings):
        return True
    chance = penalty(recent / WINDOW)
    # A fixed scatter of the number stands for chance, so that the same crawl goes the same way.
    return chance > 0.0 and (number * 2_654_435_761 & 0xFFFFFFFF) / 0x1_0000_0000 < chance


def unknown_to_all(name: str) -> float:
    """Give the reputation of a host that nobody is known to point to."""
    return 0.0
