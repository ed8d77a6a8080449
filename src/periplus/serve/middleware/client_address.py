"""Addresses of clients: their normal form, what identifies a client, and what proxies report of them."""

import functools
import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import Final

from periplus.errors import BadInput
from periplus.settings import ServeSettings

__all__ = ["ClientAddresses", "client_network", "forwarded_for", "is_local", "parse_address"]

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_CACHE_SIZE: Final = 4_096
_MAX_TEXT: Final = 64
"""Characters of the longest address with a port, and some more."""
_MAX_HOPS: Final = 32
"""Entries of X-Forwarded-For that are read, the last ones."""
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_WITH_PORT: Final = re.compile(r"\[([^\]]*)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5}")


def parse_address(text: str) -> _Address | None:
    """Return an address in its normal form, with or without brackets, zone and port; None for anything else.

    An IPv6 address that stands for an IPv4 address (mapped, NAT64, 6to4, Teredo) becomes that one: otherwise a client
    is another one by each of its names, or all clients of an IPv4 port of ours are one IPv6 network.
    """
    text = text.strip()
    if not text or len(text) > _MAX_TEXT:
        return None
    match = _WITH_PORT.fullmatch(text)
    if match is not None:
        text = match[1] or match[2] or ""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address if address.version == 4 else _embedded_ipv4(address) or address


def _embedded_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def is_local(address: str) -> bool:
    """Return whether an address is a loopback address."""
    parsed = parse_address(address)
    return parsed.is_loopback if parsed is not None else address == "localhost"


def client_network(address: str) -> str:
    """Return what identifies a client: its IPv4 address, or the /64 network of its IPv6 address."""
    parsed = parse_address(address)
    if parsed is None:
        return "unknown"
    if parsed.version == 6:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def forwarded_for(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return all X-Forwarded-For headers of a request as one: a proxy may add to a header or send another."""
    return ", ".join(value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for")


class ClientAddresses:
    """Finds the address of a client behind proxies, as the settings allow."""

    def __init__(self, settings: ServeSettings) -> None:
        self.behind_proxy = settings.behind_proxy or bool(settings.trusted_proxies)
        self._trusted = [_network(text) for text in settings.trusted_proxies]
        self._parse = functools.lru_cache(_CACHE_SIZE)(parse_address)

    def client(self, peer: str, forwarded: str) -> str:
        """Return the address of the client: as reported by our proxies, or else the other end of the connection.

        With a list of trusted proxies, it is the last address of X-Forwarded-For that is not one of them. Without, it
        is the last address, which the proxy in front of us has seen itself. What comes before, a client may invent.
        """
        if not self.behind_proxy or not forwarded or not self._is_trusted(peer):
            return peer
        client = peer
        for entry in reversed(forwarded.split(",")[-_MAX_HOPS:]):
            address = self._parse(entry)
            if address is None:  # no proxy wrote this
                return client
            client = str(address)
            if not self._trusted or not self._is_trusted(client):
                return client
        return client

    def is_proxy(self, peer: str) -> bool:
        """Return whether a connection is one of a proxy, which carries requests of many clients."""
        return self.behind_proxy and self._is_trusted(peer)

    def _is_trusted(self, text: str) -> bool:
        address = self._parse(text)
        return not self._trusted or (address is not None and _contains(self._trusted, address))


def _contains(networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network], address: _Address) -> bool:
    return any(address in network for network in networks)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        hint = "Use addresses or networks, such as 10.0.0.0/8."
        raise BadInput(f"serve.trusted_proxies: '{text}' is not an address.", hint) from None
