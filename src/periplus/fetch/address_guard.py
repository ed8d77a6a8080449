"""Which IP addresses and ports may be connected to: public ones, and ranges that the operator allows."""

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

_PORT_LIST: Final = (
    "1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 70 77 79 87 95 101 102 103 104 109 110 111 113 115 "
    "117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 "
    "601 636 989 990 993 995 1719 1720 1723 2049 3306 3659 4045 4190 5060 5061 5432 6000 6379 6566 6665 6666 "
    "6667 6668 6669 6679 6697 10080 11211 27017 "
)
_FORBIDDEN_PORTS: Final = frozenset(map(int, _PORT_LIST.split()))
"""Ports of services that accept lines of text as commands: a URL must not become one."""
_DEFAULT_PORTS: Final = {"ftp": 21, "gopher": 70}


def permits_port(address: Address) -> bool:
    """Return whether the port of a URL is not that of another service."""
    default = _DEFAULT_PORTS.get(address.scheme)
    if default is not None:
        return address.port == default or (address.port >= 1024 and address.port not in _FORBIDDEN_PORTS)
    return address.port not in _FORBIDDEN_PORTS


class AddressGuard:
    """Decides whether an IP address may be connected to."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        self._allow = tuple(_network(text) for text in allow)

    def permits(self, text: str) -> bool:
        """Return whether the IP address written as `text` may be connected to; False for text that is no address."""
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
        raise SettingsError(f"fetch.allow: '{text}' is not an address range: {error}.", "Write 127.0.0.0/8.") from None


def _embedded(ip: _IP) -> _IP:
    """Return the IPv4 address that an IPv6 address embeds, or the address itself."""
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
