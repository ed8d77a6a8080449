"""The TCP connections of this process as the kernel sees them (Linux), by file descriptor.

The descriptors belong to the HTTP server, which may close any of them at any time. Reading is harmless then; a
connection is closed through a duplicate, after a check that it is still the same one.
"""

import contextlib
import ctypes
import os
import socket
import struct
import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

__all__ = ["TcpState", "close_connection", "peer_of", "tcp_states"]

_SO_COOKIE: Final = 57
_TCP_INFO: Final = 11
_ESTABLISHED: Final = 1
_CLOSE_WAIT: Final = 8
_INFO_BYTES: Final = 152
_INFO: Final = struct.Struct("=B23xI16xI72xQQ8xI")
"""Of `struct tcp_info`: state, unacked, last_data_sent, bytes_acked, bytes_received, notsent_bytes."""
_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: closing discards what was not sent."""


class TcpState(NamedTuple):
    """One connection."""

    descriptor: int
    cookie: int
    """Unique for the connection as long as the system runs."""
    queued: bool
    """Whether there are bytes that the client has not acknowledged."""
    acknowledged: int
    """Bytes that the client has acknowledged."""
    received: int
    """Bytes that the client has sent."""
    since_sent: float
    """Seconds since the last byte was sent to it."""


def _library() -> Any:
    if sys.platform != "linux":
        return None
    with contextlib.suppress(OSError, AttributeError):
        # Unlike CDLL, it keeps the interpreter: these calls are shorter than it takes to get it back.
        library = ctypes.PyDLL(None)
        library.getsockopt.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        return library
    return None


_LIBRARY: Final = _library()


def tcp_states() -> Iterator[TcpState]:
    """Return the open TCP connections of this process, in both directions; none where that cannot be read."""
    if _LIBRARY is None:
        return
    try:
        descriptors = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:  # perhaps there is no descriptor left to read the folder with
        return
    info, cookie = ctypes.create_string_buffer(_INFO_BYTES), ctypes.c_uint64()
    size, cookie_size = ctypes.c_uint32(), ctypes.c_uint32()
    getsockopt, info_at, cookie_at = _LIBRARY.getsockopt, ctypes.addressof(info), ctypes.addressof(cookie)
    size_at, cookie_size_at = ctypes.addressof(size), ctypes.addressof(cookie_size)
    for descriptor in descriptors:
        size.value, cookie_size.value = _INFO_BYTES, 8
        if getsockopt(descriptor, socket.IPPROTO_TCP, _TCP_INFO, info_at, size_at) or size.value < _INFO_BYTES:
            continue
        if getsockopt(descriptor, socket.SOL_SOCKET, _SO_COOKIE, cookie_at, cookie_size_at):
            continue
        state, unacked, sent_ms, acknowledged, received, unsent = _INFO.unpack_from(info)
        if state in (_ESTABLISHED, _CLOSE_WAIT):
            yield TcpState(descriptor, cookie.value, bool(unacked or unsent), acknowledged, received, sent_ms / 1000)


def peer_of(descriptor: int, cookie: int, port: int) -> tuple[str, int] | None:
    """Return the address and port of the client of a connection to a port of ours; None if it is none, or gone."""
    with contextlib.suppress(OSError), _duplicate(descriptor) as connection:
        if _cookie_of(connection) == cookie and connection.getsockname()[1] == port:
            host, peer_port = connection.getpeername()[:2]
            return str(host), int(peer_port)
    return None


def close_connection(descriptor: int, cookie: int, *, reset: bool = False) -> bool:
    """Shut a connection down; return whether it was still there. reset: discard what was not sent."""
    with contextlib.suppress(OSError), _duplicate(descriptor) as connection:
        if _cookie_of(connection) != cookie:
            return False
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connection.shutdown(socket.SHUT_RDWR)
        return True
    return False


def _duplicate(descriptor: int) -> socket.socket:
    # The family is only a default for addresses; the kernel knows the right one.
    duplicate = os.dup(descriptor)
    try:
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=duplicate)
    except BaseException:
        os.close(duplicate)
        raise


def _cookie_of(connection: socket.socket) -> int:
    return int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8), sys.byteorder)
