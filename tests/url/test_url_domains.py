"""Registered domains and readable trails, without the suites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.url import make_breadcrumbs, parse_address, parse_url, registered_domain


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("example.com.", "example.com"),
        ("me.github.io", "me.github.io"),
        ("com", "com"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("", ""),
        ("a" * 300 + ".com", "a" * 300 + ".com"),
    ],
)
def test_registered_domain(host: str, domain: str) -> None:
    assert registered_domain(host) == domain


@given(st.text(max_size=40))
def test_any_host_has_a_domain(host: str) -> None:
    assert isinstance(registered_domain(host), str)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/", ("example.com",)),
        ("https://example.com/a%20b/c%C3%A4.html?x=1#y", ("example.com", "a b", "cä.html")),
        ("https://user@example.com:81/a//b", ("example.com:81", "a", "b")),
        ("https://example.com/%E2%80%AEgpj.exe/%00%0A", ("example.com", "gpj.exe")),
        ("https://example.com/%ff", ("example.com", "\ufffd")),
        ("nonsense", ("nonsense",)),
        ("", ()),
    ],
)
def test_trail(url: str, expected: tuple[str, ...]) -> None:
    assert make_breadcrumbs(url) == expected


def test_long_parts_are_shortened() -> None:
    host, part = make_breadcrumbs("https://example.com/" + "a" * 500)
    assert (host, len(part)) == ("example.com", 80)


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_has_a_trail_and_components_or_none(text: str) -> None:
    assert all(part.isprintable() for part in make_breadcrumbs(text))
    parse_url(text)
    parse_url("x", text)


def test_the_domain_of_an_international_host() -> None:
    assert parse_address("http://www.食狮.公司.cn/").domain == "xn--85x722f.xn--55qx5d.cn"
