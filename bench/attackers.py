"""Clients that mean harm: sockets that stay silent, bodies that trickle, readers that do not read, HTTP/2 prefaces.

    python bench/attackers.py KIND PORT COUNT

KIND is one of `KINDS`. Each client keeps COUNT connections open, opens those again that the server closes, and comes
from some twenty addresses of the loopback network (127.0.1.0/24), as a small botnet would. Once a second it prints a
line: connections open, connections closed by the server so far, connections refused so far. It ends with its input.
"""

import argparse
import asyncio
import contextlib
import random
import resource
import socket
import sys
from collections.abc import Awaitable, Callable

ADDRESSES = 20
SLOW_SECONDS = 1.0
"""Between two bytes of a slow client."""
REOPEN_SECONDS = 1.0
PIPELINED = 200
"""Requests that a slow reader sends and whose responses it never reads."""
Attack = Callable[[socket.socket, asyncio.AbstractEventLoop], Awaitable[None]]


class Counts:
    """What became of the connections of one attacker."""

    opened = 0
    closed = 0
    refused = 0


async def stay_silent(connection: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
    """Send nothing until the server closes the connection."""
    await loop.sock_recv(connection, 1)


async def trickle_headers(connection: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
    """Send a request whose headers never end."""
    await loop.sock_sendall(connection, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    await _trickle(connection, loop, b"x-a: b\r\n")


async def trickle_body(connection: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
    """Send a publication of which a byte comes a second."""
    head = b"POST /api/publish HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    await loop.sock_sendall(connection, head + b"Content-Length: 100000\r\n\r\n{")
    await _trickle(connection, loop, b" ")


async def trickle_chunks(connection: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
    """Send a publication in chunks of a byte, without end."""
    head = b"POST /api/publish HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    await loop.sock_sendall(connection, head + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
    await _trickle(connection, loop, b"1\r\n \r\n")


async def never_read(connection: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
    """Request many pages and read none of them."""
    request = b"GET /search?q=history&count=100 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(loop.sock_sendall(connection, request * PIPELINED), 5.0)
    while True:  # a connection that was reset shows itself at the next byte
        await asyncio.sleep(SLOW_SECONDS)
        connection.send(b"G")


async def read_slowly(connection: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
    """Request a page and read a byte of it a second."""
    await loop.sock_sendall(connection, b"GET /search?q=history&count=100 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    while await loop.sock_recv(connection, 1):
        await asyncio.sleep(SLOW_SECONDS)


async def speak_http2(connection: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
    """Send the preface of HTTP/2, and nothing after it."""
    await loop.sock_sendall(connection, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    while await loop.sock_recv(connection, 4096):
        pass


async def _trickle(connection: socket.socket, loop: asyncio.AbstractEventLoop, piece: bytes) -> None:
    """Send a piece a second until the server closes the connection, or has answered."""
    while True:
        await loop.sock_sendall(connection, piece)
        with contextlib.suppress(TimeoutError):
            if not await asyncio.wait_for(loop.sock_recv(connection, 4096), SLOW_SECONDS):
                return


KINDS: dict[str, Attack] = {
    "silent sockets": stay_silent,
    "slow headers": trickle_headers,
    "slow bodies": trickle_body,
    "slow chunks": trickle_chunks,
    "slow readers": read_slowly,
    "readers that stopped": never_read,
    "HTTP/2 prefaces": speak_http2,
}


async def attack(kind: str, port: int, count: int) -> None:
    """Keep `count` connections of a kind open until this task is cancelled."""
    counts = Counts()
    await asyncio.gather(_report(counts), *(_keep_open(KINDS[kind], port, counts) for _ in range(count)))


async def _keep_open(client: Attack, port: int, counts: Counts) -> None:
    loop, chance = asyncio.get_running_loop(), random.Random()
    while True:
        await asyncio.sleep(REOPEN_SECONDS * (1 + chance.random()))
        with socket.socket() as connection:
            connection.setblocking(False)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.bind((f"127.0.1.{chance.randrange(1, ADDRESSES + 1)}", 0))
            try:
                await asyncio.wait_for(loop.sock_connect(connection, ("127.0.0.1", port)), 30)
            except OSError:
                counts.refused += 1
                continue
            counts.opened += 1
            with contextlib.suppress(OSError):
                await client(connection, loop)
            counts.opened -= 1
            counts.closed += 1


async def _report(counts: Counts) -> None:
    while True:
        await asyncio.sleep(1.0)
        print(counts.opened, counts.closed, counts.refused, flush=True)


async def _run(kind: str, port: int, count: int) -> None:
    """Attack until the input ends."""
    running = asyncio.create_task(attack(kind, port, count))
    await asyncio.to_thread(sys.stdin.read)
    running.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("port", type=int)
    parser.add_argument("count", type=int)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, options.count + 200)), hard))
    asyncio.run(_run(options.kind, options.port, options.count))


if __name__ == "__main__":
    main()
