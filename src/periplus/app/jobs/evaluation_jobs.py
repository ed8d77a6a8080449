"""Measure the quality of ranking on judged collections, and record it in the data folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.errors import BadInput, PeriplusError
from periplus.files import open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.evaluate import Evaluation, Variant

__all__ = ["evaluate_ranking"]


def evaluate_ranking(
    collections: Sequence[Path],
    settings: Settings,
    variants: Sequence[str] = ("first", "full", "meaning"),
    *,
    ablate: bool = False,
    report: Path | None = None,
    keep: Path | None = None,
    run: Path | None = None,
    observer: Observer = SILENT,
) -> "list[Evaluation]":
    """Index judged collections, run their queries, and compare variants of ranking.

    report: write an HTML page and its figures as .json; keep: a folder for the indexes, which are used again;
    run: write a TREC run file of the full ranking of the only collection. The figures are recorded in the data folder,
    if it exists.
    """
    from periplus.evaluate import ablations, select_variants, write_report

    if run is not None and len(collections) > 1:
        raise BadInput("--run takes one collection at a time.")
    chosen = select_variants(settings, variants)
    chosen += ablations(settings) if ablate else ()
    if not chosen:
        raise BadInput("There is no variant to measure.", "For example: --variants first,full.")
    compile_kernels(observer)
    judged = _measure(collections, settings, chosen, keep, run, observer)
    if report is not None:
        write_report(report, judged)
    _record(Path(settings.folder), judged, observer)
    return judged


def _measure(
    collections: Sequence[Path],
    settings: Settings,
    variants: "tuple[Variant, ...]",
    keep: Path | None,
    run: Path | None,
    observer: Observer,
) -> "list[Evaluation]":
    from periplus.evaluate import QueryRunner, evaluate_variants, make_run_writer

    with QueryRunner() as runner:
        return [
            evaluate_variants(
                folder,
                settings,
                variants,
                keep=keep,
                runner=runner,
                progress=observer.progress,
                found=make_run_writer(run, variants),
            )
            for folder in collections
        ]


def _record(folder: Path, judged: "list[Evaluation]", observer: Observer) -> None:
    from periplus.evaluate import record_quality

    if folder.exists():
        try:
            record_quality(open_data_folder(folder, create=False), judged)
        except PeriplusError as error:
            observer.message(f"The figures were not recorded: {error}")
