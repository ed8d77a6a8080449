"""How good is it: judged collections in, nDCG, recall and reciprocal rank out, and whether a difference is chance.

A collection is a folder with `docs.jsonl` (plain, .gz or .zst), `queries.jsonl` and `qrels.tsv`. It is indexed by the
same code as pages are, searched through the same pipeline, and compared with its judgements.

    judged = judge(folder, settings, usual(settings) + ablations(settings))    # one build, several ways of ranking

`evaluate` measures one way of ranking only. `paired_difference` and `average_gain` are the paired bootstrap.
`write_report` makes an HTML page of it, `keep_quality` lets the admin page of a data folder know.
`explain` says why one page ranks where it does for some words, or why it is not there.
"""

from periplus.evaluate.bootstrap import Difference, average_gain, paired_difference
from periplus.evaluate.collection import Collection, read_collection, read_visits
from periplus.evaluate.comparison import Comparison, Moved
from periplus.evaluate.experiment import Judged, Result, judge
from periplus.evaluate.quality import Quality, evaluate, run_writer
from periplus.evaluate.query_runner import Asker
from periplus.evaluate.rank_explanation import Explanation, Rival, explain
from periplus.evaluate.report import Average, averages, figures, keep_quality, read_quality, write_report
from periplus.evaluate.trec_files import read_qrels, write_run
from periplus.evaluate.variants import FIRST, FULL, MEANING, Variant, ablations, choose, usual

__all__ = [
    "FIRST",
    "FULL",
    "MEANING",
    "Asker",
    "Average",
    "Collection",
    "Comparison",
    "Difference",
    "Explanation",
    "Judged",
    "Moved",
    "Quality",
    "Result",
    "Rival",
    "Variant",
    "ablations",
    "average_gain",
    "averages",
    "choose",
    "evaluate",
    "explain",
    "figures",
    "judge",
    "keep_quality",
    "paired_difference",
    "read_collection",
    "read_qrels",
    "read_quality",
    "read_visits",
    "run_writer",
    "usual",
    "write_report",
    "write_run",
]
