"""`periplus evaluate`: how good the ranking is, by collections with judgements."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from periplus.cli.console import note, progress, rows, say, say_json
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import AsJson, with_settings
from periplus.errors import BadInput, PeriplusError
from periplus.files import open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.evaluate import Judged, Variant

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
        str, typer.Option("--variants", metavar="NAMES", help="Which of first, full and meaning, with commas.")
    ] = "first,full,meaning",
    ablate: Annotated[bool, typer.Option("--ablate", help="Switch each weight of ranking off in turn.")] = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page, and its figures as .json.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FOLDER", help="Keep the indexes there, to be used again.")
    ] = None,
    run: Annotated[
        Path | None, typer.Option("--run", metavar="FILE", help="Write a TREC run file of the full ranking.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Index test collections, run their queries, and compare the ways of ranking.

    The figures are kept in the data folder too, where there is one: quality/latest.json.
    """
    from periplus.evaluate import ablations, averages, choose, keep_quality, write_report

    if run is not None and len(folders) > 1:
        raise BadInput("--run takes one collection at a time.")
    wanted = choose(settings, [name.strip() for name in variants.split(",") if name.strip()])
    wanted += ablations(settings) if ablate else ()
    if not wanted:
        raise BadInput("There is no variant to measure.", "For example: --variants first,full.")
    compile_kernels(as_json)
    judged = _measure(folders, settings, wanted, keep, run, as_json)
    if report is not None:
        write_report(report, judged)
    _keep(settings, judged, keep_quality)
    if as_json:
        say_json([_as_json(folder, one) for folder, one in zip(folders, judged, strict=True)])
        return
    rows(_HEAD, [cells for one in judged for cells in _rows(one)])
    for reason in dict.fromkeys(f"{r.title}: {r.skipped}" for one in judged for r in one.results if r.skipped):
        note(reason)
    for mean in averages(judged) if len(judged) > 1 else ():
        say(f"{mean.title}: {mean.gain:+.1%} nDCG@10 on average ({mean.low:+.1%} to {mean.high:+.1%})")
    if report is not None:
        say(f"Report: {report}")


def _measure(
    folders: list[Path], settings: Settings, wanted: "tuple[Variant, ...]", keep: Path | None, run: Path | None, q: bool
) -> "list[Judged]":
    from periplus.evaluate import Asker, judge, run_writer

    judged = []
    with Asker() as asker:
        for folder in folders:
            with progress(q) as shown:
                found = run_writer(run, wanted)
                judged.append(judge(folder, settings, wanted, keep=keep, asker=asker, progress=shown, found=found))
    return judged


def _keep(settings: Settings, judged: "list[Judged]", keep_quality: Any) -> None:
    """Keep the figures in the data folder, if there is one."""
    folder = Path(settings.folder)
    if folder.exists():
        try:
            keep_quality(open_data_folder(folder, create=False), judged)
        except PeriplusError as error:
            note(f"The figures were not kept: {error}")


def _as_json(folder: Path, one: "Judged") -> dict[str, Any]:
    measured = [result for result in one.results if not result.skipped]
    last = one.result("full") or (measured[0] if measured else None)
    scores = {"documents": one.documents, "queries": one.queries}
    if last is not None:
        scores |= {"ndcg": last.ndcg, "recall": last.recall, "mrr": last.mrr}  # type: ignore[dict-item]
    return {"folder": str(folder), "scores": scores, "variants": one.results}


def _rows(one: "Judged") -> list[tuple[str, ...]]:
    """Write the results of one collection."""
    lines = []
    for result in one.results:
        cells = [one.collection, f"{one.documents:,}", f"{one.queries:,}", result.title]
        figures = (f"{value:.4f}" for value in (result.ndcg, result.recall, result.mrr))
        cells += ["-"] * 3 if result.skipped else figures
        found = result.beside
        if found is not None:
            cells += [f"{found.difference:+.4f}", f"{found.low:+.4f} to {found.high:+.4f}", f"{found.p:.4f}"]
        cells += [f"{found.wins:,}", f"{found.losses:,}"] if found is not None else [""] * 5
        lines.append(tuple(cells))
    return lines
