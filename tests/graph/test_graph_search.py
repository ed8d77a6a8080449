"""What links do for a search of the fake web: the right page first, the farm behind everything else."""

import pytest
from farm_web import crawl

from periplus.fakeweb import FakeWeb, FakeWebPlan
from periplus.graph import Graph, build_graph
from periplus.index import build_index
from periplus.records import PageFlag, Query
from periplus.search import Searcher
from periplus.settings import GraphSettings, IndexSettings, Settings, StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("farmed")
    web = FakeWeb(FakeWebPlan(seed=7, hosts=14, pages=200, trouble=("farm",)))
    visits = list(crawl(web))
    with PageStore.open(folder / "store", StoreSettings(), write=True) as store:
        for visit in visits:
            store.append(visit)
        build_graph(store, folder / "graph", GraphSettings())
    build_index(visits, folder / "index", IndexSettings(), Graph.open(folder / "graph"))
    return web.truth(), Searcher.open(folder, Settings(folder=str(folder)))


def of_farm(truth, hit):
    return parse_address(hit.url).host in truth.trouble_hosts


def test_spam_is_below_everything_and_right_pages_are_first(searched):
    truth, searcher = searched
    farmed = right = 0
    for question in truth.queries:
        hits = searcher.search(Query(question.words, size=30)).hits
        kinds = [of_farm(truth, hit) for hit in hits]
        assert kinds == sorted(kinds), (question.words, [hit.url for hit in hits])
        assert all(hit.flags & PageFlag.UNTRUSTED for hit in hits if of_farm(truth, hit))
        farmed += any(kinds)
        right += hits[0].url in question.urls
    assert farmed > len(truth.queries) // 4, "the farm says what people search for"
    assert right >= 0.9 * len(truth.queries)


def test_strict_safe_search_leaves_the_farm_out(searched):
    truth, searcher = searched
    page = searcher.search(Query(truth.queries[0].words, size=30, safe=2))
    assert page.hidden
    assert not any(of_farm(truth, hit) for hit in page.hits)
