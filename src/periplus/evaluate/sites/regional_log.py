"""A query log with regional interests, drawn from judged collections (COAST, section 5.2.1).

Each region is interested in topics. A topic is a cluster of the queries of one collection, by the words of the queries
and of their relevant documents; it has a home region, which asks for it most, and others ask for it less. So what a
document is about says who asks for it, though not with certainty. Within a topic some queries are asked more often
than others. For each event a region asks a query, and its reader opens one of the relevant documents, those with higher
grades more often. All draws are seeded.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.evaluate.collection import read_collection, read_documents
from periplus.sites import WordKeys

__all__ = ["RegionalCollection", "RegionalDocument", "RegionalLog", "draw_regional_log", "read_regional_collection"]

_DIMENSIONS: Final = 96
_ROUNDS: Final = 12
_SAMPLE: Final = 600
"""Characters of a document that decide about its topic."""
_ZIPF: Final = 0.8
DAYS: Final = 28.0

Ints = npt.NDArray[np.int64]


class RegionalDocument(NamedTuple):
    """A document that answers at least one query."""

    id: str
    collection: str
    title: str
    text: str
    url: str


class RegionalCollection(NamedTuple):
    """Queries of several collections, with their relevant documents."""

    documents: list[RegionalDocument]
    queries: list[str]
    relevant: list[tuple[Ints, npt.NDArray[np.float64]]]
    """For each query, the numbers of its relevant documents, and their grades."""
    collection_of: list[str]
    """The collection of each query."""


class RegionalLog(NamedTuple):
    """Events in the order of their time."""

    times: npt.NDArray[np.float64]
    """Seconds from the beginning."""
    regions: Ints
    queries: Ints
    clicks: Ints
    """The document that was opened."""
    ranks: Ints
    """The position where it was, from 1 on."""
    topics: Ints
    """The topic of each query of the collection."""
    homes: Ints
    """The home region of each topic."""


def read_regional_collection(folders: Sequence[Path], max_queries: int = 400, seed: int = 17) -> RegionalCollection:
    """Read judged collections, of each at most `max_queries` queries, and the documents that are relevant to them."""
    rng = np.random.default_rng(seed)
    documents: list[RegionalDocument] = []
    queries: list[str] = []
    relevant: list[tuple[Ints, npt.NDArray[np.float64]]] = []
    collection_of: list[str] = []
    for folder in folders:
        collection = read_collection(folder)
        judged = {
            query: good
            for query in sorted(collection.queries)
            if (good := {d: g for d, g in collection.qrels.get(query, {}).items() if g > 0})
        }
        names = sorted(judged)
        if len(names) > max_queries:
            names = [names[number] for number in np.sort(rng.choice(len(names), max_queries, replace=False)).tolist()]
        wanted = {document for name in names for document in judged[name]}
        ids: list[str] = []
        numbers: dict[str, int] = {}
        for record in read_documents(collection.documents, ids):
            if ids[-1] in wanted and record.page is not None and ids[-1] not in numbers:
                numbers[ids[-1]] = len(documents)
                page = record.page
                documents.append(RegionalDocument(ids[-1], folder.name, page.title, page.text, page.url))
        for name in names:
            pairs = sorted((numbers[d], float(g)) for d, g in judged[name].items() if d in numbers)
            if pairs:
                queries.append(collection.queries[name])
                relevant.append((np.array([d for d, _ in pairs]), np.array([g for _, g in pairs])))
                collection_of.append(folder.name)
    return RegionalCollection(documents, queries, relevant, collection_of)


def draw_regional_log(
    collection: RegionalCollection,
    regions: int,
    events: int,
    *,
    focus: float = 0.7,
    topics_per_collection: int = 6,
    homes_of: Mapping[str, int] | None = None,
    seed: int = 17,
) -> RegionalLog:
    """Draw a log of queries and clicks.

    focus: the share of a topic's events that come from its home region; homes_of: the home of all topics of a
    collection, where it has one, for example that of its language.
    """
    rng = np.random.default_rng(seed)
    topics = _cluster_queries(collection, topics_per_collection, rng)
    count = int(topics.max()) + 1 if len(topics) else 0
    # Every region is the home of about as many topics.
    homes = rng.permutation(np.arange(count) % regions)
    for topic, name in zip(topics.tolist(), collection.collection_of, strict=True):
        homes[topic] = (homes_of or {}).get(name, homes[topic])
    affinity = rng.dirichlet(np.full(regions, 1.0), count) * (1.0 - focus)
    affinity[np.arange(count), homes] += focus
    popularity = 1.0 / (1.0 + rng.permutation(len(topics))) ** _ZIPF
    # Topics are asked for equally often as a whole: otherwise one large collection would be everything.
    popularity /= np.bincount(topics, popularity, count)[topics] if count else 1.0
    queries = rng.choice(len(topics), events, p=popularity / popularity.sum())
    draws = rng.random(events)
    where = (draws[:, None] > np.cumsum(affinity[topics[queries]], axis=1)).sum(axis=1)
    clicks = np.zeros(events, np.int64)
    ranks = np.minimum(rng.geometric(0.45, events), 20)
    choices = rng.random(events)
    for event, query in enumerate(queries.tolist()):
        documents, grades = collection.relevant[query]
        position = int(np.searchsorted(np.cumsum(grades) / grades.sum(), choices[event], side="right"))
        clicks[event] = documents[min(position, len(documents) - 1)]
    times = np.sort(rng.uniform(0.0, DAYS * 86_400.0, events))
    regions_of = np.minimum(where, regions - 1).astype(np.int64)
    return RegionalLog(times, regions_of, queries.astype(np.int64), clicks, ranks.astype(np.int64), topics, homes)


def _cluster_queries(collection: RegionalCollection, clusters: int, rng: np.random.Generator) -> Ints:
    """Return the topic of each query: k-means within its collection, over projected counts of words."""
    vectors = np.zeros((len(collection.queries), _DIMENSIONS))
    documents = _project([f"{document.title} {document.text[:_SAMPLE]}" for document in collection.documents])
    words = _project(collection.queries)
    for number, (relevant, grades) in enumerate(collection.relevant):
        vector = 2.0 * words[number] + grades @ documents[relevant]
        vectors[number] = vector / max(float(np.linalg.norm(vector)), 1e-9)
    topics = np.zeros(len(vectors), np.int64)
    first = 0
    for name in dict.fromkeys(collection.collection_of):
        rows = np.array([number for number, owner in enumerate(collection.collection_of) if owner == name])
        size = min(clusters, max(1, len(rows) // 4))
        topics[rows] = first + _cluster(vectors[rows], size, rng)
        first += size
    return np.unique(topics, return_inverse=True)[1].astype(np.int64)


def _project(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the words of each text as a vector of length 1: each word adds 1 or -1 to two of its elements."""
    table = WordKeys()
    tokens, lengths = table.split(texts)
    rows = np.repeat(np.arange(len(texts)), lengths)
    pairs = np.unique(np.stack((rows, tokens.astype(np.int64))), axis=1)
    keys = table.keys[pairs[1]]
    vectors = np.zeros((len(texts), _DIMENSIONS))
    for shift in (8, 24):
        sign = 1.0 - 2.0 * ((keys >> np.uint64(shift + 36)) & np.uint64(1)).astype(np.float64)
        np.add.at(vectors, (pairs[0], ((keys >> np.uint64(shift)) % np.uint64(_DIMENSIONS)).astype(np.int64)), sign)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), np.float64)


def _cluster(vectors: npt.NDArray[np.float64], size: int, rng: np.random.Generator) -> Ints:
    centres = vectors[rng.choice(len(vectors), size, replace=False)]
    nearest = np.zeros(len(vectors), np.int64)
    for _ in range(_ROUNDS):
        nearest = np.argmax(vectors @ centres.T, axis=1).astype(np.int64)
        for number in range(size):
            members = vectors[nearest == number]
            if len(members):
                mean = members.sum(axis=0)
                centres[number] = mean / max(float(np.linalg.norm(mean)), 1e-9)
    return nearest
