"""The search page and the API: HTTP requests in, pages and JSON out.

In goes a searcher (anything with the methods of `SearcherLike`), `ServeSettings`, and what may be done beside searching
(`Actions`, with the `Keys` of those who may); out come pages for people (`/`, `/search`, `/about`, `/add`, `/admin`...)
and JSON, RSS and CSV for programs (docs/api.md, `/openapi.json`), JSON as `as_json` makes it. `Front` stands
before everything: host check, rate limit, kept answers, security headers, figures. Searches run in a few threads behind
a bounded queue; more than it holds are answered 429, those that would wait too long 503. `run` serves in this process,
`run_processes` in several. Everything that came from a page or a person is escaped; nothing of a third party runs in
the browser.
"""

from periplus.serve.actions import Actions, Clicked, CrawlLike, Judged, Publication, Published
from periplus.serve.api.result_formats import as_json
from periplus.serve.api_keys import ROLES, Keys
from periplus.serve.application import make_app
from periplus.serve.protocols import CachedPageLike, FoundLike, PartsLike, SearcherLike, StatisticsLike
from periplus.serve.response_cache import AnswerCache
from periplus.serve.server import run, serving
from periplus.serve.worker_processes import Opened, run_processes

__all__ = [
    "ROLES",
    "Actions",
    "AnswerCache",
    "CachedPageLike",
    "Clicked",
    "CrawlLike",
    "FoundLike",
    "Judged",
    "Keys",
    "Opened",
    "PartsLike",
    "Publication",
    "Published",
    "SearcherLike",
    "StatisticsLike",
    "as_json",
    "make_app",
    "run",
    "run_processes",
    "serving",
]
