"""Records from a query to its result page."""

from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.records.crawl_records import Media

__all__ = [
    "Candidates",
    "Card",
    "Hit",
    "Query",
    "ResultPage",
    "SearchLimits",
]


class Query(msgspec.Struct, frozen=True):
    """The query of a user, with its filters."""

    words: str
    start: int = 0
    """Number of results to skip."""
    size: int = 10
    explain: bool = False
    language: str = ""
    """Only pages in this language (code of two letters)."""
    site: str = ""
    """Only pages of this host and its subdomains."""
    days: int = 0
    """Only pages dated within this many days; 0 means any time."""
    kinds: tuple[str, ...] = ()
    """Only pages of these content types."""
    having: str = ""
    """Only pages that have 'media' or are 'news'."""
    safe: int = 0
    """1 excludes adult pages, 2 also deceptive ones."""
    folded: bool = True
    """Whether near-duplicates and many results of one host are folded."""
    verbatim: bool = False
    """Whether the query is searched as typed: neither relaxed nor corrected where it finds nothing."""
    as_you_type: bool = False
    """Whether its writer is still typing: the last word, unless a space follows it, matches as a prefix too."""
    filter: str = ""
    """An expression over own fields of documents that results have to pass."""
    sort: str = ""
    """An own field to sort by, 'price:asc' or 'price:desc'; '' for the best first."""
    facets: tuple[str, ...] = ()
    """Own fields whose values are counted over all matches."""
    every_word: bool = False
    """Whether a result has to have all words; so it has where results are sorted."""
    rules: tuple[str, ...] = ()
    """The ids of rule sets that block, raise and lower pages, besides those of the server."""
    snapshot: str = ""
    """The snapshot that is searched instead of the index: its name, or '@' and a date."""
    enough: int = -1
    """Good pages of the first tier that are enough, as `search.enough`; -1 is that setting."""
    today: int = 0
    """The day on which it is asked, in days since 1970; 0 is the day of the clock."""


class SearchLimits(NamedTuple):
    """What one answer may cost: seconds, if less than `search.budget_ms`, and estimated work units for each page of the
    index, above which `ExpensiveQuery` is raised once it is planned."""

    seconds: float = float("inf")
    cost: float = float("inf")


class Candidates(NamedTuple):
    """Matching documents, best first."""

    segments: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]
    """Numbers within their segment."""
    scores: npt.NDArray[np.float32]
    total: int
    exact: bool
    partial: bool
    """Whether `total` was counted, not estimated; and whether the time budget ran out."""
    unsearched: int = 0
    """Documents that were not searched because the first tier of their segment had enough."""


class Hit(msgspec.Struct, frozen=True):
    """One result as it is displayed; `answer` is where the sentence that answers begins and ends in the snippet."""

    url: str
    title: str
    snippet: tuple[tuple[str, bool], ...]
    """Pieces of text, each with whether it is highlighted."""
    breadcrumbs: tuple[str, ...]
    """Host, then the readable parts of the path."""
    score: float
    key: int
    """64-bit fingerprint of the URL; identifies the cached copy."""
    language: str = ""
    fetched: float = 0.0
    kind: str = ""
    missing: tuple[str, ...] = ()
    """Words of the query that the page does not contain."""
    reasons: tuple[tuple[str, float], ...] = ()
    """The components of the score, if `explain` is set."""
    day: int = 0
    """Date of publication, or else of the fetch, in days since 1970; 0 if unknown."""
    flags: int = 0
    """A combination of `PageFlag`."""
    similar: tuple[str, ...] = ()
    """URLs of near-duplicates that were folded into this result."""
    links: tuple[tuple[str, str], ...] = ()
    """Title and URL of other results of the same site, if this one is its home page."""
    media: tuple[Media, ...] = ()
    answer: tuple[int, int] = (0, 0)
    own_fields: str = ""
    """Of a document that was sent: its own fields, as JSON."""


class Card(msgspec.Struct, frozen=True):
    """The facts that one page states about the subject of the query."""

    title: str
    url: str
    text: str
    facts: tuple[tuple[str, str], ...]
    """Names, as people say them, and values."""
    kind: str = ""
    """'Person', 'Organization', 'Place', 'Book', 'Film', 'Software', 'Event', 'Recipe', or '' for anything else."""
    image: str = ""
    """URL of the image that the page states, or ''."""


class ResultPage(msgspec.Struct, frozen=True):
    """The complete answer to a query."""

    query: Query
    hits: tuple[Hit, ...]
    total: int
    exact: bool
    partial: bool
    seconds: float
    documents: int
    notes: tuple[str, ...] = ()  # messages for the user, such as about ignored words or unknown operators
    hidden: int = 0
    examined: int = 0
    """Results excluded by safe search, and how many were examined for that."""
    timings: tuple[tuple[str, float], ...] = ()  # seconds by stage
    corrections: tuple[str, ...] = ()
    """Suggested spellings of words that are rare or missing in the index."""
    generation: int = 0
    card: Card | None = None
    showing_for: str = ""
    """The corrected query of which these are the results, because no page has the words as typed; or ''."""
    plan: str = ""
    work: int = 0
    """A summary of the plan for logs, without words; and its work units: postings and positions that were decoded."""
    shards: tuple[int, tuple[int, ...]] = (0, ())  # of a cluster: how many were asked, and which did not answer
    facets: tuple[tuple[str, tuple[tuple[str, int], ...], tuple[float, float] | None], ...] = ()
    """Of each field that was asked for: the most frequent values and their counts, and the least and largest number."""
    unsearched: int = 0
    """Documents that were not searched because those with higher ranks were enough: then `total` is a lower bound."""
    sites: tuple[tuple[str, str, float, int, str], ...] = ()  # name, outcome, milliseconds, results, reason
