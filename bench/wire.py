"""The wire between a broker and its shards: HTTP/1.1 keep-alive beside a plain framed socket, on loopback.

    make bench-wire

One thread, as that of a broker, sends a request to N servers (a process each) and then receives N responses. Bodies
have the sizes that `encode_record` makes of a plan and of a hundred candidates with forty rows of features, and each is
authenticated by a keyed BLAKE2b. The servers compute nothing: what is measured is the wire alone.

HTTP is measured three ways: the client and server of the standard library; a hand-written client of one `sendall` and
one header search for that server; and the same client for granian, the server of `periplus serve`.
"""

import argparse
import hashlib
import http.client
import multiprocessing
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import numpy as np

from record import save

_KEY: Final = bytes(range(32))
_REQUEST: Final = os.urandom(2_000)
_RESPONSE: Final = os.urandom(14_000)
_HEADER: Final = struct.Struct("<IQ16s")


def sign(number: int, body: bytes) -> bytes:
    """Return the authentication code of a numbered body."""
    return hashlib.blake2b(number.to_bytes(8, "little") + body, digest_size=16, key=_KEY).digest()


def receive(sock: socket.socket, size: int) -> bytes:
    """Receive exactly so many bytes."""
    parts = bytearray(size)
    view, done = memoryview(parts), 0
    while done < size:
        count = sock.recv_into(view[done:])
        if not count:
            raise EOFError
        done += count
    return bytes(parts)


def send_frame(sock: socket.socket, number: int, body: bytes) -> None:
    """Send length, number, authentication code and body."""
    sock.sendall(_HEADER.pack(len(body), number, sign(number, body)) + body)


def receive_frame(sock: socket.socket) -> tuple[int, bytes]:
    """Receive a frame and check its code."""
    size, number, code = _HEADER.unpack(receive(sock, _HEADER.size))
    body = receive(sock, size)
    if code != sign(number, body):
        raise ValueError("wrong code")
    return number, body


def serve_frames(port: Any) -> None:
    """Answer frames, with a thread for each connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    port.put(listener.getsockname()[1])

    def serve(sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            number, _ = receive_frame(sock)
            send_frame(sock, number, _RESPONSE)

    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_POST(self) -> None:
        number = int(self.headers["X-Number"])
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["X-Code"] != sign(number, body).hex():
            self.send_error(403)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(_RESPONSE)))
        self.send_header("X-Number", str(number))
        self.send_header("X-Code", sign(number, _RESPONSE).hex())
        self.end_headers()
        self.wfile.write(_RESPONSE)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def serve_http(port: Any) -> None:
    """Answer POST requests with the server of the standard library."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    port.put(server.server_port)
    server.serve_forever()


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answer POST requests as an ASGI application."""
    if scope["type"] != "http":
        return
    headers, body, more = dict(scope["headers"]), b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    number = int(headers[b"x-number"])
    good = headers[b"x-code"].decode() == sign(number, body).hex()
    answer = [(b"x-number", b"%d" % number), (b"x-code", sign(number, _RESPONSE).hex().encode())]
    size = [(b"content-length", b"%d" % len(_RESPONSE))]
    await send({"type": "http.response.start", "status": 200 if good else 403, "headers": answer + size})
    await send({"type": "http.response.body", "body": _RESPONSE})


def serve_granian(port: Any) -> None:
    """Answer POST requests with granian."""
    from granian.constants import Interfaces
    from granian.server.embed import Server

    with socket.create_server(("127.0.0.1", 0)) as probe:
        number = probe.getsockname()[1]
    import asyncio

    server = Server(application, address="127.0.0.1", port=number, websockets=False, interface=Interfaces.ASGI)
    port.put(number)
    asyncio.run(server.serve())


def open_socket(port: int) -> socket.socket:
    """Connect, without delays of small packets."""
    for _ in range(200):
        try:
            sock = socket.create_connection(("127.0.0.1", port))
            break
        except OSError:
            time.sleep(0.05)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def framed(ports: list[int]) -> Callable[[int], None]:
    """Return a query over framed sockets: blocking, in the order of the shards."""
    sockets = [open_socket(port) for port in ports]

    def ask(number: int) -> None:
        for sock in sockets:
            send_frame(sock, number, _REQUEST)
        for sock in sockets:
            assert receive_frame(sock)[0] == number

    return ask


def framed_poll(ports: list[int]) -> Callable[[int], None]:
    """Return a query over framed sockets as a broker needs it: whichever shard answers first is read first."""
    sockets = {sock.fileno(): sock for sock in (open_socket(port) for port in ports)}

    def ask(number: int) -> None:
        poll = select.poll()
        for descriptor, sock in sockets.items():
            send_frame(sock, number, _REQUEST)
            poll.register(descriptor, select.POLLIN)
        waiting = len(sockets)
        while waiting:
            for descriptor, _ in poll.poll(1000):
                assert receive_frame(sockets[descriptor])[0] == number
                poll.unregister(descriptor)
                waiting -= 1

    return ask


def http_library(ports: list[int]) -> Callable[[int], None]:
    """Return a query by `http.client`."""
    for port in ports:
        open_socket(port).close()
    connections = [http.client.HTTPConnection("127.0.0.1", port) for port in ports]
    for connection in connections:
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(number: int) -> None:
        for connection in connections:
            headers = {"X-Number": str(number), "X-Code": sign(number, _REQUEST).hex()}
            connection.request("POST", "/retrieve", _REQUEST, headers)
        for connection in connections:
            response = connection.getresponse()
            body = response.read()
            assert response.headers["X-Code"] == sign(number, body).hex()

    return ask


def http_by_hand(ports: list[int]) -> Callable[[int], None]:
    """Return a query by a client that writes a request at once, and looks for three headers only."""
    sockets = [open_socket(port) for port in ports]

    def read_response(sock: socket.socket, number: int) -> None:
        data = b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += sock.recv(65_536)
        headers = dict(line.split(b": ", 1) for line in data[:end].lower().split(b"\r\n")[1:])
        size = int(headers[b"content-length"])
        body = data[end + 4 :]
        if len(body) < size:
            body += receive(sock, size - len(body))
        assert headers[b"x-code"] == sign(number, body).hex().encode()

    def ask(number: int) -> None:
        for sock in sockets:
            head = (
                f"POST /retrieve HTTP/1.1\r\nHost: shard\r\nContent-Length: {len(_REQUEST)}\r\n"
                f"X-Number: {number}\r\nX-Code: {sign(number, _REQUEST).hex()}\r\n\r\n"
            )
            sock.sendall(head.encode() + _REQUEST)
        for sock in sockets:
            read_response(sock, number)

    return ask


_WAYS: Final = {
    "framed socket": (serve_frames, framed),
    "framed socket, poll": (serve_frames, framed_poll),
    "HTTP, http.client and http.server": (serve_http, http_library),
    "HTTP, client by hand and http.server": (serve_http, http_by_hand),
    "HTTP, client by hand and granian": (serve_granian, http_by_hand),
}


def measure(name: str, shards: int, queries: int) -> dict[str, Any]:
    """Return quantiles of one way over a number of shards, in milliseconds, and CPU time of the broker's thread."""
    serve, connect = _WAYS[name]
    context = multiprocessing.get_context("spawn")
    port = context.Queue()
    servers = [context.Process(target=serve, args=(port,), daemon=True) for _ in range(shards)]
    for server in servers:
        server.start()
    try:
        ask = connect([port.get(timeout=30) for _ in servers])
        for number in range(queries // 10):
            ask(number)
        seconds, cpu = np.zeros(queries), time.thread_time()
        for number in range(queries):
            begin = time.perf_counter()
            ask(number)
            seconds[number] = time.perf_counter() - begin
        cpu = (time.thread_time() - cpu) / queries
    finally:
        for server in servers:
            server.kill()
            server.join()
    p50, p99 = np.quantile(seconds, [0.5, 0.99]) * 1000
    print(f"{name:40} {shards} shards   p50 {p50:.3f} ms   p99 {p99:.3f} ms   broker CPU {cpu * 1e3:.3f} ms")
    times = {"p50_ms": round(p50, 3), "p99_ms": round(p99, 3), "cpu_ms": round(cpu * 1e3, 3)}
    return {"way": name, "shards": shards, **times}


def main() -> None:
    """Measure every way over 1, 2 and 4 shards."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("--try", dest="trial", action="store_true", help="few queries, and nothing is written")
    arguments = parser.parse_args()
    queries = 300 if arguments.trial else arguments.queries
    rows = [measure(name, shards, queries) for shards in (1, 2, 4) for name in _WAYS]
    if not arguments.trial:
        save(
            "wire", {"queries": queries, "request_bytes": len(_REQUEST), "response_bytes": len(_RESPONSE), "rows": rows}
        )


if __name__ == "__main__":
    sys.exit(main())
