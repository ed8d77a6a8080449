"""Requests that no ordinary client sends: malformed cookies, tokens, bodies and headers are refused."""

import asyncio
from typing import Any

import pytest
from asgi_caller import call, get
from fake_searcher import FakeSearcher
from raw_client import connect, exchange, read_to_end, status_of

from periplus.serve import ApiKeys, background_server, make_app
from periplus.serve.middleware.content_encoding import accepts_gzip
from periplus.settings import ServeSettings

KEYS = ApiKeys(None)
SECRET = KEYS.add("boss", "admin")
APP = make_app(FakeSearcher(), ServeSettings(threads=2, clicks=True), keys=KEYS)
SETTINGS = ServeSettings(port=0, threads=2, clicks=True)
FORM = "application/x-www-form-urlencoded"
CLOSE = b"Host: 127.0.0.1\r\nConnection: close\r\n"
LONG_CLICK = b'{"query": "salt", "url": "https://a.test/", "position": 1}'


@pytest.mark.parametrize(
    "cookie",
    [
        "periplus_session=a.b\xe9.\xff\xfe",
        "periplus_session=\xb2.\xb2.\xb2.\xb2",
        "periplus_session=" + "9" * 400 + ".x.y.z",
        "periplus_session",
        "periplus_session=1.2.3." + "0" * 64,
        "=;;=;\xff",
    ],
)
@pytest.mark.parametrize("path", ["/admin", "/settings"])
def test_any_cookie_is_answered(path: str, cookie: str) -> None:
    cookie = cookie.replace("session", "rater") if path == "/settings" else cookie
    assert get(APP, path, headers={"cookie": cookie}).status == 200


def test_a_signed_text_that_is_no_session_is_none() -> None:
    token = f"login.1700000000.{KEYS.sign('login.1700000000')}"
    assert get(APP, "/admin/live", headers={"cookie": f"periplus_session={token}"}).status == 403


@pytest.mark.parametrize("token", ["\xb2.x", "\xb2\xb2.\xff", "1.\xe9", "\u0661\u0662.x", ".", "1" * 5000 + ".0", ""])
@pytest.mark.parametrize("path", ["/admin/login", "/rate/login"])
def test_any_form_token_is_answered(path: str, token: str) -> None:
    from urllib.parse import urlencode

    body = urlencode({"token": token, "key": SECRET}).encode()
    answer = asyncio.run(call(APP, path, "POST", {"content-type": FORM}, body))
    assert answer.status == 403


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "\xff", "//"])
def test_any_origin_is_answered(origin: str) -> None:
    from periplus.serve.middleware.auth import Authenticator
    from periplus.serve.middleware.rate_limit import RateLimit

    token = Authenticator(KEYS, RateLimit(0)).form_token("login")
    headers = {"content-type": FORM, "origin": origin}
    answer = asyncio.run(call(APP, "/admin/login", "POST", headers, f"token={token}&key={SECRET}".encode()))
    assert answer.status == 403


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("gzip", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0, br", False),
        ("br;q=1.0, GZIP ; q=0.5", True),
        ("*", True),
        ("*;q=0", False),
        ("*;q=0, gzip", True),
        ("gzip;q=0, *", False),
        ("identity, gzip;q=0.5", False),
        ("identity;q=0.1, gzip;q=0.5", True),
        ("x-gzip", True),
        ("", False),
        ("gzipped", False),
        ("gzip;q=2", False),
        ("gzip;q=\xff", False),
        ("a," * 5000 + "gzip", False),
    ],
)
def test_gzip_is_sent_to_those_who_accept_it(header: str, accepted: bool) -> None:
    assert accepts_gzip(header.encode("latin-1")) is accepted
    answer = get(APP, "/search?q=salt", headers={"accept-encoding": header})
    assert ("content-encoding" in answer.headers) is accepted


def test_an_unexpected_exception_is_a_page(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Any) -> Any:
        raise LookupError("no such thing")

    app = make_app(FakeSearcher(answer=fail), ServeSettings(threads=1))
    for target in ("/search?q=salt", "/api/search?q=salt"):
        caplog.clear()
        answer = get(app, target)
        assert answer.status == 500
        assert "no such thing" not in answer.text
        assert len([record for record in caplog.records if record.exc_info]) == 1
    assert 'status="500"} 1' in get(app, "/metrics").text


def post(path: bytes, head: bytes, body: bytes) -> bytes:
    return b"POST " + path + b" HTTP/1.1\r\n" + CLOSE + b"Content-Type: application/json\r\n" + head + b"\r\n" + body


CHUNKED = b"Transfer-Encoding: chunked\r\n"
SHAPES = {
    "broken chunk size": (post(b"/api/click", CHUNKED, b"zz\r\nabc"), 400),
    "endless chunk size": (post(b"/api/click", CHUNKED, b"f" * 40 + b"\r\nabc"), 400),
    "chunk without its end": (post(b"/api/click", CHUNKED, b"1\r\nabc"), 400),
    "long chunk extension": (post(b"/api/click", CHUNKED, b"1;" + b"e" * 20_000 + b"\r\na\r\n0\r\n\r\n"), 400),
    "two lengths": (post(b"/api/click", b"Content-Length: 5\r\nContent-Length: 6\r\n", b"abcdef"), 400),
    "negative length": (post(b"/api/click", b"Content-Length: -1\r\n", b""), 400),
    "length with a plus": (post(b"/api/click", b"Content-Length: +5\r\n", b"abcde"), 400),
    "huge length": (post(b"/api/click", b"Content-Length: 99999999999999999999999\r\n", b""), 400),
    "long length": (post(b"/api/click", b"Content-Length: 9999999999\r\n", b""), 413),
    "chunked last but one": (post(b"/api/click", b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n"), 400),
    "unknown transfer coding": (post(b"/api/click", b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"), 400),
    "no host": (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 421),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + CLOSE + b"\r\n", 400),
    "space before a colon": (b"GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n", 400),
    "folded header": (b"GET / HTTP/1.1\r\n" + CLOSE + b"A: b\r\n c\r\n\r\n", 400),
    "NUL in a header": (b"GET / HTTP/1.1\r\n" + CLOSE + b"A: \0\r\n\r\n", 400),
    "many headers": (b"GET / HTTP/1.1\r\n" + CLOSE + b"".join(b"h%d: x\r\n" % n for n in range(200)) + b"\r\n", 431),
    "long header": (b"GET / HTTP/1.1\r\n" + CLOSE + b"A: " + b"b" * 400_000 + b"\r\n\r\n", 431),
    "long target": (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n" + CLOSE + b"\r\n", 414),
    "absolute form": (b"GET http://evil.test/healthz HTTP/1.1\r\n" + CLOSE + b"\r\n", 200),
    "asterisk form": (b"OPTIONS * HTTP/1.1\r\n" + CLOSE + b"\r\n", 404),
    "unknown method": (b"BREW /search HTTP/1.1\r\n" + CLOSE + b"\r\n", 405),
    "TRACE": (b"TRACE / HTTP/1.1\r\n" + CLOSE + b"\r\n", 405),
    "not HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    "HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0),
    "CONNECT": (b"CONNECT evil.test:443 HTTP/1.1\r\n" + CLOSE + b"\r\n", 404),
}


@pytest.fixture(scope="module")
def url() -> Any:
    with background_server(FakeSearcher(), SETTINGS) as address:
        yield address


@pytest.mark.parametrize("name", SHAPES)
def test_a_malformed_request_is_refused(url: str, name: str) -> None:
    request, expected = SHAPES[name]
    status = status_of(exchange(url, request))
    assert status == expected or (expected == 431 and not status), "what was not read may reset the connection"


def test_length_and_chunks_together_are_one_request(url: str) -> None:
    head = b"Content-Length: 4\r\n" + CHUNKED
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    request = post(b"/api/click", head, b"0\r\n\r\n" + smuggled).replace(b"Connection: close\r\n", b"")
    response = exchange(url, request)
    assert response.count(b"HTTP/1.1 ") == 1, "what follows is no request of its own"
    assert status_of(response) == 400


def test_a_body_that_ends_early_is_no_failure(url: str) -> None:
    with connect(url) as connection:
        connection.sendall(post(b"/api/click", b"Content-Length: 100\r\n", b"abc"))
        connection.shutdown(1)
        assert status_of(read_to_end(connection)) in (0, 400)
    assert status_of(exchange(url, b"GET /healthz HTTP/1.1\r\n" + CLOSE + b"\r\n")) == 200
