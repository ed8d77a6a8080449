"""Which IP addresses and ports may be connected to: public ones, and ranges that the operator allows."""

import ipaddress
from collections.abc import Iterable
from typing import Final

from periplus.errors import SettingsError
from periplus.records import Address

__all__ = ["AddressGuard", "is_ip", "is_private_name", "is_under", "permits_port"]

_LOCAL_DOMAINS: Final = frozenset(
    ("test", "example", "invalid", "localhost", "local", "internal", "lan", "home.arpa", "onion")
)
"""Names that the public DNS never has (RFC 6761 and its registry), and customary ones of private networks."""
_IP = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_SPECIAL_V4: Final = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by the customers of a provider; 100.100.100.200 is a metadata service
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # wire server of a cloud: a public address that answers virtual machines only
            "169.254.0.0/16",  # link-local: metadata services, credentials of containers
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments; 192.0.0.192 is a metadata service
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # AMT relays
            "192.88.99.0/24",  # 6to4 relays, deprecated
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and the broadcast address
        ),
    )
)
"""The IANA registry of special-purpose IPv4 addresses, multicast, and public addresses with a meaning inside a cloud.

Anycast addresses that the registry calls globally reachable are among them: the nearest node may be the router at home.
"""
_UNICAST_V6: Final = ipaddress.IPv6Network("2000::/3")
"""All that is assigned as global unicast. What lies outside is local, multicast, reserved or not assigned."""
_SPECIAL_V6: Final = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, benchmarks, AMT, AS112, ORCHID, DRIP, anycast
            "2001:db8::/32",  # documentation
            "2620:4f:8000::/48",  # AS112
            "3ffe::/16",  # the 6bone, given back
            "3fff::/20",  # documentation
        ),
    )
)
"""The entries of the IANA registry of special-purpose IPv6 addresses that lie within `_UNICAST_V6`.

6to4 (2002::/16) is not among them: such an address is judged by the IPv4 address that it embeds.
"""
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP: Final = frozenset((0x00005EFE, 0x02005EFE))
"""The upper half of an interface identifier whose lower half is an IPv4 address."""

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
        ip = _parse(text)
        return ip is not None and (self._allows(ip) or _is_public(_embedded(ip)))

    def is_foreign(self, text: str) -> bool:
        """Return whether an IP address is on the public network, and not in a range that the operator allows."""
        ip = _parse(text)
        return ip is not None and not self._allows(ip) and _is_public(_embedded(ip))

    def _allows(self, outer: _IP) -> bool:
        inner = _embedded(outer)
        return any(inner in network or (outer in network and not _is_mapped(outer)) for network in self._allow)


def _parse(text: str) -> _IP | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _network(text: str) -> _Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise SettingsError(f"fetch.allow: '{text}' is not an address range: {error}.", "Write 127.0.0.0/8.") from None


def _embedded(ip: _IP) -> _IP:
    """Return the IPv4 address that packets to an IPv6 address may end at, or the address itself."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip.sixtofour is not None:
        return ip.sixtofour
    low = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    if ip in _NAT64 or (int(ip) >> 32 == 0 and int(ip) > 1):
        return low
    if int(ip) >> 32 & 0xFFFFFFFF in _ISATAP and not _is_public(low):
        return low
    return ip


def _is_mapped(ip: _IP) -> bool:
    """Return whether an address is an IPv4 address in another notation."""
    return isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None


def _is_public(ip: _IP) -> bool:
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in network for network in _SPECIAL_V4)
    return ip in _UNICAST_V6 and not any(ip in network for network in _SPECIAL_V6)


def is_ip(host: str) -> bool:
    """Return whether the host of a URL is an IP address."""
    return host.startswith("[") or host.replace(".", "").isdigit()


def is_under(host: str, names: frozenset[str]) -> bool:
    """Return whether a host is one of `names`, or a subdomain of one."""
    while host and host not in names:
        host = host.partition(".")[2]
    return bool(host)


def is_private_name(host: str) -> bool:
    """Return whether only a private network can know a name: it has no dot, or a domain that the public DNS has not."""
    return "." not in host or is_under(host, _LOCAL_DOMAINS)
