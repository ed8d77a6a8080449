"""What a server can do beside searching, joined from the packages that do it."""

import functools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from periplus.app.administration.server_operations import ServerOperations
from periplus.app.disk_estimates import PublicationRoom
from periplus.app.jobs.crawl_runner import check_seeds
from periplus.app.serving.collection_service import CollectionService
from periplus.app.serving.document_service import DocumentService
from periplus.errors import Overloaded
from periplus.health import read_health
from periplus.settings import FetchSettings, Settings

if TYPE_CHECKING:
    from periplus.crawl import CrawlControl, ThumbnailFiles
    from periplus.publish import ContentPublisher
    from periplus.records import FetchRecord, Query, VisitReport
    from periplus.serve import (
        Actions,
        ClickEvent,
        CrawlLimits,
        HealthReport,
        JudgementRequest,
        Publisher,
        PublishReceipt,
        PublishRequest,
        UploadedFile,
    )

__all__ = ["fetch_service", "server_actions"]

_METRICS_SECONDS: Final = 60.0
"""Older metrics are those of a crawl that has ended."""
_MAX_METRICS: Final = 1 << 20
_PUBLISHERS: Final = ("publisher", "indexer", "index-publish", "publication-store")
"""The parts without which a published page is not indexed and stored."""
_PATIENCE: Final = 5.0
"""Seconds for which they may fail before pages are refused."""
_HEALTH_SECONDS: Final = 1.0
_ID_DIGITS: Final = 64


class _PublishedContent(NamedTuple):
    metadata: dict[str, Any]
    content: bytes


Submission = Callable[["FetchRecord"], "FetchRecord | None"]
"""Sends a published page, or the deletion of one, elsewhere, durably; returns it if it is to be indexed here."""


def server_actions(folder: Path, searcher: Any, settings: Settings, submit: Submission | None = None) -> "Actions":
    """Return what a server of this data folder can do beside searching.

    submit: where published pages go, besides the inbox of the folder.
    """
    from periplus.result_rules import RuleStore
    from periplus.serve import Actions

    actions = _FolderActions(folder, searcher, settings, submit)
    crawl = _CrawlActions(folder, settings)
    return Actions(
        actions.publish,
        actions.unpublish,
        actions.report_visits,
        crawl,
        actions.record_judgement,
        actions.record_click,
        actions.trending_pages,
        lambda url: fetch_service(url, settings.fetch),
        actions.quality_reports,
        actions.health,
        actions.crawl_metrics,
        published=actions.published,
        documents=None if submit is not None else DocumentService(folder, searcher, settings, actions.check_publisher),
        collections=None if submit is not None else CollectionService(folder, settings, actions.check_publisher),
        has_thumbnail=actions.has_thumbnail,
        thumbnail=actions.thumbnail,
        why=actions.why,
        rules=RuleStore(folder),
        operations=ServerOperations(folder, settings, actions.documents, crawl.status, actions.health),
    )


class _FolderActions:
    """Changes to one data folder; packages are imported by the first call that needs them."""

    def __init__(self, folder: Path, searcher: Any, settings: Settings, submit: Submission | None) -> None:
        from periplus.publish import Inbox

        self._submit = submit
        self._settings = settings
        self._folder = folder
        self._searcher = searcher
        self._inbox = Inbox(folder)
        self._room = PublicationRoom(folder, settings)
        self._refused: tuple[float, str] = (0.0, "")

    @functools.cached_property
    def _contents(self) -> "ContentPublisher":
        """What was published by its content; it needs the parsers."""
        from periplus.publish import ContentPublisher

        return ContentPublisher(self._folder, self._settings.parse, self._add)

    def why(self, query: "Query", url: str) -> Any:
        """Return what became of a page in a query."""
        from periplus.evaluate import diagnose

        return diagnose(self._searcher, self._folder, self._settings, query, url)

    def publish(
        self, request: "PublishRequest", publisher: "Publisher | None" = None, file: "UploadedFile | None" = None
    ) -> "PublishReceipt":
        """Put a page into the inbox; raise `StorageFull` if the disk limit leaves no room for it."""
        from periplus.publish import Publication
        from periplus.serve import Publisher, PublishReceipt

        publisher = publisher or Publisher()

        self.check_publisher()
        publication = Publication(
            request.title,
            request.content,
            request.url,
            request.description,
            request.author,
            request.date,
            request.tags,
            request.language,
            file.data if file else b"",
            file.name if file else "",
        )
        self._room.require(2 * len(request.content) + len(publication.file))
        published = self._contents.publish(publication, publisher.name, publisher.owns_all)
        metadata = published.metadata
        return PublishReceipt(metadata.id, metadata.url, f"{published.key:016x}", published.changed)

    def has_thumbnail(self, url: str) -> bool:
        """Return whether there is a thumbnail of an image."""
        return self._thumbnails.has(url)

    def thumbnail(self, key: int) -> bytes | None:
        """Return a thumbnail, by the fingerprint of the image's URL."""
        return self._thumbnails.read(key)

    @functools.cached_property
    def _thumbnails(self) -> "ThumbnailFiles":
        from periplus.crawl import ThumbnailFiles

        return ThumbnailFiles(self._folder)

    def published(self, identifier: str) -> "_PublishedContent | None":
        """Return published content, by its id."""
        metadata, content = self._contents.find(identifier), self._contents.read(identifier)
        if metadata is None or content is None:
            return None
        return _PublishedContent(msgspec.to_builtins(metadata), content)

    def _add(self, record: "FetchRecord") -> None:
        """Send a page, or the deletion of one, to whoever indexes it; durable when this returns."""
        kept = self._submit(record) if self._submit is not None else record
        if kept is not None:
            self._inbox.add_record(kept)

    def check_publisher(self) -> None:
        """Raise `Overloaded` if what is published has not been indexed for a while; that is read once a second."""
        checked, part = self._refused
        if time.monotonic() - checked > _HEALTH_SECONDS:
            failing = (p.name for p in read_health(self._folder) if p.name in _PUBLISHERS and p.is_failing(_PATIENCE))
            part = next(failing, "")
            self._refused = (time.monotonic(), part)
        if part:
            raise Overloaded(f"Published pages cannot be indexed at present: {part} fails.", "Try again later.")

    def documents(self) -> int:
        """Return how many pages are in the index."""
        return int(self._searcher.statistics().documents)

    def health(self) -> "HealthReport":
        """Return how the parts of all processes of the data folder are."""
        from periplus.serve import HealthReport

        statistics = self._inbox.statistics()
        return HealthReport(read_health(self._folder), statistics.pending, statistics.damaged)

    def crawl_metrics(self) -> str:
        """Return the metrics of the crawl that runs in the data folder, '' if none does."""
        path = self._folder / "crawl" / "metrics.prom"
        try:
            if time.time() - path.stat().st_mtime > _METRICS_SECONDS:
                return ""
            with path.open("rb") as file:
                return file.read(_MAX_METRICS).decode("utf-8", "replace")
        except OSError:
            return ""

    def unpublish(self, identifier: str, publisher: "Publisher | None" = None) -> None:
        """Remove all pages of published content, by its id, or one page, by the key of its cached copy."""
        from periplus.errors import BadInput
        from periplus.records import FetchRecord, Outcome
        from periplus.url import parse_address

        by_content = len(identifier) == _ID_DIGITS
        key = 0 if by_content else int(identifier, 16)
        content = self._contents.find(identifier) if by_content else self._contents.find_url(key)
        if content is not None:
            who = publisher or ("", False)
            if by_content:
                self._contents.remove(content, *who)
                return
            if self._contents.remove_page(content, key, *who):
                return
        page = None if by_content else self._inbox.find_record(key) or self._searcher.cached_page(key)
        if page is None:
            raise BadInput("There is no such page.", "Give the id that publishing it returned.")
        address = parse_address(page.url)
        self._add(FetchRecord(address.url, address.key, Outcome.GONE, time.time(), 410))

    def report_visits(self, reports: "Sequence[VisitReport]") -> tuple[int, int]:
        """Queue visit reports; return how many were accepted and refused."""
        from periplus.signals import append_visit_reports, update_visit_counts

        counts = append_visit_reports(self._folder, reports)
        update_visit_counts(self._folder)
        return counts

    def record_judgement(self, judgement: "JudgementRequest") -> bool:
        """Store a judgement; return False if there is no room for it."""
        from periplus.signals import Judgement, write_judgement

        return write_judgement(self._folder, Judgement(judgement.query, judgement.url, judgement.grade, time.time()))

    def record_click(self, click: "ClickEvent", source: int = 0) -> bool:
        """Store a click; return False if there is no room for it."""
        from periplus.signals import Click, write_click

        return write_click(
            self._folder, Click(click.query, click.url, click.position, click.shown, time.time(), source)
        )

    def trending_pages(self) -> "Sequence[tuple[str, int]]":
        """Return the URLs that are visited more than they were, and how often lately."""
        from periplus.signals import read_trending, update_visit_counts

        update_visit_counts(self._folder)  # the last reports, after which none came
        return read_trending(self._folder)

    def quality_reports(self) -> "tuple[Any, list[Any]]":
        """Return the latest report on the quality of ranking, None if there is none, and the history of reports."""
        from periplus.evaluate import read_quality

        return read_quality(self._folder)


def fetch_service(url: str, settings: FetchSettings) -> bytes | None:
    """Return what a service answers to one GET, within three seconds and 64 kB; None for any other outcome."""
    from periplus.fetch import Fetcher
    from periplus.records import FetchRequest, Outcome
    from periplus.url import parse_address

    bounds = {"timeout": 3.0, "connect_timeout": 2.0, "max_bytes": 65_536, "connections": 1}
    fetcher = Fetcher(msgspec.structs.replace(settings, **bounds))
    try:
        fetcher.start(FetchRequest(parse_address(url)), any_type=True)
        deadline = time.monotonic() + 4.0
        while time.monotonic() < deadline:
            for result in fetcher.poll(0.2):
                return result.body if result.outcome is Outcome.OK else None
    finally:
        fetcher.close()
    return None


class _CrawlActions:
    """The crawl of a data folder. Its package is imported at the first call, so that a server starts without it."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._arguments = (folder, settings)

    @functools.cached_property
    def _control(self) -> "CrawlControl":
        from periplus.crawl import CrawlControl

        return CrawlControl(*self._arguments)

    def status(self) -> dict[str, Any]:
        """Return the state and the statistics of the crawl."""
        return self._control.status()

    def start(self, seeds: Sequence[str] = (), limits: "CrawlLimits | None" = None) -> None:
        """Start the crawl with these seeds, or resume it; limits count for this run only."""
        from periplus.crawl import CrawlControl

        folder, settings = self._arguments
        check_seeds(seeds, settings)
        if limits is None:
            self._control.start(seeds)
            return
        chosen = {name: value for name, value in msgspec.structs.asdict(limits).items() if value is not None}
        crawl = msgspec.structs.replace(settings.crawl, **chosen)
        CrawlControl(folder, msgspec.structs.replace(settings, crawl=crawl)).start(seeds)

    def pause(self) -> None:
        """Start no more requests."""
        self._control.pause()

    def resume(self) -> None:
        """Continue a paused crawl."""
        self._control.resume()

    def stop(self) -> None:
        """End the crawl in good order."""
        self._control.stop()
