"""The part of the route table that searches and reads: results, completions, passages, pages, statistics."""

from typing import Final

from periplus.serve.route_records import INVALID, TOO_MANY, Parameter, Route, integer, text
from periplus.serve.search_request import (
    CATEGORIES,
    FORMATS,
    MAX_COUNT,
    MAX_ENOUGH,
    MAX_QUERY_LENGTH,
    MAX_START,
    TABS,
    TIME_RANGES,
)

__all__ = ["COLLECTION_PARAMETERS", "SEARCH_ROUTES"]

_Q: Final = Parameter("q", "the query, as typed by a person", {"type": "string", "minLength": 1}, True)
_COUNT: Final = Parameter("count", "number of results; a page for people has ten", integer(1, MAX_COUNT, 10))
_EXPLAIN: Final = Parameter("explain", "1 adds the contributions to each score", integer(0, 1, 0))
_FILTERS: Final = (
    Parameter("lang", "only pages in this language", text(3, pattern="^[a-z]{2,3}$")),
    Parameter("site", "only pages of this host and its subdomains", text(253)),
    Parameter("time_range", "only pages with a date in this period", {"type": "string", "enum": list(TIME_RANGES)}),
    Parameter("safesearch", "1 excludes adult pages, 2 also deceptive ones", integer(0, 2, 0)),
    Parameter("tab", "the kind of pages", {"type": "string", "enum": list(TABS), "default": "web"}),
    Parameter("similar", "1 includes near-duplicates and all pages of a host", {"type": "string", "enum": ["0", "1"]}),
    Parameter(
        "verbatim", "1 searches the query as typed, though it finds nothing", {"type": "string", "enum": ["0", "1"]}
    ),
    Parameter("filter", "only documents that pass, such as brand:acme AND price:10..20", text(MAX_QUERY_LENGTH)),
    Parameter("sort", "the field to sort by: price:asc or price:desc", text(100)),
    Parameter("facets", "fields whose values are counted over all matches, separated by commas", text(500)),
    Parameter("match", "all: a result has every word; so it has with sort", {"type": "string", "enum": ["any", "all"]}),
    Parameter(
        "rules",
        "ids of rule sets from /api/rules, separated by commas, that block, raise and lower pages",
        text(131, pattern="^[0-9a-f]{32}(,[0-9a-f]{32}){0,3}$"),
    ),
    Parameter(
        "enough",
        "good pages among those with the highest static ranks that are enough; 0 searches all pages; by default, the "
        "setting search.enough",
        integer(0, MAX_ENOUGH),
    ),
    Parameter("as_you_type", "1 if the last word may be unfinished: a prefix", {"type": "string", "enum": ["0", "1"]}),
)
_PINNED: Final = (
    Parameter(
        "snapshot",
        "the snapshot that is searched instead of the index",
        text(64, pattern="^[a-z0-9][a-z0-9._-]{0,63}$"),
    ),
    Parameter("as_of", "the snapshot of this date, or the last one before it, instead", text(10, format="date")),
)
_PAGE: Final = (
    Parameter("url", "the URL of the page", text(2048)),
    Parameter("key", "its key, from a result, instead", text(16, pattern="^[0-9a-f]{16}$")),
)
_SEARXNG: Final = (
    Parameter("language", "the same as lang; a region is ignored, 'all' and 'auto' exclude nothing", text(16)),
    Parameter("pageno", "the same as page", integer(1, MAX_START // MAX_COUNT + 1, 1)),
    Parameter("categories", "instead of tab: " + ", ".join(CATEGORIES) + "; others are ignored", text(200)),
    Parameter("engines", "ignored", text(200)),
)
_FORMAT: Final = Parameter(
    "format", "alternatively, the Accept header", {"type": "string", "enum": list(FORMATS), "default": "html"}
)

_RESULT_PARAMETERS: Final = (
    _Q,
    _FORMAT,
    Parameter("page", "the number of the result page", integer(1, MAX_START // MAX_COUNT + 1, 1)),
    _COUNT,
    *_FILTERS,
    *_PINNED,
    *_SEARXNG,
    _EXPLAIN,
)
COLLECTION_PARAMETERS: Final = (
    _Q,
    Parameter("start", "number of results to skip", integer(0, MAX_START, 0)),
    _COUNT,
    *(parameter for parameter in _FILTERS if parameter.name not in ("rules", "tab")),
    _EXPLAIN,
)
"""Those of a search in a collection."""
_RESULTS: Final = (
    {200: "results, best first; none while the index is empty", 303: "no query: redirect to /", 503: "overload"}
    | INVALID
    | TOO_MANY
)
_RESULT_TYPES: Final = ("application/json", "application/rss+xml", "text/csv", "text/html")

SEARCH_ROUTES: Final = (
    Route(
        "GET",
        "/search",
        "pages.search",
        "Search; the answer is JSON in the format of SearXNG (format=json), RSS, CSV or a page",
        ("search",),
        parameters=_RESULT_PARAMETERS,
        responses=_RESULTS,
        media_types=_RESULT_TYPES,
        direct=True,
    ),
    Route(
        "POST",
        "/search",
        "pages.search",
        "Search, with any of the parameters of GET as fields of a form (application/x-www-form-urlencoded)",
        ("search",),
        parameters=_RESULT_PARAMETERS,
        responses=_RESULTS | {413: "the form is too long", 415: "the body is not such a form"},
        media_types=_RESULT_TYPES,
        direct=True,
    ),
    Route(
        "GET",
        "/api/search",
        "pages.search",
        "Search; the same as /search with format=json",
        ("search",),
        parameters=(
            _Q,
            Parameter("start", "number of results to skip", integer(0, MAX_START, 0)),
            _COUNT,
            *_FILTERS,
            *_PINNED,
            _EXPLAIN,
        ),
        responses={200: "results, best first; none while the index is empty", 503: "overload"} | INVALID | TOO_MANY,
        direct=True,
    ),
    Route(
        "GET",
        "/suggest",
        "pages.search",
        "Complete a query from titles and host names, in the format of OpenSearch suggestions",
        ("search",),
        parameters=(Parameter("q", "the beginning of a query", text(MAX_QUERY_LENGTH), True),),
        responses={200: "the input, its completions and their relevance"} | TOO_MANY,
        media_types=("application/x-suggestions+json",),
        direct=True,
    ),
    *(
        Route(
            method,
            "/autocompleter",
            "pages.search",
            "Complete a query as SearXNG does: the input and its completions, or with X-Requested-With: XMLHttpRequest "
            "a plain list",
            ("search",),
            parameters=(Parameter("q", "the beginning of a query", text(MAX_QUERY_LENGTH), True),),
            responses={200: "completions"}
            | TOO_MANY
            | ({413: "the form is too long", 415: "the body is no form"} if method == "POST" else {}),
            media_types=("application/x-suggestions+json", "application/json"),
            direct=True,
        )
        for method in ("GET", "POST")
    ),
    Route(
        "GET",
        "/config",
        "searxng.config",
        "Return what this server offers, in the format of SearXNG",
        ("search",),
        responses={200: "categories, engines, locales, version"},
    ),
    Route(
        "GET",
        "/api/passages",
        "passages.passages",
        "Return the passages of the best pages that say most about a query, within a budget of tokens, with evidence",
        ("search",),
        parameters=(
            _Q,
            Parameter("tokens", "about how many tokens all passages have together", integer(1, 32_000, 2_000)),
            Parameter("count", "number of results that passages are taken from; 20 at most count", integer(1, 100, 20)),
            *_FILTERS[:5],
            *_PINNED,
        ),
        responses={200: "passages, best first", 503: "the index is empty, or overload"} | INVALID | TOO_MANY,
    ),
    Route(
        "GET",
        "/api/page",
        "passages.page",
        "Return a page of the index as Markdown, text or JSON",
        ("search",),
        parameters=(
            *_PAGE,
            Parameter(
                "format", "the form", {"type": "string", "enum": ["markdown", "text", "json"], "default": "markdown"}
            ),
            Parameter("part", "which part of a long page, from 1", integer(1, 10_000, 1)),
        ),
        responses={200: "the page", 404: "it is not in the index", 503: "overload"} | INVALID | TOO_MANY,
        media_types=("text/markdown", "text/plain", "application/json"),
    ),
    Route(
        "GET",
        "/api/verify",
        "passages.verify",
        "Return whether a quotation is in the stored text of a page, and where",
        ("search",),
        parameters=(
            *_PAGE,
            Parameter("text", "the quotation", text(10_000, minLength=1), True),
            Parameter("content", "the content hash that came with it, to compare", text(64)),
        ),
        responses={200: "found or not, with evidence", 404: "the page is not in the index", 503: "overload"}
        | INVALID
        | TOO_MANY,
    ),
    Route(
        "GET",
        "/api/why",
        "why.why",
        "Return what became of a page in a query: its rank, or where it was lost, and what would change that",
        ("search",),
        parameters=(_Q, Parameter("url", "the URL of the page", text(2048, minLength=1), True), *_FILTERS[:7]),
        responses={200: "a reason, a sentence and advice", 501: "not available on this server", 503: "overload"}
        | INVALID
        | TOO_MANY,
    ),
    Route(
        "GET",
        "/api/statistics",
        "api.statistics",
        "Return the size of the index",
        ("search",),
        responses={200: "pages, hosts, bytes, newest"},
    ),
    Route(
        "GET",
        "/api/weather",
        "weather.answer",
        "Return the weather at a place, by name or by rounded coordinates, from the services of serve.weather and "
        "serve.geocoder",
        ("search",),
        parameters=(
            Parameter("place", "its name, instead of coordinates", text(80)),
            Parameter("latitude", "in degrees", {"type": "number", "minimum": -90, "maximum": 90}),
            Parameter("longitude", "in degrees", {"type": "number", "minimum": -180, "maximum": 180}),
        ),
        responses={
            200: "temperature, sky, wind, the place if named, and a text with all of these",
            404: "unknown place",
            501: "no service is configured",
            502: "the service does not answer",
            503: "too many requests for the weather",
        }
        | INVALID
        | TOO_MANY,
    ),
)
