"""Placement of new documents, judged by who asks for them: simulated on judged collections (COAST, section 5.2.2.1).

Half of the documents, by hash, are known: clicks on them are what sites compute their statistics from, by the code that
running sites use. The other half is new: each is placed by those statistics, and judged by the clicks on it.
"""

import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from periplus.evaluate.sites.placement_quality import PlacementQuality, judge_placements
from periplus.evaluate.sites.regional_log import RegionalCollection, RegionalLog
from periplus.hashing import fingerprint_text
from periplus.records import Page
from periplus.signals import Click
from periplus.sites import (
    InterestBuilder,
    KnownPage,
    MasterIndexer,
    PageAccess,
    PagePlacement,
    PlacedPage,
    PlacementWeights,
    SiteInterests,
    SitePlace,
    identify_languages,
)
from periplus.url import parse_address

__all__ = [
    "PLACEMENT_VARIANTS",
    "PlacementData",
    "PlacementResult",
    "assign_documents",
    "place_documents",
    "placement_records",
    "prepare_placement",
]

PLACEMENT_VARIANTS: Final = {
    "hash": PlacementWeights(0, 0, 0, 0, 0, 0, 0),
    "activity": PlacementWeights(0, 0, 0, 0, 0, 1, 0),
    "language": PlacementWeights(0, 1, 0, 0, 0, 0.5, 0),
    "words": PlacementWeights(0.5, 0, 0, 0, 0, 0.5, 0),
    "all": PlacementWeights(),
}
"""Weights of the variants that are compared: the last is what sites use."""
_BATCH: Final = 64
_SOURCES: Final = 63


class PlacementData(NamedTuple):
    """What placement is simulated with."""

    sites: tuple[SitePlace, ...]
    interests: dict[str, SiteInterests]
    pages: list[PlacedPage]
    """New documents that somebody asked for."""
    numbers: list[int]
    """The number of each of them in the collection."""
    popularity: dict[int, dict[str, float]]
    """Accesses to each of them, by site."""


class PlacementResult(NamedTuple):
    """How well one variant placed the new documents."""

    variant: str
    quality: PlacementQuality
    masters: dict[int, str]


def prepare_placement(
    collection: RegionalCollection, log: RegionalLog, sites: Sequence[SitePlace], threshold: int = 3
) -> PlacementData:
    """Compute the statistics of sites from clicks on known documents, and select the new ones."""
    names = [site.name for site in sites]
    is_new = [fingerprint_text(f"{d.collection} {d.id}") & 1 for d in collection.documents]
    samples = [f"{d.title}\n{d.text[:1000]}" for d in collection.documents]
    languages = identify_languages(samples)
    urls = {_url(document.url, number): number for number, document in enumerate(collection.documents)}
    clicks: defaultdict[int, list[Click]] = defaultdict(list)
    popularity: defaultdict[int, dict[str, float]] = defaultdict(dict)
    addresses = list(urls)
    columns = (log.times, log.regions, log.queries, log.clicks, log.ranks)
    for event, (when, region, query, document, rank) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        if is_new[document]:
            counts = popularity[document]
            counts[names[region]] = counts.get(names[region], 0.0) + 1.0
        else:
            text = collection.queries[query][:2_000]
            clicks[region].append(Click(text, addresses[document], rank, (), when, 1 + event % _SOURCES))

    def describe(url: str) -> KnownPage:
        document = urls[url]
        return KnownPage(collection.documents[document].title, languages[document])

    interests = {}
    for region, name in enumerate(names):
        builder = InterestBuilder(name, threshold)
        builder.add_clicks(clicks[region])
        interests[name] = builder.build(describe)
    numbers = sorted(popularity)
    pages = [_page(collection, number) for number in numbers]
    return PlacementData(tuple(sites), interests, pages, numbers, dict(popularity))


def place_documents(data: PlacementData, variant: str) -> PlacementResult:
    """Place the new documents by one variant."""
    indexer = MasterIndexer(data.sites, data.interests, weights=PLACEMENT_VARIANTS[variant])
    masters = {}
    for start in range(0, len(data.pages), _BATCH):
        batch = data.pages[start : start + _BATCH]
        for number, choice in zip(data.numbers[start:], indexer.choose(batch), strict=False):
            masters[number] = choice.site
    return PlacementResult(variant, judge_placements(masters, data.popularity, len(data.sites)), masters)


def assign_documents(data: PlacementData, collection: RegionalCollection) -> dict[int, int]:
    """Return the number of the site of every document, known or new, as the statistics place it."""
    indexer = MasterIndexer(data.sites, data.interests)
    numbers = {site.name: number for number, site in enumerate(data.sites)}
    masters: dict[int, int] = {}
    for start in range(0, len(collection.documents), _BATCH):
        batch = range(start, min(start + _BATCH, len(collection.documents)))
        choices = indexer.choose([_page(collection, number) for number in batch])
        masters.update((number, numbers[choice.site]) for number, choice in zip(batch, choices, strict=True))
    return masters


def placement_records(data: PlacementData, result: PlacementResult) -> Iterator[PagePlacement | PageAccess]:
    """Yield what sites would have recorded."""
    for number, master in result.masters.items():
        yield PagePlacement(0.0, data.sites[0].name, number, master)
        for site, count in data.popularity[number].items():
            yield PageAccess(0.0, site, number, int(count))


def _page(collection: RegionalCollection, number: int) -> PlacedPage:
    document = collection.documents[number]
    url = _url(document.url, number)
    return PlacedPage(Page(url=url, title=document.title, text=document.text), _host(url))


def _url(url: str, number: int) -> str:
    """Return the URL of a document; collections without URLs have made-up ones, which repeat."""
    return f"https://collection.invalid/{number}" if "://collection.invalid/" in url else f"{url}#{number}"


@functools.lru_cache(100_000)
def _host(url: str) -> str:
    host = parse_address(url).host
    return f"{fingerprint_text(url):x}.invalid" if host.endswith(".invalid") else host
