"""The HTTP server: search pages for people, an API for programs.

In: a searcher (anything with the methods of `SearcherLike`), `ServeSettings`, the `Actions` that the server offers
besides searching, and the `ApiKeys` that authorize them. Out: pages (`/`, `/search`, `/about`, `/add`, `/admin`...),
and JSON, RSS and CSV for programs (docs/api.md, `/openapi.json`). `as_json` returns the JSON form of a result page.

Every path is a row of one table, `serve.routes`, from which the routes, the permission checks, the metric labels and
the OpenAPI document are made. `middleware` checks host names and rates and answers searches from a cache. Searches run
in a few threads behind a bounded queue (`search_executor`), which refuses what it cannot answer in time with 429 or
503. `run` serves in this process, `run_processes` in several. All text from pages and people is escaped, and no
third-party code runs in the browser.
"""

from periplus.serve.actions import (
    Actions,
    ClickEvent,
    ContentLike,
    CrawlLike,
    HealthReport,
    JudgementRequest,
    Publisher,
    PublishReceipt,
    PublishRequest,
    UploadedFile,
)
from periplus.serve.admin.admin_protocols import CrawlLimits, OperationsLike
from periplus.serve.api.result_formats import as_json
from periplus.serve.api_keys import ROLES, ApiKeys
from periplus.serve.application import make_app
from periplus.serve.protocols import CachedPageLike, IndexPartsLike, PageStatusLike, SearcherLike, StatisticsLike
from periplus.serve.response_cache import ResponseCache
from periplus.serve.server import background_server, run
from periplus.serve.workers.worker_processes import ServerResources, run_processes

__all__ = [
    "ROLES",
    "Actions",
    "ApiKeys",
    "CachedPageLike",
    "ClickEvent",
    "ContentLike",
    "CrawlLike",
    "CrawlLimits",
    "HealthReport",
    "IndexPartsLike",
    "JudgementRequest",
    "OperationsLike",
    "PageStatusLike",
    "PublishReceipt",
    "PublishRequest",
    "Publisher",
    "ResponseCache",
    "SearcherLike",
    "ServerResources",
    "StatisticsLike",
    "UploadedFile",
    "as_json",
    "background_server",
    "make_app",
    "run",
    "run_processes",
]
