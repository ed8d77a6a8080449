"""`periplus import`: a crawl without a network, from WARC files and JSON lines; and visits that proxies saw."""

from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.building import build, say_built
from periplus.cli.console import count, progress, say
from periplus.cli.folders import folder_to_fill
from periplus.cli.options import with_settings
from periplus.errors import BadFile, BadInput, DiskFailed
from periplus.settings import Settings

__all__ = ["import_pages"]

_WARC: Final = (".warc", ".warc.gz", ".warc.zst")
_JSONL: Final = (".jsonl", ".jsonl.gz", ".jsonl.zst")


@with_settings()
def import_pages(
    settings: Settings,
    paths: Annotated[
        list[Path] | None, typer.Argument(help="WARC files, or JSON lines of {id,url,title,text}; plain, .gz, .zst.")
    ] = None,
    proxy_log: Annotated[
        list[Path] | None,
        typer.Option(
            "--proxy-log", help="A proxy's log: the next crawl fetches the pages it names. Many may be given."
        ),
    ] = None,
    with_index: Annotated[bool, typer.Option("--index/--no-index", help="Build the index afterwards.")] = True,
) -> None:
    """Import pages from WARC or JSONL files, and build the index.

    A file that is imported again is stored again, at its full size; its pages are found once.
    """
    if proxy_log:
        _read_logs(proxy_log, settings)
    if not paths:
        if not proxy_log:
            raise BadInput("There is nothing to import.", "Name WARC or JSONL files, or give --proxy-log FILE.")
        return
    warc, jsonl = _sort(paths)
    with folder_to_fill(settings) as folder:
        if not _read(warc, jsonl, folder, settings):
            raise BadFile(f"There is no page in {', '.join(map(str, paths))}.", "Nothing was imported.")
    if not with_index:
        say("Next: periplus index build")
        return
    try:
        say_built(build(folder, settings))
    except DiskFailed as error:  # the same command would store the pages once more
        raise DiskFailed(error.message, "The pages are stored. Free some space, then: periplus index build.") from None


def _read_logs(paths: list[Path], settings: Settings) -> None:
    from periplus.signals import import_proxy_logs

    found = import_proxy_logs(Path(settings.folder), paths)
    queued, passed = count(found.taken, "report"), count(found.refused, "URL")
    say(f"Queued {queued} of visited pages for the next crawl; {passed} passed over.")


def _sort(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """Part WARC from JSONL by name, before anything is written."""
    for path in paths:
        if path.is_dir():
            raise BadFile(f"{path} is a folder.", f"Name the files in it: {path}/*.")
        if not path.is_file():
            raise BadFile(f"There is no file {path}.")
        if not path.name.endswith(_WARC + _JSONL):
            raise BadFile(f"{path} is neither WARC nor JSONL by its name.", f"Known: {' '.join(_WARC + _JSONL)}.")
    return [p for p in paths if p.name.endswith(_WARC)], [p for p in paths if p.name.endswith(_JSONL)]


def _read(warc: list[Path], jsonl: list[Path], folder: Path, settings: Settings) -> int:
    """Import the files; give the number of pages."""
    from periplus.crawl import import_jsonl, import_warc
    from periplus.store import PageStore

    pages = 0
    store = PageStore.open(folder / "store", settings.store, write=True)
    try:
        for reader, paths in ((import_warc, warc), (import_jsonl, jsonl)):
            if paths:
                with progress() as report:
                    found = reader(store, paths, settings, report)
                say(f"Imported {count(found.pages, 'page')}; {count(found.skipped, 'record')} passed over.")
                pages += found.pages
    finally:
        store.close()
    return pages
