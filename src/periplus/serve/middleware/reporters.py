"""Whether two reports may be by the same: a small number for who reports something, and nothing by which to find them.

The number is made of a signature of network and page, so that it is another one for every page, and two in 63 networks
share it by chance. It lets ranking count many readers as many and a flood as one, and says nothing about anybody.
"""

import ipaddress
from typing import Final

from starlette.requests import Request

from periplus.serve.api_keys import ApiKeys

__all__ = ["NUMBERS", "Reporters", "network_of"]

NUMBERS: Final = 63
_PREFIX: Final = {4: 24, 6: 48}
"""Bits of an address that say whose network it is in: somebody may have all addresses of one. In a private network
they are one person's each."""


def network_of(peer: str) -> str:
    """Give the network of an address, or the address where it is a private one; '' when it is none."""
    try:
        address = ipaddress.ip_address(peer.strip("[]"))
    except ValueError:
        return ""
    prefix = address.max_prefixlen if address.is_private else _PREFIX[address.version]
    return str(ipaddress.ip_network((address, prefix), strict=False))


class Reporters:
    """Numbers those who report."""

    def __init__(self, keys: ApiKeys, proxied: bool) -> None:
        self._keys = keys
        self._proxied = proxied

    def source(self, request: Request, about: str) -> int:
        """Give the number, 1 to 63, of whoever sent a request about something; 0 when the address is none."""
        peer = request.client.host if request.client else ""
        if self._proxied:
            peer = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip() or peer
        network = network_of(peer)
        if not network:
            return 0
        return int(self._keys.sign(f"reporter {network} {about}")[:12], 16) % NUMBERS + 1
