"""One call from words to a result page.

In: a `Query` and a data folder. Out: a `ResultPage` with titles, trails, snippets and honest counts.
`Searcher` may be used from many threads; it answers from the generation of the index it has open, and `refresh` moves
it to the newest.
"""

from periplus.search.searcher import CachedPage, Searcher, SearchStatistics
from periplus.search.snippets import make_snippet

__all__ = ["CachedPage", "SearchStatistics", "Searcher", "make_snippet"]
