"""What is read of a page at once equals what is read of it kind by kind, and so does its main content."""

from functools import reduce
from operator import or_

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.parse.html.flat_page import FlatPage, RowKind, parse_flat_page
from periplus.parse.html.main_content import TAG_TABLES, find_main_blocks, scan_html_blocks
from periplus.parse.html.page_strings import PageStrings, gather_strings, scan_with_strings

_PIECES = st.sampled_from(
    [
        *("<p>", "</p>", "<a href=/a>", "<a href='/b#x' rel=nofollow>", "<a href=/c rel=author>", "</a>", "<h1>"),
        *("</h1>", "<h4>deep</h4>", "<b>", "</b>", "<title>T</title>", "<html lang=en>", "<base href=/x/>", "<li>"),
        *("<meta name=A content=b>", "<link rel=canonical href=/y>", "<img src=/i.png alt='  an image '>", "<div>"),
        *("<table class=infobox>", "<tr><td>", "</table>", "<time datetime=2024-05-01>", "<main>", "</main>", "<nav>"),
        *(
            "Übung ",
            "плотина и гавань ",
            "the tides of the harbour turn twice a day. ",
            "\n\n",
            " ",
            "\0",
            "&amp;",
            "日本",
        ),
        *("<script type='application/ld+json'>{}</script>", "<footer>", "<article>", "</article>", "<a href='#'>"),
    ]
)


def _page(pieces: list[str]) -> FlatPage:
    return parse_flat_page("".join(pieces).encode())


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=60))
def test_strings_of_a_page_are_those_of_its_rows(pieces: list[str]) -> None:
    flat = _page(pieces)
    strings = gather_strings(flat, 20)
    assert strings.titles == flat.values(RowKind.TITLE, 0, 1)
    assert strings.languages == flat.values(RowKind.LANGUAGE, 0, 1)
    assert strings.bases == flat.values(RowKind.BASE, 0, 1)
    assert strings.times == flat.values(RowKind.TIME, 0, 1)
    assert strings.tables == flat.values(RowKind.TABLE, 0)
    assert strings.emphasis == flat.texts(RowKind.EMPHASIS, 800, 404)
    for kind, values in (
        (RowKind.META, strings.metadata),
        (RowKind.REFERENCE, strings.references),
        (RowKind.IMAGE, strings.images),
    ):
        assert (values[::3], values[1::3], values[2::3]) == tuple(map(list, flat.columns(kind)))
    levels = flat.numbers(RowKind.HEADING)
    texts = flat.texts(RowKind.HEADING, max_bytes=1_200)
    assert strings.headings == [text for text, level in zip(texts, levels, strict=True) if level <= 3]
    rows = flat.select_links(20)
    assert strings.link_rows.tolist() == rows.tolist()
    targets, images, labels = flat.columns_of(rows)
    assert strings.links == targets
    assert strings.link_texts == flat.texts_of(rows, 1_200)
    bare = [pair for pair, text in zip(zip(images, labels, strict=True), strings.link_texts, strict=True) if not text]
    assert strings.link_labels == [label for pair in bare for label in pair]
    assert strings.link_bits == reduce(or_, flat.numbers_of(rows), 0)
    assert strings.all_link_bits == reduce(or_, flat.numbers(RowKind.LINK), 0)


def test_targets_of_links_have_no_fragments() -> None:
    links = "<a href='/a?b#c'>1</a><a href='/d'>2</a><a href='e##f'>3</a><a href='#g'>4</a><img src='/h#i'>"
    strings = gather_strings(_page([links]), 20)
    assert strings.links == ["/a?b", "/d", "e"]
    assert strings.images[::3] == ["/h#i"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(_PIECES, max_size=30), min_size=2, max_size=6))
def test_arrays_of_other_pages_change_nothing(pages: list[list[str]]) -> None:
    first, texts = [_page(pieces) for pieces in pages], []
    expected = [(flat.text, gather_strings(flat, 20).links) for flat in first]
    for flat in first:
        flat.release()
    for pieces in pages:
        flat = _page(pieces)
        texts.append((flat.text, gather_strings(flat, 20).links))
        flat.release()
    assert texts == expected


def _plain(strings: PageStrings) -> list[object]:
    values = [getattr(strings, name) for name in PageStrings.__struct_fields__]
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=60), st.sampled_from(["", "<b>" * 40 + "x" * 300, "<iframe>wall"]))
def test_one_call_reads_what_several_read(pieces: list[str], before: str) -> None:
    data = (before + "".join(pieces)).encode()
    flat, scanned = scan_with_strings(data, 512, 20), parse_flat_page(data)
    assert flat.strings is not None
    assert _plain(flat.strings) == _plain(gather_strings(scanned, 20))
    assert (flat.text, flat.hints) == (scanned.text, scanned.hints)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=60), st.integers(0, 400))
def test_main_spans_are_those_of_the_chosen_blocks(pieces: list[str], length: int) -> None:
    flat = _page(pieces)
    if flat.is_reordered:
        return
    blocks = scan_html_blocks(flat.data)
    chosen = np.flatnonzero(find_main_blocks(blocks))
    begin, end = flat.text_spans(blocks.begin[chosen], blocks.end[chosen])
    end = np.minimum(end, length)
    joined: list[int] = []
    wanted: list[int] = []
    for first, last, kind in zip(begin.tolist(), end.tolist(), blocks.kind[chosen].tolist(), strict=True):
        if first >= last:
            continue
        wanted += () if kind == 3 else (first, last)
        if joined and first <= joined[-1] + 1:
            joined[-1] = max(joined[-1], last)
        else:
            joined += (first, last)
    assert flat.find_main_spans(TAG_TABLES, length, 1_000) == (joined, wanted)
    assert flat.find_main_spans(TAG_TABLES, length, 2) == (joined, wanted[:4])


@settings(max_examples=100, deadline=None)
@given(st.lists(_PIECES, max_size=30), st.integers(0, 60))
def test_the_bytes_of_a_text_are_those_of_its_string(pieces: list[str], length: int) -> None:
    flat = _page(pieces)
    for text in (flat.text, flat.text[:length], flat.text[:length].rstrip()):
        data = memoryview(flat.encode_text(text))
        assert (bytes(data), data.readonly) == (text.encode("utf-8", "replace"), True)
