"""`periplus store`: the size of the stored pages, removing old responses, and an index for tools of web archives."""

from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.console import echo, echo_json, format_bytes, format_count
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

__all__ = ["store"]

store: Final = typer.Typer(
    help="Measure the page store, remove old responses from it, and index it for tools of web archives.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)


@store.command("stats")
@with_settings()
def stats(settings: Settings, as_json: AsJson = False) -> None:
    """Show how many pages are stored, and their size."""
    from periplus.app import store_statistics

    statistics = store_statistics(Path(settings.folder), settings)
    if as_json:
        sizes = statistics._asdict()
        echo_json({"visits": sizes.pop("records"), **sizes})
        return
    pages, records = format_count(statistics.pages, "page"), format_count(statistics.records, "fetch record")
    echo(f"{pages} in {records}, {format_count(statistics.files, 'file')}.")
    echo(f"Responses: {format_bytes(statistics.warc_bytes)}. Fetch log: {format_bytes(statistics.log_bytes)}.")


@store.command("trim")
@with_settings(keep_days="store.keep_days", keep_bytes="store.keep_bytes")
def trim(
    settings: Settings,
    everything: Annotated[
        bool, typer.Option("--all", help="Remove the newest responses of pages too, not only older ones.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove old responses. What was parsed from every page stays, so that an index can be built at any time."""
    from periplus.app import trim_store

    report = trim_store(Path(settings.folder), settings, newest_too=everything)
    if as_json:
        echo_json({"files": report.files, "freed": report.freed, "carried": report.relocated})
        return
    files, responses = format_count(report.files, "file"), format_count(report.relocated, "response")
    echo(f"Removed {files} and freed {format_bytes(max(0, report.freed))}; {responses} moved to a newer file.")


@store.command("cdxj")
@with_settings()
def cdxj(
    settings: Settings,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to write it, instead of index.cdxj in the page store.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a CDXJ index of the WARC files, by which pywb and other tools find and replay responses."""
    from periplus.app import index_archive

    result = index_archive(Path(settings.folder), out)
    if as_json:
        echo_json({"path": str(result.path), "records": result.records, "files": result.files})
        return
    echo(f"{format_count(result.records, 'record')} of {format_count(result.files, 'WARC file')}: {result.path}")
