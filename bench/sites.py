"""Query forwarding between sites beside sending every query to every site.

.venv/bin/python bench/sites.py [--sites 3 5 8] [--queries 200] [--no-save]

Judged collections of several topics and languages are placed on sites with regional interests (bench/site_regions.py),
and a log is drawn in which few queries are frequent, and nine of ten queries of a region are about its own pages.
Counted are: queries forwarded; of these, queries whose first ten results differ from the local ones (precision P, as
COAST section 5.2.4 defines it); messages; results that differ from those of all sites (none at slack 0); nDCG@10.
Latencies are simulated: processor time as measured, and round trips by distance. No time of the wall clock is used, so
load does not matter for shares.
"""

import argparse
import json
import math
import shutil
import statistics
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import record
from periplus.sites.forwarding import ForwardingSettings
from periplus.sites.forwarding.site_bounds import DEFAULT_GROUP
from periplus.sites.replication import ReplicationSettings, Replicator
from site_regions import GROUPS, REGIONS, LogQuery, RegionData, draw_log, draw_unrepeated, read_region
from site_simulation import SETTINGS, SIZE, Configuration, LocalSource, Site

WARM_UP = 3
"""Queries before those that are counted, as a multiple of them: sites know answers to queries of the past."""
SEED = 17
SLACKS = (0.0, 0.05, 0.1, 0.2)
EXTRA = 0.1
"""Copies of all sites together, as a share of all documents."""
PERIODS = 4
"""In which copies are made: three of the past, and one that is counted."""
GROUP = DEFAULT_GROUP
"""Documents of a group of bounds."""
OTHER_INTEREST = 0.8
"""Of a second log, in which more queries are about pages elsewhere, and sites know nothing at first."""


def ndcg(keys: Sequence[int], query: LogQuery, world: "World") -> float:
    """Return nDCG@10 of results by the judgements of the query's collection."""
    grades = world.grades[query.collection].get(query.id, {})
    gains = [2.0 ** grades.get(world.names.get(key, ("", ""))[1], 0) - 1 for key in keys[:SIZE]]
    gains = [
        gain if world.names.get(key, ("", ""))[0] == query.collection else 0.0
        for gain, key in zip(gains, keys, strict=False)
    ]
    best = sorted((2.0**grade - 1 for grade in grades.values()), reverse=True)[:SIZE]
    ideal = sum(gain / math.log2(place + 2) for place, gain in enumerate(best))
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains)) / ideal if ideal else 0.0


class World(NamedTuple):
    """The collections of all regions."""

    regions: list[RegionData]
    names: dict[int, tuple[str, str]]
    grades: dict[str, dict[str, dict[str, int]]]


def read_world() -> World:
    """Read the collections of all regions."""
    regions: list[RegionData] = []
    names: dict[int, tuple[str, str]] = {}
    grades: dict[str, dict[str, dict[str, int]]] = {}
    for number in range(len(REGIONS)):
        data, own_names, own_grades = read_region(number)
        regions.append(data)
        names |= own_names
        grades |= own_grades
    return World(regions, names, grades)


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile in milliseconds."""
    return round(sorted(values)[min(len(values) - 1, int(share * len(values)))] * 1000, 1)


def run_log(
    configuration: Configuration,
    world: World,
    log: Sequence[LogQuery],
    settings: ForwardingSettings,
    group: int | None,
    known: Mapping[int, Any] | None = None,
) -> dict[str, Any]:
    """Answer a log at the sites where it is asked; return the figures. known: queries that each site knows before."""
    sites = [configuration.site(n, settings, group) for n in range(len(configuration.shards))]
    for number, queries in (known or {}).items():
        sites[number].searcher.federation.known = queries.copy()
    return run_queries(configuration, world, log, sites, configuration.local)


def run_queries(
    configuration: Configuration,
    world: World,
    log: Sequence[LogQuery],
    sites: Sequence[Site],
    local: Callable[[int, str], Collection[int]],
) -> dict[str, Any]:
    """Answer a log at some sites; local: the results of a site alone, in order, or all pages that it has."""
    answers, needed, useful, different = [], 0, 0, 0
    quality, best = [], []
    for query in log:
        own = configuration.site_of[query.region]
        answer = sites[own].answer(query.words)
        truth = configuration.truth(query.words)
        alone = local(own, query.words)
        differs = truth != alone if isinstance(alone, tuple) else not alone >= set(truth)  # type: ignore[operator]
        answers.append(answer)
        needed += differs
        useful += differs and answer.forwarded
        different += answer.keys != truth
        quality.append(ndcg(answer.keys, query, world))
        best.append(ndcg(truth, query, world))
    forwarded = sum(answer.forwarded for answer in answers)
    seconds = [answer.seconds for answer in answers]
    return {
        "queries": len(log),
        "forwarded": round(forwarded / len(log), 4),
        "asked for counts": round(sum(answer.counted for answer in answers) / len(log), 4),
        "needed": round(needed / len(log), 4),
        "precision": round(useful / max(1, forwarded), 4),
        "sites asked per query": round(sum(answer.asked for answer in answers) / len(log), 3),
        "messages per query": round(sum(answer.messages for answer in answers) / len(log), 3),
        "second rounds": sum(answer.rounds > 1 for answer in answers),
        "different from all sites": different,
        "ndcg@10": round(statistics.fmean(quality), 4),
        "ndcg@10 of all sites": round(statistics.fmean(best), 4),
        "p50 ms": percentile(seconds, 0.5),
        "p99 ms": percentile(seconds, 0.99),
    }


def run_replication(
    configuration: Configuration, folder: Path, world: World, log: Sequence[LogQuery], periods: int
) -> dict[str, Any]:
    """Answer a log while sites copy what is asked for; return the figures of the last period, and locality of all.

    Copies of all sites together are at most a tenth of all documents. Of the last period, a query is needed to be
    forwarded if a result is neither a page of the site nor a copy.
    """
    count = len(configuration.shards)
    most = int(EXTRA * sum(configuration.documents) / count)
    rules = ReplicationSettings(budget_bytes=1 << 40, max_documents=most, max_change=5_000)
    sites, replicators = [], []
    for own in range(count):
        site = configuration.site(own, ForwardingSettings(deadline_ms=1e6), GROUP)
        replicator = Replicator(
            folder / f"site-{own}" / "copies", site.searcher.federation, LocalSource(configuration), SETTINGS, rules
        )
        site.searcher.observe = replicator.observe
        sites.append(site)
        replicators.append(replicator)
    locality: list[float] = []
    size = len(log) // periods
    row: dict[str, Any] = {}
    for period in range(periods):
        held = [configuration.keys[own] | copied_keys(replicators[own]) for own in range(count)]
        part = log[period * size : (period + 1) * size]
        row = run_queries(configuration, world, part, sites, lambda own, words: held[own])  # noqa: B023
        locality.append(round(1 - row["forwarded"], 4))
        if period < periods - 1:
            for own, replicator in enumerate(replicators):
                replicator.run_period(sites[own].searcher.collection.descriptions)
    copies = sum(sum(replicator.status().copies.values()) for replicator in replicators)
    return {
        "local by period": locality,
        "copies": copies,
        "extra documents": round(copies / sum(configuration.documents), 4),
        "bytes of copies": sum(replicator.status().bytes for replicator in replicators),
        "last period": row,
    }


def copied_keys(replicator: Replicator) -> set[int]:
    """Return the keys of all copies at a site."""
    return {key for store in replicator.stores.values() for key in store.keys().tolist()}


class Rows(dict[str, dict[str, Any]]):
    """Figures by configuration, printed as they come."""

    def __setitem__(self, name: str, row: dict[str, Any]) -> None:
        super().__setitem__(name, row)
        print(name, json.dumps(row), flush=True)


def measure(folder: Path, count: int, world: World, queries: int) -> dict[str, Any]:
    """Measure one number of sites."""
    configuration = Configuration(folder, GROUPS[count], world.regions)
    whole = draw_log(world.regions, queries * (WARM_UP + 1), SEED)
    past, log = whole[: queries * WARM_UP], whole[queries * WARM_UP :]
    single = draw_unrepeated(world.regions, queries // 2, SEED + 1)
    default = ForwardingSettings(deadline_ms=1e6)
    terms_only, results_only = change(default, known_queries=0, by_results=False), change(default, known_queries=0)

    def run(settings: ForwardingSettings, group: int | None, some: Sequence[LogQuery] = log) -> dict[str, Any]:
        return run_log(configuration, world, some, settings, group)

    rows = Rows()
    rows["every query to every site"] = run(default, None)
    rows["terms, candidates"] = run(terms_only, 0)
    rows["terms, results"] = run(results_only, 0)
    rows["groups, results"] = run(results_only, GROUP)
    for name, group in (("terms and queries, results", 0), ("groups and queries, results", GROUP)):
        known = learn(configuration, past, default, group)
        slacks = SLACKS if group else SLACKS[:1]
        for slack in slacks:
            settings = change(default, slack=slack)
            rows[f"{name}, slack {slack}"] = run_log(configuration, world, log, settings, group, known)
    rows["never repeated: groups, results"] = run(results_only, GROUP, single)
    other = draw_log(world.regions, queries, SEED + 2, OTHER_INTEREST)
    rows["other log: every query to every site"] = run(default, None, other)
    rows["other log, nothing known at first: groups and queries, results"] = run(default, GROUP, other)
    sizes = {group: sum(len(configuration.bounds(n, group)) for n in range(count)) for group in (0, GROUP)}
    documents = sum(configuration.documents)
    replication = run_replication(configuration, folder, world, whole, PERIODS)
    rows["the same with copies, slack 0"] = replication.pop("last period")
    return {
        "documents": configuration.documents,
        "bytes of bounds per document": {str(name): round(size / documents, 1) for name, size in sizes.items()},
        "rows": rows,
        "replication": replication,
    }


def change(settings: ForwardingSettings, **values: Any) -> ForwardingSettings:
    """Return other settings."""
    return msgspec.structs.replace(settings, **values)


def learn(
    configuration: Configuration, past: Sequence[LogQuery], settings: ForwardingSettings, group: int
) -> dict[int, Any]:
    """Answer queries of the past; return what each site knows of queries then."""
    sites = {n: configuration.site(n, settings, group) for n in range(len(configuration.shards))}
    for query in past:
        sites[configuration.site_of[query.region]].answer(query.words)
    return {n: site.searcher.federation.known for n, site in sites.items()}


def write_table(figures: Mapping[str, Any]) -> str:
    """Return the figures as a table for docs/decisions/057."""
    lines = [
        "| sites | bounds | forwarded | P | needed | counts | asked | messages | different | nDCG@10 | p50, p99 ms |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for sites, own in figures.items():
        for name, row in own["rows"].items():
            cells = (
                sites.removesuffix(" sites"),
                name,
                f"{row['forwarded']:.1%}",
                f"{row['precision']:.2f}",
                f"{row['needed']:.1%}",
                f"{row['asked for counts']:.1%}",
                f"{row['sites asked per query']:.2f}",
                f"{row['messages per query']:.1f}",
                str(row["different from all sites"]),
                f"{row['ndcg@10']:.4f}",
                f"{row['p50 ms']:.0f}, {row['p99 ms']:.0f}",
            )
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, nargs="+", default=[3, 5, 8])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--no-save", action="store_true")
    arguments = parser.parse_args()
    world = read_world()
    figures: dict[str, Any] = {}
    for count in arguments.sites:
        folder = Path(tempfile.mkdtemp(prefix="periplus-bench-sites-"))
        try:
            figures[f"{count} sites"] = measure(folder, count, world, arguments.queries)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(json.dumps(figures[f"{count} sites"], indent=1), flush=True)
        if not arguments.no_save:
            record.save("sites", dict(sorted(figures.items())))
    print(write_table(figures))


if __name__ == "__main__":
    main()
