"""All metrics of a federation, from the records of its sites (COAST, section 5)."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from periplus.evaluate.sites.passive_crawling import affected_queries, average_metric, compare_discoveries
from periplus.evaluate.sites.placement_quality import judge_placements
from periplus.evaluate.sites.query_processing import (
    Latency,
    LocalityPoint,
    forwarding_precision,
    latency_by_sites,
    locality_over_time,
    query_locality,
)
from periplus.evaluate.sites.result_quality import passive_contribution, stale_share, top_k_precision
from periplus.evaluate.sites.transfer_model import TransferModel
from periplus.sites import (
    DocumentState,
    ForwardedLinks,
    MetricRecord,
    PageAccess,
    PageFetch,
    PagePlacement,
    Place,
    QueryAnswer,
    SiteLocation,
    UrlDiscovery,
    distance_between,
)

__all__ = ["SitesEvaluation", "evaluate_records"]

_MAX_RECORDS: Final = 20_000_000
_K: Final = 10


class SitesEvaluation(msgspec.Struct, frozen=True):
    """The metrics of a federation. None where there were no records to compute one from."""

    records: int = 0
    sites: tuple[str, ...] = ()
    pages_fetched: int = 0
    total_download_time: float | None = None
    """TDT in seconds, as measured (section 5.1.1.3)."""
    modelled_download_time: float | None = None
    """TDT in seconds, by the transfer model, of pages whose place is known."""
    links_exchanged: int | None = None
    """ICC (section 5.1.1.3)."""
    load_balance: float | None = None
    """LB (section 5.1.1.3); None also if a site has fetched nothing, and the quotient is infinite."""
    loads: dict[str, int] = {}
    """Pages by site."""
    urls_discovered: int = 0
    people_only_share: float | None = None
    """PO (section 5.1.2.3)."""
    people_first_share: float | None = None
    """PF (section 5.1.2.3)."""
    people_lead_median: float | None = None
    """Median time by which people were earlier, in seconds (section 5.1.2.3)."""
    people_leads: tuple[float, ...] = ()
    """The same at the deciles from 10 % to 90 %."""
    people_first_accesses: float | None = None
    """Average accesses of URLs of PF: AvgM (section 5.1.2.3) with accesses as the metric."""
    affected_query_share: float | None = None
    """Queries with a URL of PF among their results (section 5.1.2.3)."""
    placed_pages: int = 0
    placement_precision: float | None = None
    """P (section 5.2.2.2)."""
    placement_ordinals: tuple[int, ...] = ()
    """How many pages are at the site where they are most popular, second most popular, ... (section 5.2.2.2)."""
    score_ordinals: tuple[int, ...] = ()
    """How many pages went to the best site by score, to the second best, ...: better ones could not be reached."""
    queries: int = 0
    query_locality: float | None = None
    """QL (section 5.2.3.2)."""
    locality: tuple[LocalityPoint, ...] = ()
    """QL over time."""
    forwarding_precision: float | None = None
    """P (section 5.2.4.2)."""
    latency: tuple[Latency, ...] = ()
    """Response times by number of sites (section 5.2.5.2)."""
    passive_contribution: float | None = None
    """PCC (section 5.3.1.3)."""
    stale_share: float | None = None
    """SD (section 5.3.1.3)."""
    top_k_precision: float | None = None
    """TKP with k = 10 (section 5.3.2.3), of queries for which something was clicked."""


class _Tally:
    """What is counted of records."""

    def __init__(self) -> None:
        self.records = 0
        self.places: dict[str, Place] = {}
        self.fetches: list[PageFetch] = []
        self.links = 0
        self.has_links = False
        self.discoveries: dict[str, dict[int, float]] = {"crawl": {}, "people": {}}
        self.masters: dict[int, str] = {}
        self.score_ordinals: Counter[int] = Counter()
        self.popularity: defaultdict[int, dict[str, float]] = defaultdict(dict)
        self.ranks: dict[tuple[str, int], int] = {}
        self.answers: list[QueryAnswer] = []
        self.documents: dict[tuple[str, int], DocumentState] = {}

    def add(self, record: MetricRecord) -> None:
        """Count a record."""
        self.records += 1
        match record:
            case SiteLocation():
                self.places[record.site] = Place(record.latitude, record.longitude)
            case PageFetch():
                self.fetches.append(record)
            case ForwardedLinks():
                self.has_links = True
                self.links += record.links if record.site != record.target else 0
            case UrlDiscovery():
                times = self.discoveries[record.source]
                times[record.page] = min(record.when, times.get(record.page, math.inf))
            case PagePlacement():
                self.masters[record.page] = record.master
                self.score_ordinals[record.ordinal] += 1
            case PageAccess():
                counts = self.popularity[record.page]
                counts[record.site] = counts.get(record.site, 0.0) + record.count
                if record.rank:
                    clicked = record.site, record.query
                    self.ranks[clicked] = min(record.rank, self.ranks.get(clicked, record.rank))
            case QueryAnswer():
                self.answers.append(record)
            case DocumentState():
                self.documents[record.site, record.page] = record


def evaluate_records(records: Iterable[MetricRecord], model: TransferModel | None = None) -> SitesEvaluation:
    """Compute all metrics for which there are records."""
    tally = _Tally()
    for record in records:
        if tally.records >= _MAX_RECORDS:
            break
        tally.add(record)
    names = {fetch.site for fetch in tally.fetches} | {answer.site for answer in tally.answers} | set(tally.places)
    sites = tuple(sorted(names | set(tally.masters.values())))
    metrics: dict[str, object] = {"records": tally.records, "sites": sites}
    metrics |= _crawling(tally, sites, model or TransferModel())
    metrics |= _discovery(tally)
    metrics |= _placement(tally, len(sites))
    metrics |= _queries(tally)
    return SitesEvaluation(**metrics)  # type: ignore[arg-type]


def _crawling(tally: _Tally, sites: tuple[str, ...], model: TransferModel) -> dict[str, object]:
    metrics: dict[str, object] = {"links_exchanged": tally.links if tally.has_links else None}
    if not tally.fetches:
        return metrics
    loads = Counter(fetch.site for fetch in tally.fetches)
    least = min(loads[site] for site in sites)
    measured = [fetch.seconds for fetch in tally.fetches if fetch.seconds]
    placed = [
        (distance_between(tally.places[fetch.site], Place(fetch.latitude, fetch.longitude)), fetch.size)
        for fetch in tally.fetches
        if fetch.latitude is not None and fetch.longitude is not None and fetch.site in tally.places
    ]
    modelled = model.download_time(*np.array(placed, np.float64).T).sum() if placed else None
    return metrics | {
        "pages_fetched": len(tally.fetches),
        "total_download_time": sum(measured) if measured else None,
        "modelled_download_time": None if modelled is None else float(modelled),
        "load_balance": max(loads.values()) / least if least else None,
        "loads": {site: loads[site] for site in sites},
    }


def _discovery(tally: _Tally) -> dict[str, object]:
    crawl, people = tally.discoveries["crawl"], tally.discoveries["people"]
    if not crawl and not people:
        return {}
    sets = compare_discoveries(crawl, people)
    accesses = {page: sum(counts.values()) for page, counts in tally.popularity.items()}
    results = [answer.results for answer in tally.answers if answer.results]
    affected, total = affected_queries(results, sets.people_first, _K)
    returned = [page for pages in results for page in pages]
    brought = sets.people_only | sets.people_first
    return {
        "urls_discovered": sets.total,
        "people_only_share": sets.only_share,
        "people_first_share": sets.first_share,
        "people_lead_median": sets.median_lead if sets.leads else None,
        "people_leads": tuple(np.percentile(sets.leads, range(10, 100, 10)).tolist()) if sets.leads else (),
        "people_first_accesses": average_metric(sets.people_first, accesses) if accesses else None,
        "affected_query_share": affected / total if total else None,
        "passive_contribution": passive_contribution(returned, brought) if returned else None,
    }


def _placement(tally: _Tally, sites: int) -> dict[str, object]:
    if not tally.masters:
        return {}
    quality = judge_placements(tally.masters, tally.popularity, sites)
    return {
        "placed_pages": len(tally.masters),
        "placement_precision": quality.precision if quality.documents else None,
        "placement_ordinals": quality.ordinals if quality.documents else (),
        "score_ordinals": tuple(tally.score_ordinals[rank] for rank in range(1, max(tally.score_ordinals) + 1)),
    }


def _queries(tally: _Tally) -> dict[str, object]:
    metrics: dict[str, object] = {}
    answers = tally.answers
    if answers:
        metrics = {
            "queries": len(answers),
            "query_locality": query_locality(answers),
            "locality": tuple(locality_over_time(answers)),
            "forwarding_precision": forwarding_precision(answers),
            "latency": tuple(latency_by_sites(answers)),
        }
    if tally.documents:
        metrics["stale_share"] = stale_share({n: d.stale for n, d in enumerate(tally.documents.values())})
        if tally.documents and not tally.discoveries["people"]:
            passive = sum(document.passive for document in tally.documents.values())
            metrics["passive_contribution"] = passive / len(tally.documents)
    if tally.ranks:
        metrics["top_k_precision"] = top_k_precision(tally.ranks.values(), _K)
    return metrics
