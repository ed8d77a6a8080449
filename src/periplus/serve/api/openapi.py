"""The API described for programs (OpenAPI 3.1) and, from the same table, for people."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from periplus import __version__
from periplus.serve.search_request import FARTHEST, FORMATS, LONGEST, MOST, SPANS, TABS

__all__ = ["OPERATIONS", "Operation", "document"]

Schema = dict[str, Any]


class Parameter(NamedTuple):
    """One parameter of an operation."""

    name: str
    meaning: str
    schema: Schema
    needed: bool = False
    place: str = "query"


class Operation(NamedTuple):
    """One thing that can be asked."""

    method: str
    path: str
    summary: str
    parameters: tuple[Parameter, ...] = ()
    body: Schema | None = None
    answers: Mapping[int, str] = MappingProxyType({})
    role: str = ""
    """The right that is needed, '' for none."""
    kinds: tuple[str, ...] = ("application/json",)


def _text(most: int = 200, **more: Any) -> Schema:
    return {"type": "string", "maxLength": most, **more}


def _whole(least: int, most: int, default: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most, "default": default}


def _object(needed: tuple[str, ...], **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(needed), "additionalProperties": False}


_Q: Final = Parameter("q", "the query, as a person would type it", {"type": "string", "minLength": 1}, True)
_NARROW: Final = (
    Parameter("lang", "only pages in this language", _text(2, pattern="^[a-z]{2}$")),
    Parameter("site", "only pages of this host and its subdomains", _text(253)),
    Parameter("time_range", "only pages dated so lately", {"type": "string", "enum": list(SPANS)}),
    Parameter("safesearch", "1 leaves out adult pages, 2 also those that deceive", _whole(0, 2, 0)),
    Parameter("tab", "what kind of pages", {"type": "string", "enum": list(TABS), "default": "web"}),
    Parameter("similar", "1 shows near-duplicates and all of one host", {"type": "string", "enum": ["0", "1"]}),
)
_SEEN: Final = _object(("url",), url=_text(2048), count={"type": "integer"}, digest=_text(128), when={"type": "number"})
_ERRORS: Final = {400: "a parameter or the body cannot be used", 429: "too many requests: see Retry-After"}
_DENIED: Final = {401: "no key, or none that is known", 403: "the key's role does not allow it"}
_BODY: Final = {413: "the body is too long", 415: "the body is not JSON", 501: "the server was started without this"}

OPERATIONS: Final = (
    Operation(
        "get",
        "/search",
        "Search, in the shape that SearXNG's clients read (format=json), as a feed, as a table or as a page",
        (
            _Q,
            Parameter(
                "format", "or by the Accept header", {"type": "string", "enum": list(FORMATS), "default": "html"}
            ),
            Parameter("page", "which page of results", _whole(1, FARTHEST // MOST + 1, 1)),
            Parameter("count", "results on a page; pages for people have ten", _whole(1, MOST, 10)),
            *_NARROW,
            Parameter("explain", "1 says what each score is made of", _whole(0, 1, 0)),
        ),
        answers={200: "results, best first", 303: "no query: the start page", 503: "nothing to search, or busy"}
        | _ERRORS,
        kinds=("application/json", "application/rss+xml", "text/csv", "text/html"),
    ),
    Operation(
        "get",
        "/api/search",
        "The same as /search with format=json",
        (
            _Q,
            Parameter("start", "how many results to pass over", _whole(0, FARTHEST, 0)),
            Parameter("count", "how many results to give", _whole(1, MOST, 10)),
            *_NARROW,
            Parameter("explain", "1 says what each score is made of", _whole(0, 1, 0)),
        ),
        answers={200: "results, best first", 503: "nothing to search, or busy"} | _ERRORS,
    ),
    Operation(
        "get",
        "/suggest",
        "Complete what somebody types, from titles and host names, in the form that browsers read",
        (Parameter("q", "what was typed so far", _text(LONGEST), True),),
        answers={200: "the words, completions, and their relevance", 429: _ERRORS[429]},
        kinds=("application/x-suggestions+json",),
    ),
    Operation(
        "get", "/api/statistics", "Say how much there is to search", answers={200: "pages, hosts, bytes, newest"}
    ),
    Operation(
        "post",
        "/api/publish",
        "Publish a page; it can be found within a second",
        body=_object(
            ("title", "content"),
            title=_text(1000),
            content=_text(1_000_000),
            url=_text(2048),
            description=_text(2000),
            author=_text(200),
            date=_text(40),
            tags={"type": "array", "items": _text(100), "maxItems": 50},
            language=_text(2),
        ),
        answers={201: "its id, URL and kept copy", 503: "the index is being built: come back"}
        | _ERRORS
        | _DENIED
        | _BODY,
        role="publish",
    ),
    Operation(
        "delete",
        "/api/publish/{id}",
        "Take a published page back",
        (Parameter("id", "16 hexadecimal digits", _text(16, pattern="^[0-9a-f]{16}$"), True, "path"),),
        answers={
            200: "forgotten",
            400: "no page has this id",
            404: "that is no id",
            429: _ERRORS[429],
            501: _BODY[501],
            503: "come back",
        }
        | _DENIED,
        role="publish",
    ),
    Operation(
        "post",
        "/api/submit",
        "Hand in a page or site to crawl",
        body=_object(("url",), url=_text(2048)),
        answers={202: "queued", 503: "the queue is full"} | _ERRORS | _DENIED | _BODY,
        role="submit",
    ),
    Operation(
        "post",
        "/api/visits",
        "Report pages that were visited, for the crawl to look at and to count",
        body=_object(("visits",), visits={"type": "array", "items": _SEEN, "maxItems": 5000}),
        answers={202: "how many were taken", 503: "the queue is full"} | _ERRORS | _DENIED | _BODY,
        role="report",
    ),
    Operation(
        "post",
        "/api/judge",
        "Say how well a page answers a query, from 0 (not at all) to 3 (perfectly), for ranking to learn from",
        body=_object(
            ("query", "url", "grade"),
            query=_text(2000, minLength=1),
            url=_text(4000, minLength=1),
            grade={"type": "integer", "minimum": 0, "maximum": 3},
        ),
        answers={204: "kept", 503: "there is no room for more"} | _ERRORS | _DENIED | _BODY,
        role="judge",
    ),
    Operation(
        "post",
        "/api/click",
        "Count a result that was opened, where serve.clicks is on; neither who nor from where is kept",
        body=_object(
            ("query", "url", "position"),
            query=_text(2000, minLength=1),
            url=_text(4000, minLength=1),
            position={"type": "integer", "minimum": 1, "maximum": 1000},
            shown={"type": "array", "items": _text(4000), "maxItems": 100},
        ),
        answers={204: "counted", 403: "not from our own pages", 503: "no room for more"} | _ERRORS | _BODY,
    ),
    Operation(
        "get",
        "/api/weather",
        "The weather at a place, by its name or rounded degrees, from the services of serve.weather and serve.places",
        (
            Parameter("place", "its name; then no degrees are needed", _text(80)),
            Parameter("latitude", "in degrees", {"type": "number", "minimum": -90, "maximum": 90}),
            Parameter("longitude", "in degrees", {"type": "number", "minimum": -180, "maximum": 180}),
        ),
        answers={
            200: "degrees, sky, wind, the place if it was named, and all of it in one line",
            404: "no place of that name is known",
            501: "no service was chosen",
            502: "it does not answer",
            503: "too many ask",
        }
        | _ERRORS,
    ),
    Operation(
        "get",
        "/api/crawl",
        "Say how the crawl is",
        answers={200: "its state and figures", 429: _ERRORS[429], 501: _BODY[501]} | _DENIED,
        role="crawl",
    ),
    Operation(
        "post",
        "/api/crawl/{word}",
        "Let the crawl start (with the seeds that are given, or where it was), pause, resume or stop",
        (
            Parameter(
                "word",
                "what it is told",
                {"type": "string", "enum": ["start", "pause", "resume", "stop"]},
                True,
                "path",
            ),
        ),
        body=_object((), seeds={"type": "array", "items": _text(2048), "maxItems": 1000}),
        answers={202: "told", 404: "no such word", 409: "no crawl is running, or one is already"}
        | _ERRORS
        | _DENIED
        | _BODY,
        role="crawl",
    ),
    Operation("get", "/healthz", "Say that the server is up", answers={200: "it is"}),
    Operation("get", "/readyz", "Say whether there is something to search", answers={200: "yes", 503: "not yet"}),
    Operation("get", "/metrics", "Figures for Prometheus", answers={200: "one on a line"}, kinds=("text/plain",)),
)


def document() -> dict[str, Any]:
    """Give the whole description."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Periplus",
            "version": __version__,
            "description": "Search, publish and look after a Periplus server. Errors are JSON with error and hint.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _object(("error", "hint"), error=_text(2000), hint=_text(2000), id=_text(8))},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    name = f"{operation.method}{operation.path.replace('/', '_').replace('{', '').replace('}', '').replace('.', '_')}"
    made: dict[str, Any] = {
        "operationId": name,
        "summary": operation.summary,
        "parameters": [
            {"name": p.name, "in": p.place, "description": p.meaning, "required": p.needed, "schema": p.schema}
            for p in operation.parameters
        ],
        "responses": {
            str(status): _response(status, what, operation.kinds) for status, what in operation.answers.items()
        },
    }
    if operation.body is not None:
        needed = bool(operation.body["required"])
        made["requestBody"] = {"required": needed, "content": {"application/json": {"schema": operation.body}}}
    if operation.role:
        made["security"] = [{"key": []}]
    return made


def _response(status: int, meaning: str, kinds: tuple[str, ...]) -> dict[str, Any]:
    if status >= 400:
        kinds = ("application/json", "text/html") if "text/html" in kinds else ("application/json",)
    return {"description": meaning, "content": {kind: {} for kind in kinds}}
