"""The blocks kernel against its naive twin, and on bytes that mean no good."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import blocks as naive
from periplus.parse.html.main_content import NAMES
from periplus.parse.kernels import text_blocks as kernel

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
        "x<y",
        "< ",
        "<section>",
        "</section>",
    ]
)


def scan(markup: bytes) -> kernel.Blocks:
    return kernel.scan_blocks(np.frombuffer(markup, np.uint8), NAMES)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_the_kernel_finds_what_the_naive_twin_finds(markup: str) -> None:
    found = scan(markup.encode())
    rows = list(zip(*(column.tolist() for column in found[:7]), strict=True))
    assert rows == naive.blocks(markup, NAMES)


def test_parents_come_before_their_children() -> None:
    found = scan(b"<div><ul><li>a</ul><div>b</div></div><p>c")
    assert found.parent.tolist() == [-1, 0, 1, 1]
    assert found.container.tolist() == [2, 3, 0]


def test_names_tell() -> None:
    found = scan(
        b'<div class="x site-footer">a</div><div id=nav>b</div><div class="navy canvas">c</div><div role="main">d'
    )
    assert [bool(bits & kernel.NAMED) for bits in found.inside] == [True, True, False, False]


def test_what_is_not_seen_is_no_text() -> None:
    found = scan(b"<p>a<script>if (1<2) { '<p>' }</script>b<!-- <p>c -->d<style>e</style>")
    assert found.chars.tolist() == [1, 2]


@pytest.mark.parametrize(
    "piece",
    [b"<div>", b"</div>", b"<script>", b"<svg>", b"<!--", b"<p a='", b"<", b"</", b"<a b=\"'", b"<div class=", b"x"],
)
def test_long_markup_is_scanned(piece: bytes) -> None:
    found = scan(piece * 300_000)
    assert len(found.chars) <= 200_000


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_scanned(data: bytes) -> None:
    found = scan(data)
    assert (found.begin <= found.end).all()
    assert (found.linked <= found.chars).all()
    assert (found.container < len(found.parent)).all()
