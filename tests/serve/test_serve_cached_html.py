"""The HTML of cached copies: nested lists, tables and code, and nothing of a page that is not escaped."""

import re

from asgi_caller import get
from fake_searcher import FakeSearcher, hit
from hypothesis import given
from hypothesis import strategies as st

from periplus.parse import TextBlock
from periplus.records import Query
from periplus.serve import make_app
from periplus.serve.pages.cached_html import render_blocks
from periplus.settings import ServeSettings

KINDS = ("heading", "paragraph", "quote", "code", "item", "numbered", "term", "definition", "caption", "table", "odd")
BLOCKS = st.lists(
    st.builds(
        TextBlock,
        st.sampled_from(KINDS),
        st.text("<>&\"'ab /", max_size=12),
        st.integers(0, 9),
        st.just((("<i>", "b"), ("", "&"))),
    ),
    max_size=12,
)


def test_lists_are_nested_and_tables_have_headers() -> None:
    blocks = (
        TextBlock("heading", "Tides", 1),
        TextBlock("item", "one", 1),
        TextBlock("numbered", "a", 2),
        TextBlock("numbered", "b", 2),
        TextBlock("item", "two", 1),
        TextBlock("table", "", 1, (("Port", "High"), ("Brest", "7 < 8"))),
        TextBlock("code", "if a < b:\n    c()"),
    )
    assert render_blocks(blocks, "Tides").replace("\n<", "<") == (
        "<ul><li>one<ol><li>a</li><li>b</li></ol></li><li>two</li></ul>"
        "<table><tr><th>Port</th><th>High</th></tr><tr><td>Brest</td><td>7 &lt; 8</td></tr></table>"
        "<pre>if a &lt; b:\n    c()</pre>\n"
    )


@given(BLOCKS)
def test_tags_are_ours_balanced_and_without_attributes(blocks: list[TextBlock]) -> None:
    stack: list[str] = []
    for closing, name, rest in re.findall(r"<(/?)([a-z0-9]+)([^>]*)>", render_blocks(blocks, "")):
        assert rest == ""
        if closing:
            assert stack.pop() == name
        else:
            stack.append(name)
    assert stack == []
    assert re.sub(r"</?[a-z0-9]+>", "", render_blocks(blocks, "")).count("<") == 0


def test_the_page_shows_blocks_where_there_are_some() -> None:
    searcher = FakeSearcher()
    searcher.blocks = (TextBlock("heading", "High <water>", 2), TextBlock("paragraph", "<script>alert(1)</script>"))
    answer = get(make_app(searcher, ServeSettings(threads=1)), f"/cached/{hit(0, Query('salt')).key:016x}")
    assert "<h3>High &lt;water&gt;</h3>" in answer.text
    assert "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>" in answer.text
    assert "First paragraph." not in answer.text
