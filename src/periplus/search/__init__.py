"""One call from words to a result page.

In: a `Query` and a data folder. Out: a `ResultPage` with titles, trails, snippets and honest counts.
`Searcher` may be used from many threads; it answers from the generation of the index it has open, and `refresh` moves
it to the newest. Results are arranged (safe search, near-duplicates folded, hosts taking turns) and dressed (snippets,
dates, missing words); `Searcher.suggest` completes what somebody types from titles and host names, `Searcher.find` says
why a page is not found. `Inbox` keeps pages that are handed in until they are in the store and, by `publishing` or
`feed_inbox`, in the index. `Deleted` is the list of pages that stay out of it.
"""

from periplus.search.deleted import Deleted
from periplus.search.inbox import Inbox, page_to_publish
from periplus.search.publisher import feed_inbox, publishing
from periplus.search.searcher import CachedPage, IndexParts, Searcher, SearchStatistics
from periplus.search.snippets import make_snippet
from periplus.search.weights import Weight
from periplus.search.whynot import FoundPage

__all__ = [
    "CachedPage",
    "Deleted",
    "FoundPage",
    "Inbox",
    "IndexParts",
    "SearchStatistics",
    "Searcher",
    "Weight",
    "feed_inbox",
    "make_snippet",
    "page_to_publish",
    "publishing",
]
