"""The text blocks kernel against its naive twin, and on hostile bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import blocks as naive
from periplus.parse.html.kernels import tag_names
from periplus.parse.html.kernels import text_blocks as kernel
from periplus.parse.html.main_content import TAG_TABLES

PIECES = st.sampled_from(
    [
        "<p>",
        "</p>",
        "<div>",
        "</div>",
        "<nav>",
        "</nav>",
        "<a href='x'>",
        "</a>",
        "<b>",
        "</b>",
        "<li>",
        "<ul>",
        "</ul>",
        "<article>",
        "</article>",
        "<header>",
        "</header>",
        "<br>",
        "<h1>",
        "</h1>",
        "<td>",
        "words",
        " ",
        "a > b",
        "<p x='>'>",
        "<blockquote>",
        "</blockquote>",
        "<main>",
        "</main>",
        "<footer>",
        "<a rel='next' href='x'>",
        '<a accesskey="n" href="x">',
        "<a rel=prev>",
        "<a rel=nofollow>",
        "<a hreflang=fr rel=alternate>",
        "<a title='x' rel=contents>",
        "<div role='main' id='x'>",
        '<div role="mainly">',
        "<section role=main>",
        "x<y",
        "< ",
        "<section>",
        "</section>",
    ]
)


def scan(markup: bytes) -> kernel.Blocks:
    return kernel.scan_blocks(np.frombuffer(markup, np.uint8), TAG_TABLES)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_blocks_equal_those_of_the_naive_twin(markup: str) -> None:
    blocks = scan(markup.encode())
    rows = list(zip(*(column.tolist() for column in blocks[:7]), strict=True))
    assert rows == naive.blocks(markup, TAG_TABLES.arrays)


def test_parents_come_before_their_children() -> None:
    blocks = scan(b"<div><ul><li>a</ul><div>b</div></div><p>c")
    assert blocks.parent.tolist() == [-1, 0, 1, 1]
    assert blocks.container.tolist() == [2, 3, 0]


def test_class_names_mark_boilerplate() -> None:
    blocks = scan(
        b'<div class="x site-footer">a</div><div id=nav>b</div><div class="navy canvas">c</div><div role="main">d'
    )
    assert [bool(bits & tag_names.NAMED) for bits in blocks.inside] == [True, True, False, False]


def test_regions_by_role_and_whole_names() -> None:
    blocks = scan(
        b'<div role="main">a</div><div class="main">b</div><div id="content">c</div><div class="x content">d</div>'
        b'<div class="my-content">e</div><div class="contents">f</div><div class=content>g'
    )
    assert [bool(bits & tag_names.MAIN) for bits in blocks.inside] == [True] + [False] * 6
    assert [bool(bits & tag_names.BROAD) for bits in blocks.inside] == [False, False, True, True, False, True, True]


def test_links_to_neighbours_mark_their_block() -> None:
    blocks = scan(
        b'<p><a href="x" rel="prev">a</a></p><p><a rel="nofollow">b</a></p><p><a accesskey="u" href=x>c</a></p>'
        b"<p>d</p><p><a rel=next>e</a><p><a rel='stylesheet'>f"
    )
    assert [bool(bits & tag_names.ONWARD) for bits in blocks.inside] == [True, False, True, False, True, True]


def test_invisible_text_is_not_counted() -> None:
    blocks = scan(b"<p>a<script>if (1<2) { '<p>' }</script>b<!-- <p>c -->d<style>e</style>")
    assert blocks.chars.tolist() == [1, 2]


@pytest.mark.parametrize(
    "piece",
    [b"<div>", b"</div>", b"<script>", b"<svg>", b"<!--", b"<p a='", b"<", b"</", b"<a b=\"'", b"<div class=", b"x"],
)
def test_long_markup_is_scanned(piece: bytes) -> None:
    blocks = scan(piece * 300_000)
    assert len(blocks.chars) <= 200_000


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_scanned(data: bytes) -> None:
    blocks = scan(data)
    assert (blocks.begin <= blocks.end).all()
    assert (blocks.linked <= blocks.chars).all()
    assert (blocks.container < len(blocks.parent)).all()


@given(st.lists(st.sampled_from([b"<", b" ", b"word", "ü".encode(), "漢字".encode(), b"\x00", b"\xff"]), max_size=120))
def test_characters_and_marks_are_counted_many_at_a_time(parts: list[bytes]):
    data = b"".join(parts)
    array = np.frombuffer(data, np.uint8)
    assert kernel.count_marks(array) == data.count(b"<")
    expected = sum((byte > 32 and byte & 0xC0 != 0x80) + (0xE3 <= byte <= 0xED) for byte in data)
    assert kernel._count_characters(array, 0, len(data)) == expected
