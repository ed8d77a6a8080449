"""Who asks: by which name of ours, from where, and whether too often."""

import functools
import math
import re
from typing import Final, NamedTuple

from periplus.serve.middleware.rate_limit import RateLimit, is_local, of_client
from periplus.settings import ServeSettings

__all__ = ["HOST", "Refusal", "Visitors"]

HOST: Final = re.compile(r"[A-Za-z0-9.\-]{1,253}(:[0-9]{1,5})?|\[[0-9a-fA-F:.]{2,45}\](:[0-9]{1,5})?")
_NEVER_LIMITED: Final = frozenset({"/healthz", "/readyz", "/metrics"})
_MOST: Final = 4_096
"""Names and addresses that are remembered."""


class Refusal(NamedTuple):
    """Why a request is not let in."""

    status: int
    error: str
    hint: str
    headers: dict[str, str]


class Visitors:
    """Lets requests in or not. What was found out about a name or an address is remembered, as it comes again."""

    def __init__(self, settings: ServeSettings, limit: RateLimit) -> None:
        self._limit = limit
        self._own = settings.host.lower()
        self._loopback = is_local(settings.host)
        self._proxied = settings.proxied
        self._names = frozenset(name.lower() for name in settings.names)
        self.knows = functools.lru_cache(_MOST)(self._knows)
        self._free = functools.lru_cache(_MOST)(is_local)

    def refusal(self, path: str, host: str, peer: str, forwarded: str) -> Refusal | None:
        """Say why a request is not let in; None lets it in."""
        if not self.knows(host):
            hint = "Add the name to serve.names if it is yours."
            return Refusal(421, "This server does not go by that name.", hint, {})
        client = self.client(peer, forwarded)
        if self._free(client) or path in _NEVER_LIMITED:
            return None
        wait = self._limit.wait("address " + of_client(client))
        if not wait:
            return None
        seconds = str(max(1, math.ceil(wait)))
        hint = f"Try again in {seconds} s."
        return Refusal(429, "Too many requests from one place.", hint, {"retry-after": seconds})

    def client(self, peer: str, forwarded: str) -> str:
        """Give the address of whoever asks: the one that a proxy of ours names, or the one at the other end."""
        return (forwarded.rpartition(",")[2].strip() or peer) if self._proxied else peer

    def _knows(self, host: str) -> bool:
        """Say whether we go by this name: against pages elsewhere that make a browser ask us under a name of theirs."""
        if not HOST.fullmatch(host):
            return False
        name = host.rpartition(":")[0] if re.search(r":[0-9]+$", host) else host
        name = name.lower()
        if name in self._names or name == self._own:
            return True
        if not self._names and not self._loopback:
            return True
        return name == "localhost" or name.endswith(".localhost") or _is_number(name)


def _is_number(name: str) -> bool:
    """Say whether a host is an address and no name: names can be made to lead anywhere, addresses cannot."""
    return name.startswith("[") or bool(re.fullmatch(r"[0-9.]+", name))
