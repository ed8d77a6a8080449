"""What was found for all queries of a collection, as arrays, and how good each query's list is.

A ranking is a row of document numbers, best first, -1 where there are no more. Counted as trec_eval counts, against
which the tests check it: ties of the score go by the document's name, later names first; a negative grade is worth no
less than nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.evaluate.trec_files import Qrels, Run

__all__ = ["DEPTH", "Judgements", "QueryScores", "Rankings", "from_run", "make_judgements", "score", "to_run"]

DEPTH: Final = 100
"""How many documents of a query are looked at."""
_TOP: Final = 10
"""nDCG is counted to this rank."""

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


class Rankings(NamedTuple):
    """What one way of ranking gives for all queries."""

    documents: npt.NDArray[np.int32]
    """(queries, depth)"""
    scores: npt.NDArray[np.float32]


class Judgements(NamedTuple):
    """Which documents are right, for the queries that have any."""

    queries: tuple[str, ...]
    names: tuple[str, ...]
    """Of documents, by number."""
    keys: Numbers
    """query x documents + document, ascending."""
    grades: Floats
    """Of each key."""
    right: Numbers
    """Right documents of each query, those that are not in the collection counted."""
    ideal: Floats
    """The best discounted gain that each query could have."""


class QueryScores(NamedTuple):
    """How good the list of each judged query is."""

    ndcg: Floats
    recall: Floats
    mrr: Floats

    def means(self) -> tuple[float, float, float]:
        """Return the means over all queries."""
        ndcg, recall, mrr = (float(values.mean()) if len(values) else 0.0 for values in self)
        return ndcg, recall, mrr


def make_judgements(qrels: Qrels, names: Sequence[str]) -> Judgements:
    """Number the judgements; queries without any right document say nothing and are left out."""
    numbers: dict[str, int] = {}
    for number, name in enumerate(names):
        numbers.setdefault(name, number)
    judged = {query: grades for query, grades in qrels.items() if max(grades.values(), default=0) > 0}
    keys, values, right, ideal = [], [], [], []
    for row, grades in enumerate(judged.values()):
        gains = np.maximum(np.array([*grades.values()], np.float64), 0.0)
        right.append(int((gains > 0).sum()))
        best = np.sort(gains)[::-1][:_TOP]
        ideal.append(float((best / _discounts(len(best))).sum()))
        known = [(numbers[name], grade) for name, grade in grades.items() if name in numbers]
        keys += [row * len(names) + number for number, _ in known]
        values += [max(0.0, float(grade)) for _, grade in known]
    order = np.argsort(np.array(keys, np.int64), kind="stable")
    return Judgements(
        tuple(judged),
        tuple(names),
        np.array(keys, np.int64)[order],
        np.array(values, np.float64)[order],
        np.array(right, np.int64),
        np.array(ideal, np.float64),
    )


def score(rankings: Rankings, judgements: Judgements) -> QueryScores:
    """Compare the rankings of the judged queries, in their order, with the judgements."""
    gains = _gains(_in_order(rankings, judgements.names), judgements)
    hits = gains > 0
    top = gains[:, :_TOP]
    first = np.argmax(hits, axis=1) if hits.shape[1] else np.zeros(len(hits), np.int64)
    return QueryScores(
        (top / _discounts(top.shape[1])).sum(axis=1) / judgements.ideal,
        hits[:, :DEPTH].sum(axis=1) / judgements.right,
        np.where(hits.any(axis=1), 1.0 / (first + 1), 0.0),
    )


def _discounts(count: int) -> Floats:
    return np.log2(np.arange(2, count + 2))


def _gains(documents: Numbers, judgements: Judgements) -> Floats:
    """Look up the grade of every document found; one that was not judged has none."""
    if not len(judgements.keys):
        return np.zeros(documents.shape)
    rows = np.arange(len(documents))[:, None] * len(judgements.names)
    wanted = np.where(documents >= 0, rows + documents, -1)
    at = np.minimum(np.searchsorted(judgements.keys, wanted), len(judgements.keys) - 1)
    return np.where(judgements.keys[at] == wanted, judgements.grades[at], 0.0)


def _in_order(rankings: Rankings, names: Sequence[str]) -> Numbers:
    """Put every row in trec_eval's order, and let a name that comes twice count once."""
    documents = rankings.documents.astype(np.int64)
    place = np.empty(len(names) + 1, np.int64)
    place[np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)] = np.arange(len(names))
    place[-1] = -1
    scores = rankings.scores.astype(np.float64)
    scores[np.isnan(scores)] = -np.inf
    order = np.lexsort((-place[documents], -scores, documents < 0), axis=1)
    ordered = np.take_along_axis(documents, order, axis=1)
    return ordered if len(set(names)) == len(names) else _once(ordered, names)


def _once(documents: Numbers, names: Sequence[str]) -> Numbers:
    """Remove repeated names from each row: some collections have a document twice."""
    numbers: dict[str, int] = {}
    first = [numbers.setdefault(name, number) for number, name in enumerate(names)]
    out = np.full_like(documents, -1)
    for row, found in enumerate(documents.tolist()):
        kept = list(dict.fromkeys(first[number] for number in found if number >= 0))
        out[row, : len(kept)] = kept
    return out


def from_run(run: Run, judgements: Judgements) -> Rankings:
    """Number a run that others made; documents that the collection does not have are left out."""
    numbers: dict[str, int] = {}
    for number, name in enumerate(judgements.names):
        numbers.setdefault(name, number)
    documents = np.full((len(judgements.queries), DEPTH), -1, np.int32)
    scores = np.zeros((len(judgements.queries), DEPTH), np.float32)
    for row, query in enumerate(judgements.queries):
        best = sorted(run.get(query, {}).items(), key=lambda pair: (np.float32(pair[1]), pair[0]), reverse=True)
        known = [(numbers[name], value) for name, value in best if name in numbers][:DEPTH]
        documents[row, : len(known)] = [number for number, _ in known]
        scores[row, : len(known)] = [value for _, value in known]
    return Rankings(documents, scores)


def to_run(rankings: Rankings, queries: Sequence[str], names: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
    """Return rankings as a run, for files."""
    rows = zip(queries, rankings.documents.tolist(), rankings.scores.tolist(), strict=True)
    return {
        query: {names[number]: value for number, value in zip(found, scores, strict=True) if number >= 0}
        for query, found, scores in rows
    }
