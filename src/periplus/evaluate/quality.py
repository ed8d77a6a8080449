"""Run a judged collection through the whole pipeline as it is set, and score it."""

from pathlib import Path

import msgspec

from periplus.evaluate.asking import Progress
from periplus.evaluate.judge import judge
from periplus.evaluate.metrics import write_run
from periplus.evaluate.rankings import Judgements, Rankings, to_run
from periplus.evaluate.variants import FULL, Variant
from periplus.settings import Settings

__all__ = ["Quality", "evaluate"]


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

    def keep(name: str, rankings: Rankings, judgements: Judgements) -> None:
        if run is not None:
            write_run(run, to_run(rankings, judgements.queries, judgements.names), "periplus")

    judged = judge(folder, settings, [Variant(FULL, FULL, settings)], progress=progress, found=keep)
    result = judged.results[0]
    return Quality(judged.documents, judged.queries, result.ndcg, result.recall, result.mrr)
