"""Candidates of judged queries with their features, as arrays: what weights and models are learned from.

A collection is indexed once and every judged query is run through the first stage of the engine itself (`retrieve`).
What comes back is stored in one file: the features of the candidates, the similarities of their embeddings, the
documents that are nearest to the query by embeddings and their features, the grades, and nDCG@10 of BM25 (bm25s).
"""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import PeriplusError
from periplus.evaluate import read_collection
from periplus.evaluate.collection_index import CollectionIndex, open_collection_index
from periplus.evaluate.collection_vectors import embed_collection
from periplus.evaluate.rankings import from_run, make_judgements, score
from periplus.evaluate.variants import FULL_PIPELINE, WITH_EMBEDDINGS, Variant, select_variants
from periplus.index import Index
from periplus.query import QueryPlan, parse_query
from periplus.rank import FEATURES, Ranker
from periplus.records import Candidates
from periplus.search import RetrievedCandidates, retrieve_relaxed
from periplus.settings import Settings

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from bm25_peer import bm25_run

__all__ = ["QUERY_COLUMNS", "CandidateDump", "dump_collection"]

QUERY_COLUMNS: Final = ("words", "stop_words", "best_score", "bonus")
"""What is stored of each query: words that count, words that do not, its best possible score, the all-words bonus."""
_SOURCES: Final = ("rank", "score", "search", "query", "index", "text", "embeddings")
"""Packages whose code decides what the candidates and their features are."""
_FORMAT: Final = 4
_MOST_QUERIES: Final = 1_000
"""Of a collection with more, every second one is run, or every third."""

Floats = npt.NDArray[np.float32]
Progress = Callable[[str, int, int], None]


class CandidateDump(NamedTuple):
    """The candidates of all judged queries of a collection; rows of one query stand together."""

    collection: str
    offsets: npt.NDArray[np.int64]
    """Where the rows of each query begin, and the number of rows at the end."""
    features: Floats
    """By row, `FEATURES`."""
    similarities: Floats
    """Cosine of each row's embedding and the query's, nan for none."""
    joined: npt.NDArray[np.bool_]
    """Whether a row is no candidate of the first stage but one of the nearest documents."""
    grades: Floats
    ideal: Floats
    """By query: the discounted gain of the best possible order."""
    queries: Floats
    """By query, `QUERY_COLUMNS`."""
    bm25: Floats
    """By query: nDCG@10 of BM25."""


def dump_collection(
    folder: Path, settings: Settings, cache: Path, progress: Progress, *, embeddings: bool = True
) -> CandidateDump:
    """Return the candidates of a collection; they are read from `cache` if neither it nor the code has changed."""
    settings = msgspec.structs.replace(
        settings, embeddings=msgspec.structs.replace(settings.embeddings, enabled=embeddings)
    )
    path = cache / f"{folder.name}-{_fingerprint(folder, settings)}.npz"
    if path.exists():
        with np.load(path) as stored:
            return CandidateDump(folder.name, **{name: stored[name] for name in CandidateDump._fields[1:]})
    for old in cache.glob(f"{folder.name}-*.npz"):
        old.unlink()
    cache.mkdir(parents=True, exist_ok=True)
    dump = _run_queries(folder, settings, cache / "indexes", progress)
    partial = path.with_suffix(".part.npz")
    np.savez(partial, **{name: getattr(dump, name) for name in CandidateDump._fields[1:]})
    partial.rename(path)
    return dump


def _fingerprint(folder: Path, settings: Settings) -> str:
    """Return a name for what a dump depends on: the documents, the settings and the code of the engine."""
    digest = hashlib.blake2b(digest_size=6)
    digest.update(f"{_FORMAT} {FEATURES}".encode())
    digest.update(msgspec.json.encode((settings.index, settings.rank, settings.embeddings)))
    digest.update(f"{read_collection(folder).documents.stat()[6:9:2]}".encode())
    package = Path(__file__).resolve().parents[2] / "src" / "periplus"
    for name in _SOURCES:
        for source in sorted((package / name).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()


def _run_queries(folder: Path, settings: Settings, keep: Path, progress: Progress) -> CandidateDump:
    collection = read_collection(folder)
    with open_collection_index(folder, collection, settings, keep, progress) as built:
        judged = [query for query, grades in collection.qrels.items() if any(grade > 0 for grade in grades.values())]
        chosen = judged[:: -(-len(judged) // _MOST_QUERIES)]
        judgements = make_judgements({query: collection.qrels[query] for query in chosen}, built.ids)
        variant = _variant(settings, built, len(judgements.queries), progress)
        index = Index.open(built.folder, verify=False)
        ranker = Ranker(index, variant.settings.rank, variant.settings.embeddings)
        index.spelling.load()
        parts = []
        for number, query in enumerate(judgements.queries):
            progress(f"{folder.name}: queries", number, len(judgements.queries))
            graded = {name: max(0.0, float(grade)) for name, grade in collection.qrels[query].items()}
            parts.append(_run_query(ranker, collection.queries[query], built, graded))
    bm25 = score(from_run(bm25_run(folder), judgements), judgements).ndcg
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0] if name != "query"}
    return CandidateDump(
        folder.name,
        np.cumsum([0, *(len(part["grades"]) for part in parts)]),
        **columns,
        ideal=judgements.ideal.astype(np.float32),
        queries=np.stack([part["query"] for part in parts]).astype(np.float32),
        bm25=bm25.astype(np.float32),
    )


def _variant(settings: Settings, built: CollectionIndex, queries: int, progress: Progress) -> Variant:
    """Return the settings with embeddings, where the model is installed, and without them otherwise."""
    if not settings.embeddings.enabled:
        return select_variants(settings, [FULL_PIPELINE])[0]
    variant = select_variants(settings, [WITH_EMBEDDINGS])[0]
    try:
        return embed_collection(built.folder, variant, len(built.ids), queries, progress)
    except PeriplusError as error:
        sys.stderr.write(f"Without embeddings: {error}\n")
        off = msgspec.structs.replace(settings.embeddings, enabled=False)
        return Variant("full", "full", msgspec.structs.replace(settings, embeddings=off))


def _run_query(ranker: Ranker, text: str, built: CollectionIndex, graded: dict[str, float]) -> dict[str, Any]:
    """Return the rows of one query."""
    tree = parse_query(text).tree
    if tree is None:
        return _rows(np.zeros((0, len(FEATURES))), np.zeros(0), np.zeros(0, bool), np.zeros(0), np.zeros(4))
    depth = ranker.model.depth
    plan, retrieved = retrieve_relaxed(ranker, tree, depth)
    count = min(depth, len(retrieved.scores))
    features, keys = retrieved.features[:count], retrieved.keys[:count]
    if len(features) < count:
        features = np.zeros((count, len(FEATURES)))
        features[:, 0] = retrieved.scores[:count] / plan.best_score
    similarities = np.full(count, np.nan) if retrieved.similarities is None else retrieved.similarities[:count]
    joined = np.zeros(count, bool)
    if retrieved.nearest is not None and len(retrieved.nearest.documents):
        more, near = _joined(ranker, plan, retrieved, count)
        features, keys = np.concatenate((features, more)), np.concatenate((keys, retrieved.nearest.keys[near]))
        similarities = np.concatenate((similarities, retrieved.nearest.similarities[near]))
        joined = np.concatenate((joined, np.ones(len(near), bool)))
    at = np.minimum(np.searchsorted(built.keys, keys), len(built.keys) - 1)
    names = [built.ids[number] for number in built.numbers[at].tolist()]
    grades = np.array([graded.get(name, 0.0) for name in names])
    stop_words = plan.words[-1].place + 1 - len(plan.words) if plan.words else 0
    query = np.array([len(plan.words), max(0, stop_words), plan.best_score, plan.bonus])
    return _rows(features, similarities, joined, grades, query)


def _joined(
    ranker: Ranker, plan: QueryPlan, retrieved: RetrievedCandidates, count: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the features of the nearest documents that are no candidates, and which those are."""
    near = retrieved.nearest
    assert near is not None
    present = {*zip(retrieved.segments[:count].tolist(), retrieved.documents[:count].tolist(), strict=True)}
    ids = list(zip(near.segments.tolist(), near.documents.tolist(), strict=True))
    numbers = np.array([number for number, pair in enumerate(ids) if pair not in present], np.int64)
    rows = Candidates(
        near.segments[numbers], near.documents[numbers], np.zeros(len(numbers), np.float32), 0, True, False
    )
    return ranker.features.extract(plan, rows), numbers


def _rows(features: Any, similarities: Any, joined: Any, grades: Any, query: Any) -> dict[str, Any]:
    return {
        "features": features.astype(np.float32),
        "similarities": similarities.astype(np.float32),
        "joined": joined,
        "grades": grades.astype(np.float32),
        "query": query,
    }
