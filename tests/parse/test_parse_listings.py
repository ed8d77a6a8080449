"""Listings, menus and forms of any bytes: a page or nothing, bounded, and links that are URLs."""

from hypothesis import given
from hypothesis import strategies as st

from periplus.parse import extract_forms, parse
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import ParseSettings
from periplus.url import parse_address


def got(url: str, kind: str, body: bytes) -> FetchResult:
    return FetchResult(FetchRequest(parse_address(url)), Outcome.OK, 1.0, 200, (("content-type", kind),), body)


LINES = st.lists(
    st.one_of(
        st.binary(max_size=80),
        st.text(max_size=20).map(lambda name: f"-rw-r--r-- 1 a b 4 Jan 12 2024 {name}".encode("utf-8", "replace")),
        st.text(max_size=20).map(lambda name: f"1{name}\t/{name}\t{name}\t70".encode("utf-8", "replace")),
        st.text(max_size=20).map(lambda name: f"hx\tURL:http://{name}\th\t70".encode("utf-8", "replace")),
    ),
    max_size=12,
)


@given(LINES)
def test_any_lines_are_a_listing_and_a_menu(lines):
    body = b"\r\n".join(lines) + b"\r\n"
    for url, kind in (("ftp://a.test/pub/", "text/ftp-dir-listing"), ("gopher://a.test/1/", "application/gopher-menu")):
        page = parse(got(url, kind, body), ParseSettings())
        for link in page.links if page else ():
            assert parse_address(link.url).url == link.url


def test_floods_of_lines_are_bounded():
    listing = b"-rw-r--r-- 1 a b 4 Jan 12 2024 name%d\n"
    body = b"".join(listing % number for number in range(200_000))
    page = parse(got("ftp://a.test/", "text/ftp-dir-listing", body), ParseSettings())
    assert len(page.links) == ParseSettings().all_links
    assert len(page.text) <= ParseSettings().max_text
    assert parse(got("gopher://a.test/", "application/gopher-menu", b"1" * 4_000_000), ParseSettings()).links == ()


@given(st.binary(max_size=400), st.text(max_size=200))
def test_any_bytes_have_forms_or_none(raw, text):
    for body in (
        b"<form " + raw,
        f"<form action='{text}'><input name='{text}'><select name=a><option>{text}</form>".encode("utf-8", "replace"),
    ):
        for form in extract_forms(got("http://a.test/", "text/html", body)):
            assert parse_address(form.action).url == form.action
