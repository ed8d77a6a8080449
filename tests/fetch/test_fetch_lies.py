"""Lies about lengths, chunks, encodings and headers: an outcome, in bounded time and memory, and never a wrong body."""

import gzip
import resource
import zlib

import brotli
import pytest

from periplus.records import Outcome

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def packed(body: bytes, *encodings: str) -> bytes:
    return HEAD + f"Content-Encoding: {', '.join(encodings)}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    "raw",
    [
        CHUNKED + b"5\r\nhello\r\n-5\r\nhello\r\n0\r\n\r\n",
        CHUNKED + b"5\r\nhello world, longer than said\r\n0\r\n\r\n",
        CHUNKED + b"FFFFFFFFFFFFFFFFFFFFF\r\nhello",
        CHUNKED + b"\r\n\r\n\r\nhello",
        CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n",
        CHUNKED + b"5\r\nhel",
        HEAD + b"Content-Length: 5\r\nContent-Length: 500\r\n\r\nhello",
        HEAD + b"Content-Length: -5\r\n\r\nhello",
        HEAD + b"Content-Length: 5, 500\r\n\r\nhello",
        HEAD + b"Content-Length: 99\r\n\r\nshort",
        HEAD + b"Content-Length: 99999999999999999999999999\r\n\r\nshort",
        HEAD + b"Transfer-Encoding: klingon\r\n\r\nhello",
        packed(b"not gzip at all", "gzip"),
        packed(gzip.compress(b"hello")[:-6], "gzip"),
        packed(b"\xff" * 100, "br"),
        packed(b"hello", "klingon"),
        packed(gzip.compress(b"x"), *["gzip"] * 40),
        b"HTTP/1.1 200 OK\r\n: no name\r\n\x00bad: 1\r\nContent-Length: 9\r\n\r\nx",
        b"HTTP/1.1 200 OK\nContent-Length: 50\n\nbare newlines",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 20\r\n\r\n",
        b"ICY 200 OK\r\n\r\n" + b"x" * 100,
    ],
)
def test_a_lie_is_an_outcome(peer, get, raw):
    peer.answers["/"] = raw
    fetched = get(peer.url(), timeout=1.5, max_bytes=100_000)
    assert fetched.outcome in (Outcome.BAD_RESPONSE, Outcome.TIMEOUT, Outcome.TOO_LARGE, Outcome.CONNECT, Outcome.OK)
    if fetched.outcome is Outcome.OK:
        # What libcurl forgives is only ever what was sent.
        assert fetched.body in (b"hello", b"hello world, longer than said")
    else:
        assert fetched.body == b"" or fetched.outcome is Outcome.TOO_LARGE


@pytest.mark.parametrize(
    "raw",
    [
        CHUNKED + b"0\r\n" + b"X-Trailer: y\r\n" * 50,
        CHUNKED + b"1;" + b"extension=" * 5_000,
        HEAD + b" folded\r\n" * 500,
        HEAD + b"X: " + b"y" * 60_000,
        HEAD + b"X-" + b"n" * 60_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
        b"\r\n" * 10_000,
    ],
)
def test_a_flood_of_one_thing_ends(peer, get, raw):
    """The same bytes over and over, without end."""
    peer.answers["/"] = [raw]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fetched = get(peer.url(), timeout=4, max_bytes=100_000)
    assert fetched.outcome in (Outcome.BAD_RESPONSE, Outcome.TOO_LARGE, Outcome.TIMEOUT)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < 50_000


BOMB = b"\0" * 40_000_000


@pytest.mark.parametrize(
    ("body", "encodings"),
    [
        (gzip.compress(BOMB, mtime=0), ["gzip"]),
        (zlib.compress(BOMB), ["deflate"]),
        (brotli.compress(BOMB, quality=3), ["br"]),
        (gzip.compress(gzip.compress(BOMB, 9, mtime=0), 9, mtime=0), ["gzip", "gzip"]),
        (gzip.compress(brotli.compress(BOMB, quality=3), mtime=0), ["br", "gzip"]),
    ],
    ids=["gzip", "deflate", "brotli", "gzip in gzip", "brotli in gzip"],
)
def test_every_bomb_stops_at_the_cap(peer, get, body, encodings):
    peer.answers["/"] = packed(body, *encodings)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fetched = get(peer.url(), max_bytes=100_000)
    assert fetched.outcome in (Outcome.TOO_LARGE, Outcome.BAD_RESPONSE)
    assert len(fetched.body) <= 100_000
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < 30_000


def test_nested_encodings_are_opened(peer, get):
    peer.answers["/"] = packed(gzip.compress(gzip.compress(b"hello")), "gzip", "gzip")
    assert get(peer.url()).body == b"hello"
    peer.answers["/"] = packed(brotli.compress(b"hello"), "br")
    assert get(peer.url()).body == b"hello"
