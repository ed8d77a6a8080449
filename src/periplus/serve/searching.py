"""What serving needs of a searcher: a few small protocols, so that this room can be tried with any of them."""

from typing import Protocol

from periplus.records import Query, ResultPage

__all__ = ["CachedPageLike", "SearcherLike", "StatisticsLike"]


class CachedPageLike(Protocol):
    """The kept copy of one page, as text."""

    @property
    def url(self) -> str:
        """The address it was fetched from."""

    @property
    def when(self) -> float:
        """Seconds since 1970 at which it was fetched."""

    @property
    def title(self) -> str:
        """The page's own title, or ''."""

    @property
    def text(self) -> str:
        """The visible text, blocks parted by newlines."""


class StatisticsLike(Protocol):
    """How much there is to search."""

    @property
    def documents(self) -> int:
        """Pages in the index."""

    @property
    def hosts(self) -> int:
        """Hosts they come from."""

    @property
    def newest(self) -> float:
        """Seconds since 1970 at which the newest page was fetched; 0 when there is none."""

    @property
    def bytes(self) -> int:
        """Size of the index on disk."""


class SearcherLike(Protocol):
    """Words in, result pages out. All methods may be called from several threads at once."""

    def search(self, query: Query) -> ResultPage:
        """Answer a query."""

    def cached(self, key: int) -> CachedPageLike | None:
        """Give the kept copy of the page with this fingerprint, if there is one."""

    def statistics(self) -> StatisticsLike:
        """Say how much there is to search."""

    def refresh(self) -> bool:
        """Open the newest index if it changed; say whether it did."""
