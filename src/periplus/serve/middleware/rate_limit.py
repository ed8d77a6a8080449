"""How often one client may ask: a bucket of tokens for each, in bounded memory."""

import ipaddress
import time
from collections import OrderedDict
from typing import Final

__all__ = ["RateLimit", "is_local", "of_client"]

_MOST: Final = 50_000
"""Clients remembered; the one that asked longest ago is forgotten first."""
_BURST: Final = 4.0
"""Seconds of requests that may come at once."""


class RateLimit:
    """Lets each client ask `rate` times a second, and a few seconds' worth at once."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._full = max(1.0, rate * _BURST)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, cost: float = 1.0) -> float:
        """Take a token; give 0 if there was one, else the seconds until there is."""
        if not self._rate:
            return 0.0
        now = time.monotonic()
        left, then = self._buckets.pop(client, (self._full, now))
        left = min(self._full, left + (now - then) * self._rate)
        short = cost - left
        self._buckets[client] = (left - cost if short <= 0 else left, now)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return max(0.0, short / self._rate)


def is_local(address: str) -> bool:
    """Say whether an address is this very machine."""
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address == "localhost"


def of_client(address: str) -> str:
    """Give what stands for a client: its IPv4 address, or the network of its IPv6 address, of which it has many."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if found.version == 6:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
