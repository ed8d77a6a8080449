"""Periplus as a library: an `Engine` is one data folder, from seeds to results."""

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec

from periplus.app.jobs.crawl_runner import CrawlRun, run_crawl
from periplus.app.jobs.deletion_jobs import DeletionReport, delete_pages, restore_pages
from periplus.app.jobs.index_building import build_graph_and_index
from periplus.app.jobs.page_import import import_files
from periplus.app.observer import SILENT, Observer
from periplus.errors import FolderInUse, NothingHere
from periplus.files import DataFolder, open_data_folder
from periplus.settings import Settings
from periplus.writer_queue import queue_for_lock

if TYPE_CHECKING:
    from periplus.crawl import ImportCount
    from periplus.index import IndexStatistics
    from periplus.records import ResultPage
    from periplus.search import Searcher

__all__ = ["Engine", "EngineStatistics", "PublishedPage"]


class PublishedPage(msgspec.Struct, frozen=True):
    """A page that was published."""

    id: str
    """16 hexadecimal digits that identify the page."""
    url: str
    searchable: bool
    """Whether it is in the index already; if not, the process that holds the index will add it."""


class EngineStatistics(msgspec.Struct, frozen=True):
    """What a data folder contains."""

    pages: int = 0
    """Pages in the store."""
    fetches: int = 0
    """Fetch records in the store, of all pages and failures."""
    store_bytes: int = 0
    documents: int = 0
    """Pages in the index, without duplicates."""
    hosts: int = 0
    terms: int = 0
    index_bytes: int = 0


class Engine:
    """One data folder. Methods may be called in any order; each raises a `PeriplusError` that says what to do.

    `search` may be called from several threads. The data folder is created by the first method that writes.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: Settings | None = None) -> None:
        self.folder = Path(folder)
        self.settings = msgspec.structs.replace(settings or Settings(), folder=str(self.folder))
        self._searcher: Searcher | None = None
        open_data_folder(self.folder, create=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Engine({str(self.folder)!r})"

    def close(self) -> None:
        """Close the index. The engine can still be used: the next search opens it again."""
        self._searcher = None

    def crawl(self, seeds: Iterable[str] = (), *, pages: int | None = None, observer: Observer = SILENT) -> CrawlRun:
        """Crawl from `seeds`, or resume the last crawl, until the folder has `pages` pages or nothing is left.

        All other limits are settings. `build` makes the new pages searchable.
        """
        settings = self.settings
        if pages is not None:
            settings = msgspec.structs.replace(settings, crawl=msgspec.structs.replace(settings.crawl, pages=pages))
        return run_crawl(self.folder, settings, _as_list(seeds), observer)

    def import_(self, files: Iterable[str | os.PathLike[str]], *, observer: Observer = SILENT) -> "list[ImportCount]":
        """Import pages from WARC files or JSON lines; `build` makes them searchable."""
        return import_files(self.folder, self.settings, [Path(file) for file in _as_list(files)], observer)

    def build(self, *, observer: Observer = SILENT, wait: float = 0.0) -> "IndexStatistics":
        """Build link graph and index of all stored pages; searches use them from now on.

        wait: how many seconds to wait for another process that writes to the index.
        """
        return build_graph_and_index(self.folder, self.settings, observer, wait)

    def search(
        self,
        words: str,
        *,
        start: int = 0,
        size: int = 10,
        language: str = "",
        safe: int = 0,
        explain: bool = False,
        verbatim: bool = False,
    ) -> "ResultPage":
        """Return the results `start` to `start + size` for a query, in the query language of the search page.

        verbatim: search it as typed, neither relaxed nor corrected where it finds nothing.
        """
        from periplus.records import Query

        query = Query(words, start=start, size=size, language=language, safe=safe, explain=explain, verbatim=verbatim)
        return self._open_searcher().search(query)

    def _open_searcher(self) -> "Searcher":
        from periplus.search import Searcher

        searcher = self._searcher
        if searcher is None:
            searcher = self._searcher = Searcher.open(open_data_folder(self.folder, create=False), self.settings)
        else:
            searcher.refresh()
        return searcher

    def publish(
        self,
        title: str,
        content: str,
        *,
        url: str = "",
        description: str = "",
        author: str = "",
        date: str = "",
        tags: Sequence[str] = (),
        language: str = "",
    ) -> PublishedPage:
        """Add one page of plain text. It is on disk, and in the index unless another process holds that.

        A page with the URL of another one replaces it. Raise `BadInput` if the page was deleted here before.
        """
        from periplus.app.disk_estimates import PublicationRoom
        from periplus.index import LiveIndex
        from periplus.publish import ContentPublisher, Inbox, Publication, make_published_record, publish_pending

        # Raises what is wrong with it before anything is created.
        make_published_record(title, content, url, description, author, date, tuple(tags), language)
        data = DataFolder(open_data_folder(self.folder, create=True))
        PublicationRoom(self.folder, self.settings).require(2 * len(content))
        inbox = Inbox(self.folder)
        given = Publication(title, content, url, description, author, date, tuple(tags), language)
        published = ContentPublisher(self.folder, self.settings.parse, inbox.add_record).publish(given, owns_all=True)
        searchable = False
        with contextlib.suppress(FolderInUse):
            with (
                queue_for_lock(self.folder, "index", 0.0, "publishing"),
                LiveIndex(data.index, self.settings.index) as live,
            ):
                while publish_pending(live, inbox):
                    pass
                inbox.move_to_store(self.settings.store)
            searchable = True
        return PublishedPage(published.metadata.id, published.metadata.url, searchable)

    def delete(self, url: str | Iterable[str]) -> DeletionReport:
        """Delete pages permanently: no crawl, import or publication brings them back until `restore`."""
        return delete_pages(self.folder, self.settings, _as_list(url))

    def restore(self, url: str | Iterable[str]) -> DeletionReport:
        """Undo the deletion of pages."""
        return restore_pages(self.folder, self.settings, _as_list(url))

    def statistics(self) -> EngineStatistics:
        """Return what the data folder contains; zeros for what does not exist yet."""
        from periplus.index import Index
        from periplus.store import PageStore

        data = DataFolder(open_data_folder(self.folder, create=False))
        statistics = EngineStatistics()
        with contextlib.suppress(NothingHere), PageStore.open(data.store, self.settings.store) as store:
            stored = store.statistics()
            statistics = EngineStatistics(stored.pages, stored.records, stored.warc_bytes + stored.log_bytes)
        with contextlib.suppress(NothingHere):
            index = Index.open(data.index, verify=False).statistics()
            statistics = msgspec.structs.replace(
                statistics,
                documents=index.documents,
                hosts=index.hosts,
                terms=index.terms,
                index_bytes=index.bytes,
            )
        return statistics


def _as_list(values: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]") -> list[str]:
    """Return one value or several as a list."""
    if isinstance(values, str | os.PathLike):
        return [os.fspath(values)]
    return [os.fspath(value) for value in values]
