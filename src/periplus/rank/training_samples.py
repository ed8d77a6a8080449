"""Samples to learn from: queries with candidates, their features, and how good each candidate is."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl
from periplus.index import Index
from periplus.query import Node, QueryPlan, parse_query
from periplus.rank.ranker import Ranker
from periplus.rank.ranking_model import Rows
from periplus.records import Candidates
from periplus.signals import estimate_relevance, read_clicks, read_judgements
from periplus.url import parse_address

__all__ = ["Grades", "RankedDocuments", "Retrieve", "Sample", "collect_samples", "read_grades"]

Grades = Mapping[str, Mapping[int, int]]
"""By query and page key: 0 is bad, 4 is perfect."""
_BEST: Final = 4
_LEAST_LIKED: Final = 0.02
_DEPTH: Final = 100
"""Candidates of a query where the settings rerank none."""


class RankedDocuments(Protocol):
    """Documents by their first-stage score."""

    @property
    def segments(self) -> npt.NDArray[np.int32]:
        """The segment of each."""

    @property
    def documents(self) -> npt.NDArray[np.int32]:
        """The number of each in its segment."""

    @property
    def scores(self) -> npt.NDArray[np.float32]:
        """The score of each, highest first."""


Retrieve = Callable[[Ranker, Node, int], tuple[QueryPlan, RankedDocuments]]
"""The first stage, as queries are answered by it: from a query and a number of candidates to these and their plan."""


class Sample(NamedTuple):
    """One query."""

    query: str
    rows: Rows
    base: npt.NDArray[np.float64]
    """What the weights give each candidate, as a share of the query's best score."""
    grades: npt.NDArray[np.int32]
    ideal: npt.NDArray[np.int32]
    """All grades of the query, the best first, found or not."""
    source: str = ""
    """The collection, or data folder, that it is of."""
    urls: tuple[str, ...] = ()
    """The pages of the rows."""


def read_grades(folder: Path) -> Grades:
    """Return the grades by judgements and clicks of a data folder; a judgement overrides clicks."""
    grades: dict[str, dict[int, int]] = {}
    for query, pages in estimate_relevance(read_clicks(folder)).pages.items():
        for url, liking in pages.items():
            if liking >= _LEAST_LIKED:
                _put(grades, query, url, max(1, round(_BEST * liking)))
    for judgement in read_judgements(folder):
        _put(grades, judgement.query, judgement.url, judgement.grade)
    return grades


def _put(grades: dict[str, dict[int, int]], query: str, url: str, grade: int) -> None:
    try:
        grades.setdefault(query, {})[parse_address(url).key] = grade
    except BadUrl:
        return


def collect_samples(
    index: Index,
    ranker: Ranker,
    grades: Grades,
    retrieve: Retrieve,
    progress: Callable[[int, int], None] = lambda done, total: None,
    source: str = "",
) -> list[Sample]:
    """Run all judged queries; those with nothing to tell apart are left out. source: where they come from."""
    index.spelling.load()  # Fixed phrases are a feature.
    keys = [segment.column("key") for segment in index.segments]
    samples = []
    for number, (query, judged) in enumerate(grades.items()):
        progress(number, len(grades))
        tree = parse_query(query).tree
        if tree is None:
            continue
        depth = ranker.model.depth or _DEPTH
        plan, retrieved = retrieve(ranker, tree, depth)
        ids = retrieved.segments[:depth], retrieved.documents[:depth]
        candidates = Candidates(*ids, retrieved.scores[:depth], len(ids[0]), True, False)
        rows = ranker.features.extract(plan, candidates)
        where = list(zip(candidates.segments.tolist(), candidates.documents.tolist(), strict=True))
        found = np.array([_gain(judged.get(int(keys[segment][document]), 0)) for segment, document in where], np.int32)
        if len(found) > 1 and found.min() != found.max():
            ideal = np.sort(np.array([_gain(grade) for grade in judged.values()], np.int32))[::-1]
            urls = tuple(index.segments[segment].string("url", document) for segment, document in where)
            samples.append(Sample(query, rows, ranker.model.scorer.score(rows), found, ideal, source, urls))
    return samples


def _gain(grade: int) -> int:
    return max(0, min(_BEST, grade))


def join(samples: Iterable[Sample]) -> tuple[Rows, npt.NDArray[np.float64], npt.NDArray[np.int32], list[int]]:
    """Return rows, base scores and grades of all samples in a row, and the size of each."""
    kept = list(samples)
    return (
        np.concatenate([sample.rows for sample in kept]),
        np.concatenate([sample.base for sample in kept]),
        np.concatenate([sample.grades for sample in kept]),
        [len(sample.grades) for sample in kept],
    )
