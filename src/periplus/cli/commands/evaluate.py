"""`periplus evaluate`: the quality of ranking on judged collections, and the metrics of a federation of sites."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from periplus.cli.console import echo, echo_json, log, print_table
from periplus.cli.console_observer import observe
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.app import Evaluation, FederationReport

__all__ = ["evaluate"]

_HEAD: Final = (
    *("collection", "documents", "queries", "ranking", "nDCG@10", "recall@100", "MRR"),
    *("difference", "95 %", "p", "wins", "losses"),
)


class DefaultCommandGroup(TyperGroup):
    """A group whose first command is meant if none is named: `periplus evaluate FOLDER`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the first command before arguments that begin with no other name."""
        names = list(self.commands)
        if not args or args[0] not in (*names, "--help"):
            args = [names[0], *args]
        return super().parse_args(ctx, args)


evaluate: Final = typer.Typer(
    cls=DefaultCommandGroup,
    help="Measure the quality of ranking on judged collections, or the metrics of a federation of sites.",
    rich_markup_mode=None,
    add_completion=False,
)


@evaluate.command("ranking")
@with_settings()
def ranking(
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
    """Index test collections, run their queries, and compare variants of ranking; `ranking` may be left out.

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


@evaluate.command("sites")
@with_settings()
def sites(
    settings: Settings,
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Data folders of sites, whose metric logs are read.")
    ] = None,
    graph: Annotated[
        Path | None,
        typer.Option("--graph", metavar="FILE", help="Simulate crawlers on the edges of a web graph, put on a map."),
    ] = None,
    collections: Annotated[
        list[Path] | None,
        typer.Option(
            "--collection",
            metavar="FOLDER",
            help="Simulate placement and queries with a judged collection and regional interests; may be repeated.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write an HTML page, its plots as .svg, its figures as .json."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the metrics of a federation: crawling, placement, queries, quality (docs/sites-metrics.md)."""
    from periplus.app import evaluate_sites, metric_rows

    with observe(as_json) as observer:
        result = evaluate_sites(
            folders or (), graph=graph, collections=collections or (), report=report, observer=observer
        )
    if as_json:
        echo_json(result.evaluation)
        return
    print_table(("metric", "section", "value"), metric_rows(result.evaluation))
    _echo_simulations(result)
    if report is not None:
        echo(f"Report: {report}")


def _echo_simulations(result: "FederationReport") -> None:
    if result.crawls:
        rows = [
            (str(c.crawlers), c.assignment, f"{c.download_time:,.0f}", f"{c.links_exchanged:,}", f"{c.balance:.2f}")
            for c in result.crawls
        ]
        print_table(("crawlers", "assignment", "TDT in s", "ICC", "LB"), rows)
    if result.placements:
        print_table(
            ("placement by", "precision", "mean ordinal"),
            [(p.variant, f"{p.quality.precision:.1%}", f"{p.quality.mean_ordinal:.2f}") for p in result.placements],
        )
    if result.evaluation.latency:
        print_table(
            ("sites", "queries", "mean ms", "deviation ms", "99 % ms"),
            [
                (str(r.sites), f"{r.queries:,}", *(f"{1000 * v:.1f}" for v in (r.mean, r.deviation, r.slow)))
                for r in result.evaluation.latency
            ],
        )


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
