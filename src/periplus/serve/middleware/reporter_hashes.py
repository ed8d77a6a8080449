"""A small number for whoever reports a click or a visit, so that many reporters can be told from one.

The number is derived from a signature of the reporter's network and the page, so it differs from page to page, and two
of 63 networks share one by chance. Ranking can count many readers as many and a flood as one, but nobody can be
identified by it.
"""

import ipaddress
from typing import Final

from starlette.requests import Request

from periplus.serve.api_keys import ApiKeys
from periplus.serve.middleware.client_address import ClientAddresses, forwarded_for, parse_address

__all__ = ["NUMBERS", "ReporterHasher", "network_of"]

NUMBERS: Final = 63
_PREFIX: Final = {4: 24, 6: 48}
"""Bits of an address that identify its network. One person may have all addresses of a public network; in a private
network, each address is a person's own."""


def network_of(peer: str) -> str:
    """Return the network of an address, or a private address itself; '' for an invalid one."""
    address = parse_address(peer)
    if address is None:
        return ""
    prefix = address.max_prefixlen if address.is_private else _PREFIX[address.version]
    return str(ipaddress.ip_network((address, prefix), strict=False))


class ReporterHasher:
    """Computes the numbers of reporters."""

    def __init__(self, keys: ApiKeys, addresses: ClientAddresses) -> None:
        self._keys = keys
        self._addresses = addresses

    def source(self, request: Request, subject: str) -> int:
        """Return the number, from 1 to 63, of the sender of a report about `subject`; 0 for an invalid address."""
        peer = request.client.host if request.client else ""
        if self._addresses.behind_proxy:
            peer = self._addresses.client(peer, forwarded_for(request.scope["headers"]))
        network = network_of(peer)
        if not network:
            return 0
        return int(self._keys.sign(f"reporter {network} {subject}")[:12], 16) % NUMBERS + 1
