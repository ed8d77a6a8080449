"""`link:` finds exactly the pages that link to a URL or a host, whatever else is asked."""

import numpy as np
import pytest
from farm_web import crawl
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.backlinks import all_links, linking_to_host, linking_to_url
from periplus.errors import CorruptFile, DataError
from periplus.fakeweb import FakeWeb, FakeWebPlan
from periplus.graph import Backlinks, Graph, build_graph
from periplus.graph.backlinks import BacklinkSorter, host_fingerprints
from periplus.index import LiveIndex, build_index
from periplus.records import FetchRecord, Link, Outcome, Page, Query
from periplus.search import Searcher
from periplus.settings import GraphSettings, IndexSettings, SearchSettings, Settings, StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address

MOST = 1000


def made(folder, visits):
    with PageStore.open(folder / "store", StoreSettings(), write=True) as store:
        for visit in visits:
            store.append(visit)
        build_graph(store, folder / "graph", GraphSettings())
    graph = Graph.open(folder / "graph")
    build_index(visits, folder / "index", IndexSettings(), graph)
    return graph, Searcher.open(folder, Settings(folder=str(folder), search=SearchSettings(max_results=MOST)))


def asked(searcher, words):
    page = searcher.search(Query(words, size=MOST, folded=False))
    assert page.total <= MOST
    return {hit.url for hit in page.hits}


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linked")
    visits = list(crawl(FakeWeb(FakeWebPlan(seed=5, hosts=10, pages=220))))
    graph, searcher = made(folder, visits)
    keys = np.array([visit.key for visit in visits], np.uint64)
    stands = graph.representatives(keys)
    names = dict(zip(keys.tolist(), (visit.url for visit in visits), strict=True))
    leads = {visit.url: names.get(int(key), "") for visit, key in zip(visits, stands, strict=True)}
    found = asked(searcher, "-xyzzyplugh")  # all there is
    return [visit for visit in visits if visit.url in found], leads, searcher


def test_link_is_exact_for_every_url_and_host_of_a_fake_web(web):
    visits, leads, searcher = web
    links = all_links(visits)
    targets = {target.url: target.host for _, target in links}
    outside = set(targets) - set(leads)
    assert len(targets) > 100
    assert outside, "some are linked to and were never fetched"
    # All that redirects lead to, and a share of the others: each is a whole search.
    chosen = {url for url, end in leads.items() if end != url} | set(leads.values()) | set(sorted(targets)[::8])
    for url in sorted(chosen & (set(targets) | set(leads))):
        assert asked(searcher, f"link:{url}") == linking_to_url(links, url, leads), url
    for host in [*sorted(set(targets.values()))[:25], "test"]:
        assert asked(searcher, f"link:{host}") == linking_to_host(links, host), host


def test_link_joins_with_words_and_other_operators(web):
    visits, leads, searcher = web
    links = all_links(visits)
    url = max(leads, key=[target.url for _, target in links].count)
    place = parse_address(url)
    linking, near = linking_to_url(links, url, leads), linking_to_host(links, place.host)
    bare = url.partition("://")[2]
    assert linking
    assert asked(searcher, f"link:{bare}") == linking
    assert asked(searcher, f'link:"{bare}"') == linking
    assert asked(searcher, f"LINK:{place.host.upper()}") == near
    everything = {visit.url for visit in visits}
    assert asked(searcher, f"-link:{place.host}") == everything - near
    assert asked(searcher, f"link:{place.host} -site:{place.host}") == {
        one for one in near if parse_address(one).host != place.host
    }
    assert asked(searcher, f"link:{bare} OR (link:{place.host} site:{place.host})") <= near
    word = next(iter(visits[0].page.text.split()))
    assert asked(searcher, f"+{word} link:{place.host}") == asked(searcher, f"+{word}") & near


def page(url, *links, **more):
    read = Page(url, url[-1], text="tide " + url, links=tuple(links), **more)
    return FetchRecord(url, parse_address(url).key, Outcome.OK, 1.0, 200, page=read)


def test_what_counts_as_a_link(tmp_path):
    a, b, c, d = (f"https://{name}.example/x" for name in "abcd")
    visits = [
        page(a, Link("https://www.far.example/one#part"), Link(a)),
        page(b, Link("https://far.example/two", nofollow=True), Link("http://far.example:8080/two")),
        page(c, Link("https://far.example/one"), nofollow=True),
        page(d, Link("https://tä.example/"), Link("http://[::1]/"), Link("http://10.0.0.1/z")),
    ]
    _, searcher = made(tmp_path, visits)
    assert asked(searcher, "link:far.example") == {a, b}
    assert asked(searcher, "link:https://far.example") == {a, b}
    assert asked(searcher, "link:*.far.example") == {a, b}
    assert asked(searcher, "link:www.far.example") == {a}
    assert asked(searcher, "link:www.far.example/one") == {a}
    assert asked(searcher, "link:http://www.far.example/one") == set()
    assert asked(searcher, "link:far.example/one") == set()
    assert asked(searcher, "link:far.example:8080/two") == {b}
    assert asked(searcher, "link:a.example") == set(), "nobody links to itself"
    assert asked(searcher, "link:tä.example") == asked(searcher, "link:tä.example/") == {d}
    assert asked(searcher, "link:[::1]") == asked(searcher, "link:10.0.0.1") == {d}
    assert asked(searcher, "link:0.1") == set()


def test_frames_are_links_but_lift_nobody(tmp_path):
    a, b, c = (f"https://{name}.example/" for name in "abc")
    graph, searcher = made(tmp_path, [page(a, Link(b, "", False, True), Link(c, "sea charts")), page(b), page(c)])
    assert asked(searcher, "link:b.example") == asked(searcher, "link:b.example/") == {a}
    assert graph.in_links(np.array([parse_address(b).key, parse_address(c).key], np.uint64)).tolist() == [0, 1]


def test_a_live_index_says_when_links_are_not_known_yet(tmp_path):
    a, b = "https://a.example/", "https://b.example/"
    _, searcher = made(tmp_path, [page(a, Link(b)), page(b)])
    assert not searcher.search(Query("link:b.example")).notes
    with LiveIndex(tmp_path / "index", IndexSettings(), background=False) as live:
        live.add(page("https://c.example/", Link(b)), 3)
    searcher.refresh()
    answer = searcher.search(Query("link:b.example"))
    assert [hit.url for hit in answer.hits] == [a]
    assert "are missing" in answer.notes[0]
    (tmp_path / "graph" / "backlinks.arrays").unlink()
    answer = searcher.search(Query("link:b.example"))
    assert not answer.hits
    assert "no backlinks yet" in answer.notes[0]
    assert searcher.search(Query("tide -link:b.example")).total == 3


@given(st.text(max_size=40))
@settings(max_examples=60, deadline=None)
def test_no_target_is_an_error(web, text):
    for words in (f"link:{text}", f'link:"{text}', f"link:http://{text}/", f"-link:{text}"):
        web[2].search(Query(words))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=300))
def test_marks_are_kept_whatever_the_memory(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("runs")
    spread = [(mark * 0x9E3779B97F4A7C15 % (1 << 64), source) for mark, source in pairs]
    runs = BacklinkSorter(folder, 0)
    runs._capacity = 16  # many runs and parts
    for mark, source in spread:
        runs.add(np.array([mark], np.uint64), np.array([source], np.uint32))
    pages = np.arange(100, 110, dtype=np.uint64)
    runs.write(folder, pages, 7)
    known = Backlinks.open(folder)
    assert known.records == 7
    for mark in {mark for mark, _ in spread} | {1, (1 << 64) - 1}:
        assert known.find_by_url(mark).tolist() == sorted({100 + source for one, source in spread if one == mark})


def test_more_than_one_block_of_marks(tmp_path):
    runs = BacklinkSorter(tmp_path, 0)
    generator = np.random.default_rng(1)
    marks = generator.integers(0, 900, 20_000).astype(np.uint64) << np.uint64(50)
    sources = generator.integers(0, 500, 20_000)
    runs.add(marks, sources.astype(np.uint32))
    runs.write(tmp_path, np.arange(500, dtype=np.uint64), 1)
    known = Backlinks.open(tmp_path)
    for mark in np.unique(marks).tolist():
        assert known.find_by_url(mark).tolist() == np.unique(sources[marks == mark]).tolist()


@pytest.mark.parametrize("hosts", ["a." * 60 + "example", "x", "1.2.3.4", "[::1]"])
def test_marks_of_odd_hosts_are_few(hosts):
    assert 1 <= len(host_fingerprints(hosts)) <= 13


def test_damaged_backlinks_are_an_error_or_an_answer(tmp_path):
    a, b = "https://a.example/", "https://b.example/"
    made(tmp_path, [page(a, Link(b)), page(b, Link(a))])
    path = tmp_path / "graph" / "backlinks.arrays"
    good = path.read_bytes()
    searcher = Searcher.open(tmp_path, Settings(folder=str(tmp_path)))
    for place in range(0, len(good), 3):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x81]) + good[place + 1 :])
        searcher.search(Query("link:a.example OR link:b.example/"))
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(CorruptFile):
        Backlinks.open(tmp_path / "graph")
    assert issubclass(CorruptFile, DataError)


def test_a_flipped_bit_in_backlinks_or_graph_is_noticed(tmp_path):
    visits = list(crawl(FakeWeb(FakeWebPlan(seed=5, hosts=3, pages=30))))
    _, searcher = made(tmp_path, visits)
    assert "damaged" not in str(searcher.search(Query("link:www.example.org")).notes)
    for name, opens in (("backlinks.arrays", Backlinks.open), ("graph.arrays", Graph.open)):
        path = tmp_path / "graph" / name
        whole = path.read_bytes()
        for at in range(40, len(whole), len(whole) // 40):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
            with pytest.raises(CorruptFile, match=name):
                opens(tmp_path / "graph")
        if name == "backlinks.arrays":
            assert "damaged" in str(searcher.search(Query("link:www.example.org")).notes)
        path.write_bytes(whole)
        opens(tmp_path / "graph")
