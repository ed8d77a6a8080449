"""The metrics of COAST, section 5: against naive twins, and by hand."""

import importlib.util
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.evaluate.sites.active_crawling import inter_crawler_links, load_balance, total_download_time
from periplus.evaluate.sites.passive_crawling import affected_queries, average_metric, compare_discoveries
from periplus.evaluate.sites.placement_quality import judge_placements, popularity_ordinal
from periplus.evaluate.sites.query_processing import (
    forwarding_precision,
    latency_by_sites,
    locality_over_time,
    query_locality,
)
from periplus.evaluate.sites.result_quality import passive_contribution, stale_share, top_k_precision
from periplus.evaluate.sites.sites_evaluation import SitesEvaluation, evaluate_records
from periplus.evaluate.sites.transfer_model import TransferModel
from periplus.sites import (
    DocumentState,
    ForwardedLinks,
    PageAccess,
    PageFetch,
    PagePlacement,
    QueryAnswer,
    SiteLocation,
    UrlDiscovery,
)


def _load_naive(name):
    path = Path(__file__).parents[2] / "naive" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"naive_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


naive = _load_naive("site_metrics")
NAMES = ("a", "b", "c")
MODELS = [TransferModel(), TransferModel(first_window=2, largest_window=5_000), TransferModel(largest_window=1)]


@given(st.floats(0, 20_000), st.integers(0, 3_000_000), st.sampled_from(MODELS))
def test_downloads_take_as_long_as_window_after_window(distance, size, model):
    assert float(model.download_time(distance, size)) == pytest.approx(naive.download_seconds(distance, size, *model))


def test_a_download_by_hand():
    model = TransferModel(base=10.0, detour=2.0, bandwidth=8e6)
    # 1,000 km: 10 + 2 * 2 * 1000 / 200 = 30 ms. 14,600 bytes are one window, one more byte takes a second one.
    assert float(model.round_trip(np.array(1000.0))) == 30.0
    assert float(model.download_time(1000.0, 14_600)) == pytest.approx(0.030 * 2 + 0.0146)
    assert float(model.download_time(1000.0, 14_601)) == pytest.approx(0.030 * 3 + 0.014601)


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 9)), min_size=1, max_size=12), st.data())
def test_crawl_metrics_equal_the_naive_ones(pages, data):
    owners = np.array([owner for owner, _ in pages])
    seconds = {(NAMES[owner], page): time for page, (owner, time) in enumerate(pages)}
    assigned = {name: [page for page, (owner, _) in enumerate(pages) if NAMES[owner] == name] for name in NAMES}
    number = st.integers(0, len(pages) - 1)
    links = data.draw(st.lists(st.tuples(number, number), max_size=20))
    sources, targets = (np.array([link[end] for link in links], np.int64) for end in (0, 1))
    assert total_download_time(np.array([time for _, time in pages])) == pytest.approx(naive.tdt(assigned, seconds))
    assert inter_crawler_links(sources, targets, owners) == naive.icc(assigned, links)
    assert load_balance(owners, 3) == naive.lb(assigned)


def test_load_balance_of_nothing_is_even():
    assert load_balance(np.zeros(0, np.int64), 3) == 1.0
    assert load_balance(np.array([0, 0, 1]), 2) == 2.0
    assert load_balance(np.array([0, 0]), 2) == math.inf


def test_discoveries_by_hand():
    crawl = {1: 10.0, 2: 20.0, 3: 30.0, 4: 5.0}
    people = {2: 12.0, 3: 30.0, 4: 9.0, 5: 1.0, 6: 2.0}
    sets = compare_discoveries(crawl, people)
    assert (sets.people_only, sets.people_first) == ({5, 6}, {2})
    assert (sets.crawl_first, sets.crawl_only) == ({3, 4}, {1})
    assert (sets.only_share, sets.first_share, sets.leads, sets.median_lead) == (2 / 6, 1 / 6, (8.0,), 8.0)
    empty = compare_discoveries({}, {})
    assert (empty.total, empty.only_share, empty.first_share, empty.median_lead) == (0, 0.0, 0.0, 0.0)
    assert average_metric([2, 9], {2: 6.0}) == 3.0
    assert average_metric([], {}) == 0.0
    assert affected_queries([(1, 2), (1, 3), (9, 9, 2)], sets.people_first, 2) == (1, 3)


@given(
    st.dictionaries(st.integers(0, 9), st.sampled_from(NAMES)),
    st.dictionaries(st.integers(0, 9), st.dictionaries(st.sampled_from(NAMES), st.integers(0, 4))),
)
def test_placement_equals_the_naive_one(masters, popularity):
    quality = judge_placements(masters, popularity, 3)
    assert quality.precision == pytest.approx(naive.placement_precision(masters, popularity))
    assert sum(quality.ordinals) == quality.documents


def test_ordinals_by_hand():
    popularity = {"a": 5.0, "b": 9.0, "c": 5.0}
    assert [popularity_ordinal(site, popularity) for site in ("a", "b", "c", "d")] == [2, 1, 2, 4]
    quality = judge_placements({1: "b", 2: "a", 3: "d", 4: "a"}, dict.fromkeys((1, 2, 3), popularity), 4)
    assert (quality.documents, quality.precision, quality.ordinals) == (3, 1 / 3, (1, 1, 0, 1))
    assert quality.mean_ordinal == pytest.approx(7 / 3)


ANSWERS = [
    QueryAnswer(0.0, "a", 1, 0.1, (), False, 2, (1, 2)),
    QueryAnswer(10.0, "a", 2, 0.3, ("b",), True, 2, (3,)),
    QueryAnswer(90.0, "b", 3, 0.2, ("a",), False, 2),
    QueryAnswer(100.0, "b", 4, 0.1, (), False, 3, (2,)),
]


def test_queries_by_hand():
    assert query_locality(ANSWERS) == 0.5
    assert query_locality([]) == 0.0
    assert forwarding_precision(ANSWERS) == 0.5
    assert forwarding_precision(ANSWERS[:1]) is None
    unknown = [msgspec.structs.replace(answer, improved=None) for answer in ANSWERS]
    assert forwarding_precision(unknown) is None
    assert forwarding_precision([*ANSWERS, *unknown]) == 0.5
    points = locality_over_time(ANSWERS, 2)
    assert [(point.start, point.queries, point.locality) for point in points] == [(0.0, 2, 0.5), (50.0, 2, 0.5)]
    assert locality_over_time([]) == []
    two, three = latency_by_sites(ANSWERS)
    assert (two.sites, two.queries, three.sites, three.queries) == (2, 3, 3, 1)
    assert two.mean == pytest.approx(0.2)
    assert two.deviation == pytest.approx(math.sqrt(0.02 / 3))


def test_result_quality_by_hand():
    assert passive_contribution([1, 2, 2, 3], {2}) == 0.5
    assert stale_share({1: True, 2: False, 3: False, 4: False}) == 0.25
    assert top_k_precision([1, 10, 11, 0], 10) == 0.5
    assert (passive_contribution([], set()), stale_share({}), top_k_precision([])) == (0.0, 0.0, 0.0)


def test_all_metrics_of_records():
    records = [
        SiteLocation(0.0, "a", 47.4, 8.5),
        SiteLocation(0.0, "b", 40.4, -3.7),
        PageFetch(1.0, "a", 1, 14_600, 0.5, 47.4, 8.5),
        PageFetch(1.0, "a", 2, 14_600, 0.25),
        PageFetch(1.0, "b", 3, 14_600, 0.25, 47.4, 8.5),
        ForwardedLinks(1.0, "a", "b", 7),
        ForwardedLinks(1.0, "b", "b", 100),
        UrlDiscovery(5.0, "a", 1, "crawl"),
        UrlDiscovery(3.0, "a", 1, "people"),
        UrlDiscovery(9.0, "b", 1, "people"),
        UrlDiscovery(1.0, "a", 2, "crawl"),
        PagePlacement(1.0, "a", 1, "b"),
        PagePlacement(1.0, "a", 2, "a", 2, ("b", "a")),
        PageAccess(1.0, "b", 1, 4, 3, 1),
        PageAccess(1.0, "b", 1, 1, 12, 1),
        PageAccess(1.0, "a", 1),
        PageAccess(1.0, "b", 2, 1, 11, 2),
        *ANSWERS,
        DocumentState(1.0, "a", 1, True, True),
        DocumentState(2.0, "a", 1, True, False),
        DocumentState(2.0, "b", 1, True, True),
    ]
    found = evaluate_records(records)
    assert found.sites == ("a", "b")
    assert (found.pages_fetched, found.total_download_time, found.loads) == (3, 1.0, {"a": 2, "b": 1})
    near, far = TransferModel().download_time(np.array([0.0, 1247.0]), 14_600)
    assert found.modelled_download_time == pytest.approx(near + far, rel=0.01)
    assert (found.links_exchanged, found.load_balance) == (7, 2.0)
    assert (found.urls_discovered, found.people_only_share, found.people_first_share) == (2, 0.0, 0.5)
    assert (found.people_lead_median, found.people_first_accesses) == (2.0, 6.0)
    assert found.affected_query_share == pytest.approx(1 / 3)
    assert found.passive_contribution == pytest.approx(1 / 4)
    assert (found.placement_precision, found.placement_ordinals, found.score_ordinals) == (0.5, (1, 1), (1, 1))
    assert (found.query_locality, found.forwarding_precision, found.queries) == (0.5, 0.5, 4)
    assert (found.stale_share, found.top_k_precision) == (0.5, 0.5)


def test_no_records_give_no_metrics():
    assert evaluate_records([]) == SitesEvaluation()
