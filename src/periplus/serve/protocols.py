"""What serving needs of a searcher: a few small protocols, so that this room can be tried with any of them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from periplus.records import Query, ResultPage

__all__ = ["CachedPageLike", "IndexPartsLike", "PageStatusLike", "SearcherLike", "StatisticsLike", "WeightLike"]


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

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages that many pages are in, the most frequent first."""

    @property
    def kinds(self) -> frozenset[str]:
        """Content types of pages."""


class PageStatusLike(Protocol):
    """Whether one page can be found, and if not, why."""

    @property
    def url(self) -> str:
        """In canonical form."""

    @property
    def indexed(self) -> bool:
        """Whether it is in the index."""

    @property
    def reason(self) -> str:
        """'indexed', 'noindex', 'copy', 'canonical', 'empty', 'waiting' or 'unknown'."""

    @property
    def other(self) -> str:
        """The page that stands for it, or ''."""

    @property
    def key(self) -> int:
        """Its fingerprint, which names the kept copy."""

    @property
    def when(self) -> float:
        """Seconds since 1970 at which it was fetched; 0 when it is not there."""


class IndexPartsLike(Protocol):
    """What an index is made of."""

    @property
    def generation(self) -> int:
        """Which commit it is."""

    @property
    def documents(self) -> int:
        """Pages that can be found."""

    @property
    def segments(self) -> tuple[tuple[str, int, int, int], ...]:
        """Name, documents, those of them that can be found, and bytes."""

    @property
    def parts(self) -> dict[str, int]:
        """Bytes by kind of file."""

    @property
    def languages(self) -> dict[str, int]:
        """Pages by language; '' is unknown."""

    @property
    def hosts(self) -> tuple[tuple[str, int], ...]:
        """The hosts with most pages, and how many they have."""


class WeightLike(Protocol):
    """One weight of ranking."""

    @property
    def name(self) -> str:
        """As in the settings."""

    @property
    def value(self) -> float:
        """As it is set."""

    @property
    def help(self) -> str:
        """What it does."""


class SearcherLike(Protocol):
    """Words in, result pages out. All methods may be called from several threads at once."""

    def search(self, query: Query) -> ResultPage:
        """Answer a query."""

    def cached_page(self, key: int) -> CachedPageLike | None:
        """Give the kept copy of the page with this fingerprint, if there is one."""

    def statistics(self) -> StatisticsLike:
        """Say how much there is to search."""

    def refresh(self) -> bool:
        """Open the newest index if it changed; say whether it did."""

    def suggest(self, words: str, size: int) -> tuple[tuple[str, float], ...]:
        """Complete what somebody types, best first; each with how fitting it is, up to 1."""

    def record_queries(self, queries: Sequence[tuple[str, str]]) -> None:
        """Take note of queries, each with what stands for who asked, for completions; nobody waits for it."""

    def page_status(self, url: str) -> PageStatusLike:
        """Return whether a URL is in the index; raise `BadUrl` for an invalid one."""

    def index_parts(self) -> IndexPartsLike | None:
        """Say what the index is made of, if there is one."""

    def weights(self) -> Sequence[WeightLike]:
        """List the weights of ranking."""

    def preview(self, query: Query, weights: Mapping[str, float]) -> ResultPage:
        """Answer a query as other weights would have it; raise `BadInput` for weights that cannot be."""
