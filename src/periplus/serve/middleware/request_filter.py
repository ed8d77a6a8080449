"""Which requests are admitted: by the host name they use, and by the rate of their client."""

import functools
import math
import re
from typing import Final, NamedTuple

from periplus.serve.middleware.client_address import ClientAddresses, client_network, is_local
from periplus.serve.middleware.rate_limit import RateLimit
from periplus.serve.routing import UNLIMITED_PATHS
from periplus.settings import ServeSettings

__all__ = ["HOST", "Refusal", "RequestFilter"]

HOST: Final = re.compile(r"[A-Za-z0-9.\-]{1,253}(:[0-9]{1,5})?|\[[0-9a-fA-F:.]{2,45}\](:[0-9]{1,5})?")
_CACHE_SIZE: Final = 4_096
"""Host names and client addresses whose check is cached."""


class Refusal(NamedTuple):
    """Why a request is not admitted."""

    status: int
    error: str
    hint: str
    headers: dict[str, str]


class RequestFilter:
    """Admits or refuses requests."""

    def __init__(self, settings: ServeSettings, limit: RateLimit) -> None:
        self._limit = limit
        self._own = settings.host.lower()
        self._loopback = is_local(settings.host)
        self._addresses = ClientAddresses(settings)
        self.reads_forwarded = self._addresses.behind_proxy
        self._names = frozenset(name.lower() for name in settings.host_names)
        self.accepts_host = functools.lru_cache(_CACHE_SIZE)(self._accepts_host)
        self._is_local = functools.lru_cache(_CACHE_SIZE)(is_local)
        self._client_network = functools.lru_cache(_CACHE_SIZE)(client_network)

    def refusal(self, path: str, host: str, peer: str, forwarded: str, repeats_host: bool = False) -> Refusal | None:
        """Return why a request is refused, or None to admit it."""
        if repeats_host:
            return Refusal(400, "The request has more than one Host header.", "Send one.", {})
        if not self.accepts_host(host):
            hint = "Add the name to serve.host_names if it is yours."
            return Refusal(421, "This server does not answer under that name.", hint, {})
        client = self.client(peer, forwarded)
        if self._is_local(client) or path in UNLIMITED_PATHS:
            return None
        wait = self._limit.wait("address " + self._client_network(client))
        if not wait:
            return None
        seconds = str(max(1, math.ceil(wait)))
        hint = f"Try again in {seconds} s."
        return Refusal(429, "Too many requests from one address.", hint, {"retry-after": seconds})

    def client(self, peer: str, forwarded: str) -> str:
        """Return the address of the client: as reported by our proxies, or else the other end of the connection."""
        return self._addresses.client(peer, forwarded)

    def _accepts_host(self, host: str) -> bool:
        """Return whether this is a name of ours. Others are refused, which prevents DNS rebinding."""
        if not HOST.fullmatch(host):
            return False
        name = host.rpartition(":")[0] if re.search(r":[0-9]+$", host) else host
        name = name.lower()
        if name in self._names or name == self._own:
            return True
        if not self._names and not self._loopback:
            return True
        return name == "localhost" or name.endswith(".localhost") or _is_numeric(name)


def _is_numeric(name: str) -> bool:
    """Return whether a host is an IP address: unlike a name, it cannot be pointed elsewhere."""
    return name.startswith("[") or bool(re.fullmatch(r"[0-9.]+", name))
