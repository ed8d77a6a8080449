"""How good is it: judged collections in, nDCG, recall and reciprocal rank out, and whether a difference is chance.

A collection is a folder with `docs.jsonl` (plain, .gz or .zst), `queries.jsonl` and `qrels.tsv`. It is indexed by the
same code as pages are, searched through the same pipeline, and compared with its judgements.

    judged = judge(folder, settings, usual(settings) + ablations(settings))    # one build, several ways of ranking

`evaluate` measures one way of ranking only. `paired_difference` and `average_gain` are the paired bootstrap.
`write_report` makes an HTML page of it, `record_quality` lets the admin page of a data folder know.
`explain` says why one page ranks where it does for some words, or why it is not there.
"""

from periplus.evaluate.bootstrap import Difference, average_gain, paired_difference
from periplus.evaluate.collection import Collection, read_collection, read_documents
from periplus.evaluate.comparison import Comparison, QueryChange
from periplus.evaluate.experiment import Evaluation, Result, evaluate_variants
from periplus.evaluate.quality import Quality, evaluate, make_run_writer
from periplus.evaluate.query_runner import QueryRunner
from periplus.evaluate.rank_explanation import BetterResult, Explanation, explain
from periplus.evaluate.report import AverageGain, average_gains, figures, read_quality, record_quality, write_report
from periplus.evaluate.trec_files import read_qrels, write_run
from periplus.evaluate.variants import (
    FIRST_STAGE,
    FULL_LEFT_OUT,
    FULL_PIPELINE,
    WITH_EMBEDDINGS,
    WITH_EMBEDDINGS_LEFT_OUT,
    Variant,
    ablations,
    left_out_variants,
    select_variants,
    standard_variants,
)

__all__ = [
    "FIRST_STAGE",
    "FULL_LEFT_OUT",
    "FULL_PIPELINE",
    "WITH_EMBEDDINGS",
    "WITH_EMBEDDINGS_LEFT_OUT",
    "AverageGain",
    "BetterResult",
    "Collection",
    "Comparison",
    "Difference",
    "Evaluation",
    "Explanation",
    "Quality",
    "QueryChange",
    "QueryRunner",
    "Result",
    "Variant",
    "ablations",
    "average_gain",
    "average_gains",
    "evaluate",
    "evaluate_variants",
    "explain",
    "figures",
    "left_out_variants",
    "make_run_writer",
    "paired_difference",
    "read_collection",
    "read_documents",
    "read_qrels",
    "read_quality",
    "record_quality",
    "select_variants",
    "standard_variants",
    "write_report",
    "write_run",
]
