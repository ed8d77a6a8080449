"""Bodies that come slowly are refused, and keep nobody out."""

import contextlib

from fake_searcher import FakeSearcher
from raw_client import connect, exchange, status_of

from periplus.serve import Actions, background_server
from periplus.settings import ServeSettings

BODY = b'{"query": "salt", "url": "https://a.test/", "position": 1}'
HEAD = b"POST /api/click HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
ACTIONS = Actions(click=lambda click, source=0: True)


def request(length: int, body: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n" % length + body


def test_a_body_that_does_not_come_is_refused() -> None:
    settings = ServeSettings(port=0, threads=1, clicks=True, body_seconds=0.4)
    with background_server(FakeSearcher(), settings, ACTIONS) as url:
        assert status_of(exchange(url, request(len(BODY), BODY[:9]))) == 408
        assert status_of(exchange(url, request(len(BODY), BODY))) == 204


def test_a_body_that_comes_by_drops_is_refused() -> None:
    settings = ServeSettings(port=0, threads=1, clicks=True, body_seconds=0.4)
    with background_server(FakeSearcher(), settings, ACTIONS) as url, connect(url) as connection:
        connection.sendall(request(1_000_000, b""))
        connection.settimeout(0.05)
        response = b""
        while not response:
            connection.sendall(b" ")
            try:
                response = connection.recv(100)
            except TimeoutError:
                continue
        assert status_of(response) == 408


def test_slow_bodies_keep_nobody_out() -> None:
    settings = ServeSettings(port=0, threads=1, clicks=True, max_waiting=8, body_seconds=600.0)
    with background_server(FakeSearcher(), settings, ACTIONS) as url:
        slow = [connect(url) for _ in range(40)]
        for connection in slow:
            connection.sendall(request(len(BODY), BODY[:9]))
        # The first ones are refused although their time is not over, and no other is.
        slow[0].settimeout(0.01)
        response = b""
        while not response:
            assert status_of(exchange(url, request(len(BODY), BODY))) == 204
            with contextlib.suppress(TimeoutError):
                response = slow[0].recv(1_000)
        assert status_of(response) == 408
        for connection in slow:
            connection.close()
