"""How long a host is left alone after a request, and what counts as its failure."""

import math
from collections.abc import Callable
from typing import Final

from periplus.frontier.host import Host
from periplus.records import Outcome
from periplus.settings import FrontierSettings

__all__ = ["FAILURES", "RETRYABLE", "UNREACHABLE", "HostDelays", "backoff_seconds", "no_own_delay"]

RETRYABLE: Final = frozenset((Outcome.BUSY, Outcome.SERVER_ERROR, Outcome.TIMEOUT, Outcome.CONNECT, Outcome.DNS))
"""Failures that may pass."""

UNREACHABLE: Final = frozenset((Outcome.CONNECT, Outcome.DNS))
"""Failures of the host or the network, whichever page is requested."""

FAILURES: Final = RETRYABLE | {Outcome.TLS, Outcome.BAD_RESPONSE, Outcome.FORBIDDEN_ADDRESS}
"""Outcomes that count against a host; any other shows that it is alive."""

_MAX_RETRY_AFTER: Final = 3600.0
_MAX_BACKOFF: Final = 600.0


class HostDelays:
    """How long hosts are left alone between two requests."""

    def __init__(self, settings: FrontierSettings) -> None:
        self._settings = settings
        self.own: Callable[[str], float] = no_own_delay
        """The minimum delay that is set for a host; -1 if there is none."""

    def seconds(self, host: Host) -> float:
        """Return the seconds between the last request to a host and the next.

        What the host asks for is obeyed in full. If the maximum is 0 there is no delay, as for hosts of one's own.
        """
        settings, own = self._settings, self.own(host.name)
        seconds = settings.delay_factor * host.elapsed
        least = settings.delay if own < 0 else 0.0
        if seconds < least:
            seconds = least
        if seconds > settings.max_delay:
            seconds = settings.max_delay
        if own > seconds:
            seconds = own
        return host.crawl_delay if host.crawl_delay > seconds and settings.max_delay > 0 else seconds


def no_own_delay(name: str) -> float:
    """Return -1.0: no host has a delay of its own."""
    return -1.0


def backoff_seconds(host: Host, settings: FrontierSettings, retry_after: float | None) -> float:
    """Return the seconds to wait after a failure: what the host asks for, or twice as long each time."""
    if retry_after is not None and math.isfinite(retry_after) and retry_after > 0:
        return min(retry_after, _MAX_RETRY_AFTER)
    doubled = math.ldexp(settings.back_off, min(max(host.failures - 1, 0), 32))
    return min(doubled, _MAX_BACKOFF)
