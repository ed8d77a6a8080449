"""The protocols of a searcher and its records, so that the server can be tested with any implementation."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from periplus.records import Query, ResultPage, SearchLimits

__all__ = [
    "CachedPageLike",
    "IndexPartsLike",
    "PageStatusLike",
    "PassageLike",
    "SearcherLike",
    "StatisticsLike",
    "TextBlockLike",
    "WeightLike",
]


class TextBlockLike(Protocol):
    """A block of a cached copy: a heading, paragraph, list item, table or code."""

    @property
    def kind(self) -> str:
        """What it is: 'heading', 'paragraph', 'quote', 'code', 'item', 'numbered', 'table' and so on."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def level(self) -> int:
        """Of a heading or list item; of a table, its rows of headers."""

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The cells of a table."""


class CachedPageLike(Protocol):
    """The cached copy of a page, as text."""

    @property
    def url(self) -> str:
        """The URL it was fetched from."""

    @property
    def when(self) -> float:
        """Time of the fetch, in seconds since 1970."""

    @property
    def title(self) -> str:
        """The title of the page, or ''."""

    @property
    def text(self) -> str:
        """The visible text, with newlines between blocks."""


class StatisticsLike(Protocol):
    """The size of the index."""

    @property
    def documents(self) -> int:
        """Pages in the index."""

    @property
    def hosts(self) -> int:
        """Hosts of these pages."""

    @property
    def newest(self) -> float:
        """Time of the latest fetch, in seconds since 1970; 0 if there is none."""

    @property
    def bytes(self) -> int:
        """Size of the index on disk."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of many pages, the most frequent first."""

    @property
    def kinds(self) -> frozenset[str]:
        """Content types of pages."""


class PageStatusLike(Protocol):
    """Whether a page is in the index, and if not, why."""

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
        """The page that is indexed instead of it, or ''."""

    @property
    def key(self) -> int:
        """Its fingerprint, the key of the cached copy."""

    @property
    def when(self) -> float:
        """Time of the fetch, in seconds since 1970; 0 if it was not fetched."""


class IndexPartsLike(Protocol):
    """The composition of an index."""

    @property
    def generation(self) -> int:
        """The number of the commit."""

    @property
    def documents(self) -> int:
        """Pages that are not deleted."""

    @property
    def segments(self) -> tuple[tuple[str, int, int, int], ...]:
        """Name, documents, documents that are not deleted, and bytes."""

    @property
    def parts(self) -> dict[str, int]:
        """Bytes by type of file."""

    @property
    def languages(self) -> dict[str, int]:
        """Pages by language; '' is unknown."""

    @property
    def hosts(self) -> tuple[tuple[str, int], ...]:
        """The hosts with the most pages, and their number of pages."""


class PassageLike(Protocol):
    """A piece of a page that says much about a query, with what it can be checked by."""

    @property
    def url(self) -> str:
        """The URL of its page."""

    @property
    def title(self) -> str:
        """The title of its page."""

    @property
    def text(self) -> str:
        """As it is stored: the characters `begin` to `end` of the text of the page."""

    @property
    def score(self) -> float:
        """How much it says about the query, and how good its page is."""

    @property
    def key(self) -> int:
        """The fingerprint of the URL."""

    @property
    def begin(self) -> int:
        """Where it begins in the text of the page, in characters."""

    @property
    def end(self) -> int:
        """Where it ends."""

    @property
    def content(self) -> str:
        """SHA-256 of the text of the page, in hexadecimal digits."""

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings above it, outermost first, where they are known."""

    @property
    def language(self) -> str:
        """The language of its page."""

    @property
    def fetched(self) -> float:
        """Time of the fetch, in seconds since 1970."""

    @property
    def warc(self) -> str:
        """The WARC file with the response and the record's offset, 'name:offset', or ''."""

    @property
    def rank(self) -> int:
        """The place of its page among the results, from 1."""


class WeightLike(Protocol):
    """A weight of ranking."""

    @property
    def name(self) -> str:
        """Its name in the settings."""

    @property
    def value(self) -> float:
        """Its current value."""

    @property
    def help(self) -> str:
        """Its description."""


class SearcherLike(Protocol):
    """A searcher. All methods may be called from several threads at once."""

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        """Answer a query within limits; raise `ExpensiveQuery` if it is estimated to cost more."""

    def passages(
        self, query: Query, tokens: int, limits: SearchLimits | None = None
    ) -> tuple[ResultPage, Sequence[PassageLike]]:
        """Return the passages of the best results that say most about a query, within a budget of tokens."""

    def cached_page(self, key: int) -> CachedPageLike | None:
        """Return the cached copy of the page with this fingerprint, if there is one."""

    def cached_blocks(self, key: int) -> Sequence[TextBlockLike]:
        """Return the blocks of a cached copy, if they can be read; this may take long."""

    def statistics(self) -> StatisticsLike:
        """Return the size of the index."""

    def refresh(self) -> bool:
        """Open the newest commit of the index; return whether there was a new one."""

    def suggest(self, words: str, size: int) -> tuple[tuple[str, float], ...]:
        """Return completions of a query, best first, each with its relevance up to 1."""

    def record_queries(self, queries: Sequence[tuple[str, str]]) -> None:
        """Record queries, each with the network of its client, for completions."""

    def page_status(self, url: str) -> PageStatusLike:
        """Return whether a URL is in the index; raise `BadUrl` for an invalid one."""

    def index_parts(self) -> IndexPartsLike | None:
        """Return the composition of the index, if there is one."""

    def weights(self) -> Sequence[WeightLike]:
        """Return the weights of ranking."""

    def preview(self, query: Query, weights: Mapping[str, float]) -> ResultPage:
        """Answer a query with other weights; raise `BadInput` for invalid ones."""
