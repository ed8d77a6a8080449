"""A page as headings, paragraphs, lists, tables and code, whatever its markup is like."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from parse_pages import make_result

from periplus.parse import TextBlock, structure_html, write_markdown
from periplus.settings import ParseSettings

PAGE = """<body><nav><ul><li><a href=/>Home</a><li><a href=/x>All manuals</a></ul></nav><main>
<h1>Tide <em>tables</em></h1>
<p>How to read <a href="tables.html">the tables</a> of the harbour, &amp; what a datum is.</p>
<h2>Columns</h2>
<table><caption>Heights</caption><tr><th>Port</th><th>Low</th><th>High</th></tr>
<tr><td>Brest</td><td></td><td><p>7.1 m</p><p>at noon</p></td></tr><tr><td>Cadiz<td>0.4 m<td>3.2 m</table>
<ul><li>First one<ol><li>Nested a</li><li>Nested b</li></ol></li><li>Second one</li></ul>
<dl><dt>Datum</dt><dd>The level that heights are measured from.</dd></dl>
<blockquote>Time and tide wait for no man.</blockquote>
<pre>for tide in tides:
    print(tide &lt; 3)   # `low`

done()</pre>
<figure><img src=x.png><figcaption>A gauge</figcaption></figure>
</main><footer>All rights reserved by the office of the harbour master, and so on.</footer>"""


def blocks_of(markup: str | bytes, content_type: str = "text/html; charset=utf-8") -> tuple[TextBlock, ...]:
    body = markup.encode() if isinstance(markup, str) else markup
    return structure_html(make_result(body, content_type), ParseSettings())


def test_all_kinds_of_blocks() -> None:
    assert blocks_of(PAGE) == (
        TextBlock("heading", "Tide tables", 1),
        TextBlock("paragraph", "How to read the tables of the harbour, & what a datum is."),
        TextBlock("heading", "Columns", 2),
        TextBlock("caption", "Heights"),
        TextBlock(
            "table", "", 1, (("Port", "Low", "High"), ("Brest", "", "7.1 m at noon"), ("Cadiz", "0.4 m", "3.2 m"))
        ),
        TextBlock("item", "First one", 1),
        TextBlock("numbered", "Nested a", 2),
        TextBlock("numbered", "Nested b", 2),
        TextBlock("item", "Second one", 1),
        TextBlock("term", "Datum"),
        TextBlock("definition", "The level that heights are measured from."),
        TextBlock("quote", "Time and tide wait for no man."),
        TextBlock("code", "for tide in tides:\n    print(tide < 3)   # `low`\n\ndone()"),
        TextBlock("caption", "A gauge"),
    )


def test_paragraphs_within_items_and_cells() -> None:
    page = (
        "<main><p>Before the list, some text of the page.</p><ol><li><p>First of all.</p><p>And more.</p></li>"
        "<li><p>Then this.</p></li></ol><table><tr><td><p>One</p></td><td><p>Two</p></td></tr></table></main>"
    )
    assert [(block.kind, block.text or block.rows) for block in blocks_of(page)] == [
        ("paragraph", "Before the list, some text of the page."),
        ("numbered", "First of all."),
        ("paragraph", "And more."),
        ("numbered", "Then this."),
        ("table", (("One", "Two"),)),
    ]


def test_markdown_is_read_back_by_another_program() -> None:
    rendered = MarkdownIt("commonmark").enable("table").render(write_markdown(blocks_of(PAGE)))
    for part in (
        "<h1>Tide tables</h1>",
        "<th>Low</th>",
        "<td>7.1 m at noon</td>",
        "<li>Nested b</li>",
        "&amp; what a datum is",
        "print(tide &lt; 3)   # `low`",
    ):
        assert part in rendered, part
    assert "Home" not in rendered
    assert "All rights" not in rendered


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=30))
def test_markdown_of_any_text_is_that_text(text: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(write_markdown([TextBlock("paragraph", text)]))
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert "".join(child.content for child in tokens[1].children or []) == text


def test_other_formats_have_no_blocks() -> None:
    assert blocks_of("just text", "text/plain") == ()
    assert blocks_of(b"%PDF-1.4", "application/pdf") == ()
    assert blocks_of("") == ()
    assert write_markdown(()) == ""


@pytest.mark.parametrize(
    "markup",
    [
        "<ul>" * 3_000 + "<li>deep",
        "<table>" * 500 + "<tr><td>cell",
        "<table><tr>" + "<td>x" * 20_000,
        "<table>" + "<tr><td>x<td>y" * 20_000,
        "<pre>" + "a<b>" * 50_000,
        "<h1" + " x" * 100_000 + ">title",
        "<p>text " * 30_000,
        "<li>" * 30_000 + "x",
        "<dl>" + "<dt>a<dd>b" * 20_000,
        "<p><script>alert(1)</script><style>p{}</style>text",
    ],
)
def test_hostile_markup_is_bounded(markup: str) -> None:
    blocks = blocks_of(markup)
    assert len(blocks) <= 5_000
    assert sum(len(block.rows) for block in blocks) <= 5_000
    assert all(len(row) <= 40 for block in blocks for row in block.rows)
    assert all(block.level <= 6 for block in blocks)
    assert "alert" not in write_markdown(blocks)


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_any_pieces_of_markup_are_read(seed: int) -> None:
    chance = random.Random(seed)
    pieces = ("<p>", "</p>", "<td>", "<tr>", "<table>", "</table>", "<li>", "<ul>", "<ol>", "</ul>", "<h3>", "<pre>")
    more = ("</pre>", "<dt>", "<dd>", "text ", "a < b ", "&lt;", "<div>", "</div>", "<td", "\0", "<blockquote>", "é")
    blocks = blocks_of("".join(chance.choices(pieces + more, k=60)))
    assert all(block.text or block.rows for block in blocks)
    write_markdown(blocks)
