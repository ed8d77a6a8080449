"""Addresses and ports that the servers of a node listen on, by the settings of the cluster."""

import ipaddress
import os
import socket
from typing import Final

from periplus.errors import PortInUse
from periplus.settings import ClusterSettings

__all__ = ["address_family", "choose_port", "is_wildcard"]

_ANY: Final = 0


def address_family(host: str) -> socket.AddressFamily:
    """Return the family of an address: IPv6 if it has colons."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def is_wildcard(host: str) -> bool:
    """Return whether an address stands for all addresses of a node: nobody can connect to it from elsewhere."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def choose_port(host: str, settings: ClusterSettings) -> int:
    """Return a port of `cluster.first_port` and the next `cluster.ports` that is free; 0 is any, without the setting.

    Processes begin at different ports, since another may take the one that was free. Raise `PortInUse` if none is.
    """
    if not settings.first_port:
        return _ANY
    last = min(settings.first_port + settings.ports, 65_536)
    ports = range(settings.first_port, last)
    begin = os.getpid() % len(ports)
    for port in (*ports[begin:], *ports[:begin]):
        try:
            socket.create_server((host, port), family=address_family(host)).close()
            return int(port)
        except OSError:
            continue
    raise PortInUse(
        f"No port from {ports[0]} to {ports[-1]} is free at {host}.", "Set cluster.first_port and cluster.ports."
    )
