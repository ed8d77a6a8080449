"""Pages parsed stage by stage are those that are parsed one after the other, and none takes another with it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parse_pages import make_result

from periplus.parse import is_html, parse, parse_html_each
from periplus.parse.html import html_parser, scan_arrays
from periplus.settings import ParseSettings

_PIECES = st.sampled_from(
    [
        *(
            "<title>Tides</title>",
            "<h1>Harbour</h1>",
            "<p>The tide turns twice a day, and then the boats leave. ",
            "<b>x",
        ),
        *(
            "<a href=/a.mp3>song</a>",
            "<a href='/b#c'>b</a>",
            "<img src=/i.png alt=quay>",
            "<img src=/j.png>",
            "<table>",
        ),
        *(
            "<meta property=og:title content=T>",
            "<iframe src=/f>",
            "<base href=/x/>",
            "GET /v1/tides POST /v1/x ",
            "ü\0",
        ),
        *(
            '<script type=\'application/ld+json\'>{"author": "Keeper"}</script>',
            "<nav>",
            "<main>",
            "</main>",
            "<tr><p>",
        ),
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(_PIECES, max_size=30), max_size=5))
def test_several_pages_are_what_each_of_them_is_alone(pages: list[list[str]]) -> None:
    results = [make_result("".join(page).encode(), url=f"http://h.example/{n}") for n, page in enumerate(pages)]
    alone = [page for result in results for page in parse_html_each([result], ParseSettings())]
    assert parse_html_each(results, ParseSettings()) == alone


def test_a_page_that_fails_takes_no_other_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(scan: html_parser.HtmlScan) -> None:
        if scan.title == "bad":
            raise ZeroDivisionError

    monkeypatch.setattr(html_parser, "STAGES", (*html_parser.STAGES[:3], fail, *html_parser.STAGES[3:]))
    results = [make_result(f"<title>{title}</title><p>text".encode()) for title in ("good", "bad", "better")]
    good, bad, better = parse_html_each(results, ParseSettings())
    assert isinstance(bad, ZeroDivisionError)
    assert [good, better] == [parse(results[0], ParseSettings()), parse(results[2], ParseSettings())]
    with pytest.raises(ZeroDivisionError):
        parse(results[1], ParseSettings())


def test_html_is_told_from_what_is_parsed_elsewhere() -> None:
    assert is_html(make_result(b"<!DOCTYPE html><html><p>x"))
    assert not is_html(make_result(b""))
    assert not is_html(make_result(b"just text", "text/plain"))
    assert not is_html(make_result(b"%PDF-1.7 \n", "text/html"))
    assert not is_html(make_result(b"<!DOCTYPE html><html>" + b"x" * (1 << 20)))


def test_arrays_are_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_arrays, "_spare", [])
    monkeypatch.setattr(scan_arrays, "_MAX_SPARE_BYTES", 3 * 800)
    borrowed = [scan_arrays.borrow_arrays() for _ in range(5)]
    for arrays in borrowed:
        arrays.out = scan_arrays.bytes_of_length(arrays.out, 640)
        assert arrays.nbytes == 800
        scan_arrays.return_arrays(arrays)
    again = [scan_arrays.borrow_arrays() for _ in range(4)]
    assert again[:3] == borrowed[2::-1]
    assert again[3] not in borrowed
