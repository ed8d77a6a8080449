"""Regions for the benchmark of sites: judged collections of several topics and languages, and a log of their queries.

Every region has a topic and a language, as the people of a country have: its collections are indexed at its site, and
most of its queries are about them. Hosts are made up, so that no host fills a page.
"""

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from periplus.evaluate import read_collection, read_documents
from periplus.hashing import fingerprint_text
from periplus.records import FetchRecord

DATA = Path(__file__).parents[2] / "shared" / "data" / "ir"
HOSTS = 97
"""Hosts of a collection."""
OWN_INTEREST = 0.9
"""Share of the queries of a region that are about its own collections."""
ZIPF = 1.0
"""Exponent of how often queries are asked: the n-th most frequent one n to the power of this times less often."""


class Region(NamedTuple):
    """A region: what its site indexes, and where it is."""

    name: str
    collections: tuple[str, ...]
    latitude: float
    longitude: float


REGIONS = (
    Region("Boston", ("medquad_liveqa",), 42.36, -71.06),
    Region("London", ("cacm", "npl_vaswani", "lisa"), 51.51, -0.13),
    Region("Chicago", ("web_queries", "simplewiki_entity", "time"), 41.88, -87.63),
    Region("Berlin", ("cranfield", "xquad_de"), 52.52, 13.40),
    Region("Madrid", ("xquad_es",), 40.42, -3.70),
    Region("Moscow", ("xquad_ru",), 55.76, 37.62),
    Region("Cairo", ("xquad_ar", "xquad_tr"), 30.04, 31.24),
    Region("Hanoi", ("xquad_vi", "xquad_zh"), 21.03, 105.85),
)
GROUPS = {
    3: ((0, 1, 2), (3, 4, 5), (6, 7)),
    5: ((0,), (1,), (2,), (3, 4, 5), (6, 7)),
    8: tuple((n,) for n in range(8)),
}
"""Regions of each site, for 3, 5 and 8 sites."""
MOST_DOCUMENTS = {"simplewiki_entity": 12_000, "web_queries": 12_000}
MOST_QUERIES = 150
"""Queries of one collection, chosen by seed."""


class LogQuery(NamedTuple):
    """A query of the log."""

    words: str
    collection: str
    id: str
    region: int
    """Where it is asked."""


class RegionData(NamedTuple):
    """The collections of a region."""

    documents: list[FetchRecord]
    queries: dict[str, dict[str, str]]
    """By collection and id."""


def read_region(number: int) -> tuple[RegionData, dict[int, tuple[str, str]], dict[str, dict[str, dict[str, int]]]]:
    """Return the documents and queries of a region, the name of each document by its key, and the judgements."""
    documents: list[FetchRecord] = []
    queries: dict[str, dict[str, str]] = {}
    names: dict[int, tuple[str, str]] = {}
    grades: dict[str, dict[str, dict[str, int]]] = {}
    for name in REGIONS[number].collections:
        collection = read_collection(DATA / name)
        wanted = {document for judged in collection.qrels.values() for document in judged}
        for page, own in _read_pages(name, collection.documents, wanted):
            documents.append(page)
            names[page.key] = (name, own)
        chosen = sorted(collection.queries)
        random.Random(f"queries {name}").shuffle(chosen)
        queries[name] = {key: collection.queries[key] for key in chosen[:MOST_QUERIES]}
        grades[name] = collection.qrels
    return RegionData(documents, queries), names, grades


def _read_pages(name: str, path: Path, wanted: set[str]) -> Iterator[tuple[FetchRecord, str]]:
    """Yield the pages of a collection with their names: all that are judged, and others up to a limit."""
    ids: list[str] = []
    room = MOST_DOCUMENTS.get(name, 1 << 30)
    for record in read_documents(path, ids):
        own = ids[-1]
        judged = own in wanted
        if not judged and room <= 0:
            continue
        room -= 1
        assert record.page is not None
        url = f"https://h{fingerprint_text(own) % HOSTS}.{name.replace('_', '-')}.invalid/{len(ids)}"
        page = msgspec.structs.replace(record.page, url=url)
        yield msgspec.structs.replace(record, url=url, key=fingerprint_text(url), page=page), own


def draw_log(
    regions: Sequence[RegionData], count: int, seed: int, own_interest: float = OWN_INTEREST
) -> list[LogQuery]:
    """Return a log: each query is asked in some region, mostly about what is there, frequent ones more often."""
    chance = random.Random(seed)
    pools = []
    for number, data in enumerate(regions):
        pool = [(c, key, words) for c, own in sorted(data.queries.items()) for key, words in own.items()]
        random.Random(f"pool {number}").shuffle(pool)
        pools.append(pool)
    weights = [list(itertools.accumulate(1 / math.pow(rank, ZIPF) for rank in range(1, len(p) + 1))) for p in pools]
    log = []
    for _ in range(count):
        region = chance.randrange(len(regions))
        topic = region
        if chance.random() >= own_interest:
            topic = chance.choice([n for n in range(len(regions)) if n != region])
        collection, key, words = chance.choices(pools[topic], cum_weights=weights[topic])[0]
        log.append(LogQuery(words, collection, key, region))
    return log


def draw_unrepeated(regions: Sequence[RegionData], count: int, seed: int) -> list[LogQuery]:
    """Return a log in which no query comes twice."""
    log: list[LogQuery] = []
    seen: set[tuple[str, str]] = set()
    for query in draw_log(regions, count * 20, seed):
        if (query.collection, query.id) not in seen and len(log) < count:
            seen.add((query.collection, query.id))
            log.append(query)
    return log


def round_trip_ms(one: Region, other: Region) -> float:
    """Return a round trip between two regions: 4 ms, and 0.01 ms per kilometre each way."""
    a, b = math.radians(one.latitude), math.radians(other.latitude)
    across = math.radians(other.longitude - one.longitude)
    half = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(across / 2) ** 2
    return 4.0 + 2 * 0.01 * 2 * 6371 * math.asin(math.sqrt(half))
