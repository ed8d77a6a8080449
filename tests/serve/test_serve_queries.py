"""Any query string is answered: never a 500, never anything of it unescaped."""

from urllib.parse import quote

import pytest
from asgi_caller import get
from fake_searcher import FakeSearcher
from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.serve import make_app
from periplus.settings import ServeSettings

SEARCHER = FakeSearcher()
APP = make_app(SEARCHER, ServeSettings(threads=2))

any_text = st.text(st.characters(), max_size=300)


@settings(max_examples=80, deadline=None)
@given(any_text, st.sampled_from(["/search", "/api/search"]))
def test_any_words(words: str, path: str) -> None:
    raw = quote(words.encode("utf-8", "surrogatepass"))
    answer = get(APP, f"{path}?q={raw}")
    assert answer.status in (200, 303, 400)
    answer.body.decode("utf-8")
    for query in SEARCHER.asked[-1:]:
        assert query.words.isprintable() or all(ord(c) >= 0xA0 for c in query.words if not c.isprintable())
        assert len(query.words) <= 2000


@settings(max_examples=80, deadline=None)
@given(
    st.binary(max_size=200),
    st.sampled_from(["/search", "/api/search", "/opensearch.xml", "/about/", "/static/periplus.css"]),
)
def test_any_bytes(raw: bytes, path: str) -> None:
    assert get(APP, path.encode() + b"?q=a&" + raw).status in (200, 303, 400, 404)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_any_numbers_for_people(start: str, explain: str) -> None:
    raw = f"/search?q=salt&start={quote(start)}&explain={quote(explain)}"
    assert get(APP, raw).status == 200
    assert 0 <= SEARCHER.asked[-1].start <= 10_000
    assert SEARCHER.asked[-1].start % 10 == 0


LONG = [
    "a" * 2001,
    "word " * 10_000,
    "\x00" * 5000 + "x" * 5000,
    "<script>" * 1000,
    "é" * 2500,
]


@pytest.mark.parametrize("words", LONG, ids=["chars", "words", "nul", "tags", "accents"])
def test_very_long_queries_are_cut_and_the_page_says_so(words: str) -> None:
    answer = get(APP, "/search?q=" + quote(words))
    assert answer.status == 200
    assert "only its first 2,000 characters" in answer.text
    assert "<script>" not in answer.text
    assert len(SEARCHER.asked[-1].words) <= 2000


def test_a_query_of_exactly_the_limit_is_not_cut() -> None:
    assert "only the first 2,000" not in get(APP, "/search?q=" + "a" * 2000).text


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"q=caf\xc3\xa9", "café"),
        (b"q=caf%C3%A9", "café"),
        (b"q=a%00b", "a b"),
        (b"q=%ED%A0%80x", "\ufffd\ufffd\ufffdx"),
        (b"q=one&q=two", "two"),
        (b"q=a%0D%0AX-Evil:%201", "a X-Evil: 1"),
        (b"q=+%2Bsalt++harbour+", "+salt harbour"),
    ],
)
def test_how_words_are_read(raw: bytes, words: str) -> None:
    assert get(APP, b"/search?" + raw).status == 200
    assert SEARCHER.asked[-1].words == words


def test_what_is_echoed_is_escaped() -> None:
    text = get(APP, "/search?q=" + quote('"><img src=x onerror=alert(1)> nothing')).text
    assert "<img" not in text
