"""`periplus evaluate`: how good the ranking is, by collections with judgements."""

from pathlib import Path
from typing import Annotated

import typer

from periplus.cli.console import progress, rows, say_json
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import AsJson, with_settings
from periplus.errors import BadInput
from periplus.settings import Settings

__all__ = ["evaluate"]


@with_settings()
def evaluate(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders with docs.jsonl (or .gz, .zst), queries.jsonl and qrels.tsv.")
    ],
    settings: Settings,
    run: Annotated[Path | None, typer.Option("--run", metavar="FILE", help="Write a TREC run file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Index a test collection, run its queries and print nDCG@10, recall@100 and MRR."""
    if run is not None and len(folders) > 1:
        raise BadInput("--run takes one collection at a time.")
    compile_kernels(as_json)
    from periplus.evaluate import evaluate as measure

    scores = []
    for folder in folders:
        with progress(as_json) as report:
            scores.append(measure(folder, settings, run=run, progress=report))
    if as_json:
        say_json([{"folder": str(folder), "scores": score} for folder, score in zip(folders, scores, strict=True)])
        return
    head = ("collection", "documents", "queries", "nDCG@10", "recall@100", "MRR")
    rows(
        head,
        [
            (folder.name, f"{s.documents:,}", f"{s.queries:,}", f"{s.ndcg:.4f}", f"{s.recall:.4f}", f"{s.mrr:.4f}")
            for folder, s in zip(folders, scores, strict=True)
        ],
    )
