"""One call from words to a result page.

In: a `Query` and a data folder. Out: a `ResultPage` with titles, trails, snippets and honest counts.
`Searcher` may be used from many threads; it answers from the generation of the index it has open, and `refresh` moves
it to the newest. Results are arranged (safe search, near-duplicates folded, hosts taking turns) and dressed (snippets,
dates, missing words); `Searcher.suggest` completes what somebody types from titles and host names.
"""

from periplus.search.searcher import CachedPage, IndexParts, Searcher, SearchStatistics
from periplus.search.snippets import make_snippet
from periplus.search.whynot import FoundPage

__all__ = ["CachedPage", "FoundPage", "IndexParts", "SearchStatistics", "Searcher", "make_snippet"]
