"""What a server can do besides searching. Whoever starts it passes these in; this package imports none of it."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from periplus.health import PartHealth
from periplus.records import Query, VisitReport
from periplus.serve.admin.admin_protocols import CrawlLimits, OperationsLike
from periplus.serve.collections.collection_protocols import CollectionsLike
from periplus.serve.rules.rule_protocols import RulesLike

__all__ = [
    "Actions",
    "ClickEvent",
    "ContentLike",
    "CrawlLike",
    "DocumentsLike",
    "HealthReport",
    "JudgementRequest",
    "PublishReceipt",
    "PublishRequest",
    "Publisher",
    "UploadLike",
    "UploadedFile",
]


class PublishRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page to publish."""

    title: str = ""
    content: str = ""
    """Plain text; '' to describe what is at a URL."""
    url: str = ""
    """Its address on the web; a page without one exists only in this index."""
    description: str = ""
    author: str = ""
    date: str = ""
    """ISO date."""
    tags: tuple[str, ...] = ()
    language: str = ""


class PublishReceipt(msgspec.Struct, frozen=True):
    """Where a published page can be found."""

    id: str
    """The SHA-256 of its content, 64 hexadecimal digits."""
    url: str
    key: str = ""
    """The fingerprint of its URL, 16 hexadecimal digits: the key of its cached copy."""
    changed: bool = True
    """False if the same had been published before."""


class UploadedFile(NamedTuple):
    """A file to publish."""

    name: str
    data: bytes


class Publisher(NamedTuple):
    """Who publishes."""

    name: str = ""
    """Identifies the key."""
    owns_all: bool = False
    """Whether it may change what others have published."""


class ContentLike(Protocol):
    """Published content."""

    @property
    def metadata(self) -> dict[str, Any]:
        """What is known about it: id, type, title and so on."""

    @property
    def content(self) -> bytes:
        """As it was published."""


class JudgementRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rater's grade for a page as the answer to a query."""

    query: Annotated[str, Meta(min_length=1, max_length=2_000)]
    url: Annotated[str, Meta(min_length=1, max_length=4_000)]
    grade: Annotated[int, Meta(ge=0, le=3)]
    """From 0 (irrelevant) to 3 (perfect)."""


class ClickEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A result that was opened. It does not identify who opened it."""

    query: Annotated[str, Meta(min_length=1, max_length=2_000)]
    url: Annotated[str, Meta(min_length=1, max_length=4_000)]
    position: Annotated[int, Meta(ge=1, le=1_000)]
    shown: Annotated[tuple[Annotated[str, Meta(max_length=4_000)], ...], Meta(max_length=100)] = ()
    """URLs of all results on the page, best first."""


class CrawlLike(Protocol):
    """Control of the crawl of the data folder."""

    def status(self) -> dict[str, Any]:
        """Return its state and counters."""

    def start(self, seeds: Sequence[str] = (), limits: CrawlLimits | None = None) -> None:
        """Start or continue the crawl, with additional seeds, and limits for this run.

        Raise `BadUrl` for an invalid seed, `BadInput` if a crawl is running or there is no URL to start from.
        """

    def pause(self) -> None:
        """Stop sending requests; raise `BadInput` if no crawl is running."""

    def resume(self) -> None:
        """Continue after a pause."""

    def stop(self) -> None:
        """End the crawl cleanly."""


class HealthReport(NamedTuple):
    """How the parts of the program are that runs this server."""

    parts: Sequence[PartHealth] = ()
    """Those that have ever failed, of all processes of the data folder."""
    pending: int = 0
    """Published pages that are not indexed yet."""
    damaged: int = 0
    """Published pages whose files are damaged."""

    def failing(self) -> list[PartHealth]:
        """Return the parts that fail now."""
        return [part for part in self.parts if part.is_failing()]


class UploadLike(Protocol):
    """An upload of documents that is being read; called from one thread at a time."""

    def feed(self, data: bytes) -> None:
        """Read the next bytes of the body; this may wait for earlier ones to be indexed."""

    def finish(self) -> dict[str, Any]:
        """Read what is left, which is durable then; return what became of the documents."""

    def report(self) -> dict[str, Any]:
        """Return what became of the documents so far."""


class DocumentsLike(Protocol):
    """The documents of the data folder that applications send."""

    def begin_upload(self, encoding: str, lines: bool) -> UploadLike:
        """Begin an upload; raise `BadInput` for an unknown content encoding."""

    def task(self, name: str) -> dict[str, Any]:
        """Return how far the documents of an upload are; raise `BadInput` if it is no task."""

    def find(self, identifier: str) -> dict[str, Any] | None:
        """Return a document by its id or URL; None if there is none."""

    def delete(self, identifier: str) -> bool:
        """Delete a document by its id or URL; return whether there was one."""

    def delete_matching(self, expression: str) -> dict[str, Any]:
        """Delete the documents that a filter selects; return how many."""


class Actions(NamedTuple):
    """The actions of a server; None for one that is not available."""

    publish: Callable[..., PublishReceipt] | None = None
    """Publish a `PublishRequest`, given who does it (`Publisher`), and the `UploadedFile` that it describes or None."""
    unpublish: Callable[..., None] | None = None
    """Remove a published page, by its id or its key, given who does it."""
    report: Callable[[Sequence[VisitReport]], tuple[int, int]] | None = None
    """Record visits; return how many were accepted and how many rejected. A submitted URL is recorded as one visit."""
    crawl: CrawlLike | None = None
    judge: Callable[[JudgementRequest], bool] | None = None
    """Store a judgement; return False if the store is full."""
    click: Callable[..., bool] | None = None
    """Store a `ClickEvent`, with `source` as computed by `ReporterHasher`; return False if the store is full."""
    trending: Callable[[], Sequence[tuple[str, int]]] | None = None
    """Return the URLs whose visits are increasing, with their recent number of visits."""
    fetch: Callable[[str], bytes | None] | None = None
    """Send one bounded GET to a service chosen by the operator; return None if it fails."""
    quality: Callable[[], tuple[Any, Sequence[Any]]] | None = None
    """Return the latest report on ranking quality (None if there is none) and the history of scores."""
    health: Callable[[], HealthReport] | None = None
    """Return how the parts of the program are; it reads files."""
    crawl_metrics: Callable[[], str] | None = None
    """Return the metrics of the crawl that runs, in the text format of Prometheus; it reads a file."""
    published: Callable[[str], ContentLike | None] | None = None
    """Return published content, by its id; it reads files."""
    has_thumbnail: Callable[[str], bool] | None = None
    """Return whether there is a thumbnail of an image, by its URL; it looks for a file."""
    thumbnail: Callable[[int], bytes | None] | None = None
    """Return a thumbnail (WebP), by the fingerprint of the image's URL."""
    documents: DocumentsLike | None = None
    collections: CollectionsLike | None = None
    why: Callable[[Query, str], Any] | None = None
    """Return what became of the page with a URL in a query, as a record; raise `BadUrl` for an invalid one."""
    rules: RulesLike | None = None
    """The rule sets that people and the operator have written."""
    operations: OperationsLike | None = None
    """What operators can do and see."""
