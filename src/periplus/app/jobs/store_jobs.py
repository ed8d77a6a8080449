"""Measure the page store, remove old responses from it, and index it for tools of web archives."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from periplus.app.new_folder import no_pages_error
from periplus.errors import BadInput
from periplus.files import DataFolder, open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.store import CdxjResult, RetentionResult, StoreStatistics

__all__ = ["index_archive", "store_statistics", "trim_store"]


def store_statistics(folder: Path, settings: Settings) -> "StoreStatistics":
    """Return how many pages are stored, and their size."""
    from periplus.store import PageStore

    with PageStore.open(_store_folder(folder), settings.store) as store:
        return store.statistics()


def trim_store(folder: Path, settings: Settings, *, newest_too: bool = False) -> "RetentionResult":
    """Remove responses beyond `store.keep_days` and `store.keep_bytes`; the fetch log stays.

    The newest response of a page stays too, unless `newest_too`. Raise `BadInput` if neither limit is set.
    """
    from periplus.store import PageStore, RetentionResult, shard_folders

    limits = settings.store
    if not limits.keep_days and not limits.keep_bytes:
        raise BadInput("There is no limit to trim to.", "Give --keep-days or --keep-bytes.")
    store_folder = _store_folder(folder)
    parts = [store_folder, *shard_folders(store_folder).values()]
    reports = []
    for part in parts:
        with PageStore.open(part, msgspec.structs.replace(limits, keep_days=0.0, keep_bytes=0), write=True) as store:
            reports.append(store.apply_retention(limits.keep_bytes // len(parts), limits.keep_days, newest_too))
    return RetentionResult(*(sum(column) for column in zip(*reports, strict=True)))


def index_archive(folder: Path, out: Path | None = None) -> "CdxjResult":
    """Write the CDXJ index of all WARC files, to `index.cdxj` in the page store unless `out` is given."""
    from periplus.store import shard_folders, write_cdxj

    store_folder = _store_folder(folder)
    return write_cdxj([store_folder, *shard_folders(store_folder).values()], out or store_folder / "index.cdxj")


def _store_folder(folder: Path) -> Path:
    data = DataFolder(open_data_folder(folder, create=False))
    if not data.store.is_dir():
        raise no_pages_error(folder)
    return data.store
