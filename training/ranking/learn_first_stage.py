"""Learn the parameters of the first stage from judged collections, and measure each by those learned from the others.

make learn-first-stage KEEP=FOLDER [ARGS='COLLECTION...']

One index of each collection is built (and kept in FOLDER). From its tokens the occurrences of each query's terms in
title, URL and body of the best candidates are counted, once; then a set of parameters is scored offline in some
10 ms, as the kernel would, quantized impacts included. Parameters are sampled at random, then around the best; the
result is the mean of the best 25, because a single best one is the luckiest. Figures: bench/results/first_stage.json.
What is learned is entered in `IndexSettings` by hand, and measured by `make quality`. About ten minutes on two cores.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from bm25_peer import bm25_run
from periplus.evaluate import read_collection
from periplus.evaluate.collection_index import open_collection_index
from periplus.evaluate.rankings import from_run, make_judgements, score
from periplus.index import Field, Index, Segment
from periplus.index.kernels import postings_merge
from periplus.query import QueryPlan, parse_query, restricted_documents
from periplus.rank import Ranker
from periplus.settings import RankSettings, Settings
from record import save

SHARED: Final = Path(__file__).resolve().parents[3] / "shared" / "data" / "ir"
COLLECTIONS: Final = (
    *("cranfield", "npl_vaswani", "cacm", "lisa", "time"),
    *("medquad_liveqa", "squad11_dev", "web_queries", "simplewiki_entity"),
)
FIELDS: Final = (Field.TITLE, Field.URL, Field.BODY)
"""Those that judged collections have."""
MOST_QUERIES: Final = 420
CANDIDATES: Final = 60
"""Best documents of each of a few very different parameter sets, which are scored again and again."""
SAMPLES, ROUNDS, FURTHER, BEST = 500, 2, 60, 25

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Parameters = dict[str, float]

RANGES: Final[dict[str, tuple[float, float, bool]]] = {
    "field_length_exponent": (0.0, 1.2, False),
    "title_weight": (1.5, 8.0, True),
    "url_weight": (0.4, 5.0, True),
    "k1_length_exponent": (0.0, 0.8, False),
    "k1": (1.0, 3.0, True),
    "body_b": (0.35, 0.7, False),
    "field_b": (0.1, 0.9, False),
    "thin_page_weight": (0.3, 1.0, False),
    "all_words_bonus": (0.0, 0.2, False),
}
"""From, to, and whether on a logarithmic scale."""
LOW: Final = np.array([math.log(a) if scaled else a for a, _, scaled in RANGES.values()])
HIGH: Final = np.array([math.log(b) if scaled else b for _, b, scaled in RANGES.values()])
EARLIER: Final = dict(zip(RANGES, (0.0, 3.0, 0.5, 0.0, 1.6, 0.6, 0.5, 0.8, 0.1), strict=True))
"""What was set before anything was learned."""


class Tokens(NamedTuple):
    """The tokens of a segment by term, and the lengths of its fields."""

    lengths: Floats
    inverted: Any
    numbers: dict[bytes, int]


class Sample(NamedTuple):
    """The judged queries of a collection and their candidates, flattened."""

    name: str
    documents: int
    present_means: Floats
    """Mean length of each field over the documents that have it."""
    means: Floats
    first_document: Numbers
    first_leaf: Numbers
    first_row: Numbers
    counts: npt.NDArray[np.uint8]
    """Occurrences by candidate and leaf, and field."""
    lengths: Floats
    weights: Floats
    groups: Numbers
    group_count: Numbers
    grades: Floats
    ties: Numbers
    ideal: Floats
    baseline: Floats
    """nDCG@10 of BM25 by query."""


def read_tokens(segment: Segment) -> Tokens:
    """Return all tokens of a segment."""
    terms, documents = segment.valid_terms(), segment.documents
    count = len(terms.frequency)
    source = postings_merge.MergeSource(terms, 0, count, np.arange(count), np.arange(documents))
    lengths = np.zeros((documents, len(Field)), np.int32)
    if postings_merge.measure_tokens(segment.postings, source, lengths, np.zeros(count, np.int64)) >= 0:
        raise segment.damaged("postings", "positions")
    starts = np.zeros(documents + 1, np.int64)
    postings_merge.count_tokens(segment.postings, source, starts[1:])
    np.cumsum(starts, out=starts)
    numbers, positions = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint32)
    postings_merge.collect_tokens(segment.postings, source, 0, starts[:-1].copy(), numbers, positions)
    inverted = postings_merge.sort_by_term(starts, numbers, positions, count)
    blob, begin = terms.blob.tobytes(), terms.start.tolist()
    by_term = {blob[begin[n] : begin[n + 1]]: n for n in range(count)}
    return Tokens(lengths[:, FIELDS].astype(np.float64), inverted, by_term)


def count_occurrences(segment: Segment, tokens: Tokens, plan: QueryPlan) -> list[tuple[Numbers, Floats]]:
    """Return for each leaf of a plan the documents that have it, and how often in each field."""
    found = []
    for leaf in plan.leaves:
        term = tokens.numbers.get(leaf.term)
        begin, end = tokens.inverted.starts[term : term + 2] if term is not None else (0, 0)
        fields = tokens.inverted.positions[begin:end] >> 29
        documents, rows = np.unique(tokens.inverted.documents[begin:end], return_inverse=True)
        counts = np.stack([np.bincount(rows, fields == field, len(documents)) for field in FIELDS], axis=1)
        if leaf.languages is not None:
            allowed = restricted_documents(segment, leaf.languages)[documents]
            documents, counts = documents[allowed], counts[allowed]
        found.append((documents.astype(np.int64), counts))
    return found


def choose_candidates(tokens: Tokens, plan: QueryPlan, occurrences: list[tuple[Numbers, Floats]]) -> Numbers:
    """Return the best documents of a query by each of some very different parameter sets."""
    chosen: set[int] = set()
    means = np.maximum(tokens.lengths.mean(axis=0), 1e-9)
    for weight, b, k1 in (
        ((3.0, 0.5, 1.0), (0.5, 0.5, 0.6), 1.6),
        ((1.0, 0.0, 1.0), (0.75, 0.5, 0.75), 1.2),
        ((8.0, 2.0, 1.0), (0.2, 0.2, 0.4), 2.5),
        ((1.2, 2.0, 1.0), (0.3, 0.2, 0.4), 0.9),
        ((4.0, 3.0, 1.0), (0.5, 0.5, 0.6), 3.0),
    ):
        scores = np.zeros(len(tokens.lengths))
        for leaf, (documents, counts) in zip(plan.leaves, occurrences, strict=True):
            norm = 1 - np.array(b) + np.array(b) * tokens.lengths[documents] / means
            mass = (counts * np.array(weight) / norm).sum(axis=1)
            scores[documents] += leaf.weight * mass / (k1 + mass)
        chosen.update(np.argsort(-scores, kind="stable")[: min(CANDIDATES, int((scores > 0).sum()))].tolist())
    return np.array(sorted(chosen), np.int64)


def sample_collection(folder: Path, keep: Path) -> Sample:
    """Build the index of a collection, and gather what its queries are scored by."""
    collection = read_collection(folder)
    with open_collection_index(folder, collection, Settings(), keep, lambda *_: None) as built:
        index = Index.open(built.folder, verify=False)
    (segment,) = index.segments
    tokens, judgements = read_tokens(segment), make_judgements(collection.qrels, built.ids)
    number = built.numbers[np.searchsorted(built.keys, segment.column("key"))]
    name_order = np.argsort(np.argsort(np.array(judgements.names, object), kind="stable"), kind="stable")
    ranker = Ranker(index, RankSettings(short_query=5))
    baseline = score(from_run(bm25_run(folder), judgements), judgements).ndcg
    rows = np.arange(0, len(judgements.queries), -(-len(judgements.queries) // MOST_QUERIES))
    total = len(built.ids)
    parts: list[tuple[Any, ...]] = []
    for row in rows.tolist():
        begin, end = np.searchsorted(judgements.keys, [row * total, (row + 1) * total])
        keys, values = judgements.keys[begin:end] - row * total, judgements.grades[begin:end]
        grades = np.zeros(total)
        grades[keys] = values
        tree = parse_query(collection.queries[judgements.queries[row]]).tree
        assert tree is not None
        plan = ranker.plan(tree)
        occurrences = count_occurrences(segment, tokens, plan)
        candidates = choose_candidates(tokens, plan, occurrences)
        counts = np.zeros((len(candidates), len(plan.leaves), len(FIELDS)), np.uint8)
        for leaf, (documents, times) in enumerate(occurrences):
            _, here, there = np.intersect1d(candidates, documents, assume_unique=True, return_indices=True)
            counts[here, leaf] = np.minimum(times[there], 255)
        parts.append(
            (
                counts.reshape(-1, len(FIELDS)),
                tokens.lengths[candidates],
                np.array([leaf.weight for leaf in plan.leaves]),
                np.array([leaf.group for leaf in plan.leaves], np.int64),
                grades[number[candidates]],
                name_order[number[candidates]],
                plan.groups,
            )
        )
    sizes = [(len(part[4]), len(part[2]), len(part[0])) for part in parts]
    firsts = np.concatenate((np.zeros((1, 3), np.int64), np.cumsum(np.array(sizes), axis=0)))
    columns = [np.concatenate([part[n] for part in parts]) for n in range(6)]
    present = tokens.lengths.sum(axis=0) / np.maximum((tokens.lengths > 0).sum(axis=0), 1)
    return Sample(
        folder.name,
        total,
        present,
        np.maximum(tokens.lengths.mean(axis=0), 1e-9),
        *(firsts[:, n].copy() for n in range(3)),
        *columns[:4],
        np.array([part[6] for part in parts]),
        *columns[4:],
        judgements.ideal[rows],
        baseline[rows],
    )


@njit(cache=False)
def rank_sample(sample: Any, weight: Any, b: Any, k1: float, thin: float, bonus: float) -> Any:  # pragma: no cover
    """Return nDCG@10 of each query; ties by name, later names first, as trec_eval has it."""
    values = np.zeros(len(sample.ideal))
    for query in range(len(values)):
        first, leaves = sample.first_document[query], sample.first_leaf[query + 1] - sample.first_leaf[query]
        size = sample.first_document[query + 1] - first
        scores = np.zeros(size, np.float32)
        best = sample.weights[sample.first_leaf[query] : sample.first_leaf[query + 1]].sum()
        for n in range(size):
            lengths, groups = sample.lengths[first + n], np.int64(0)
            share = thin + (1 - thin) * min(1.0, lengths[2] / 10)
            for leaf in range(leaves):
                mass, counts = 0.0, sample.counts[sample.first_row[query] + n * leaves + leaf]
                for field in range(3):
                    norm = 1 - b[field] + b[field] * lengths[field] / sample.means[field]
                    mass += counts[field] * weight[field] * share / norm
                if mass > 0:
                    impact = math.ceil(255 * mass / (k1 + mass)) / 255
                    scores[n] += sample.weights[sample.first_leaf[query] + leaf] * impact
                    groups |= np.int64(1) << max(np.int64(0), sample.groups[sample.first_leaf[query] + leaf])
            count = sample.group_count[query]
            if count >= 2 and groups == (np.int64(1) << count) - 1:
                scores[n] += bonus * best
        for rank in range(min(10, size)):
            top = 0
            for n in range(1, size):
                later = sample.ties[first + n] > sample.ties[first + top]
                if scores[n] > scores[top] or (scores[n] == scores[top] and later):
                    top = n
            if scores[top] > 0:
                values[query] += sample.grades[first + top] / math.log2(rank + 2) / sample.ideal[query]
            scores[top] = -1
    return values


def measure(sample: Sample, parameters: Parameters) -> Floats:
    """Return nDCG@10 of each query with some parameters; see `index/builder/field_scaling.py`."""
    certainty = sample.documents / (sample.documents + 64)
    title, url, body = sample.present_means.tolist()
    weight = np.array([parameters["title_weight"], parameters["url_weight"], 1.0])
    for field, length in enumerate((title, url)):
        if length:
            ratio = min(max(body / length, 1.0), 64.0) / 12
            weight[field] *= ratio ** (parameters["field_length_exponent"] * certainty)
    k1_factor = (min(max(body, 16.0), 256.0) / 100) ** (parameters["k1_length_exponent"] * certainty)
    b = np.array([parameters["field_b"], parameters["field_b"], parameters["body_b"]])
    plain = sample._replace(name=0)  # type: ignore[arg-type]  # Compiled code has no use for strings.
    values: Floats = rank_sample(
        plain, weight, b, k1_factor * parameters["k1"], parameters["thin_page_weight"], parameters["all_words_bonus"]
    )
    return values


def to_parameters(vector: Floats) -> Parameters:
    """Return a point of the search space as parameters."""
    pairs = zip(RANGES.items(), vector.tolist(), strict=True)
    return {name: math.exp(value) if scaled else value for (name, (_, _, scaled)), value in pairs}


class Search:
    """Random search, whose first samples serve all collections."""

    def __init__(self, samples: list[Sample], seed: int = 5) -> None:
        self._samples = samples
        self._base = np.array([sample.baseline.mean() for sample in samples])
        self._importance = np.array([len(s.baseline) / (len(s.baseline) + 60) for s in samples])
        generator = np.random.default_rng(seed)
        self._points = LOW + (HIGH - LOW) * generator.random((SAMPLES, len(LOW)))
        self._values = np.array([self._measure(point) for point in self._points])

    def _measure(self, point: Floats) -> Floats:
        return np.array([measure(sample, to_parameters(point)).mean() for sample in self._samples])

    def learn(self, left_out: int | None = None, seed: int = 7) -> Parameters:
        """Return the parameters for all collections, or for all but one."""
        importance = self._importance.copy()
        if left_out is not None:
            importance[left_out] = 0.0
        points, values, generator = self._points, self._values, np.random.default_rng(seed)
        for turn in range(ROUNDS + 1):
            gains = (np.log(values / self._base) * importance).sum(axis=1) / importance.sum()
            best = points[np.argsort(-gains, kind="stable")[:BEST]]
            mean, spread = best.mean(axis=0), best.std(axis=0)
            if turn < ROUNDS:
                more = np.clip(mean + spread * generator.normal(size=(FURTHER, len(LOW))), LOW, HIGH)
                points = np.concatenate((points, more))
                values = np.concatenate((values, [self._measure(point) for point in more]))
        return to_parameters(mean)


def chance(differences: Floats, seed: int = 1) -> float:
    """Return the two-sided p of a paired bootstrap over queries."""
    generator = np.random.default_rng(seed)
    means = differences[generator.integers(0, len(differences), (2_000, len(differences)))].mean(axis=1)
    return float(min(1.0, 2 * min((means <= 0).mean(), (means >= 0).mean())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", default=COLLECTIONS)
    parser.add_argument("--keep", type=Path, required=True)
    options = parser.parse_args()
    began = time.monotonic()
    samples = [sample_collection(SHARED / name, options.keep) for name in options.collections]
    search, rows = Search(samples), []
    for number, sample in enumerate(samples):
        parameters = search.learn(number)
        before, after = measure(sample, EARLIER), measure(sample, parameters)
        base = float(sample.baseline.mean())
        row = {
            "collection": sample.name,
            "queries": len(after),
            "bm25": base,
            "earlier": float(before.mean()) / base - 1,
            "held_out": float(after.mean()) / base - 1,
            "p_earlier": chance(after - before),
            "p_bm25": chance(after - sample.baseline),
            "parameters": parameters,
        }
        rows.append(row)
        print(f"{sample.name:<20}{row['bm25']:.4f}  earlier {row['earlier']:+.1%}", end="  ")
        print(
            f"held out {row['held_out']:+.1%}  p {row['p_earlier']:.3f}, against BM25 {row['p_bm25']:.3f}", flush=True
        )
    learned = search.learn()
    gains = [float(measure(s, learned).mean() / s.baseline.mean()) - 1 for s in samples]
    means = {name: float(np.mean([row[name] for row in rows])) for name in ("earlier", "held_out")}
    print("learned from all:", {name: round(value, 3) for name, value in learned.items()})
    print(f"mean: earlier {means['earlier']:+.1%}, held out {means['held_out']:+.1%}, seen {np.mean(gains):+.1%}")
    stored = {str(row["collection"]): row["parameters"] for row in rows}
    (Path(__file__).parent / "loco" / "first_stage.json").write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    save("first_stage", {"collections": rows, "means": means, "learned": learned, "seen": gains})
    print(f"{time.monotonic() - began:,.0f} s, recorded in bench/results/first_stage.json")


if __name__ == "__main__":
    main()
