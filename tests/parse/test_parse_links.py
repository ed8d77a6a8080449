"""Links that can say nothing new are left out by a kernel; what is collected of a page stays the same."""

from hypothesis import given
from hypothesis import strategies as st

from periplus.parse.html.flat_page import RowKind, parse_flat_page
from periplus.parse.link_collector import LinkCollector

BASE = "https://a.example/dir/page"
TARGETS = ["one", "one#a", "#a", "", "/dir/one", "two", "two?x=1#b", "javascript:x()", "tw"]


def collect(targets, texts, numbers):
    links = LinkCollector(BASE, 100)
    links.add_all(zip(targets, texts, [number & RowKind.NOFOLLOW != 0 for number in numbers], strict=True))
    return links.collected()


@given(
    st.lists(
        st.tuples(st.sampled_from(TARGETS), st.sampled_from(["", " ", "x", "<b>y</b>"]), st.booleans()), max_size=30
    ),
    st.integers(1, 40),
)
def test_leaving_links_out_changes_nothing(links, limit):
    markup = "".join(f'<a href="{url}"{" rel=nofollow" * nofollow}>{text}</a>' for url, text, nofollow in links)
    flat = parse_flat_page(markup.encode())
    every = flat.columns(RowKind.LINK, limit)[0], flat.texts(RowKind.LINK, limit), flat.numbers(RowKind.LINK, limit)
    rows = flat.select_links(limit)
    chosen = flat.columns_of(rows)[0], flat.texts_of(rows), flat.numbers_of(rows)
    assert collect(*chosen) == collect(*every)
    assert len(rows) <= len(every[0])


def test_a_menu_that_is_repeated_is_read_once():
    flat = parse_flat_page(b"<a href=/a#x>A</a><a href=/b>B</a>" * 50)
    assert len(flat.select_links(1_000)) == 2
