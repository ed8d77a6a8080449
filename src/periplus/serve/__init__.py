"""The search page and the API: HTTP requests in, pages and JSON out.

In goes a searcher (anything with the four methods of `SearcherLike`) and `ServeSettings`; out come HTML for people
(`/`, `/search`, `/cached/KEY`, `/about`) and JSON for programs (`/api/search`, `/api/statistics`, `/healthz`), which
docs/api.md describes and `answer` makes. Searches run in a few threads behind a bounded queue; more than it holds are
answered 429. Everything that came from a page or a person is escaped; nothing of a third party runs in the browser.
"""

from periplus.serve.api import answer
from periplus.serve.app import make_app
from periplus.serve.searching import CachedPageLike, SearcherLike, StatisticsLike
from periplus.serve.server import run, serving

__all__ = ["CachedPageLike", "SearcherLike", "StatisticsLike", "answer", "make_app", "run", "serving"]
