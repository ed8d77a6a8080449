"""How long a host is left alone, and what counts as its failure."""

import math
from typing import Final

from periplus.frontier.host_state import Host
from periplus.records import Outcome
from periplus.settings import FrontierSettings

__all__ = ["FAILURES", "RETRYABLE", "UNREACHABLE", "back_off", "gap"]

RETRYABLE: Final = frozenset((Outcome.BUSY, Outcome.SERVER_ERROR, Outcome.TIMEOUT, Outcome.CONNECT, Outcome.DNS))
"""Reasons that may pass."""

UNREACHABLE: Final = frozenset((Outcome.CONNECT, Outcome.DNS))
"""Reasons that lie with the host or the network, whichever page is asked for."""

FAILURES: Final = RETRYABLE | {Outcome.TLS, Outcome.BAD_RESPONSE, Outcome.FORBIDDEN_ADDRESS}
"""What counts against a host; anything else shows that it is alive."""

_LONGEST_RETRY_AFTER: Final = 3600.0
_LONGEST_BACK_OFF: Final = 600.0


def gap(host: Host, settings: FrontierSettings) -> float:
    """Give the seconds between this host's last request and its next."""
    return min(settings.max_delay, max(settings.delay, host.crawl_delay, settings.delay_factor * host.elapsed))


def back_off(host: Host, settings: FrontierSettings, retry_after: float | None) -> float:
    """Give the seconds to wait after a failure: what the host asks for, or twice as long each time."""
    if retry_after is not None and math.isfinite(retry_after) and retry_after > 0:
        return min(retry_after, _LONGEST_RETRY_AFTER)
    doubled = math.ldexp(settings.back_off, min(max(host.failures - 1, 0), 32))
    return min(doubled, _LONGEST_BACK_OFF)
