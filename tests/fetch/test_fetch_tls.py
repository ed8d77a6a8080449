"""https: good certificates are taken, every kind of bad one is refused before a request goes out; and HTTP/2."""

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest
from certificates import Authority, TlsPeer, self_signed

from periplus.errors import SettingsError
from periplus.fetch import Fetcher
from periplus.records import FetchRequest, Outcome
from periplus.settings import FetchSettings
from periplus.url import parse_address

HOST = "good.test"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def authority(folder):
    return Authority(folder)


def ask(port: int, authority: Authority, folder: Path, host: str = HOST):
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1:{port} {host}\n")
    options = FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(hosts), ca_file=str(authority.file), timeout=60)
    fetcher = Fetcher(options)
    fetcher.start(FetchRequest(parse_address(f"https://{host}/")))
    ended = []
    while not ended:
        ended = fetcher.poll(5)
    fetcher.close()
    return ended[0]


@contextlib.contextmanager
def serving(files, **more):
    peer = TlsPeer(files, **more)
    yield peer
    peer.close()


def test_a_good_certificate_is_taken(folder, authority):
    with serving(authority.vouch(HOST)) as peer:
        fetched = ask(peer.port, authority, folder)
        assert (fetched.outcome, fetched.body, peer.requests) == (Outcome.OK, b"hello", 1)


def bad_certificates(folder, authority):
    yield "self-signed", self_signed(folder, HOST)
    yield "expired", authority.vouch(HOST, (-30, -1), "expired")
    yield "not yet good", authority.vouch(HOST, (5, 30), "early")
    yield "another host's", authority.vouch("other.test")
    yield "a host below", authority.vouch(f"www.{HOST}")
    yield "somebody else's word", Authority(folder, "Stranger").vouch(HOST, name="strange")


@pytest.mark.parametrize("number", range(6))
def test_a_bad_certificate_is_refused_before_anything_is_asked(folder, authority, number):
    reason, files = list(bad_certificates(folder, authority))[number]
    with serving(files) as peer:
        fetched = ask(peer.port, authority, folder)
        assert (fetched.outcome, fetched.body, peer.requests) == (Outcome.TLS, b"", 0), reason
        assert fetched.error


def test_without_the_authority_nothing_is_trusted(folder, authority):
    with serving(authority.vouch(HOST)) as peer:
        (folder / "hosts").write_text(f"127.0.0.1:{peer.port} {HOST}\n")
        fetcher = Fetcher(FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(folder / "hosts"), timeout=60))
        fetcher.start(FetchRequest(parse_address(f"https://{HOST}/")))
        ended = []
        while not ended:
            ended = fetcher.poll(5)
        fetcher.close()
        assert (ended[0].outcome, peer.requests) == (Outcome.TLS, 0)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_an_old_protocol_is_refused(folder, authority):
    with serving(authority.vouch(HOST), version=ssl.TLSVersion.TLSv1_1) as peer:
        assert ask(peer.port, authority, folder).outcome is Outcome.TLS


def test_a_missing_file_of_authorities_is_named(tmp_path):
    with pytest.raises(SettingsError, match="nowhere"):
        Fetcher(FetchSettings(ca_file=str(tmp_path / "nowhere.pem")))


APP = """
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    headers = [(b"content-type", b"text/html")]
    if scope["path"] == "/flood":
        headers += [(b"x-flood-%d" % n, b"y" * 900) for n in range(300)]
    await send({"type": "http.response.start", "status": 404 if scope["path"] == "/none" else 200, "headers": headers})
    said = f"{scope['http_version']} {scope['client'][1]}".encode()
    if scope["path"] == "/endless":
        for _ in range(2_000):
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
    await send({"type": "http.response.body", "body": said})
"""


@pytest.fixture(scope="module")
def second(folder, authority):
    """A server of HTTP/2, in a process of its own."""
    (folder / "second_app.py").write_text(APP)
    certificate, key = authority.vouch(HOST, name="second")
    command = [sys.executable, "-m", "granian", "--interface", "asgi", "--host", "127.0.0.1", "--http", "auto"]
    command += ["--ssl-certificate", str(certificate), "--ssl-keyfile", str(key), "--no-ws"]
    command += ["--log-level", "critical", "second_app:app", "--port"]
    server, port = listening(command, folder)
    (folder / "hosts").write_text(f"127.0.0.1:{port} {HOST}\n")
    yield port
    server.terminate()
    server.wait(60)


def listening(command: list[str], folder: Path) -> tuple[subprocess.Popen, int]:
    """Start a server that has to be told its port; on another one if somebody takes the port before it does."""
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = subprocess.Popen([*command, str(port)], cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)})
        while server.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return server, port
            time.sleep(0.1)
    raise AssertionError("the server ends at once")


@pytest.fixture
def http2(folder, authority, second):
    (folder / "hosts").write_text(f"127.0.0.1:{second} {HOST}\n")
    options = FetchSettings(
        allow=("127.0.0.0/8",),
        hosts_file=str(folder / "hosts"),
        ca_file=str(authority.file),
        timeout=60,
        max_bytes=1_000_000,
    )
    fetcher = Fetcher(options)
    yield fetcher
    fetcher.close()


def one(fetcher: Fetcher, path: str):
    fetcher.start(FetchRequest(parse_address(f"https://{HOST}{path}")))
    ended = []
    while not ended:
        ended = fetcher.poll(5)
    return ended[0]


def test_http_2_is_spoken_where_it_is_offered_and_connections_are_used_again(http2):
    first, other, gone = one(http2, "/"), one(http2, "/other"), one(http2, "/none")
    assert (first.outcome, first.status, first.version) == (Outcome.OK, 200, "HTTP/2")
    assert first.body.split()[0] == b"2"
    assert first.body == other.body
    assert first.header("content-type") == "text/html"
    assert (gone.outcome, gone.version) == (Outcome.GONE, "HTTP/2")


def test_many_requests_at_once_over_http_2(http2):
    for number in range(60):
        http2.start(FetchRequest(parse_address(f"https://{HOST}/{number}")))
    got = []
    while http2.busy():
        got += http2.poll(5)
    assert {fetched.request.address.path for fetched in got} == {f"/{number}" for number in range(60)}
    assert {fetched.outcome for fetched in got} == {Outcome.OK}


def test_floods_over_http_2_are_bounded(http2):
    assert one(http2, "/flood").outcome is Outcome.BAD_RESPONSE
    endless = one(http2, "/endless")
    assert endless.outcome is Outcome.TOO_LARGE
    assert len(endless.body) <= 1_000_000
    assert one(http2, "/").outcome is Outcome.OK
