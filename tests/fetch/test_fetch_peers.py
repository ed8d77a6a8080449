"""What a peer can do, and what comes of it: always an outcome."""

import gzip
import random
import socket
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from periplus.fetch import Fetcher
from periplus.fetch.header_lines import parse_header
from periplus.fetch.idle_connections import _within as idle_connections_within
from periplus.records import FetchRequest, Outcome
from periplus.settings import FetchSettings
from periplus.url import parse_address


def response(body: bytes, *headers: str, status: str = "200 OK", kind: str = "text/html") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def test_a_page_comes_back_whole(peer, get):
    peer.answers["/a?b=1"] = response(b"<p>hello", "ETag: x", "X-Thing: caf\u00e9")
    fetched = get(peer.url("/a?b=1"), headers=(("If-None-Match", "y"),), user_agent="Tester/2")
    assert (fetched.outcome, fetched.status, fetched.body) == (Outcome.OK, 200, b"<p>hello")
    assert fetched.header("etag") == "x"
    assert fetched.header("x-thing") == "café"
    assert (fetched.ip, fetched.version) == ("127.0.0.1", "HTTP/1.1")
    assert fetched.elapsed > 0
    assert "If-None-Match: y" in peer.requests[0]
    assert "User-Agent: Tester/2" in peer.requests[0]
    assert "gzip" in peer.requests[0]


def test_a_header_stays_one_header(peer, get):
    peer.answers["/"] = response(b"x")
    assert get(peer.url(), headers=(("If-None-Match", "caf\u00e9\r\nX-Evil: 1"),)).outcome is Outcome.OK
    assert "\r\nX-Evil" not in peer.requests[0]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("404 Not Found", Outcome.GONE),
        ("410 Gone", Outcome.GONE),
        ("403 No", Outcome.CLIENT_ERROR),
        ("429 Slow", Outcome.BUSY),
        ("503 Slow", Outcome.BUSY),
        ("500 Oh", Outcome.SERVER_ERROR),
        ("304 Same", Outcome.NOT_MODIFIED),
        ("302 No place", Outcome.BAD_RESPONSE),
        ("999 Odd", Outcome.BAD_RESPONSE),
    ],
)
def test_each_status_has_its_outcome(peer, get, status, outcome):
    peer.answers["/"] = response(b"", status=status)
    fetched = get(peer.url())
    assert (fetched.outcome, fetched.status, fetched.body) == (outcome, int(status[:3]), b"")


def test_a_redirect_is_reported_and_not_followed(peer, get):
    peer.answers["/dir/a"] = response(b"moved", "Location: ../b?x=1#part", status="301 Moved")
    fetched = get(peer.url("/dir/a"))
    assert (fetched.outcome, fetched.location) == (Outcome.REDIRECT, peer.url("/b?x=1"))
    assert len(peer.requests) == 1


@pytest.mark.parametrize("location", ["javascript:alert(1)", "http://[::bad", "file:///etc/passwd"])
def test_a_redirect_to_nowhere_is_still_an_outcome(peer, get, location):
    peer.answers["/"] = response(b"", f"Location: {location}", status="302 Found")
    assert get(peer.url()).outcome is Outcome.REDIRECT


def test_cookies_are_not_kept(peer, get):
    peer.answers["/"] = response(b"x", "Set-Cookie: a=b")
    fetcher = Fetcher(FetchSettings(allow=("127.0.0.0/8",)))
    for _ in range(2):
        fetcher.start(FetchRequest(parse_address(peer.url())))
        while not fetcher.poll(5):
            pass
    fetcher.close()
    assert not any("ookie" in request for request in peer.requests)


def test_connections_are_used_again(peer):
    peer.answers["/"] = response(b"x")
    fetcher = Fetcher(FetchSettings(allow=("127.0.0.0/8",)))
    for _ in range(5):
        fetcher.start(FetchRequest(parse_address(peer.url())))
        while not fetcher.poll(5):
            pass
    fetcher.close()
    assert (peer.connections, len(peer.requests)) == (1, 5)


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_compressed_bodies_are_opened(peer, get, name, pack):
    peer.answers["/"] = response(pack(b"hello" * 100), f"Content-Encoding: {name}")
    assert get(peer.url()).body == b"hello" * 100


def test_a_bomb_stops_at_the_cap(peer, get):
    peer.answers["/"] = response(gzip.compress(b"\0" * 50_000_000), "Content-Encoding: gzip")
    fetched = get(peer.url(), max_bytes=100_000)
    assert fetched.outcome is Outcome.TOO_LARGE
    assert len(fetched.body) <= 100_000


def test_an_announced_giant_is_not_begun(peer, get):
    """A PDF cannot be read without its end; of a page the beginning is useful."""
    peer.answers["/"] = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 99999999999\r\n\r\n"
    assert get(peer.url()).outcome is Outcome.TOO_LARGE


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
def test_the_beginning_of_a_long_page_is_kept(peer, get, encoding):
    body = b"<p>begin" + b"word " * 100_000
    packed = {"": lambda raw: raw, "gzip": gzip.compress, "deflate": zlib.compress}[encoding](body)
    peer.answers["/"] = response(packed, *([f"Content-Encoding: {encoding}"] if encoding else []))
    fetched = get(peer.url(), max_bytes=100_000)
    assert (fetched.outcome, fetched.status, fetched.body) == (Outcome.TOO_LARGE, 200, body[:100_000])


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
def test_a_list_is_longer_than_a_page_and_is_packed(peer, get, encoding):
    body = b"".join(b"http://a.test/page/%d\n" % number for number in range(20_000))
    packed = {"": lambda raw: raw, "gzip": gzip.compress, "deflate": zlib.compress}[encoding](body)
    peer.answers["/"] = response(packed, *([f"Content-Encoding: {encoding}"] if encoding else []))
    fetched = get(peer.url(), max_bytes=100_000, as_list=True)
    assert (fetched.outcome, gzip.decompress(fetched.body)) == (Outcome.OK, body)
    assert len(fetched.body) < 100_000


def test_a_list_that_is_not_packed_small_enough_is_cut(peer, get):
    body = random.Random(1).randbytes(300_000)
    peer.answers["/"] = response(body)
    fetched = get(peer.url(), max_bytes=100_000, as_list=True)
    begin = zlib.decompressobj(wbits=31).decompress(fetched.body)
    assert fetched.outcome is Outcome.TOO_LARGE
    assert begin == body[: len(begin)]
    assert 100_000 <= len(begin) < 300_000
    peer.answers["/"] = response(b"x" * 300_000)
    fetched = get(peer.url(), max_bytes=100_000, max_list_bytes=200_000, as_list=True)
    assert (fetched.outcome, gzip.decompress(fetched.body)) == (Outcome.TOO_LARGE, b"x" * 200_000)


def test_an_endless_body_ends(peer, get):
    peer.answers["/"] = [b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"x" * 65536]
    assert get(peer.url(), max_bytes=200_000).outcome is Outcome.TOO_LARGE


def test_endless_headers_end(peer, get):
    peer.answers["/"] = [b"HTTP/1.1 200 OK\r\n" + b"X-Y: z\r\n" * 1000]
    assert get(peer.url()).outcome is Outcome.BAD_RESPONSE


def test_endless_interim_answers_end(peer, get):
    peer.answers["/"] = [b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100]
    assert get(peer.url()).outcome is Outcome.BAD_RESPONSE


def test_a_type_nobody_reads_stops_early(peer, get):
    peer.answers["/"] = [b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n" + b"x" * 65536]
    fetched = get(peer.url(), accepts=lambda kind: kind.startswith("text/"), max_bytes=10_000_000)
    assert (fetched.outcome, fetched.body) == (Outcome.WRONG_TYPE, b"")
    peer.answers["/"] = response(b"ok", kind="video/mp4")
    assert get(peer.url(), accepts=lambda kind: False, any_type=True).outcome is Outcome.OK


@pytest.mark.parametrize(
    "raw",
    [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\nbad",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\nnot gz",
        b"\0\xff\xfe",
        b"",
    ],
)
def test_broken_http_is_an_outcome(peer, get, raw):
    peer.answers["/"] = raw
    assert get(peer.url(), timeout=60).outcome is Outcome.BAD_RESPONSE


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"]),
    st.binary(),
)
def test_any_bytes_are_an_outcome(peer, get, start, rest):
    peer.answers["/"] = start + rest
    assert get(peer.url(), timeout=2).outcome in Outcome


def test_a_silent_peer_times_out(peer, get):
    peer.answers["/"] = None
    assert get(peer.url(), timeout=0.2).outcome is Outcome.TIMEOUT


def test_nobody_listens(get):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # ours, so nobody else's, and yet nobody listens
        port = closed.getsockname()[1]
        assert get(f"http://127.0.0.1:{port}/").outcome is Outcome.CONNECT


def test_a_name_nobody_knows(get):
    assert get("http://no-such-name.invalid/").outcome is Outcome.DNS


def test_tls_that_is_none(peer, get):
    assert get(f"https://127.0.0.1:{peer.port}/").outcome is Outcome.TLS


def test_many_at_once(peer, tmp_path: Path):
    peer.answers.update({f"/{i}": response(str(i).encode()) for i in range(200)})
    fetcher = Fetcher(FetchSettings(allow=("127.0.0.0/8",)))
    for i in range(200):
        fetcher.start(FetchRequest(parse_address(peer.url(f"/{i}"))))
    got: dict[str, bytes] = {}
    while fetcher.busy():
        got.update((fetched.request.address.path, fetched.body) for fetched in fetcher.poll(5))
    fetcher.close()
    assert got == {f"/{i}": str(i).encode() for i in range(200)}


def test_ctrl_c_within_a_callback_is_not_lost(peer):
    def interrupted(kind: str) -> bool:
        raise KeyboardInterrupt

    peer.answers["/"] = response(b"x")
    fetcher = Fetcher(FetchSettings(allow=("127.0.0.0/8",)), accepts=interrupted)
    fetcher.start(FetchRequest(parse_address(peer.url())))
    with pytest.raises(KeyboardInterrupt):
        fetcher.poll(20)
    assert fetcher.busy() == 0
    fetcher.close()


def test_closing_drops_what_is_under_way(peer):
    peer.answers["/"] = None
    fetcher = Fetcher(FetchSettings(allow=("127.0.0.0/8",)))
    fetcher.start(FetchRequest(parse_address(peer.url())))
    assert fetcher.poll(0.05) == []
    fetcher.close()
    assert fetcher.busy() == 0


def test_connections_stay_open_while_other_hosts_are_asked(peer, tmp_path):
    peer.answers["/"] = response(b"x")
    names = [f"www{number}.example" for number in range(12)]
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"127.0.0.1:{peer.port} {name}\n" for name in names))
    fetcher = Fetcher(FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(hosts), connections=2))
    for name in names * 3:
        fetcher.start(FetchRequest(parse_address(f"http://{name}/")))
        while fetcher.busy():
            fetcher.poll(5)
    fetcher.close()
    assert (len(peer.requests), peer.connections) == (36, 12)


def test_connections_leave_room_for_other_files():
    assert idle_connections_within(64, 0) == idle_connections_within(64, 20_000) == 512
    assert idle_connections_within(64, 1_024) == 256
    assert idle_connections_within(400, 1_024) == 800


def test_header_lines_are_read_as_they_are_written():
    assert parse_header(b"Content-Type :  text/html \r\n") == ("content-type", "text/html")
    assert parse_header("X-Thing: café\r\n".encode("latin-1")) == ("x-thing", "café")
    assert parse_header(b"X-Long: " + b"y" * 500) == ("x-long", "y" * 500)
    assert parse_header(b"a line without") is None
