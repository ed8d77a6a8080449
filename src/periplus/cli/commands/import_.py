"""`periplus import`: a crawl without a network, from WARC files and JSON lines; and the visits in proxy logs."""

from pathlib import Path
from typing import Annotated

import typer

from periplus.cli.console import echo, format_count
from periplus.cli.console_observer import observe
from periplus.cli.index_view import echo_built
from periplus.cli.options import with_settings
from periplus.errors import BadInput, DiskFailed
from periplus.settings import Settings

__all__ = ["import_pages"]


@with_settings()
def import_pages(
    settings: Settings,
    paths: Annotated[
        list[Path] | None, typer.Argument(help="WARC files, or JSON lines of {id,url,title,text}; plain, .gz, .zst.")
    ] = None,
    proxy_log: Annotated[
        list[Path] | None,
        typer.Option("--proxy-log", help="Log of a proxy; the next crawl fetches the pages in it. May be repeated."),
    ] = None,
    with_index: Annotated[bool, typer.Option("--index/--no-index", help="Build the index afterwards.")] = True,
) -> None:
    """Import pages from WARC or JSONL files, and build the index.

    A file that is imported again is stored again, in full; its pages are found once.
    """
    folder = Path(settings.folder)
    if not paths and not proxy_log:
        raise BadInput("There is nothing to import.", "Name WARC or JSONL files, or give --proxy-log FILE.")
    if proxy_log:
        _import_logs(folder, proxy_log)
    if paths:
        _import_files(folder, settings, paths)
        if with_index:
            _build(folder, settings)
        else:
            echo("Next: periplus index build")


def _import_logs(folder: Path, paths: list[Path]) -> None:
    from periplus.app import import_proxy_logs

    counts = import_proxy_logs(folder, paths)
    accepted, refused = format_count(counts.taken, "report"), format_count(counts.refused, "URL")
    echo(f"Queued {accepted} of visited pages for the next crawl; {refused} skipped.")


def _import_files(folder: Path, settings: Settings, paths: list[Path]) -> None:
    from periplus.app import import_files, lower_priority

    lower_priority()
    with observe() as observer:
        counts = import_files(folder, settings, paths, observer)
    for count in counts:
        echo(f"Imported {format_count(count.pages, 'page')}; {format_count(count.skipped, 'record')} skipped.")


def _build(folder: Path, settings: Settings) -> None:
    from periplus.app import build_graph_and_index

    try:
        with observe() as observer:
            statistics = build_graph_and_index(folder, settings, observer)
    except DiskFailed as error:  # the same command would store the pages once more
        raise DiskFailed(error.message, "The pages are stored. Free some space, then: periplus index build.") from None
    echo_built(statistics)
