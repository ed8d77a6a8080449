"""From visits in a store to ranks, in-links and anchors."""

import errno

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.errors import CorruptFile, DiskFailed, NothingHere
from periplus.graph import Graph, build_graph
from periplus.records import FetchRecord, Link, Outcome, Page
from periplus.settings import GraphSettings, StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address

A, B, C, D = (f"http://{name}.example/" for name in "abcd")


def key(url):
    return parse_address(url).key


def page(url, *links, canonical="", nofollow=False, duplicate_of=""):
    made = tuple(link if isinstance(link, Link) else Link(link, "a good name") for link in links)
    read = Page(url, links=made, canonical=canonical, nofollow=nofollow)
    return FetchRecord(url, key(url), Outcome.OK, 1.0, 200, page=read, duplicate_of=duplicate_of)


def moved(url, location):
    return FetchRecord(url, key(url), Outcome.REDIRECT, 1.0, 301, location=location)


def ended(url, outcome):
    return FetchRecord(url, key(url), outcome, 1.0, 404)


def build(tmp_path, visits, **more):
    with PageStore.open(tmp_path / "store", StoreSettings(), write=True) as store:
        for visit in visits:
            store.append(visit)
        statistics = build_graph(store, tmp_path / "graph", GraphSettings(**more))
    return statistics, Graph.open(tmp_path / "graph")


def in_links(graph, *urls):
    return graph.in_links(np.array([key(url) for url in urls], np.uint64)).tolist()


def ranks(graph, *urls):
    return graph.page_ranks(np.array([key(url) for url in urls], np.uint64)).tolist()


def test_links_are_counted_once_for_each_page(tmp_path):
    statistics, graph = build(tmp_path, [page(A, B, B, C), page(B, C, A + "nowhere"), page(C, C)])
    assert statistics[:3] == (3, 3, 3)
    assert in_links(graph, A, B, C, D) == [0, 1, 2, 0]
    found = ranks(graph, A, B, C)
    assert sum(found) == pytest.approx(1.0)
    assert found[0] < found[1] < found[2]


def test_static_ranks_are_between_0_and_1_in_the_order_of_page_rank(tmp_path):
    _, graph = build(tmp_path, [page(A, B, C), page(B, C), page(C)])
    static = graph.static_ranks(np.array([key(A), key(B), key(C), 12345], np.uint64))
    assert static.dtype == np.float32
    assert static[0] == static[3] == 0.0
    assert 0 < static[1] < static[2] <= 1.0


def test_links_may_be_written_in_any_form(tmp_path):
    _, graph = build(
        tmp_path, [page(A, "HTTP://B.example:80/x/../?utm_source=z#part", "mailto:x@y", "http://["), page(B)]
    )
    assert in_links(graph, B) == [1]


def test_redirects_copies_and_canonical_links_lead_to_their_page(tmp_path):
    visits = [
        page(A, B + "old", B + "copy", B + "variant"),
        moved(B + "old", B + "older"),
        moved(B + "older", B),
        page(B + "copy", C, duplicate_of=B),
        page(B + "variant", D, canonical=B),
        page(B),
        page(C),
        page(D),
    ]
    statistics, graph = build(tmp_path, visits)
    assert statistics.pages == 4
    assert in_links(graph, B, B + "old", B + "copy", B + "variant") == [1, 1, 1, 1]
    # What the variant links to, its page links to; a copy's links were read with the first of its kind.
    assert in_links(graph, D, C) == [1, 0]
    assert len(set(ranks(graph, B, B + "old", B + "copy", B + "variant"))) == 1


def test_circles_end(tmp_path):
    visits = [
        page(A, B, C, D),
        moved(B, C),
        moved(C, B),
        page(D, canonical=D + "x"),
        page(D + "x", canonical=D),
        moved(D + "self", D + "self"),
    ]
    statistics, graph = build(tmp_path, visits)
    assert statistics.pages == 3
    assert in_links(graph, B, C, D, D + "x") == [0, 0, 1, 0]


def test_the_newest_word_counts(tmp_path):
    visits = [page(A, B), page(B), page(C, A), page(A, C), ended(C, Outcome.TIMEOUT), ended(A, Outcome.NOT_MODIFIED)]
    _, graph = build(tmp_path, visits)
    assert in_links(graph, A, B, C) == [1, 0, 1]
    _, graph = build(tmp_path / "later", [*visits, ended(C, Outcome.GONE)])
    assert in_links(graph, A, B, C) == [0, 0, 0]
    assert ranks(graph, C) == [0.0]


def test_nofollow_counts_nothing_and_near_links_count_less(tmp_path):
    _, graph = build(tmp_path, [page(A, Link(B, "b", nofollow=True), C), page(B, A, nofollow=True), page(C)])
    assert in_links(graph, A, B, C) == [0, 0, 1]
    assert graph.anchors(key(B)) == ""
    _, graph = build(tmp_path / "near", [page(A, A + "near", B), page(A + "near"), page(B)])
    near, far = ranks(graph, A + "near", B)
    assert near < far


def test_hosts_are_ranked_by_links_from_other_hosts(tmp_path):
    _, graph = build(tmp_path, [page(A, B, A + "1"), page(A + "1", A), page(B), page(B + "new"), page(C, B)])
    found = graph.host_ranks(np.array([key(A), key(B), key(B + "new"), key(C)], np.uint64))
    assert found[1] == found[2] > found[0] == pytest.approx(found[3])
    static = graph.static_ranks(np.array([key(B + "new"), key(C)], np.uint64))
    assert static[0] > static[1]


def test_anchors_are_distinct_named_and_by_weight(tmp_path):
    visits = [
        page(A, Link(D, "click here"), Link(D, "The  D\nhandbook"), Link(D, " NEXT » ")),
        page(B, Link(D, "the d handbook"), Link(D, "All about Ünicode"), Link(D, "http://d.example/")),
        page(C, Link(D, "All about Ünicode"), Link(D, "All about ünicode"), Link(D, "12 (3)"), Link(D, "")),
        page(D + "own", Link(D, "own words")),
        page(D),
    ]
    _, graph = build(tmp_path, visits)
    assert graph.anchors(key(D)) == "All about Ünicode\nThe D handbook\nown words"
    assert graph.anchors(key(A)) == graph.anchors(1) == ""
    _, graph = build(tmp_path / "short", visits, anchor_chars=len("All about Ünicode\nThe D handbook"))
    assert graph.anchors(key(D)) == "All about Ünicode\nThe D handbook"
    _, graph = build(tmp_path / "none", visits, anchor_chars=0)
    assert graph.anchors(key(D)) == ""


def test_hostile_texts_are_cut(tmp_path):
    _, graph = build(tmp_path, [page(A, Link(B, "word " * 10_000), Link(B, "odd\x00 name")), page(B)])
    texts = graph.anchors(key(B)).split("\n")
    assert len(texts) == 2
    assert max(map(len, texts)) <= 120


def test_a_temporary_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(np, "memmap", fail)
    with pytest.raises(DiskFailed, match=r"graph/\.building"):
        build(tmp_path, [page(A, B), page(B, A)])


def test_no_pages_and_no_graph_are_said(tmp_path):
    with pytest.raises(NothingHere):
        build(tmp_path, [ended(A, Outcome.GONE)])
    with pytest.raises(NothingHere):
        Graph.open(tmp_path / "graph")


def test_pages_without_links_make_a_graph(tmp_path):
    _, graph = build(tmp_path, [page(A), page(B)])
    assert ranks(graph, A, B) == [0.5, 0.5]
    assert graph.static_ranks(np.array([key(A)], np.uint64)).tolist() == [0.0]
    assert graph.static_ranks(np.zeros(0, np.uint64)).tolist() == []


def test_a_damaged_graph_is_an_error(tmp_path):
    build(tmp_path, [page(A, B), page(B)])
    path = tmp_path / "graph" / "graph.arrays"
    raw = path.read_bytes()
    path.write_bytes(raw[:-1000])
    with pytest.raises(CorruptFile):
        Graph.open(tmp_path / "graph").check()
    path.write_bytes(raw[:30] + b"?" + raw[31:])
    with pytest.raises(CorruptFile, match="graph"):
        Graph.open(tmp_path / "graph")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 9), st.sampled_from(["page", "moved", "gone", "copy", "canonical"]), st.integers(0, 9),
            st.lists(st.integers(0, 9), max_size=5),
        ),
        min_size=1,
        max_size=30,
    )
)  # fmt: skip
def test_any_visits_make_ranks_that_sum_to_1(tmp_path_factory, rows):
    urls = [f"http://h{n % 3}.example/{n}" for n in range(10)]
    visits = [page("http://fixed.example/")]
    for own, kind, other, links in rows:
        if kind == "moved":
            visits.append(moved(urls[own], urls[other]))
        elif kind == "gone":
            visits.append(ended(urls[own], Outcome.GONE))
        else:
            extra = {"copy": {"duplicate_of": urls[other]}, "canonical": {"canonical": urls[other]}}.get(kind, {})
            visits.append(page(urls[own], *(urls[n] for n in links), **extra))
    statistics, graph = build(tmp_path_factory.mktemp("any"), visits)
    assert len(graph) == statistics.pages
    assert graph._file["pagerank"].sum() == pytest.approx(1.0)
    static = graph.static_ranks(np.array([key(url) for url in urls], np.uint64))
    assert ((static >= 0) & (static <= 1)).all()
    assert in_links(graph, *urls) == expected_in_links(visits, urls)


def expected_in_links(visits, urls):
    """Say with dictionaries what the arrays should say."""
    newest = {visit.url: visit for visit in visits}
    leads = {v.url: v.location or v.duplicate_of for v in newest.values() if v.location or v.duplicate_of}
    pages = {v.url: v for v in newest.values() if v.page is not None and not v.duplicate_of}

    def follow(url):
        for _ in range(8):
            url = leads.get(url, url)
        return url

    names = {url: follow(v.page.canonical or url) for url, v in pages.items()}
    node = {url: (to if to in pages and names[to] == to else url) for url, to in names.items()}
    pairs = set()
    for url, visit in pages.items():
        pairs |= {(node[url], node[follow(link.url)]) for link in visit.page.links if follow(link.url) in pages}
    counts = {url: sum(1 for a, b in pairs if b == url and a != b) for url in set(node.values())}
    return [counts[node[follow(url)]] if follow(url) in pages else 0 for url in urls]


def test_signals_are_columns_by_key(tmp_path):
    visits = [page(A, B, A + "1"), page(A + "1", B), page(B), page(C, B), moved(D, B)]
    _, graph = build(tmp_path, visits)
    found = graph.signals(np.array([key(B), key(D), key(A + "1"), 7], np.uint64))
    assert found.in_links.tolist() == [3, 3, 1, 0]
    assert found.in_hosts.tolist() == [2, 2, 0, 0]
    assert found.pagerank[0] == found.pagerank[1] > found.pagerank[2] > found.pagerank[3] == 0.0
    assert found.hostrank[0] > found.hostrank[2] > 0.0
    for column in (found.spam_mass, found.trust):
        assert column.dtype == np.float32
        assert ((column >= 0) & (column <= 1)).all()
