"""How a long call reports what it does: an `Observer` that the caller passes in. Nothing in this package prints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from periplus.crawl import CrawlStatistics, CrawlStatus

__all__ = ["SILENT", "Observer", "SilentObserver"]


class Observer(Protocol):
    """Receives messages and progress while a call is running. Its methods may be called from several threads."""

    def message(self, text: str) -> None:
        """Receive one line about the work."""

    def progress(self, stage: str, done: int, total: int) -> None:
        """Receive how far a stage is; `total` is 0 while it is unknown."""

    def crawl_progress(self, statistics: "CrawlStatistics", shards: "Sequence[CrawlStatus]" = ()) -> None:
        """Receive the statistics of a running crawl, and those of its shards where there are several."""


class SilentObserver:
    """An observer that ignores everything; base class for those that want only part of it."""

    def message(self, text: str) -> None:
        """Ignore a line about the work."""

    def progress(self, stage: str, done: int, total: int) -> None:
        """Ignore how far a stage is."""

    def crawl_progress(self, statistics: "CrawlStatistics", shards: "Sequence[CrawlStatus]" = ()) -> None:
        """Ignore the statistics of a crawl."""


SILENT: Final = SilentObserver()
