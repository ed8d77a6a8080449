"""Run a judged collection through the whole pipeline and score it."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from periplus.evaluate.collection import read_collection, read_visits
from periplus.evaluate.metrics import mrr, ndcg_at, recall_at, write_run
from periplus.fingerprint import fingerprint_text
from periplus.index import Index, build_index
from periplus.query import parse
from periplus.rank import Ranker
from periplus.settings import Settings

__all__ = ["Quality", "evaluate"]

_DEPTH: Final = 100
_REPORT_EVERY: Final = 100

Progress = Callable[[str, int, int], None]


class Quality(msgspec.Struct, frozen=True):
    """How well a collection is searched."""

    documents: int
    queries: int
    """Those with at least one right document; the others say nothing."""
    ndcg: float
    """nDCG at 10."""
    recall: float
    """Recall at 100."""
    mrr: float


def evaluate(
    folder: Path,
    settings: Settings,
    *,
    run: Path | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> Quality:
    """Index a collection in a temporary folder, run its queries, compare with its judgements."""
    collection = read_collection(folder)
    ids: list[str] = []
    with tempfile.TemporaryDirectory(prefix="periplus-evaluate-") as place:
        build_index(read_visits(collection.documents, ids), Path(place), settings.index, None, progress)
        index = Index.open(Path(place), verify=False)
        found = _search_all(index, settings, collection.queries, ids, progress)
    if run is not None:
        write_run(run, found, "periplus")
    judged = {query: grades for query, grades in collection.qrels.items() if max(grades.values(), default=0) > 0}
    return Quality(
        len(ids), len(judged), ndcg_at(found, judged, 10), recall_at(found, judged, _DEPTH), mrr(found, judged)
    )


def _search_all(
    index: Index, settings: Settings, queries: dict[str, str], ids: list[str], progress: Progress
) -> dict[str, dict[str, float]]:
    """Give the best documents, with scores, of every query."""
    names = {fingerprint_text(str(number)): name for number, name in enumerate(ids)}
    ranker = Ranker(index, settings.rank)
    keys = [segment.column("key") for segment in index.segments]
    found: dict[str, dict[str, float]] = {}
    for number, (query, words) in enumerate(queries.items()):
        if number % _REPORT_EVERY == 0:
            progress("running queries", number, len(queries))
        tree = parse(words).tree
        found[query] = {}
        if tree is None:
            continue
        ranked = ranker.rank(ranker.prepare(tree), _DEPTH)
        for segment, document, score in zip(ranked.segments, ranked.documents, ranked.scores, strict=True):
            found[query][names[int(keys[segment][document])]] = float(np.float32(score))
    progress("running queries", len(queries), len(queries))
    return found
