"""Delete pages from the index permanently, and restore them."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from periplus.app.administration.change_log import record_command
from periplus.app.jobs.index_queue import queue_for_index
from periplus.app.new_folder import no_pages_error
from periplus.errors import DataError, FolderInUse, NothingHere
from periplus.files import DataFolder, open_data_folder
from periplus.settings import Settings

__all__ = ["DeletionReport", "apply_deletions", "delete_pages", "list_deleted", "restore_pages"]

_SHOWN: Final = 5
"""URLs that the log of changes names."""
_LOCK_SECONDS: Final = 10.0
"""How long to wait for the index; a process that holds it for longer applies the deletions itself."""


class DeletionReport(NamedTuple):
    """Which pages were deleted or restored."""

    urls: list[str]
    """In canonical form."""
    applied: bool
    """Whether the index shows it already."""


def list_deleted(folder: Path) -> dict[str, float]:
    """Return the URLs of deleted pages, and when each was deleted."""
    from periplus.publish import DeletionList

    return DeletionList(_check(folder)).pages()


def delete_pages(folder: Path, settings: Settings, urls: Sequence[str]) -> DeletionReport:
    """Delete pages: no build, crawl or publication brings them back. Raise `BadUrl` for the first invalid URL."""
    from periplus.publish import DeletionList

    deleted = DeletionList(_check(folder)).add(urls)
    record_command(folder, "delete pages", _listed(deleted))
    return DeletionReport(deleted, apply_deletions(folder, settings))


def restore_pages(folder: Path, settings: Settings, urls: Sequence[str]) -> DeletionReport:
    """Undo the deletion of pages, and index them as they were last fetched."""
    from periplus.publish import DeletionList

    restored = DeletionList(_check(folder)).remove(urls)
    record_command(folder, "restore pages", _listed(restored))
    return DeletionReport(restored, _index_again(DataFolder(folder), settings, restored))


def _listed(urls: Sequence[str]) -> str:
    more = f" and {len(urls) - _SHOWN} more" if len(urls) > _SHOWN else ""
    return " ".join(urls[:_SHOWN]) + more


def _check(folder: Path) -> Path:
    data = DataFolder(open_data_folder(folder, create=False))
    if not data.store.exists() and not data.index.exists():
        raise no_pages_error(folder)
    return folder


def apply_deletions(folder: Path, settings: Settings) -> bool:
    """Remove deleted pages from the index; return False if another process holds the index for too long."""
    from periplus.index import Index, LiveIndex
    from periplus.publish import DeletionList

    data, deleted = DataFolder(folder), DeletionList(folder)
    if not deleted.pages():
        return True
    try:
        Index.open(data.index, verify=False)
    except NothingHere:
        return True
    try:
        with (
            queue_for_index(folder, _LOCK_SECONDS, "index delete"),
            LiveIndex(data.index, settings.index, background=False) as live,
        ):
            deleted.apply_to_index(live)
    except FolderInUse:
        return False
    return True


def _index_again(data: DataFolder, settings: Settings, urls: Sequence[str]) -> bool:
    """Index pages as they were last fetched; return whether that was possible."""
    from periplus.graph import Graph
    from periplus.index import LiveIndex
    from periplus.store import PageStore
    from periplus.url import parse_address

    graph = None
    with contextlib.suppress(DataError):
        graph = Graph.open(data.graph)
    try:
        with (
            PageStore.open(data.store, settings.store) as store,
            queue_for_index(data.path, _LOCK_SECONDS, "index delete --undo"),
            LiveIndex(data.index, settings.index, graph, background=False) as live,
        ):
            for url in urls:
                record = store.find(parse_address(url).key)
                if record is not None:
                    live.add(record)
    except (FolderInUse, NothingHere):
        return False
    return True
