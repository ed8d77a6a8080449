"""`periplus evaluate`: the quality of ranking on judged collections."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from periplus.cli.console import echo, echo_json, log, print_table
from periplus.cli.console_observer import observe
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.app import Evaluation

__all__ = ["evaluate"]

_HEAD: Final = (
    *("collection", "documents", "queries", "ranking", "nDCG@10", "recall@100", "MRR"),
    *("difference", "95 %", "p", "wins", "losses"),
)


@with_settings()
def evaluate(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders with docs.jsonl (or .gz, .zst), queries.jsonl and qrels.tsv.")
    ],
    settings: Settings,
    variants: Annotated[
        str, typer.Option("--variants", metavar="NAMES", help="Variants to measure, with commas: first, full, meaning.")
    ] = "first,full,meaning",
    ablate: Annotated[bool, typer.Option("--ablate", help="Switch off each weight of ranking in turn.")] = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page, and its figures as .json.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FOLDER", help="Folder for the indexes, which are used again.")
    ] = None,
    run: Annotated[
        Path | None, typer.Option("--run", metavar="FILE", help="Write a TREC run file of the full ranking.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Index test collections, run their queries, and compare variants of ranking.

    The figures are recorded in the data folder too, if there is one: quality/latest.json.
    """
    from periplus.app import average_gains, evaluate_ranking

    names = [name.strip() for name in variants.split(",") if name.strip()]
    with observe(as_json) as observer:
        evaluations = evaluate_ranking(
            folders, settings, names, ablate=ablate, report=report, keep=keep, run=run, observer=observer
        )
    if as_json:
        pairs = zip(folders, evaluations, strict=True)
        echo_json([_as_json(folder, evaluation) for folder, evaluation in pairs])
        return
    print_table(_HEAD, [row for evaluation in evaluations for row in _rows(evaluation)])
    results = [result for evaluation in evaluations for result in evaluation.results]
    for reason in dict.fromkeys(f"{result.title}: {result.skipped}" for result in results if result.skipped):
        log(reason)
    for mean in average_gains(evaluations) if len(evaluations) > 1 else ():
        echo(f"{mean.title}: {mean.gain:+.1%} nDCG@10 on average ({mean.low:+.1%} to {mean.high:+.1%})")
    if report is not None:
        echo(f"Report: {report}")


def _as_json(folder: Path, evaluation: "Evaluation") -> dict[str, Any]:
    measured = [result for result in evaluation.results if not result.skipped]
    last = evaluation.result("full") or (measured[0] if measured else None)
    scores: dict[str, float] = {"documents": evaluation.documents, "queries": evaluation.queries}
    if last is not None:
        scores |= {"ndcg": last.ndcg, "recall": last.recall, "mrr": last.mrr}
    return {"folder": str(folder), "scores": scores, "variants": evaluation.results}


def _rows(evaluation: "Evaluation") -> list[tuple[str, ...]]:
    """Return the rows of one collection."""
    rows = []
    for result in evaluation.results:
        cells = [evaluation.collection, f"{evaluation.documents:,}", f"{evaluation.queries:,}", result.title]
        figures = (f"{value:.4f}" for value in (result.ndcg, result.recall, result.mrr))
        cells += ["-"] * 3 if result.skipped else figures
        change = result.comparison
        if change is None:
            cells += [""] * 5
        else:
            cells += [f"{change.difference:+.4f}", f"{change.low:+.4f} to {change.high:+.4f}", f"{change.p:.4f}"]
            cells += [f"{change.wins:,}", f"{change.losses:,}"]
        rows.append(tuple(cells))
    return rows
