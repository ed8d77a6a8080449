"""`periplus index`: build, measure, verify, repair and export the index of a data folder; delete pages from it."""

from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from periplus.cli.console import bar, echo, echo_json, format_bytes, format_count, log, print_table
from periplus.cli.console_observer import observe
from periplus.cli.index_view import echo_built
from periplus.cli.options import AsJson, with_settings
from periplus.errors import BadInput, CorruptFile
from periplus.settings import Settings

__all__ = ["index"]

index: Final = typer.Typer(
    help="Build, measure, verify, repair and export the index.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)


@index.command("build")
@with_settings(memory_mb="index.memory_mb", workers="index.workers")
def build(
    settings: Settings,
    as_json: AsJson = False,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait for another process that writes to the index.")
    ] = 600.0,
) -> None:
    """Build link graph and index from all pages in the data folder."""
    from periplus.app import build_graph_and_index, lower_priority

    lower_priority()
    with observe(as_json) as observer:
        statistics = build_graph_and_index(Path(settings.folder), settings, observer, wait)
    echo_json(statistics) if as_json else echo_built(statistics)


@index.command("stats")
@with_settings()
def stats(settings: Settings, as_json: AsJson = False) -> None:
    """Show the size of the index and of each of its parts."""
    from periplus.app import index_statistics

    statistics = index_statistics(Path(settings.folder))
    if as_json:
        echo_json(statistics)
        return
    echo(
        f"{format_count(statistics.documents, 'page')} from {format_count(statistics.hosts, 'host')}, "
        f"{format_count(statistics.segments, 'segment')}, {format_count(statistics.terms, 'term')}"
        + (f", {format_count(statistics.deleted, 'deleted page')}" if statistics.deleted else "")
    )
    total = max(1, sum(statistics.parts.values()))
    parts = sorted(statistics.parts.items(), key=lambda part: -part[1])
    rows = [(name, format_bytes(size), f"{size / total:.1%}", bar(size / total)) for name, size in parts]
    print_table(("part", "bytes", "share", ""), rows)
    echo(f"{format_bytes(statistics.bytes)} in all.")


@index.command("check")
@with_settings()
def check(settings: Settings) -> None:
    """Read every byte of the index and verify checksums and invariants."""
    from periplus.app import check_folder

    folder = Path(settings.folder)
    with observe() as observer:
        faults = check_folder(folder, observer)
    for fault in faults:
        log(fault)
    if faults:
        raise CorruptFile(
            f"The index in {folder} has {format_count(len(faults), 'fault')}.", "To repair it: periplus index repair."
        )
    echo("The index has no faults.")


@index.command("repair")
@with_settings(memory_mb="index.memory_mb")
def repair(settings: Settings, as_json: AsJson = False) -> None:
    """Find damaged segments and index their pages again from the page store; other segments stay.

    Damaged vectors are removed; `periplus index embed` computes them again.
    """
    from periplus.app import repair_folder

    with observe(as_json) as observer:
        report = repair_folder(Path(settings.folder), settings, observer)
    repaired, faults = report.segments, report.segments.faults + report.vector_faults
    if as_json:
        echo_json(msgspec.structs.replace(repaired, faults=faults))
        return
    for fault in faults:
        log(fault)
    if not faults:
        echo("The index has no faults; nothing to repair.")
    if repaired.faults:
        kept, restored = format_count(repaired.intact, "segment"), format_count(repaired.restored, "page")
        echo(f"{kept} had no faults; {restored} indexed again.")
    if report.vector_faults:
        echo("Removed the damaged vectors. To compute them again: periplus index embed.")
    if repaired.missing:
        echo(f"{format_count(repaired.missing, 'page')} could not be restored: not in the page store.")


@index.command("export")
@with_settings()
def export(
    settings: Settings,
    file: Annotated[
        Path, typer.Argument(help="File to write: .jsonl for JSON lines, .jsonl.zst compressed, .arrays for arrays.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write each term with its document frequency and highest impact, after a line of statistics."""
    from periplus.app import export_terms

    collection = export_terms(Path(settings.folder), file)
    if as_json:
        echo_json(collection)
        return
    terms, pages = format_count(collection.terms, "term"), format_count(collection.documents, "page")
    echo(f"Wrote {terms} of {pages} to {file}: {format_bytes(file.stat().st_size)}.")


@index.command("delete")
@with_settings()
def delete(
    settings: Settings,
    urls: Annotated[list[str] | None, typer.Argument(help="URLs of the pages; none to list deleted pages.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Restore these pages.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete pages from the index permanently: no build, crawl or publication brings them back until --undo.

    The page store keeps what it has of them.
    """
    folder = Path(settings.folder)
    if urls:
        _change(folder, settings, urls, undo, as_json)
    elif undo:
        raise BadInput("There are no URLs.", "Give the URLs of the pages to restore.")
    else:
        _list_deleted(folder, as_json)


def _change(folder: Path, settings: Settings, urls: list[str], undo: bool, as_json: bool) -> None:
    from periplus.app import delete_pages, restore_pages

    report = (restore_pages if undo else delete_pages)(folder, settings, urls)
    if as_json:
        echo_json({"pages": report.urls, "undone" if undo else "deleted": len(report.urls), "now": report.applied})
        return
    echo(f"{'Restored' if undo else 'Deleted'}: {format_count(len(report.urls), 'page')}.")
    if report.urls and not report.applied:
        log(
            "They are searchable after the next periplus index build."
            if undo
            else "The index is in use; the process that uses it will remove them."
        )


def _list_deleted(folder: Path, as_json: bool) -> None:
    from periplus.app import list_deleted

    pages = list_deleted(folder)
    if as_json:
        echo_json(pages)
        return
    for url in sorted(pages):
        echo(url)
    log(f"{format_count(len(pages), 'page')} deleted.")
