"""A client that sends any bytes: what no HTTP library would send."""

import socket
from urllib.parse import urlsplit

PATIENCE = 60.0


def connect(url: str) -> socket.socket:
    where = urlsplit(url)
    connection = socket.create_connection((where.hostname, where.port))
    connection.settimeout(PATIENCE)
    return connection


def read_to_end(connection: socket.socket) -> bytes:
    """Return what comes until the server closes the connection."""
    received = bytearray()
    try:
        while part := connection.recv(65_536):
            received += part
    except ConnectionResetError:
        pass
    return bytes(received)


def exchange(url: str, request: bytes) -> bytes:
    """Send a request and return all that comes until the server closes the connection."""
    with connect(url) as connection:
        connection.sendall(request)
        return read_to_end(connection)


def status_of(response: bytes) -> int:
    """Return the status of a response; 0 if there is none."""
    return int(response[9:12]) if response.startswith(b"HTTP/1.") else 0
