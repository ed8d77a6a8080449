"""Write a GeoIP database: networks and where they are, as a MaxMind DB file of format 2.0.

    search tree     a node for each bit of an address, two records of 32 bits: a node, nothing, or an offset of data
    16 zero bytes
    data            a map for each place: {"location": {"latitude", "longitude"}, "country": {"iso_code"}}
    metadata        after the marker AB CD EF "MaxMind.com"

IPv4 networks are in the tree of IPv6 under 96 zero bits, as in the databases that are published.
"""

import ipaddress
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from periplus.files import write_atomically

__all__ = ["GeoipEntry", "write_geoip_file"]

_MARKER: Final = b"\xab\xcd\xefMaxMind.com"
_SEPARATOR: Final = b"\0" * 16
_STRING, _DOUBLE, _UINT16, _UINT32, _MAP, _UINT64, _ARRAY = 2, 3, 5, 6, 7, 9, 11
_LARGEST_INLINE: Final = 28
_IPV4_BITS: Final = 96
_EMPTY: Final = -1


class GeoipEntry(NamedTuple):
    """A network and where it is."""

    network: str
    latitude: float
    longitude: float
    country: str = ""


def write_geoip_file(path: Path, entries: Iterable[GeoipEntry], built: int = 0) -> None:
    """Write a database; of networks that contain each other, the smaller one counts."""
    data, offsets = bytearray(), dict[tuple[float, float, str], int]()
    nodes: list[list[int]] = [[_EMPTY, _EMPTY]]
    for entry in sorted(entries, key=lambda entry: ipaddress.ip_network(entry.network).prefixlen):
        value = entry.latitude, entry.longitude, entry.country
        if value not in offsets:
            offsets[value] = len(data)
            data += _place(entry)
        _insert(nodes, _bits(entry.network), -2 - offsets[value])
    tree = b"".join(struct.pack(">II", *(_record(value, len(nodes)) for value in node)) for node in nodes)
    write_atomically(path, tree + _SEPARATOR + bytes(data) + _MARKER + _metadata(len(nodes), built))


def _bits(network: str) -> list[int]:
    parsed = ipaddress.ip_network(network)
    value, length = int(parsed.network_address), parsed.prefixlen
    if parsed.version == 4:
        return [0] * _IPV4_BITS + [value >> (31 - bit) & 1 for bit in range(length)]
    return [value >> (127 - bit) & 1 for bit in range(length)]


def _insert(nodes: list[list[int]], bits: list[int], leaf: int) -> None:
    """Enter a leaf; the larger network that it is a part of keeps the rest of its addresses."""
    node = 0
    for bit in bits[:-1]:
        child = nodes[node][bit]
        if child < 0:
            nodes.append([child, child])
            child = nodes[node][bit] = len(nodes) - 1
        node = child
    nodes[node][bits[-1]] = leaf


def _record(value: int, count: int) -> int:
    if value == _EMPTY:
        return count
    return value if value >= 0 else count + len(_SEPARATOR) + (-2 - value)


def _place(entry: GeoipEntry) -> bytes:
    location = _map({"latitude": _double(entry.latitude), "longitude": _double(entry.longitude)})
    parts = {"location": location}
    if entry.country:
        parts["country"] = _map({"iso_code": _string(entry.country)})
    return _map(parts)


def _metadata(nodes: int, built: int) -> bytes:
    return _map(
        {
            "binary_format_major_version": _unsigned(_UINT16, 2),
            "binary_format_minor_version": _unsigned(_UINT16, 0),
            "build_epoch": _unsigned(_UINT64, built),
            "database_type": _string("Periplus-City"),
            "description": _map({"en": _string("Places of networks")}),
            "ip_version": _unsigned(_UINT16, 6),
            "languages": _head(_ARRAY, 0),
            "node_count": _unsigned(_UINT32, nodes),
            "record_size": _unsigned(_UINT16, 32),
        }
    )


def _head(kind: int, size: int) -> bytes:
    """Return the control bytes of a value: its type, and its size or number of entries."""
    low, extra = (size, b"") if size <= _LARGEST_INLINE else (29, bytes((size - 29,)))
    return (bytes((kind << 5 | low,)) if kind <= _MAP else bytes((low, kind - 7))) + extra


def _map(entries: dict[str, bytes]) -> bytes:
    return _head(_MAP, len(entries)) + b"".join(_string(name) + value for name, value in entries.items())


def _string(text: str) -> bytes:
    raw = text.encode()
    return _head(_STRING, len(raw)) + raw


def _double(value: float) -> bytes:
    return _head(_DOUBLE, 8) + struct.pack(">d", value)


def _unsigned(kind: int, value: int) -> bytes:
    raw = value.to_bytes(8, "big").lstrip(b"\0")
    return _head(kind, len(raw)) + raw
