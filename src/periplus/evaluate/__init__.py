"""How good is it: judged collections in, nDCG, recall and reciprocal rank out, and whether a difference is chance.

A collection is a folder with `docs.jsonl` (plain, .gz or .zst), `queries.jsonl` and `qrels.tsv`. It is indexed by the
same code as pages are, searched through the same pipeline, and compared with its judgements.

    judged = judge(folder, settings, usual(settings) + ablations(settings))    # one build, several ways of ranking

`evaluate` measures one way of ranking only. `paired_difference` and `average_gain` are the paired bootstrap.
`write_report` makes an HTML page of it, `record_quality` lets the admin page of a data folder know.
`explain` says why one page ranks where it does for some words, or why it is not there; `diagnose` follows it through
the stages of a query and says what would change it.

`sites` has the metrics of a federation: `evaluate_records` of what its sites have recorded, simulations that yield the
same records, and `write_sites_report`.
"""

from periplus.evaluate.bootstrap import Difference, average_gain, paired_difference
from periplus.evaluate.collection import Collection, read_collection, read_documents
from periplus.evaluate.comparison import Comparison, QueryChange
from periplus.evaluate.experiment import Evaluation, Result, evaluate_variants
from periplus.evaluate.quality import Quality, evaluate, make_run_writer
from periplus.evaluate.query_diagnosis import FirstStage, QueryDiagnosis, diagnose
from periplus.evaluate.query_runner import QueryRunner
from periplus.evaluate.rank_explanation import BetterResult, Explanation, explain
from periplus.evaluate.report import AverageGain, average_gains, figures, read_quality, record_quality, write_report
from periplus.evaluate.sites.crawl_simulation import CRAWLERS, CrawlCost, measure_crawl, place_on_map
from periplus.evaluate.sites.discovery_simulation import simulate_discoveries
from periplus.evaluate.sites.placement_simulation import (
    PLACEMENT_VARIANTS,
    PlacementResult,
    assign_documents,
    place_documents,
    placement_records,
    prepare_placement,
)
from periplus.evaluate.sites.query_simulation import simulate_queries
from periplus.evaluate.sites.regional_log import draw_regional_log, read_regional_collection
from periplus.evaluate.sites.sites_evaluation import SitesEvaluation, evaluate_records
from periplus.evaluate.sites.sites_report import FederationReport, metric_rows, write_sites_report
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
    "CRAWLERS",
    "FIRST_STAGE",
    "FULL_LEFT_OUT",
    "FULL_PIPELINE",
    "PLACEMENT_VARIANTS",
    "WITH_EMBEDDINGS",
    "WITH_EMBEDDINGS_LEFT_OUT",
    "AverageGain",
    "BetterResult",
    "Collection",
    "Comparison",
    "CrawlCost",
    "Difference",
    "Evaluation",
    "Explanation",
    "FederationReport",
    "FirstStage",
    "PlacementResult",
    "Quality",
    "QueryChange",
    "QueryDiagnosis",
    "QueryRunner",
    "Result",
    "SitesEvaluation",
    "Variant",
    "ablations",
    "assign_documents",
    "average_gain",
    "average_gains",
    "diagnose",
    "draw_regional_log",
    "evaluate",
    "evaluate_records",
    "evaluate_variants",
    "explain",
    "figures",
    "left_out_variants",
    "make_run_writer",
    "measure_crawl",
    "metric_rows",
    "paired_difference",
    "place_documents",
    "place_on_map",
    "placement_records",
    "prepare_placement",
    "read_collection",
    "read_documents",
    "read_qrels",
    "read_quality",
    "read_regional_collection",
    "record_quality",
    "select_variants",
    "simulate_discoveries",
    "simulate_queries",
    "standard_variants",
    "write_report",
    "write_run",
    "write_sites_report",
]
