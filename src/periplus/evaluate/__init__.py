"""How good is it: judged collections in, nDCG, recall and reciprocal rank out.

A collection is a folder with `docs.jsonl` (plain, .gz or .zst), `queries.jsonl` and `qrels.tsv`. It is indexed by the
same code as pages are, searched through the same pipeline, and compared with its judgements.
"""

from periplus.evaluate.collection import Collection, read_collection
from periplus.evaluate.metrics import mrr, ndcg_at, read_qrels, recall_at, write_run
from periplus.evaluate.quality import Quality, evaluate

__all__ = [
    "Collection",
    "Quality",
    "evaluate",
    "mrr",
    "ndcg_at",
    "read_collection",
    "read_qrels",
    "recall_at",
    "write_run",
]
