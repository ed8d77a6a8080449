"""Which network addresses may be connected to: public ones, and the ranges that the operator allows."""

import ipaddress
from collections.abc import Iterable
from typing import Final

from periplus.errors import SettingsError

__all__ = ["AddressGuard"]

_IP = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_SHARED: Final = ipaddress.IPv4Network("100.64.0.0/10")


class AddressGuard:
    """Says whether an address may be connected to."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        self._allow = tuple(_network(text) for text in allow)

    def permits(self, text: str) -> bool:
        """Tell whether the IP address written as `text` may be connected to; what is no address may not."""
        try:
            outer = ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            return False
        inner = _embedded(outer)
        if any(inner in network for network in self._allow):
            return True
        return _is_public(inner) and (inner is outer or not outer.is_multicast)


def _network(text: str) -> _Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise SettingsError(f"fetch.allow: '{text}' is no address range: {error}.", "Write 127.0.0.0/8.") from None


def _embedded(ip: _IP) -> _IP:
    """Give the IPv4 address that an IPv6 address stands for, or the address itself."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip.sixtofour is not None:
        return ip.sixtofour
    if ip in _NAT64 or (int(ip) >> 32 == 0 and int(ip) > 1):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip


def _is_public(ip: _IP) -> bool:
    if isinstance(ip, ipaddress.IPv4Address) and ip in _SHARED:
        return False
    special = ip.is_private or ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_reserved
    return ip.is_global and not special and not ip.is_unspecified
