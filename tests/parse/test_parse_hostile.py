"""Hostile and broken pages: nothing raises, nothing hangs, nothing unfit is kept."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_html import fuzz
from hypothesis import given, settings
from hypothesis import strategies as st
from parse_pages import make_result

from periplus.parse import parse
from periplus.records import Page
from periplus.settings import ParseSettings

SUITE = Path(__file__).parents[3] / "shared" / "data" / "suites" / "html"

COSTLY = {
    "nested": b"<div>" * 50_000,
    "nested and closed": b"<div>" * 20_000 + b"</div>" * 20_000,
    "wrongly closed": b"<div></x>" * 20_000,
    "options": b"<select>" + b"<option>x" * 25_000,
    "fonts": b"<p>" + b"".join(b"<font size=%d>" % n for n in range(300)) + b"</p>" + b"<p>x" * 3_000,
    "fonts, closed before": b"</font>" * 300 + b"<p>" + b"<font a=%d>" * 300 + b"</p>" + b"<p>x" * 3_000,
    "attributes": b"<a " + b"".join(b"a%d " % n for n in range(50_000)) + b">",
    "attributes in quotes": b"<a " + b"".join(b"a%d='><z' " % n for n in range(50_000)) + b">",
    "tags": b"<b>" * 100_000,
}
LONG = {
    "attribute": b"<a href='" + b"x" * 5_000_000 + b"'>y</a>",
    "unclosed quote": b"<a href='" + b"x" * 4_000_000,
    "quotes": b"<a b=\"'" * 500_000,
    "angles": b"<" * 4_000_000,
    "comments": b"<!--" * 1_000_000,
    "scripts": b"<script>" * 400_000,
    "links": b"<a href=x>" * 100_000,
    "ampersands": b"&" * 4_000_000,
    "blanks": b"\n " * 2_000_000,
    "paragraphs": b"<p>" * 60_000,
    "formatting in paragraphs": b"<b><p></b></p>" * 14_000,
}


def check(page: Page | None) -> None:
    """Hold what every page keeps to: bounded, clean and encodable."""
    if page is None:
        return
    for text in (page.title, page.text, page.description, *page.headings, *page.emphasis):
        text.encode("utf-8")
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f]|  |\n\n", text)
        assert text == text.strip()
    assert "\n" not in page.title
    assert all(link.url.startswith(("http://", "https://")) for link in (*page.links, *page.images))


@pytest.mark.parametrize("name", COSTLY)
def test_pages_that_tree_builders_choke_on_are_read(name: str) -> None:
    check(parse(make_result(COSTLY[name]), ParseSettings()))


@pytest.mark.parametrize("name", LONG)
def test_long_pages_are_read(name: str) -> None:
    check(parse(make_result(LONG[name]), ParseSettings()))


def test_fuzzed_pages_are_read() -> None:
    fuzz(3_000)


def test_the_kernels_stay_within_their_arrays() -> None:
    program = Path(__file__).with_name("bounds_html.py")
    plainly = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, program, "300"], env=plainly, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]


PIECES = st.lists(
    st.sampled_from(
        [
            "<p>",
            "</p>",
            "<a href=",
            "'",
            '"',
            ">",
            "<",
            "=",
            "x",
            " ",
            "<b>",
            "</b>",
            "<table>",
            "<svg>",
            "<!--",
            "-->",
            "<script>",
            "</script>",
            "<title>",
            "</title>",
            "<select>",
            "<option>",
            "<template>",
            "<base href=//h>",
            "&#0;",
            "&#xD800;",
            "&amp",
            "\x00",
            "\x1f",
            "\ufeff",
            "é",
            "<h1>",
            "<img src=x alt=",
            "<meta name=robots content=",
            "\r",
            "<frameset>",
            "<math>",
            "</html>",
            "<body hidden>",
            "<html hidden>",
            "<meta http-equiv=refresh content='0;url=",
        ]
    ),
    max_size=40,
).map("".join)


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=200), PIECES.map(str.encode), PIECES.map(lambda text: text.encode("utf-16"))))
def test_any_bytes_are_read(body: bytes) -> None:
    for kind in ("text/html", "text/plain", ""):
        check(parse(make_result(body, kind), ParseSettings()))


@pytest.mark.data
def test_every_page_of_the_tree_builders_suite() -> None:
    if not SUITE.exists():
        pytest.skip("needs ../shared/data/suites/html")
    count = 0
    for path in sorted(SUITE.glob("*.dat")):
        for body in re.findall(rb"#data\n(.*?)\n#errors", path.read_bytes(), re.DOTALL):
            count += 1
            for cut in (len(body), len(body) // 2):
                check(parse(make_result(body[:cut]), ParseSettings()))
    assert count > 1_000
