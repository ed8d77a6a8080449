"""Import pages from WARC files and JSON lines, and visits from the logs of proxies: a crawl without a network."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.new_folder import writable_folder
from periplus.app.observer import SILENT, Observer
from periplus.errors import BadFile
from periplus.files import DataFolder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.crawl import ImportCount
    from periplus.signals import ReportCount

__all__ = ["import_files", "import_proxy_logs"]

_WARC: Final = (".warc", ".warc.gz", ".warc.zst")
_JSONL: Final = (".jsonl", ".jsonl.gz", ".jsonl.zst")


def import_files(
    folder: Path, settings: Settings, paths: Sequence[Path], observer: Observer = SILENT
) -> "list[ImportCount]":
    """Import WARC and JSONL files into the page store; return the counts of each kind that there is.

    Raise `BadFile` if a file cannot be read or none of them has a page. Files are told apart by their names.
    """
    warc, jsonl = _split_by_kind(paths)
    with writable_folder(folder, settings) as data:
        counts = _import(data, settings, warc, jsonl, observer)
        if not any(count.pages for count in counts):
            raise BadFile(f"There is no page in {', '.join(map(str, paths))}.", "Nothing was imported.")
    return counts


def _split_by_kind(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    for path in paths:
        if path.is_dir():
            raise BadFile(f"{path} is a folder.", f"Name the files in it: {path}/*.")
        if not path.is_file():
            raise BadFile(f"There is no file {path}.")
        if not path.name.endswith(_WARC + _JSONL):
            raise BadFile(
                f"{path} is neither WARC nor JSONL, judging by its name.", f"Known: {' '.join(_WARC + _JSONL)}."
            )
    return [p for p in paths if p.name.endswith(_WARC)], [p for p in paths if p.name.endswith(_JSONL)]


def _import(
    data: DataFolder, settings: Settings, warc: list[Path], jsonl: list[Path], observer: Observer
) -> "list[ImportCount]":
    from periplus.crawl import import_jsonl, import_warc
    from periplus.store import PageStore

    counts = []
    store = PageStore.open(data.store, settings.store, write=True)
    try:
        for reader, paths in ((import_warc, warc), (import_jsonl, jsonl)):
            if paths:
                counts.append(reader(store, paths, settings, observer.progress))
    finally:
        store.close()
    return counts


def import_proxy_logs(folder: Path, paths: Sequence[Path]) -> "ReportCount":
    """Queue the pages that proxy logs name for the next crawl; return how many URLs were accepted and refused."""
    from periplus.signals import import_proxy_logs as read_logs

    return read_logs(folder, list(paths))
