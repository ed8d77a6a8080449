"""Who a client is: one address by all its names, and what proxies report only where they are trusted."""

import asyncio

import pytest
from asgi_caller import call
from fake_searcher import FakeSearcher
from starlette.types import ASGIApp

from periplus.errors import BadInput
from periplus.serve import make_app
from periplus.serve.middleware.client_address import ClientAddresses, client_network, forwarded_for, is_local
from periplus.serve.middleware.reporter_hashes import network_of
from periplus.settings import ServeSettings


@pytest.mark.parametrize(
    "name",
    [
        "203.0.113.7",
        "::ffff:203.0.113.7",
        "::ffff:cb00:7107",
        "[::ffff:203.0.113.7]",
        "[::ffff:203.0.113.7]:443",
        "203.0.113.7:5000",
        " 203.0.113.7 ",
        "64:ff9b::203.0.113.7",
        "2002:cb00:7107::1",
        "2001:0:c000:201:0:ffff:34ff:8ef8",
    ],
)
def test_a_client_has_one_bucket_by_all_its_names(name: str) -> None:
    assert client_network(name) == "203.0.113.7"


def test_clients_are_told_apart() -> None:
    assert client_network("::ffff:203.0.113.8") != client_network("::ffff:203.0.113.7")
    assert client_network("2001:db8:1:2:3::4") == client_network("2001:db8:1:2:ffff::9") == "2001:db8:1:2::/64"
    assert client_network("fe80::1%eth0") == "fe80::/64"
    for text in ("", "nonsense", "1.2.3", "1.2.3.4.5", "\xb2.1.1.1", "[", "::" * 40, "1.2.3.4:99999999", "unknown"):
        assert client_network(text) == "unknown"
    assert is_local("::ffff:127.0.0.1")
    assert not is_local("::ffff:203.0.113.7")
    assert network_of("::ffff:45.67.89.7") == network_of("45.67.89.9")


def ask(app: ASGIApp, client: str) -> int:
    return asyncio.run(call(app, "/api/search?q=x", client=client)).status


def test_mapped_clients_do_not_share_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.serve.middleware.rate_limit._BURST_SECONDS", 400.0)
    app = make_app(FakeSearcher(), ServeSettings(rate=0.01))
    first = [ask(app, "::ffff:203.0.113.7") for _ in range(5)]
    assert first == [200, 200, 200, 200, 429]
    assert ask(app, "::ffff:203.0.113.8") == 200
    assert ask(app, "203.0.113.7") == 429, "the same client"


CASES = [
    ((), "203.0.113.7, 198.51.100.1", "10.0.0.1", "198.51.100.1"),
    ((), "", "10.0.0.1", "10.0.0.1"),
    ((), "nonsense", "10.0.0.1", "10.0.0.1"),
    ((), "203.0.113.7, nonsense", "10.0.0.1", "10.0.0.1"),
    ((), "::ffff:203.0.113.7", "10.0.0.1", "203.0.113.7"),
    (("10.0.0.0/8",), "203.0.113.7", "198.51.100.1", "198.51.100.1"),
    (("10.0.0.0/8",), "9.9.9.9, 203.0.113.7, 10.1.1.1", "10.0.0.1", "203.0.113.7"),
    (("10.0.0.0/8",), "9.9.9.9, nonsense, 10.1.1.1", "10.0.0.1", "10.1.1.1"),
    (("10.0.0.0/8",), "10.3.3.3, 10.1.1.1", "10.0.0.1", "10.3.3.3"),
    (("10.0.0.0/8",), "203.0.113.7", "::ffff:10.0.0.1", "203.0.113.7"),
    (("10.0.0.1", "2001:db8::/32"), "[2001:db9::1]:4711, 2001:db8::5", "10.0.0.1", "2001:db9::1"),
    (("10.0.0.1",), ", " * 5000, "10.0.0.1", "10.0.0.1"),
]


@pytest.mark.parametrize(("trusted", "forwarded", "peer", "client"), CASES)
def test_the_client_is_the_last_address_that_is_no_proxy(
    trusted: tuple[str, ...], forwarded: str, peer: str, client: str
) -> None:
    addresses = ClientAddresses(ServeSettings(behind_proxy=True, trusted_proxies=trusted))
    assert addresses.client(peer, forwarded) == client


def test_without_a_proxy_nothing_is_read() -> None:
    addresses = ClientAddresses(ServeSettings())
    assert addresses.client("203.0.113.7", "9.9.9.9") == "203.0.113.7"
    assert not addresses.is_proxy("203.0.113.7")
    headers = [(b"x-forwarded-for", b"1.1.1.1"), (b"a", b"b"), (b"x-forwarded-for", b"2.2.2.2, 3.3.3.3")]
    assert forwarded_for(headers) == "1.1.1.1, 2.2.2.2, 3.3.3.3"
    with pytest.raises(BadInput, match="trusted_proxies"):
        ClientAddresses(ServeSettings(trusted_proxies=("proxy.example",)))
