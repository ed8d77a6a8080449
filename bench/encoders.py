"""The tiers of embeddings: speed, size, what they add to BM25, and the recall of nearest neighbours.

    python bench/encoders.py [TIER...] [--texts 400] [--queries 60] [--size 100000]

Tiers: static (in every index), granite-small, granite and minilm (models of the extra 'semantic'; fetched if missing).
Passages are made of short articles, one thread; times are CPU time. A query is one of any collection. For nDCG@10, the
50 best documents by bm25s are ordered by its scores and the similarities, both in standard deviations, and the weight
of similarities is chosen on the other collections. Nearest neighbours are searched among mixtures of real vectors.
A run of some tiers replaces only theirs in bench/results/embeddings.json.
"""

import argparse
import itertools
import json
import math
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import bm25s
import numpy as np
import Stemmer

from embedding_tiers import Tier, measure_speed, open_tier
from figures import use_one_core
from nearest_neighbours import search_lists
from periplus.embeddings import fetch_model, find_model, kernels
from periplus.errors import NothingHere
from periplus.evaluate import average_gain, paired_difference, read_collection, read_documents
from periplus.settings import EmbeddingSettings
from periplus.store import read_lines
from record import RESULTS, save

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir"
TIERS = ("static", "granite-small", "granite", "minilm")
COLLECTIONS = (
    "cranfield",
    "npl_vaswani",
    "cacm",
    "lisa",
    "time",
    "squad11_dev",
    "medquad_liveqa",
    "web_queries",
    "simplewiki_entity",
)
CANDIDATES = 50
WEIGHTS = (0.0, 0.15, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


class Judged(NamedTuple):
    """A collection: the best documents of some of its queries by BM25."""

    name: str
    pages: list[tuple[str, str]]
    """All documents that are among the best of a query."""
    queries: list[str]
    candidates: list[np.ndarray]
    """Of each query, numbers of pages, best first."""
    scores: list[np.ndarray]
    grades: list[np.ndarray]
    """Of each query's candidates."""
    ideals: list[float]


def gain_sum(grades: np.ndarray) -> float:
    """Return the discounted gain of the first ten."""
    best = grades[:10].astype(np.float64)
    return float(((2.0**best - 1) / np.log2(np.arange(len(best)) + 2)).sum())


def read_articles(count: int) -> list[tuple[str, str]]:
    """Return the beginnings of every 300th article."""
    lines = itertools.islice(read_lines(SHARED / "simplewiki_entity" / "docs.jsonl.zst"), 0, 300 * count, 300)
    return [(document["title"], document["text"][:900]) for document in map(json.loads, lines)]


def read_judged(folder: Path, limit: int) -> Judged:
    """Read a collection and search it with BM25."""
    collection = read_collection(folder)
    ids: list[str] = []
    pages = [(visit.page.title, visit.page.text) for visit in read_documents(collection.documents, ids) if visit.page]
    stemmer = Stemmer.Stemmer("english")
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    texts = bm25s.tokenize([" ".join(page) for page in pages], stopwords="en", stemmer=stemmer, show_progress=False)
    model.index(texts, show_progress=False)
    judged = [number for number in collection.queries if any(collection.qrels.get(number, {}).values())]
    chosen = judged[:: max(1, math.ceil(len(judged) / limit))]
    words = [collection.queries[number] for number in chosen]
    asked = bm25s.tokenize(words, stopwords="en", stemmer=stemmer, show_progress=False)
    found, scores = model.retrieve(asked, k=min(CANDIDATES, len(pages)), show_progress=False)
    numbers: dict[int, int] = {}
    rows: list[tuple[np.ndarray, np.ndarray, np.ndarray, float]] = []
    for number, row, values in zip(chosen, found, scores, strict=True):
        row, values = row[values > 0], values[values > 0]
        grades = collection.qrels[number]
        own = np.array([numbers.setdefault(int(at), len(numbers)) for at in row], np.int64)
        graded = np.array([max(0, grades.get(ids[int(at)], 0)) for at in row], np.int64)
        rows.append((own, values.astype(np.float64), graded, gain_sum(np.sort([*grades.values()])[::-1].clip(0))))
    candidates, kept, graded_rows, ideals = (list(part) for part in zip(*rows, strict=True))
    needed = [pages[at] for at in numbers]
    return Judged(folder.name, needed, words, candidates, kept, graded_rows, ideals)


def standardise(values: np.ndarray) -> np.ndarray:
    """Return values in standard deviations from their mean; those that are not known are average."""
    known = values[~np.isnan(values)]
    if not len(known) or not (spread := known.std()):
        return np.zeros(len(values))
    return np.nan_to_num((values - known.mean()) / spread, nan=0.0)


def fuse(tier: Tier, collection: Judged) -> np.ndarray:
    """Return nDCG@10 of each query (rows) by the weight of similarities (columns)."""
    tier.embed(collection.pages)
    values = np.zeros((len(collection.queries), len(WEIGHTS)))
    for at, words in enumerate(collection.queries):
        candidates, query = collection.candidates[at], tier.encode(words)
        near = np.full(len(candidates), np.nan) if query is None else tier.similarities(query, candidates)
        lexical, semantic = standardise(collection.scores[at]), standardise(near.astype(np.float64))
        for column, weight in enumerate(WEIGHTS):
            order = np.argsort(-(lexical + weight * semantic), kind="stable")
            values[at, column] = gain_sum(collection.grades[at][order]) / collection.ideals[at]
    return values


def leave_one_out(values: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the gain over BM25 of each collection, by the weight that is best for the others."""
    relative = {name: table.mean(axis=0) / table[:, 0].mean() for name, table in values.items()}
    rows: dict[str, Any] = {}
    pairs = []
    for name, table in values.items():
        others = [gains for other, gains in relative.items() if other != name] or [relative[name]]
        column = int(np.argmax(np.mean(others, axis=0)))
        ours, base = table[:, column], table[:, 0]
        pairs.append((ours, base))
        rows[name] = {
            "bm25": round(float(base.mean()), 4),
            "ndcg": round(float(ours.mean()), 4),
            "gain": round(float(ours.mean() / base.mean() - 1), 4),
            "p": round(paired_difference(ours, base).p, 4),
            "weight": WEIGHTS[column],
            "queries": len(table),
        }
    mean = average_gain(pairs)
    return {"collections": rows, "gain": round(mean.mean, 4), "low": round(mean.low, 4), "high": round(mean.high, 4)}


def measure(name: str, collections: list[Judged], pages: list[tuple[str, str]], given: argparse.Namespace) -> Any:
    """Measure one tier."""
    if name != "static":
        settings = EmbeddingSettings(encoder=name)
        try:
            find_model(settings)
        except NothingHere:
            fetch_model(settings)
    tier = open_tier(name)
    spread = [words for collection in collections for words in collection.queries[:40]]
    figures: dict[str, Any] = {"texts": len(pages)}
    figures |= {"model_bytes": tier.model_bytes, "passage_bytes": tier.passage_bytes}
    figures |= measure_speed(tier, pages, spread)
    values, real = {}, []
    for collection in collections:
        values[collection.name] = fuse(tier, collection)
        real += [] if tier.vectors is None else [tier.vectors]
        print(f"{name} {collection.name}", file=sys.stderr, flush=True)
    figures["fusion"] = leave_one_out(values)
    if real:
        queries = [vector for words in spread[::2] if (vector := tier.encode(words)) is not None]
        figures["nearest"] = search_lists(np.concatenate(real), np.array(queries, np.float32), given.size)
    return figures


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tiers", nargs="*", default=[])
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    given = parser.parse_args()
    if not SHARED.is_dir():
        sys.exit(f"There is no {SHARED}.")
    use_one_core()
    kernels.warm()
    pages = read_articles(given.texts)
    collections = [read_judged(SHARED / name, given.queries) for name in given.collections.split(",")]
    try:
        before = json.loads((RESULTS / "embeddings.json").read_text("utf-8"))["figures"]
    except (OSError, KeyError, ValueError):
        before = {}
    tiers = dict(before.get("tiers", {}))
    for name in given.tiers or TIERS:
        tiers[name] = measure(name, collections, pages, given)
        load = round(os.getloadavg()[0], 1)
        tiers[name]["load"] = load
        ordered = {known: tiers[known] for known in TIERS if known in tiers}
        save("embeddings", {"tiers": ordered})
        print(json.dumps({name: tiers[name]}), flush=True)
    from embedding_tables import render_table, write_page

    write_page()
    print(render_table({"tiers": {name: tiers[name] for name in TIERS if name in tiers}}))


if __name__ == "__main__":
    main()
