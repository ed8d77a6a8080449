"""Mirrors, trust and spam mass: by hand, against a plain solution, and on the fake web, whose truth is known."""

import numpy as np
import pytest
from farm_web import crawl

from periplus.errors import BadFile
from periplus.fakeweb import FakeWeb, FakeWebPlan
from periplus.graph import Graph, build_graph
from periplus.records import FetchRecord, Link, Outcome, Page
from periplus.settings import GraphSettings, StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address


def key(url):
    return parse_address(url).key


def keys(*urls):
    return np.array([key(url) for url in urls], np.uint64)


def page(url, *links, depth=1, **more):
    made = tuple(Link(link, "a good name") for link in links)
    return FetchRecord(url, key(url), Outcome.OK, 1.0, 200, depth=depth, page=Page(url, links=made), **more)


def build(folder, visits, **more):
    with PageStore.open(folder / "store", StoreSettings(), write=True) as store:
        for visit in visits:
            store.append(visit)
        statistics = build_graph(store, folder / "graph", GraphSettings(**more))
    return statistics, Graph.open(folder / "graph")


ONE, TWO = "http://www.one.example", "http://one.example"


def mirrored(equal, apart=0):
    """Two hosts with the same paths; some pages are copies, some are of the same path but different."""
    for number in range(equal + apart):
        yield page(f"{ONE}/{number}", f"{ONE}/0", simhash=1 << number)
    for number in range(equal):
        kind = {"duplicate_of": f"{ONE}/{number}"} if number % 2 else {"near_duplicate_of": f"{ONE}/{number}"}
        yield page(f"{TWO}/{number}", f"{TWO}/0", simhash=1 << number, **kind)
    for number in range(equal, equal + apart):
        yield page(f"{TWO}/{number}", f"{TWO}/0", simhash=(1 << 64) - 1 - number)


def test_mirrors_become_the_host_they_copy(tmp_path):
    visits = [*mirrored(6, 1), page(f"{TWO}/only"), page("http://other.example/", f"{TWO}/2", f"{TWO}/only")]
    statistics, graph = build(tmp_path, visits)
    assert statistics.mirrors == 1
    assert statistics.hosts == 2, "both names are of one domain: one host"
    found = graph.representatives(keys(*(f"{TWO}/{number}" for number in range(6))))
    assert found.tolist() == keys(*(f"{ONE}/{number}" for number in range(6))).tolist()
    assert graph.signals(keys(f"{ONE}/2")).in_links.tolist() == [1]
    stay = keys(f"{TWO}/6", f"{TWO}/only")
    assert graph.representatives(stay).tolist() == stay.tolist(), "what differs, or is there only, stays"


def test_hosts_with_a_few_equal_pages_are_no_mirrors(tmp_path):
    statistics, graph = build(tmp_path, mirrored(2, 9))
    assert statistics.mirrors == 0
    near = keys(f"{TWO}/0")
    assert graph.representatives(near).tolist() == near.tolist()
    statistics, _ = build(tmp_path / "most-differ", mirrored(5, 9))
    assert statistics.mirrors == 0


def test_a_copy_under_a_foreign_domain_keeps_what_is_its_own(tmp_path):
    copy = "http://copycat.example"
    visits = [page(f"{ONE}/{n}", f"{ONE}/0", simhash=n + 1) for n in range(5)]
    visits += [page(f"{copy}/{n}", f"{copy}/spam", near_duplicate_of=f"{ONE}/{n}", simhash=n + 1) for n in range(5)]
    visits += [page(f"{copy}/spam")]
    statistics, graph = build(tmp_path, visits)
    assert statistics.mirrors == 1
    assert statistics.hosts == 2
    assert graph.representatives(keys(f"{copy}/3")).tolist() == keys(f"{ONE}/3").tolist()
    spam = keys(f"{copy}/spam")
    assert graph.representatives(spam).tolist() == spam.tolist()


def two_camps(seeds):
    """Ten good hosts that link to each other, and a farm that lifts one page; a guest book links to the farm."""
    for number, home in enumerate(GOOD):
        inner = [f"{home}{page}" for page in range(6)]
        yield page(home, *inner, GOOD[(number + 1) % 10], GOOD[(number + 3) % 10], depth=0 if number in seeds else 1)
        for url in inner:
            yield page(url, home, *(inner[:3]), *([BAD[1]] if url == f"{GOOD[7]}5" else []))
    yield page(BAD[0])
    for number, home in enumerate(BAD[1:]):
        inner = [f"{home}{page}" for page in range(6)]
        yield page(home, *inner, BAD[0], BAD[1 + (number + 1) % 12], BAD[1 + (number + 5) % 12])
        for url in inner:
            yield page(url, home, BAD[0])


GOOD = [f"http://good{number}.example/" for number in range(10)]
BAD = ["http://lifted.example/", *(f"http://farm{number}.example/" for number in range(12))]


@pytest.mark.parametrize("how", ["seeds", "hosts", "urls"])
def test_a_farm_has_spam_mass_and_good_pages_have_little(tmp_path, how):
    listed = tmp_path / "trusted.txt"
    listed.write_text({"hosts": "# good ones\ngood1.example\ngood4.example\n"}.get(how, f"{GOOD[1]}\n"))
    trusted = str(listed) if how in ("hosts", "urls") else ""
    _, graph = build(tmp_path, two_camps({1, 4} if how == "seeds" else ()), trusted=trusted)
    good, bad = graph.signals(keys(*GOOD)), graph.signals(keys(*BAD))
    assert bad.pagerank[0] > good.pagerank.max(), "by rank alone the lifted page is first"
    assert good.spam_mass.max() < 0.1
    assert bad.spam_mass[0] > 0.8
    assert bad.spam_mass[2:].min() > 0.5, "all but the one that a good page links to"
    assert graph.static_ranks(keys(*GOOD)).min() > graph.static_ranks(keys(*BAD)).max()
    assert good.trust.min() > bad.trust.max()


def test_without_seeds_hosts_that_only_lift_or_link_back_are_not_trusted(tmp_path):
    boosters = [f"http://farm{number}.example/" for number in range(12)]
    visits = [page(GOOD[n], GOOD[(n + 1) % 10], GOOD[(n + 3) % 10]) for n in range(10)]
    visits += [page(f"{url}{n}", url) for url in GOOD for n in range(6)]
    visits += [page(BAD[0], *boosters)]
    visits += [page(url, BAD[0], boosters[number - 1], boosters[number - 11]) for number, url in enumerate(boosters)]
    visits += [page(f"{url}{n}", BAD[0], url) for url in boosters for n in range(6)]
    _, graph = build(tmp_path, visits)
    good, bad = graph.signals(keys(*GOOD)), graph.signals(keys(BAD[0], *boosters))
    assert bad.pagerank[0] > good.pagerank.max()
    assert good.spam_mass.max() < 0.1
    assert bad.spam_mass.min() > 0.5
    assert graph.static_ranks(keys(*GOOD)).min() > graph.static_ranks(keys(BAD[0], *boosters)).max()


def test_without_anything_to_go_by_everybody_is_trusted(tmp_path):
    visits = [page(f"http://h{n}.example/", f"http://h{(n + 1) % 4}.example/", depth=0) for n in range(4)]
    _, graph = build(tmp_path, visits)
    assert graph.signals(keys("http://h1.example/")).spam_mass.tolist() == [0.0]


@pytest.mark.parametrize("text", ["nobody.example\n", "http://[\n", ""])
def test_a_file_of_trust_that_says_nothing_is_an_error(tmp_path, text):
    listed = tmp_path / "trusted.txt"
    listed.write_text(text)
    with pytest.raises(BadFile):
        build(tmp_path, two_camps(()), trusted=str(listed))


def test_spam_mass_is_the_share_of_rank_that_untrusted_pages_give(tmp_path):
    # With full trust in some hosts and none in the others, it can be worked out by hand: x = base + d P x, twice.
    _, graph = build(tmp_path, two_camps({1, 4}))
    visits = list(two_camps({1, 4}))
    urls = [visit.url for visit in visits]
    number = {url: place for place, url in enumerate(urls)}
    host = [url.split("/")[2] for url in urls]
    links = {number[v.url]: {number[link.url] for link in v.page.links} - {number[v.url]} for v in visits}
    flow = np.zeros((len(urls), len(urls)))
    for source, targets in links.items():
        weights = {target: 0.3 if host[source] == host[target] else 1.0 for target in targets}
        for target, weight in weights.items():
            flow[target, source] = 0.85 * weight / sum(weights.values())
    solve = np.linalg.inv(np.eye(len(urls)) - flow)
    base = 0.15 / len(urls)
    all_of_it = solve @ np.full(len(urls), base)
    found = graph.signals(keys(*urls))
    assert found.pagerank == pytest.approx(all_of_it / all_of_it.sum(), abs=1e-7)
    seeds = np.isin(urls, [GOOD[1], GOOD[4]])
    trusted = solve @ seeds
    of = np.unique(host, return_inverse=True)[1]
    has, had = (np.bincount(of, vector) for vector in (trusted, all_of_it))
    share = (has / has.sum()) / (had / had.sum())
    honest = solve @ (base * np.minimum(1.0, share / 0.05)[of])
    assert found.spam_mass == pytest.approx(1 - honest / all_of_it, abs=1e-5)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """The graph of a fake web with a link farm, read without sockets."""
    web = FakeWeb(FakeWebPlan(seed=7, hosts=14, pages=200, trouble=("farm",)))
    statistics, graph = build(tmp_path_factory.mktemp("farm"), crawl(web))
    return web, statistics, graph


def test_on_the_fake_web_authorities_are_above_farms_and_spam_is_below_everything(crawled):
    web, _, graph = crawled
    truth = web.truth()
    good = [one.url for one in truth.pages]
    farm = [f"http://{host}/" for host in truth.trouble_hosts]
    farm += [f"http://{host}/list/{n}.html" for host in truth.trouble_hosts for n in range(1, 12)]
    farm += [f"http://lucky-vouchers.test/offer/{number}.html" for number in range(8)]
    known = graph.signals(keys(*farm)).pagerank > 0
    assert known.sum() > 200, "the farm was found"
    signals = graph.signals(keys(*good))
    assert (signals.pagerank > 0).mean() > 0.99
    lifted = graph.signals(keys("http://lucky-vouchers.test/"))
    authorities = np.argsort(-signals.in_hosts)[:10]
    static = graph.static_ranks(keys(*good))
    assert lifted.pagerank[0] > np.median(signals.pagerank[authorities]), "by rank alone the farm would win"
    assert static[authorities].min() > 0.3
    assert static[signals.pagerank > 0].min() > graph.static_ranks(keys(*farm)).max()
    assert lifted.spam_mass[0] > 0.9 > 0.3 > signals.spam_mass.max()


def test_on_the_fake_web_copies_are_one_page(crawled):
    web, _, graph = crawled
    truth = web.truth()
    copies = {copy: url for copy, url in truth.duplicates.items() if graph.page_ranks(keys(copy))[0] > 0}
    assert len(copies) > 5
    for copy, url in copies.items():
        assert graph.representatives(keys(copy)) == graph.representatives(keys(url))


def test_on_the_fake_web_home_pages_are_the_best_of_most_hosts(crawled):
    web, _, graph = crawled
    homes = [one.url for one in web.truth().pages if one.kind == "home"]
    static = graph.static_ranks(keys(*homes))
    articles = {
        home: [o.url for o in web.truth().pages if o.kind == "article" and o.url.startswith(home)] for home in homes
    }
    better = [s > np.median(graph.static_ranks(keys(*articles[home]))) for home, s in zip(homes, static, strict=True)]
    assert np.mean(better) > 0.9
