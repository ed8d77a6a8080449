"""Run a judged collection through the whole pipeline as it is set, and score it."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from periplus.evaluate.experiment import RankingObserver, evaluate_variants
from periplus.evaluate.query_runner import Progress
from periplus.evaluate.rankings import Judgements, Rankings, to_run
from periplus.evaluate.trec_files import write_run
from periplus.evaluate.variants import FULL_PIPELINE, Variant
from periplus.settings import Settings

__all__ = ["Quality", "evaluate", "make_run_writer"]


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
    """Index a collection in a temporary folder, run its judged queries, compare with its judgements."""
    variant = Variant(FULL_PIPELINE, FULL_PIPELINE, settings)
    judged = evaluate_variants(folder, settings, [variant], progress=progress, found=make_run_writer(run, [variant]))
    result = judged.results[0]
    return Quality(judged.documents, judged.queries, result.ndcg, result.recall, result.mrr)


def make_run_writer(path: Path | None, variants: Sequence[Variant]) -> RankingObserver:
    """Return a function that writes a TREC run file of the full ranking, or of the last variant if that is missing."""
    names = [variant.name for variant in variants]
    wanted = FULL_PIPELINE if FULL_PIPELINE in names else names[-1]

    def write(name: str, rankings: Rankings, judgements: Judgements) -> None:
        if path is not None and name == wanted:
            write_run(path, to_run(rankings, judgements.queries, judgements.names), "periplus")

    return write
