"""The canonical form: what it makes equal, what it keeps apart, and that nothing breaks it."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from periplus.errors import BadUrl
from periplus.hashing import fingerprint_text
from periplus.url import parse_address
from periplus.url.canonical import canonical_address

BASE = "https://www.example.co.uk/a/b/index.html?q=1"

SAME = [
    ("http://EXAMPLE.com", "http://example.com/"),
    ("http://example.com:80/", "http://example.com/"),
    ("https://example.com:443/x", "https://example.com/x"),
    ("http://example.com:8080/x", "http://example.com:8080/x"),
    ("http://user:secret@example.com/", "http://example.com/"),
    ("http://example.com/a/./b/../c", "http://example.com/a/c"),
    ("http://example.com/%7Euser/%41", "http://example.com/~user/A"),
    ("http://example.com/%c3%a4?%c3%a4", "http://example.com/%C3%A4?%C3%A4"),
    ("http://example.com/ä b", "http://example.com/%C3%A4%20b"),
    ("http://example.com/x#part", "http://example.com/x"),
    ("http://example.com/x?", "http://example.com/x"),
    ("http://example.com/?utm_source=a&id=7&fbclid=z", "http://example.com/?id=7"),
    ("http://example.com/?UTM_Medium=a", "http://example.com/"),
    ("http://example.com/?%75tm_source=a", "http://example.com/"),
    ("http://example.com/a;jsessionid=0F?x=1", "http://example.com/a?x=1"),
    ("http://example.com/?PHPSESSID=abc", "http://example.com/"),
    ("http://example.com/?sid=17", "http://example.com/?sid=17"),
    ("http://example.com/?sid=0123456789abcdef0123456789abcdef", "http://example.com/"),
    ("http://example.com/?a=1&&b=2", "http://example.com/?a=1&&b=2"),
    ("http://bücher.example/", "http://xn--bcher-kva.example/"),
    ("  http://example.com/\n", "http://example.com/"),
    ("http:\\\\example.com\\x", "http://example.com/x"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://[::1]:81/", "http://[::1]:81/"),
    ("http://example.com/100%", "http://example.com/100%"),
    ("http://example.com/%%341", "http://example.com/%%341"),
    ("http://example.com/.;jsessionid=1/x", "http://example.com/.;jsessionid=1/x"),
]

RELATIVE = [
    ("c.html", "https://www.example.co.uk/a/b/c.html"),
    ("../c.html", "https://www.example.co.uk/a/c.html"),
    ("/c", "https://www.example.co.uk/c"),
    ("//other.example/c", "https://other.example/c"),
    ("?x=2", "https://www.example.co.uk/a/b/index.html?x=2"),
    ("#top", "https://www.example.co.uk/a/b/index.html?q=1"),
    ("", "https://www.example.co.uk/a/b/index.html?q=1"),
    ("http://other.example/", "http://other.example/"),
    ("a:b", None),
    ("mailto:a@b.example", None),
    ("javascript:void(0)", None),
]


@pytest.mark.parametrize(("text", "expected"), SAME)
def test_canonical_form(text: str, expected: str) -> None:
    assert parse_address(text).url == expected


@pytest.mark.parametrize(("text", "expected"), RELATIVE)
def test_relative_to_a_page(text: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(BadUrl):
            parse_address(text, BASE)
    else:
        assert parse_address(text, BASE).url == expected


def test_an_address_is_taken_apart() -> None:
    found = parse_address("HTTPS://www.Example.co.uk:8443/p/a?b=c")
    assert (found.scheme, found.host, found.port, found.path) == ("https", "www.example.co.uk", 8443, "/p/a?b=c")
    assert found.domain == "example.co.uk"
    assert found.key == fingerprint_text(found.url)
    assert parse_address("http://example.com").port == 80


@pytest.mark.parametrize(
    "text", ["", "no url", "irc://example.com/", "data:text/html,x", "http://", "http://a b/", "http://[1/", "\x00"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(BadUrl):
        parse_address(text)


def test_other_schemes_are_named_as_the_reason() -> None:
    with pytest.raises(BadUrl, match="Supported schemes are http, https, ftp and gopher"):
        parse_address("irc://example.com/room")


@pytest.mark.parametrize(
    ("text", "base", "url"),
    [
        ("ftp://User:pw@Ftp.Example.org:21/pub/../a%7eb/ä", None, "ftp://ftp.example.org/a~b/%C3%A4"),
        ("FTP://example.org:2121", None, "ftp://example.org:2121/"),
        ("sub/", "ftp://h.test/pub/", "ftp://h.test/pub/sub/"),
        ("/x", "ftp://h.test:2121/pub/", "ftp://h.test:2121/x"),
        ("GOPHER://Example.org:70", None, "gopher://example.org/"),
        ("gopher://example.org:7070/0/x?y", None, "gopher://example.org:7070/0/x?y"),
        ("/0/next", "gopher://e.org/1/a", "gopher://e.org/0/next"),
        ("x", "gopher://e.org/1/a/b", "gopher://e.org/1/a/x"),
        ("//other.org/1/", "gopher://e.org/", "gopher://other.org/1/"),
        ("http://a.test/", "gopher://e.org/1/a", "http://a.test/"),
        ("ftp://a.test/x", "gopher://e.org/1/a", "ftp://a.test/x"),
        ("gopher://a.test/1/x", "http://e.org/1/a", "gopher://a.test/1/x"),
    ],
)
def test_files_and_menus_have_addresses_too(text: str, base: str | None, url: str) -> None:
    found = parse_address(text, base)
    assert found.url == url
    assert parse_address(found.url) == found


@pytest.mark.parametrize(
    "text",
    [
        "gopher://h.test:25/_HELO%0d%0aMAIL",
        "ftp://h.test/a%0Ab",
        "gopher://h.test/1%00",
        "gopher:",
        "ftp:",
    ],
)
def test_what_could_be_a_second_command_is_no_address(text: str) -> None:
    with pytest.raises(BadUrl):
        parse_address(text)


def test_an_absolute_url_needs_no_good_base() -> None:
    assert parse_address("http://example.com/ä", "nonsense").url == "http://example.com/%C3%A4"


@pytest.mark.parametrize(
    "text",
    [
        "http://example.com/" + "a" * 1_000_000,
        "http://example.com/" + "../" * 300_000,
        "http://example.com/?" + "&" * 1_000_000,
        "http://example.com/" + "%" * 1_000_000,
        "http://example.com/" + ";jsessionid=" * 80_000,
        "http://" + "a." * 500_000 + "com/",
        "http://" + "ä" * 1_000_000,
        "x" * 1_000_000,
        "\ud800" * 100_000,
        "http://example.com/\ud83d",
        "http://example.com/\x00",
    ],
    ids=lambda text: repr(text[:24]),
)
def test_hostile_strings_are_bounded(text: str) -> None:
    try:
        found = parse_address(text)
    except BadUrl:
        return
    assert parse_address(found.url) == found


TEXTS = st.text(alphabet=st.characters(codec=None), max_size=60)
PIECES = st.lists(
    st.sampled_from(
        [
            *"/?#&=%;:@.",
            "..",
            "%2e",
            "%2E",
            "%41",
            "%3",
            "utm_x=1",
            ";jsessionid=2",
            "sid=",
            "a",
            "Ä",
            "http:",
            "//",
            "0" * 20,
            "\\",
            " ",
            "[",
            "]",
            "x.com",
            "�",
            "\x00",
            "~",
            "%7e",
            "%%34",
            "1",
        ]
    ),
    max_size=14,
).map("".join)


@given(st.one_of(TEXTS, PIECES, PIECES.map(lambda piece: "http://h.example/" + piece)), st.sampled_from([None, BASE]))
@example("http://h.example/%%%3341", None)
@example("http://h.example/;jsessionid=2..", None)
@example(";JSESSIONID=%;%2D", BASE)
@example("/a;jsessionid=%/%2D", BASE)
@example("/;jsessionid=%;%6Asessionid=1", BASE)
def test_canonical_is_idempotent(text: str, base: str | None) -> None:
    try:
        found = parse_address(text, base)
    except BadUrl:
        return
    assert parse_address(found.url) == found
    assert canonical_address(found.url) == found
    assert found.url.isascii()
    assert found.path.startswith("/")


ESCAPES = st.lists(
    st.one_of(st.integers(0, 255).map(lambda octet: f"%{octet:02X}"), st.sampled_from("a/.-%;")), max_size=6
)
SAFE = st.text(alphabet=string.ascii_lowercase + string.digits + "./-_~?&=:;%A!+,@$*()", max_size=24)


@given(
    st.one_of(
        SAFE,
        PIECES,
        SAFE.map(lambda part: "https://www.h-2.example.org/" + part),
        ESCAPES.map(lambda parts: "https://www.h-2.example.org/" + "".join(parts)),
        ESCAPES.map(lambda parts: "/x/" + "".join(parts)),
    ),
    st.sampled_from(
        [None, BASE, "http://h.example:81/d/", "http://h.example/%41/%", "http://h.example/;jsessionid=1/x"]
    ),
)
def test_the_short_way_agrees_with_the_parser(text: str, base: str | None) -> None:
    try:
        expected = canonical_address(text, base)
    except BadUrl:
        with pytest.raises(BadUrl):
            parse_address(text, base)
        return
    assert parse_address(text, base) == expected


BASES = (
    "http://a.test/x/y",
    "http://a.tes/x/y",
    "http://a.test",
    "https://a.test/x",
    "http:////b.test/c/d",
    "http:/c.test/d/e",
    "http:///d.test/x",
    "http://a.test:81/x",
    "HTTP://A.test/x",
    "http://user@a.test/x",
    "http://a.test?x/y",
    "http://a.test\\x",
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["/p", "//q.test/p", "p", "httpfoo", "/\t/z", "?a", "http://e.test/f"]),
            st.sampled_from(BASES),
        ),
        max_size=30,
    )
)
def test_what_was_made_before_is_right_for_another_page_too(asked):
    for text, base in asked:
        assert parse_address(text, base) == canonical_address(text, base)
