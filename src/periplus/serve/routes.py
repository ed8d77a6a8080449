"""The route table: every path that the server answers, who may call it, and its description.

`serve.routing` makes the routes, the permission checks and the metric labels from it, `serve.api.openapi` the OpenAPI
document, and the page `/api` the documentation for people.
"""

from typing import Final

from periplus.serve.admin.admin_routes import ADMIN_ROUTES
from periplus.serve.collections.collection_routes import COLLECTION_ROUTES
from periplus.serve.document_routes import DOCUMENT_ROUTES
from periplus.serve.route_records import INVALID, TOO_MANY, Access, Parameter, Route, object_schema, text
from periplus.serve.rules.rule_routes import RULE_ROUTES
from periplus.serve.search_routes import SEARCH_ROUTES

__all__ = ["ROUTES"]

_VISIT: Final = object_schema(
    ("url",), url=text(2048), count={"type": "integer"}, digest=text(128), when={"type": "number"}
)
_LIMITS: Final = object_schema(
    (),
    pages={"type": "integer", "minimum": 1, "maximum": 1_000_000_000},
    host_pages={"type": "integer", "minimum": 1, "maximum": 1_000_000_000},
    minutes={"type": "number", "minimum": 0, "maximum": 525_600},
    depth={"type": "integer", "minimum": 0, "maximum": 1_000},
    scope={"type": "string", "enum": ["host", "domain", "web"]},
    recrawl={"type": "boolean"},
)
_UNAUTHORIZED: Final = {401: "no key, or an unknown one", 403: "the role of the key does not allow this"}
_UNAVAILABLE: Final = {501: "not available on this server"}
_BODY: Final = {413: "the body is too long", 415: "the body is not JSON"} | _UNAVAILABLE
_QUEUE_FULL: Final = {503: "the queue is full"}
_HTML: Final = ("text/html",)

_WRITES: Final = (
    Route(
        "POST",
        "/api/publish",
        "writes.publish",
        "Publish a page; searches find it within a second",
        ("publish",),
        "publish",
        body=object_schema(
            (),
            title=text(1000),
            content=text(1_000_000),
            url=text(2048),
            description=text(2000),
            author=text(200),
            date=text(40),
            tags={"type": "array", "items": text(100), "maxItems": 50},
            language=text(2),
        ),
        responses={
            201: "its id (SHA-256 of the content), URL, content and cached copy",
            503: "the index is being built; try again later",
            507: "the disk limit leaves no room for it",
        }
        | INVALID
        | TOO_MANY
        | _UNAUTHORIZED
        | _BODY,
    ),
    Route(
        "DELETE",
        "/api/publish/{id}",
        "writes.unpublish",
        "Remove published content and all its pages, by its id, or one page, by its key",
        ("publish",),
        "publish",
        parameters=(
            Parameter(
                "id",
                "the id of the content, or the key of the page",
                text(64, pattern="^([0-9a-f]{16}|[0-9a-f]{64})$"),
                True,
                "path",
            ),
        ),
        responses={200: "removed", 400: "no page has this id", 404: "not an id", 503: "try again later"}
        | TOO_MANY
        | _UNAUTHORIZED
        | _UNAVAILABLE,
    ),
    Route(
        "POST",
        "/api/submit",
        "writes.submit",
        "Submit a page or site to the crawl",
        ("crawl",),
        "submit",
        public_setting="submissions",
        body=object_schema(("url",), url=text(2048)),
        responses={202: "queued"} | _QUEUE_FULL | INVALID | TOO_MANY | _UNAUTHORIZED | _BODY,
    ),
    Route(
        "POST",
        "/api/visits",
        "writes.visits",
        "Report visited pages, for the crawl to fetch and ranking to count",
        ("crawl",),
        "report",
        body=object_schema(("visits",), visits={"type": "array", "items": _VISIT, "maxItems": 5000}),
        responses={202: "the number accepted"} | _QUEUE_FULL | INVALID | TOO_MANY | _UNAUTHORIZED | _BODY,
    ),
    Route(
        "GET",
        "/api/crawl",
        "writes.crawl",
        "Return the state of the crawl",
        ("crawl",),
        "crawl",
        responses={200: "its state and counters"} | TOO_MANY | _UNAUTHORIZED | _UNAVAILABLE,
    ),
    Route(
        "POST",
        "/api/crawl/{word}",
        "writes.control_crawl",
        "Start (with additional seeds, or where it stopped), pause, resume or stop the crawl",
        ("crawl",),
        "crawl",
        parameters=(
            Parameter(
                "word",
                "the command",
                {"type": "string", "enum": ["start", "pause", "resume", "stop"]},
                True,
                "path",
            ),
        ),
        body=object_schema((), seeds={"type": "array", "items": text(2048), "maxItems": 1000}, limits=_LIMITS),
        responses={202: "accepted", 404: "no such command", 409: "no crawl is running, or one already is"}
        | INVALID
        | TOO_MANY
        | _UNAUTHORIZED
        | _BODY,
    ),
    Route(
        "POST",
        "/api/judge",
        "ratings.judge",
        "Grade a page as the answer to a query, from 0 (irrelevant) to 3 (perfect); ranking is trained on grades",
        ("ranking",),
        "judge",
        Access.KEY_OR_SESSION,
        body=object_schema(
            ("query", "url", "grade"),
            query=text(2000, minLength=1),
            url=text(4000, minLength=1),
            grade={"type": "integer", "minimum": 0, "maximum": 3},
        ),
        responses={204: "stored", 503: "the store is full"} | INVALID | TOO_MANY | _UNAUTHORIZED | _BODY,
    ),
    Route(
        "POST",
        "/api/click",
        "ratings.click",
        "Count a result that was opened, if serve.clicks is on; who opened it is not stored",
        ("ranking",),
        body=object_schema(
            ("query", "url", "position"),
            query=text(2000, minLength=1),
            url=text(4000, minLength=1),
            position={"type": "integer", "minimum": 1, "maximum": 1000},
            shown={"type": "array", "items": text(4000), "maxItems": 100},
        ),
        responses={204: "counted", 403: "sent by a page of another site", 503: "the store is full"}
        | INVALID
        | TOO_MANY
        | _BODY,
    ),
)

_OPERATION: Final = (
    Route(
        "GET",
        "/healthz",
        "api.health",
        "Return whether the server is running",
        ("operation",),
        responses={200: "it is"},
        rate_limited=False,
    ),
    Route(
        "GET",
        "/readyz",
        "api.ready",
        "Return whether there is something to search",
        ("operation",),
        responses={200: "yes", 503: "not yet"},
        rate_limited=False,
    ),
    Route(
        "GET",
        "/metrics",
        "api.metrics",
        "Return metrics in the text format of Prometheus",
        ("operation",),
        responses={200: "one on each line"},
        media_types=("text/plain",),
        rate_limited=False,
    ),
    Route(
        "GET",
        "/openapi.json",
        "api.openapi",
        "Return this description of the API",
        ("operation",),
        responses={200: "an OpenAPI 3.1 document"},
    ),
)

_PAGES: Final = (
    Route("GET", "/", "pages.landing", media_types=_HTML),
    Route("GET", "/cached/{key}", "pages.cached", media_types=_HTML),
    Route("GET", "/about", "pages.about", media_types=_HTML),
    Route("GET", "/settings", "pages.settings", media_types=_HTML),
    Route("GET", "/api", "pages.documentation", media_types=_HTML),
    Route("GET", "/add", "sites.add", media_types=_HTML),
    Route("POST", "/add", "sites.submit", media_types=_HTML),
    Route("GET", "/why-not", "sites.why_not", media_types=_HTML),
    Route("GET", "/publish", "publish.form", media_types=_HTML),
    Route("POST", "/publish", "publish.submit", "", (), "publish", Access.SESSION, media_types=_HTML),
    Route("POST", "/publish/login", "publish.login", media_types=_HTML),
    Route("POST", "/publish/logout", "publish.logout", "", (), "publish", Access.SESSION, media_types=_HTML),
    Route("GET", "/c/{id}", "publish.content", media_types=_HTML),
    Route("GET", "/t/{name}", "publish.thumbnail", media_types=("image/webp",)),
    Route("GET", "/weather", "weather.page", media_types=_HTML),
    Route("GET", "/opensearch.xml", "pages.opensearch", media_types=("application/opensearchdescription+xml",)),
    Route("GET", "/favicon.svg", "pages.static", media_types=("image/svg+xml",)),
    Route("GET", "/favicon.ico", "pages.static", media_types=("image/svg+xml",)),
    Route("GET", "/stats", "searxng.stats", media_types=_HTML),
    Route("GET", "/stats/errors", "searxng.errors"),
    Route("GET", "/stats/checker", "searxng.checker"),
    Route("GET", "/robots.txt", "pages.robots", media_types=("text/plain",)),
    Route("GET", "/static/{name}", "pages.static", media_types=("text/css", "text/javascript", "image/svg+xml")),
    Route("POST", "/rate/login", "ratings.login", media_types=_HTML),
    Route("POST", "/rate/logout", "ratings.logout", "", (), "judge", Access.SESSION, media_types=_HTML),
    Route("GET", "/api/rater", "ratings.form_token", "", (), "judge", Access.SESSION),
)

ROUTES: Final = (
    *SEARCH_ROUTES,
    *RULE_ROUTES,
    *_WRITES,
    *DOCUMENT_ROUTES,
    *COLLECTION_ROUTES,
    *_PAGES,
    *_OPERATION,
    *ADMIN_ROUTES,
)
