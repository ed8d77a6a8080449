"""Which addresses and ports may be connected to: public ones, ranges that the operator allows, no mail servers."""

import ipaddress
from collections.abc import Iterable
from typing import Final

from periplus.errors import SettingsError
from periplus.records import Address

__all__ = ["AddressGuard", "permits_port"]

_IP = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_SHARED: Final = ipaddress.IPv4Network("100.64.0.0/10")

_NUMBERS: Final = (
    "1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 70 77 79 87 95 101 102 103 104 109 110 111 113 115 "
    "117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 "
    "601 636 989 990 993 995 1719 1720 1723 2049 3306 3659 4045 4190 5060 5061 5432 6000 6379 6566 6665 6666 "
    "6667 6668 6669 6679 6697 10080 11211 27017 "
)
_OTHERS: Final = frozenset(map(int, _NUMBERS.split()))
"""Ports of services that take lines of text for orders: a URL must not become one."""
_OWN: Final = {"ftp": 21, "gopher": 70}


def permits_port(place: Address) -> bool:
    """Tell whether the port of a URL may be one of its scheme: not that of another service."""
    own = _OWN.get(place.scheme)
    if own is not None:
        return place.port == own or (place.port >= 1024 and place.port not in _OTHERS)
    return place.port not in _OTHERS


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
