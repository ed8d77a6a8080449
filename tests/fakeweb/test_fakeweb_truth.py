"""What the truth says is what the web serves."""

import collections
import hashlib
import subprocess
import sys

import numpy as np
import pytest
from fakeweb_reading import PLAN, decode, get, read

from periplus.errors import BadInput
from periplus.fakeweb import FakeWeb, FakeWebPlan

FINGERPRINT = """
import hashlib
from periplus.fakeweb import FakeWeb, FakeWebPlan
web = FakeWeb(FakeWebPlan(seed={seed}, hosts=6, pages=40, trouble=("trap", "lying")))
seen = hashlib.sha256(repr(web.hosts).encode() + repr(web.truth().pages).encode())
for page in web.truth().pages:
    host, path = page.url.removeprefix("http://").split("/", 1)
    seen.update(web.response(host, "/" + path, {{"accept-encoding": "gzip"}}).wire)
for host in web.truth().trouble_hosts:
    seen.update(web.response(host, "/a/b").wire)
print(seen.hexdigest())
"""


def fingerprint(seed, hash_seed):
    code = FINGERPRINT.format(seed=seed)
    environment = {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_same_seed_gives_the_same_bytes_in_another_process():
    first = fingerprint(5, "1")
    assert fingerprint(5, "2") == first
    assert fingerprint(6, "1") != first


def test_every_good_page_is_there_under_its_own_address(web, good):
    truth = web.truth()
    assert len(good) == len(truth.pages)
    assert sum(page.kind == "article" for page in truth.pages) == PLAN.pages
    assert all(get(web, page.url).status == 200 for page in truth.pages)


def test_titles_and_subjects_are_on_the_page_and_distinct(web, good):
    articles = [page for page in web.truth().pages if page.kind == "article"]
    assert len({(page.title, page.language) for page in articles}) == len(articles)
    for page in articles:
        text = good[page.url].text or decode(get(web, page.url))
        assert page.title in text
        if page.url.endswith(".txt"):
            continue
        assert good[page.url].title.startswith(page.title)


def test_every_good_page_is_reachable_from_the_seeds(web, good):
    seen = set(web.truth().seeds)
    waiting = list(seen)
    while waiting:
        for url, _ in good[waiting.pop()].links:
            if url in good and url not in seen:
                seen.add(url)
                waiting.append(url)
    assert seen == set(good)


def test_in_links_are_what_a_parser_counts(web, good):
    counted = collections.Counter()
    for source, page in good.items():
        counted.update({url for url, _ in page.links if url != source and url not in page.nofollow})
    assert {page.url: page.in_links for page in web.truth().pages} == {url: counted[url] for url in good}


def test_every_link_leads_to_something_the_truth_knows(web, good):
    truth = web.truth()
    known = set(good) | truth.blocked | truth.noindex | truth.nofollow | truth.unlisted | truth.missing
    known |= set(truth.duplicates) | set(truth.near_duplicates) | set(truth.redirects)
    assert {url for page in good.values() for url, _ in page.links} <= known


def test_links_have_words_that_fit_their_target(web, good):
    by_url = {page.url: page for page in web.truth().pages if page.kind == "article"}
    for page in good.values():
        for url, words in page.links:
            if url in by_url:
                assert words == by_url[url].title or by_url[url].subject in words


def test_in_links_and_hosts_follow_a_power_law():
    web = FakeWeb(FakeWebPlan(seed=3, hosts=200, pages=20_000))
    links = np.sort(np.bincount(web.graph.link_to, minlength=20_000))[::-1]
    assert links[:200].sum() > 0.2 * links.sum()
    assert np.median(links) < links.mean()
    hosts = np.sort(np.bincount(web.graph.host_of[web.graph.link_to], minlength=200))[::-1]
    assert hosts[:20].sum() > 0.4 * hosts.sum()
    sizes = np.sort(np.diff(web.graph.first))[::-1]
    assert sizes.sum() == 20_000
    assert sizes.min() >= 1
    assert sizes[:20].sum() > 0.4 * sizes.sum()


def test_duplicates_are_the_same_bytes_and_near_duplicates_nearly(web):
    truth = web.truth()
    assert len(truth.duplicates) > 10
    assert len(truth.near_duplicates) > 10
    for url, first in truth.duplicates.items():
        assert url != first
        assert get(web, url).body == get(web, first).body
    for url, first in truth.near_duplicates.items():
        mine, other = set(read(web, url).text.split(". ")), set(read(web, first).text.split(". "))
        assert get(web, url).body != get(web, first).body
        assert len(mine & other) > 0.5 * len(mine)


def test_redirects_end_where_the_truth_says(web):
    statuses = set()
    for url, end in web.truth().redirects.items():
        at, hops = url, [url]
        while (response := get(web, at)).status in (301, 302, 307, 308) and len(hops) < 10:
            statuses.add(response.status)
            target = response.header("location")
            at = target if target.startswith("http") else f"http://{at.split('/')[2]}{target}"
            hops.append(at)
        assert (at == end and get(web, end).status == 200) if end else len(hops) == 10
    assert statuses == {301, 302, 307, 308}
    assert "" in web.truth().redirects.values()


def test_judged_queries_are_answered_by_their_pages(web):
    queries = web.truth().queries
    assert len(queries) >= 30
    words = {query.words for query in queries}
    assert {"sourdough starter hydration", "lighthouse keeper fog signal"} <= words
    pages = {page.url: page for page in web.truth().pages}
    for query in queries:
        assert query.urls
        assert all(pages[url].subject == query.words for url in query.urls)
    copied = set(web.truth().duplicates.values()) | set(web.truth().near_duplicates.values())
    assert not copied & {url for query in queries for url in query.urls}


@pytest.mark.parametrize("seed", range(5))
def test_the_first_subject_of_every_topic_is_always_asked_for(seed):
    queries = FakeWeb(FakeWebPlan(seed=seed)).truth().queries
    words = {query.words: query.urls for query in queries}
    assert words["sourdough starter hydration"]
    assert words["lighthouse keeper fog signal"]


@pytest.mark.parametrize(
    "wrong",
    [{"hosts": 0}, {"hosts": 10, "pages": 9}, {"seed": -1}, {"trouble": ("plague",)}, {"hosts": 10**9, "pages": 10**9}],
)
def test_a_plan_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(BadInput):
        FakeWebPlan(**wrong)


def test_the_smallest_web_stands():
    web = FakeWeb(FakeWebPlan(seed=0, hosts=1, pages=1))
    assert [page.kind for page in web.truth().pages] == ["home", "list", "article"]
    assert all(get(web, page.url).status == 200 for page in web.truth().pages)


def test_a_large_web_is_laid_out_without_rendering_it():
    web = FakeWeb(FakeWebPlan(seed=1, hosts=1_000, pages=100_000))
    assert len({name for name, _ in web.hosts}) == len({address for _, address in web.hosts}) == len(web.hosts)
    last = web.graph.article(99_999)
    assert get(web, last.url).status == 200
    assert hashlib.sha256(get(web, last.url).body).digest() == hashlib.sha256(get(web, last.url).body).digest()
