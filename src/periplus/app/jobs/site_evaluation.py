"""Compute the metrics of a federation from the records of its sites, or from simulations."""

import contextlib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.errors import BadInput, BadUrl, NothingHere

if TYPE_CHECKING:
    from periplus.evaluate import FederationReport
    from periplus.sites import MetricRecord

__all__ = ["evaluate_sites"]

_CRAWLERS: Final = (1, 2, 4, 8)
_EVENTS: Final = 60_000
_SEED: Final = 23


def evaluate_sites(
    folders: Sequence[Path] = (),
    *,
    graph: Path | None = None,
    collections: Sequence[Path] = (),
    report: Path | None = None,
    observer: Observer = SILENT,
) -> "FederationReport":
    """Return the metrics of COAST, section 5.

    folders: data folders of sites, whose metric logs are read; graph: edges of a web graph, on which crawlers in
    several places are simulated; collections: judged collections, from which a query log with regional interests is
    drawn; report: write an HTML page, its plots as .svg and its figures as .json.
    """
    from periplus.evaluate import FederationReport, evaluate_records, write_sites_report

    if not folders and graph is None and not collections:
        raise BadInput("There is nothing to evaluate.", "Name data folders of sites, or --graph, or --collection.")
    compile_kernels(observer)
    notes: list[str] = []
    streams: list[Iterator[MetricRecord]] = [_read_folder(folder) for folder in folders]
    if folders:
        notes.append(f"Records of {', '.join(folder.name for folder in folders)}.")
    crawls, placements = (), ()
    if graph is not None:
        observer.message(f"Placing {graph.name} on a map")
        crawls, discoveries = _simulate_crawls(graph)
        streams.append(discoveries)
        notes.append(
            f"Crawlers and discoveries are simulated on {graph.name}, hosts drawn onto a map; seeds are fixed."
        )
    if collections:
        observer.message("Drawing a query log with regional interests")
        placements, simulated = _simulate_queries(collections)
        streams.append(simulated)
        names = ", ".join(folder.name for folder in collections)
        notes.append(f"Placement and queries are simulated with {names} and regional interests; seeds are fixed.")
    result = FederationReport(evaluate_records(chain.from_iterable(streams)), crawls, placements, tuple(notes))
    if report is not None:
        write_sites_report(report, result)
    return result


def _read_folder(folder: Path) -> "Iterator[MetricRecord]":
    from periplus.sites import SiteLocation, read_metric_log

    count, site = 0, folder.name
    for record in read_metric_log(folder):
        count += 1
        site = record.site if isinstance(record, SiteLocation) else site
        yield record
    yield from _read_clicks(folder, site)
    if not count:
        raise NothingHere(f"{folder} has no records of a site.", "They are written while `periplus site up` runs.")


def _read_clicks(folder: Path, site: str) -> "Iterator[MetricRecord]":
    """Yield the clicks of a data folder as accesses; a query is named by its fingerprint."""
    from periplus.hashing import fingerprint_text
    from periplus.signals import read_clicks
    from periplus.sites import PageAccess
    from periplus.url import parse_address

    for click in read_clicks(folder):
        with contextlib.suppress(BadUrl):
            key = parse_address(click.url).key
            yield PageAccess(max(click.when, 0.0), site, key, 1, click.position, fingerprint_text(click.query))


def _simulate_crawls(graph: Path) -> tuple[tuple, "Iterator[MetricRecord]"]:  # type: ignore[type-arg]
    import numpy as np

    from periplus.evaluate import CRAWLERS, measure_crawl, place_on_map, simulate_discoveries
    from periplus.graph import read_edges

    batches = list(read_edges(graph))
    if not batches:
        raise BadInput(f"{graph} has no links.")
    sources, targets = (np.concatenate([batch[side] for batch in batches]).astype(np.int64) for side in (0, 1))
    web = place_on_map(sources, targets)
    crawls = tuple(
        measure_crawl(web, CRAWLERS[:count], assignment) for count in _CRAWLERS for assignment in ("nearest", "hash")
    )
    return crawls, simulate_discoveries(sources, targets)


def _simulate_queries(collections: Sequence[Path]) -> tuple[tuple, "Iterator[MetricRecord]"]:  # type: ignore[type-arg]
    from periplus.evaluate import (
        CRAWLERS,
        PLACEMENT_VARIANTS,
        assign_documents,
        draw_regional_log,
        place_documents,
        placement_records,
        prepare_placement,
        read_regional_collection,
        simulate_queries,
    )
    from periplus.sites import Place

    collection = read_regional_collection(collections)
    if not collection.queries:
        raise BadInput("The collections have no query with a relevant document.")
    log = draw_regional_log(collection, len(CRAWLERS), _EVENTS, seed=_SEED)
    data = prepare_placement(collection, log, CRAWLERS)
    placements = tuple(place_documents(data, variant) for variant in PLACEMENT_VARIANTS)
    masters = assign_documents(data, collection)
    regions = [site.place or Place(0.0, 0.0) for site in CRAWLERS]
    queries = (simulate_queries(collection, log, masters, regions, CRAWLERS[:count]) for count in _CRAWLERS)
    return placements, chain(placement_records(data, placements[-1]), *queries)
