"""The public suites, over the kernel: trees for text and links, tokens for tags, attributes and references."""

from pathlib import Path

import pytest
import tokenizer_suite
import tree_suite
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import html as naive
from periplus.parse.html.flat_page import FlatPage, RowKind, parse_flat_page

EVERYTHING = "iframe object noembed noframes textarea select datalist title svg math"
"""Hidden by default, and seen here: all but scripts, styles, templates and <noscript>."""


def links_of(flat: FlatPage) -> list[str]:
    return list(dict.fromkeys(flat.value(row, 0) for row in flat.rows(RowKind.LINK)))


@pytest.mark.data
def test_text_and_links_of_the_tree_builders_suite(shared_data: Path) -> None:
    folder = shared_data / "suites" / "html"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/suites/html")
    cases = [case for path in sorted(folder.glob("*.dat")) for case in tree_suite.read_cases(path)]
    # Fragments begin inside an element; the others need scripts to be run, or to be off.
    documents = [case for case in cases if not case.fragment and case.scripts is None]
    assert len(cases) - len(documents) < 250
    wrong, count = [], 0
    for case in documents:
        text, links = tree_suite.text_of(case.tree), tree_suite.links_of(case.tree)
        flat = parse_flat_page(case.data.encode("utf-8", "replace"), visible=EVERYTHING)
        if text or links:
            count += 1
            if (flat.text, links_of(flat)) != (text, links):
                wrong.append(case.where)
    assert count > 700
    assert len(wrong) <= count // 100, wrong


@pytest.mark.data
def test_every_tokenizer_case(shared_data: Path) -> None:
    folder = shared_data / "suites" / "html" / "tokenizer"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/suites/html/tokenizer")
    cases = [case for path in sorted(folder.glob("*.test")) for case in tokenizer_suite.read_cases(path)]
    assert len(cases) > 6_000
    wrong = [case for case in cases if tokenizer_suite.Tokens(case.text).read(case.state, case.last) != case.expected]
    assert wrong == []


INLINE = st.sampled_from(["a", "b", "em", "span", "code", "i"])
BLOCK = st.sampled_from(["div", "section", "ul", "blockquote", "article", "h1", "h2", "script", "style", "template"])
LONG = [
    "words in a run that takes more than two looks of thirty-two bytes each, one space apart ",
    "two  spaces,\n a break ",
]
WORDS = st.sampled_from(
    [
        *LONG,
        "“quoted” — so",
        "one ",
        " two",
        "three",
        " \n ",
        "&amp;",
        "&eacute;t&eacute;",
        "&#8364;",
        "x&lt;y",
        "é",
        "\t",
    ]
)


def element(name: str, inner: str) -> str:
    attribute = " href='/x?a=1&amp;b=2' class=c" if name == "a" else ' title="t>"'
    return f"<{name}{attribute}>{inner}</{name}>"


LINES = st.recursive(
    WORDS, lambda inner: st.builds(element, INLINE.filter(lambda n: n != "a"), st.lists(inner, max_size=3).map("".join))
)
LINKS = st.builds(element, st.just("a"), LINES)
TREES = st.recursive(
    st.one_of(LINES, LINKS),
    lambda inner: st.builds(element, BLOCK.filter(lambda n: n[0] != "h"), st.lists(inner, max_size=4).map("".join)),
    max_leaves=20,
)
HEADINGS = st.builds(element, st.sampled_from(["h1", "h2", "h3"]), LINES)
PAGES = st.lists(st.one_of(TREES, HEADINGS), max_size=6).map(lambda parts: "<title>T &amp; t</title>" + "".join(parts))


@settings(max_examples=150)
@given(PAGES)
def test_the_scan_equals_the_naive_twin(page: str) -> None:
    flat = parse_flat_page(page.encode())
    expected = naive.parse(page)
    assert flat.text == expected.text
    assert [" ".join(flat.row_text(row, 9_999).split()) for row in flat.rows(RowKind.HEADING)] == expected.headings
    links = [(flat.value(row, 0), " ".join(flat.row_text(row, 9_999).split())) for row in flat.rows(RowKind.LINK)]
    assert links == expected.links
    assert list(zip(flat.values(RowKind.LINK, 0), flat.texts(RowKind.LINK), strict=True)) == expected.links
    assert flat.texts(RowKind.HEADING) == expected.headings
    assert [flat.value(row, 0) for row in flat.rows(RowKind.TITLE)] == [expected.title]


def test_text_directly_in_a_table_goes_before_it() -> None:
    flat = parse_flat_page(b"a<table>b<tr><td>c</td></tr>d<tr><td>e</table>f")
    assert flat.text == "abd\nc\ne\nf"


def test_depth_is_bounded_and_the_text_is_not_lost() -> None:
    flat = parse_flat_page(b"<div>" * 5_000 + b"<p>deep</p>" + b"</div>" * 5_000 + b"<h1>end</h1>", max_depth=100)
    assert flat.text == "deep\nend"
