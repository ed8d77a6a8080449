"""How long a host is left alone after a request, and what counts as its failure."""

import math
from typing import Final

from periplus.frontier.host import Host
from periplus.records import Outcome
from periplus.settings import FrontierSettings

__all__ = ["FAILURES", "RETRYABLE", "UNREACHABLE", "backoff_seconds", "delay_seconds"]

RETRYABLE: Final = frozenset((Outcome.BUSY, Outcome.SERVER_ERROR, Outcome.TIMEOUT, Outcome.CONNECT, Outcome.DNS))
"""Failures that may pass."""

UNREACHABLE: Final = frozenset((Outcome.CONNECT, Outcome.DNS))
"""Failures of the host or the network, whichever page is requested."""

FAILURES: Final = RETRYABLE | {Outcome.TLS, Outcome.BAD_RESPONSE, Outcome.FORBIDDEN_ADDRESS}
"""Outcomes that count against a host; any other shows that it is alive."""

_MAX_RETRY_AFTER: Final = 3600.0
_MAX_BACKOFF: Final = 600.0


def delay_seconds(host: Host, settings: FrontierSettings) -> float:
    """Return the seconds between the last request to a host and the next."""
    return min(settings.max_delay, max(settings.delay, host.crawl_delay, settings.delay_factor * host.elapsed))


def backoff_seconds(host: Host, settings: FrontierSettings, retry_after: float | None) -> float:
    """Return the seconds to wait after a failure: what the host asks for, or twice as long each time."""
    if retry_after is not None and math.isfinite(retry_after) and retry_after > 0:
        return min(retry_after, _MAX_RETRY_AFTER)
    doubled = math.ldexp(settings.back_off, min(max(host.failures - 1, 0), 32))
    return min(doubled, _MAX_BACKOFF)
