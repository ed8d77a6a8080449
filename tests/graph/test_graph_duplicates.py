"""Copies that a crawl did not mark, because it met each of them in another shard, are one page all the same."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_web import ScriptedWeb
from shards_together import together

from naive import duplicates as naive
from periplus.crawl.sharding.topology import HostPartitioner
from periplus.graph import Graph, build_graph
from periplus.graph.duplicates import find_duplicates, find_near_duplicates
from periplus.graph.mirrors import UrlTable
from periplus.index import build_index
from periplus.records import FetchRecord, Outcome, Page, Query
from periplus.search import Searcher
from periplus.settings import GraphSettings, IndexSettings, Settings, StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=40))
def test_copies_as_the_naive_way_finds_them(visits):
    contents = [content for content, _ in visits]
    rows = [row for row, (_, taken) in enumerate(visits) if taken]
    later, first = find_duplicates(np.array(rows[::-1], np.int64), np.array(contents, np.uint64))
    assert dict(zip(later.tolist(), first.tolist(), strict=True)) == naive.find_duplicates(rows, contents)


MARKS = st.sampled_from([0, 0xF0F0, 0xF0F1, 0xF0F3, 0xF0F7, 0xF0FF, 1 << 63 | 0xF0F0, 0xABCD << 40])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), MARKS), max_size=12))
def test_near_copies_are_real_and_one_is_found_where_the_first_is_near(pages):
    visits = np.arange(len(pages), dtype=np.int64)[::-1].copy()
    hosts, paths, marks = (
        (np.array(column, np.uint64) for column in zip(*pages, strict=True)) if pages else [np.zeros(0, np.uint64)] * 3
    )
    keys = np.arange(100, 100 + len(pages), dtype=np.uint64)
    urls = UrlTable(keys, keys, keys, hosts, paths, marks, np.ones(len(pages), np.bool_))
    near = find_near_duplicates(urls, visits)
    pairs = naive.near_duplicate_pairs([(int(visits[row]), *pages[row]) for row in range(len(pages))])
    found = {(row, int(key) - 100) for row, key in enumerate(near) if key != keys[row]}
    assert found <= pairs
    for path in {path for _, path, _ in pages}:
        first = max((row for row in range(len(pages)) if pages[row][1] == path and pages[row][2]), default=None)
        assert {one for one, two in pairs if two == first} <= {one for one, _ in found}


def test_what_the_crawl_says_stays(tmp_path):
    one = np.array([1, 2, 3], np.uint64)
    marks = np.full(3, 0xABC, np.uint64)
    urls = UrlTable(one, one, np.array([1, 2, 2], np.uint64), one, np.ones(3, np.uint64), marks, np.ones(3, np.bool_))
    assert find_near_duplicates(urls, np.arange(3)).tolist() == [1, 1, 2]


def text(number, host=""):
    words = " ".join(f"word{number * 977 + n * n * 31 % 501} tide chart" for n in range(60))
    return f"<html><title>Page {number}</title><body><main><p>{words} {host}</p></main></body></html>"


@pytest.fixture
def mirrored(tmp_path):
    """Two hosts of different shards with nearly the same pages, and a third page that is the same at both."""
    partitioner = HostPartitioner((0, 1, 2))
    by_owner = {partitioner.owner(f"site{n}.test"): f"site{n}.test" for n in range(40)}
    hosts = [by_owner[0], by_owner[1]]
    web = ScriptedWeb()
    for number, host in enumerate(hosts):
        links = "".join(f"<a href='/p{n}'>page {n}</a> " for n in range(6)) + f"<a href='/same{number}'>same</a>"
        web.put(f"http://{host}/", text(50, host) + links)
        for n in range(6):
            web.put(f"http://{host}/p{n}", text(n, f"printed by {host}"))
        web.put(f"http://{host}/same{number}", text(99))
    yield hosts, web.settings(tmp_path, *hosts)
    web.close()


def test_mirrors_in_different_shards_are_one(mirrored, tmp_path):
    hosts, settings = mirrored
    data = tmp_path / "data"
    with together(data, settings, [f"http://{host}/" for host in hosts], 3) as crawl:
        crawl.turns()
    with PageStore.open(data / "store", settings.store) as store:
        visits = list(store.records())
        made = build_graph(store, data / "graph", GraphSettings())
        build_index(visits, data / "index", IndexSettings(), Graph.open(data / "graph"))
    pages = [visit for visit in visits if visit.page is not None]
    assert len(pages) == 16
    assert not any(visit.duplicate_of or visit.near_duplicate_of for visit in pages), "no shard can know"
    assert made.mirrors == 1
    searcher = Searcher.open(data, Settings(folder=str(data)))
    found = [hit.url for hit in searcher.search(Query("tide chart", size=50, folded=False)).hits]
    assert max(Counter(url.rpartition("/")[2].rstrip("01") for url in found if "same" in url).values()) == 1
    assert len([url for url in found if "/p" in url]) == 6


def visit(url, content, **more):
    page = Page(url, text="tide chart", **more)
    return FetchRecord(url, parse_address(url).key, Outcome.OK, 1.0, 200, page=page, content=content)


def test_a_page_that_hides_or_is_gone_stands_for_nobody(tmp_path):
    a, b, c, d, e = (f"http://{name}.example/" for name in "abcde")
    visits = [visit(a, 5, noindex=True), visit(b, 5), visit(c, 5), visit(d, 7), visit(e, 7)]
    visits.append(FetchRecord(d, parse_address(d).key, Outcome.GONE, 2.0, 404))
    with PageStore.open(tmp_path / "store", StoreSettings(), write=True) as store:
        for one in visits:
            store.append(one)
        build_graph(store, tmp_path / "graph", GraphSettings())
    graph = Graph.open(tmp_path / "graph")
    keys = np.array([parse_address(url).key for url in (a, b, c, e)], np.uint64)
    assert graph.representatives(keys).tolist() == [keys[0], keys[1], keys[1], keys[3]]
