"""The listening socket, with the options that every accepted connection inherits."""

import contextlib
import socket
from typing import Final

__all__ = ["open_listening_socket"]

_UNSENT_BYTES: Final = 256 << 10
"""Bytes that the system buffers for a client that does not read, beyond those in flight."""
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""A client whose machine or network is gone is noticed after a minute."""


def open_listening_socket(address: str, port: int, backlog: int, write_seconds: float) -> socket.socket:
    """Return a socket that listens on a numeric address; other processes may listen on the same one.

    write_seconds: time after which the system closes a connection whose client acknowledges or reads nothing.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "SO_REUSEPORT"):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        _set_tcp(listener, "TCP_NODELAY", 1)
        _set_tcp(listener, "TCP_USER_TIMEOUT", round(1000 * write_seconds))
        _set_tcp(listener, "TCP_NOTSENT_LOWAT", _UNSENT_BYTES)
        for name, value in _KEEPALIVE:
            _set_tcp(listener, name, value)
        listener.bind((address, port))
        listener.listen(backlog)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def _set_tcp(listener: socket.socket, name: str, value: int) -> None:
    """Set an option where the system has it."""
    number = getattr(socket, name, None)
    if number is not None:
        with contextlib.suppress(OSError):
            listener.setsockopt(socket.IPPROTO_TCP, number, value)
