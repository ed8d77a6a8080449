"""Simulations of sites: seeded, and as they should come out; the report shows what was computed."""

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from periplus.evaluate.sites.crawl_simulation import CRAWLERS, measure_crawl, place_on_map
from periplus.evaluate.sites.discovery_simulation import simulate_discoveries
from periplus.evaluate.sites.placement_simulation import place_documents, placement_records, prepare_placement
from periplus.evaluate.sites.query_processing import latency_by_sites, locality_over_time, query_locality
from periplus.evaluate.sites.query_simulation import nearest_sites, simulate_queries
from periplus.evaluate.sites.regional_log import draw_regional_log, read_regional_collection
from periplus.evaluate.sites.sites_evaluation import SitesEvaluation, evaluate_records
from periplus.evaluate.sites.sites_plots import Line, draw_lines
from periplus.evaluate.sites.sites_report import FederationReport, write_sites_report
from periplus.sites import Place

TOPICS = {
    "sea": "harbour tide ship sailor lighthouse wave anchor port",
    "bread": "dough flour oven yeast baker crust loaf rye",
    "stars": "planet comet orbit galaxy telescope moon nebula sun",
}


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(3)
    pages, links = 6_000, 30_000
    sources = rng.integers(0, pages, links)
    near = sources + rng.integers(-40, 41, links)
    targets = np.where(rng.random(links) < 0.8, np.clip(near, 0, pages - 1), rng.integers(0, pages // 2, links))
    sources[0] = pages - 1
    return sources.astype(np.int64), targets.astype(np.int64)


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """A judged collection with a topic for each third of its queries."""
    folder = tmp_path_factory.mktemp("collection") / "topics"
    folder.mkdir()
    rng = np.random.default_rng(5)
    documents, queries, judgements = [], [], []
    for topic, words in TOPICS.items():
        for number in range(40):
            text = " ".join(rng.choice(words.split(), 30))
            documents.append({"id": f"{topic}{number}", "title": text.split()[0], "text": text})
        for number in range(12):
            queries.append({"id": f"{topic}-q{number}", "text": " ".join(rng.choice(words.split(), 2, replace=False))})
            relevant = rng.choice(40, 6, replace=False)
            judgements += [f"{topic}-q{number}\t{topic}{document}\t{1 + document % 2}" for document in relevant]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels.tsv").write_text("\n".join(judgements))
    return read_regional_collection([folder])


@pytest.fixture(scope="module")
def log(collection):
    return draw_regional_log(collection, 3, 6_000, focus=0.9, topics_per_collection=3)


def test_nearest_crawlers_fetch_sooner_than_hashed_ones(graph):
    web = place_on_map(*graph)
    one = measure_crawl(web, CRAWLERS[:1], "nearest")
    near, hashed = (measure_crawl(web, CRAWLERS, assignment) for assignment in ("nearest", "hash"))
    assert one == measure_crawl(web, CRAWLERS[:1], "hash")._replace(assignment="nearest")
    assert (one.links_exchanged, one.balance) == (0, 1.0)
    assert near.download_time < 0.6 * hashed.download_time
    assert near.distance < 0.3 * hashed.distance
    assert near.links_exchanged < hashed.links_exchanged
    assert near == measure_crawl(place_on_map(*graph), CRAWLERS, "nearest")


def test_people_discover_what_the_crawl_has_not_reached(graph):
    found = evaluate_records(simulate_discoveries(*graph, visits=3_000, share=0.3))
    assert found == evaluate_records(simulate_discoveries(*graph, visits=3_000, share=0.3))
    assert 0 < found.people_only_share < 1
    assert 0 < found.people_first_share < 1
    assert found.people_lead_median > 0
    everything = evaluate_records(simulate_discoveries(*graph, visits=10, share=1.0))
    assert everything.people_only_share < found.people_only_share


def test_regions_ask_for_their_topics(collection, log):
    again = draw_regional_log(collection, 3, 6_000, focus=0.9, topics_per_collection=3)
    assert all(np.array_equal(first, second) for first, second in zip(log, again, strict=True))
    assert (np.diff(log.times) >= 0).all()
    home = log.homes[log.topics[log.queries]] == log.regions
    assert home.mean() > 0.85
    relevant = [click in collection.relevant[query][0] for query, click in zip(log.queries, log.clicks, strict=True)]
    assert all(relevant)
    fixed = draw_regional_log(collection, 3, 100, topics_per_collection=3, homes_of={"topics": 2})
    assert set(fixed.homes.tolist()) == {2}


def test_new_documents_are_placed_where_they_are_asked_for(collection, log):
    data = prepare_placement(collection, log, CRAWLERS[:3])
    results = {variant: place_documents(data, variant) for variant in ("hash", "all")}
    assert results["all"].quality.precision > 0.8
    assert results["all"].quality.precision > results["hash"].quality.precision + 0.2
    assert results["all"].quality.documents == len(data.pages)
    found = evaluate_records(placement_records(data, results["all"]))
    assert found.placement_precision == results["all"].quality.precision


def test_replication_makes_queries_local(collection, log):
    regions = [site.place for site in CRAWLERS[:3]]
    masters = {number: number % 3 for number in range(len(collection.documents))}
    without = list(simulate_queries(collection, log, masters, regions, CRAWLERS[:3], replica_share=0.0))
    answers = list(simulate_queries(collection, log, masters, regions, CRAWLERS[:3], replica_share=1.0))
    assert query_locality(answers) > query_locality(without) + 0.2
    points = locality_over_time(answers, 10)
    assert points[-1].locality > points[0].locality
    one = list(simulate_queries(collection, log, masters, regions, CRAWLERS[:1]))
    assert query_locality(one) == 1.0
    assert latency_by_sites(one)[0].mean > latency_by_sites(answers)[0].median
    assert nearest_sites([Place(48.0, 8.0), Place(38.0, -80.0)], CRAWLERS[:2]) == [1, 0]


def test_the_report_shows_what_was_computed(tmp_path, graph, collection, log):
    web = place_on_map(*graph)
    data = prepare_placement(collection, log, CRAWLERS[:3])
    result = place_documents(data, "all")
    regions = [site.place for site in CRAWLERS[:3]]
    masters = {number: number % 3 for number in range(len(collection.documents))}
    records = [
        *simulate_discoveries(*graph, visits=1_000, share=0.3),
        *placement_records(data, result),
        *simulate_queries(collection, log, masters, regions, CRAWLERS[:3]),
    ]
    crawls = tuple(measure_crawl(web, CRAWLERS[:n], kind) for n in (1, 2) for kind in ("nearest", "hash"))
    report = FederationReport(evaluate_records(records), crawls, (result,), ("Simulated <here>.",))
    written = write_sites_report(tmp_path / "out" / "sites.html", report)
    page = written[0].read_text("utf-8")
    assert "Simulated &lt;here&gt;." in page
    for text in ("Query locality (QL)", "Placement precision (P)", "2 nearest", "by decile", "99 %"):
        assert text in page
    figures = json.loads(written[1].read_text("utf-8"))
    assert figures["crawls"][2]["crawlers"] == 2
    assert figures["evaluation"]["placement_precision"] == result.quality.precision
    plots = [path for path in written if path.suffix == ".svg"]
    assert len(plots) == 8
    for plot in plots:
        assert ElementTree.fromstring(plot.read_text("utf-8")).get("viewBox")


def test_an_empty_report_is_a_page(tmp_path):
    written = write_sites_report(tmp_path / "sites.html", FederationReport(SitesEvaluation()))
    assert [path.name for path in written] == ["sites.html", "sites.json"]


def test_lines_of_one_point_and_none():
    assert draw_lines([Line("a", [])], "nothing", "x") == ""
    drawing = draw_lines([Line("a", [(1.0, 0.0)]), Line("b", [(1.0, 0.0)])], "one <point>", "x")
    assert "one &lt;point&gt;" in drawing
