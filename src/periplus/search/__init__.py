"""One call from words to a result page.

In: a `Query` and a data folder. Out: a `ResultPage` with titles, trails, snippets and honest counts.
`Searcher` may be used from many threads; it answers from the generation of the index it has open, and `refresh` moves
it to the newest. Results are arranged (safe search, near-duplicates folded, hosts taking turns) and dressed (snippets,
dates, missing words); `Searcher.suggest` completes what somebody types from titles and host names, `Searcher.find` says
why a page is not found. Pages that are published, and pages that are deleted, are in `periplus.publish`.
"""

from periplus.search.presentation.snippets import make_snippet
from periplus.search.ranking_weights import RankingWeight
from periplus.search.searcher import CachedPage, IndexParts, Searcher, SearchStatistics
from periplus.search.why_not import PageStatus

__all__ = [
    "CachedPage",
    "IndexParts",
    "PageStatus",
    "RankingWeight",
    "SearchStatistics",
    "Searcher",
    "make_snippet",
]
