"""The part of the route table for operators: the API, and the pages that call the same functions."""

from typing import Final

from periplus.serve.api_keys import ROLES
from periplus.serve.route_records import INVALID, TOO_MANY, Access, Parameter, Route, integer, object_schema, text

__all__ = ["ADMIN_ROUTES"]

_UNAVAILABLE: Final = {501: "not available on this server"}
_UNAUTHORIZED: Final = {401: "no key, or an unknown one", 403: "the role of the key does not allow this"}
_COMMON: Final = TOO_MANY | _UNAUTHORIZED | _UNAVAILABLE
_BODY: Final = {413: "the body is too long", 415: "the body is not JSON"} | INVALID
_HTML: Final = ("text/html",)
_TAG: Final = ("administration",)
_CRAWL: Final = ("crawl",)
_HOST: Final = Parameter("host", "a host or domain, such as example.com", text(253, minLength=1), True, "path")
_JOB: Final = Parameter("job", "the job", {"type": "string", "enum": ["recrawl", "build"]}, True, "path")
_NAME: Final = Parameter("name", "the name of the key", text(100, minLength=1), True, "path")


def _count(most: int, default: int) -> Parameter:
    return Parameter("count", "how many at most", integer(1, most, default))


_API: Final = (
    Route(
        "GET",
        "/api/health",
        "operations.health",
        "Return the state of crawl, index, disk and background parts, and what to do next",
        _TAG,
        "admin",
        responses={200: "the findings, what does not work first"} | _COMMON,
    ),
    Route(
        "GET",
        "/api/changes",
        "operations.changes",
        "Return the log of changes: when, who, what",
        _TAG,
        "admin",
        parameters=(_count(1_000, 100),),
        responses={200: "the latest changes, newest first"} | INVALID | _COMMON,
    ),
    Route(
        "GET",
        "/api/keys",
        "operations.keys",
        "Return the API keys, without their secrets",
        _TAG,
        "admin",
        responses={200: "name, role, time of creation and collections of each"} | _COMMON,
    ),
    Route(
        "POST",
        "/api/keys",
        "operations.add_key",
        "Create an API key, limited to collections if any are named; only the response has its secret",
        _TAG,
        "admin",
        body=object_schema(
            ("name", "role"),
            name=text(100, minLength=1),
            role={"type": "string", "enum": list(ROLES)},
            collections={"type": "array", "items": text(65), "maxItems": 100},
        ),
        responses={201: "the key"} | _BODY | _COMMON,
    ),
    Route(
        "DELETE",
        "/api/keys/{name}",
        "operations.remove_key",
        "Revoke an API key, and end its sessions",
        _TAG,
        "admin",
        parameters=(_NAME,),
        responses={200: "revoked", 400: "there is none, or it is the last with the role admin"} | _COMMON,
    ),
    Route(
        "GET",
        "/api/schedule",
        "operations.schedule",
        "Return the scheduled jobs, when they are due, and how they went",
        _TAG,
        "admin",
        responses={200: "the jobs"} | _COMMON,
    ),
    Route(
        "PUT",
        "/api/schedule/{job}",
        "operations.set_schedule",
        "Set how often pages are crawled again, or the index is built, while the server runs",
        _TAG,
        "admin",
        parameters=(_JOB,),
        body=object_schema(
            ("every_hours",),
            every_hours={"type": "number", "minimum": 0, "maximum": 8_760},
            minutes={"type": "number", "minimum": 0, "maximum": 10_080, "default": 0},
        ),
        responses={200: "set"} | _BODY | _COMMON,
    ),
    Route(
        "POST",
        "/api/schedule/{job}",
        "operations.request_job",
        "Have a job done at once",
        _TAG,
        "admin",
        parameters=(_JOB,),
        responses={202: "accepted"} | INVALID | _COMMON,
    ),
    Route(
        "GET",
        "/api/sinks",
        "operations.sinks",
        "Return what this server exchanges with other sites, by site and sink",
        _TAG,
        "admin",
        responses={200: "the sites; none if this server is no site"} | _COMMON,
    ),
    Route(
        "GET",
        "/api/crawl/hosts",
        "operations.hosts",
        "Return the hosts of the crawl whose names contain a text, those with most URLs first",
        _CRAWL,
        "crawl",
        parameters=(Parameter("q", "a part of the name", text(253)), _count(500, 50)),
        responses={200: "the hosts, as of the last snapshot of the crawl"} | INVALID | _COMMON,
    ),
    Route(
        "GET",
        "/api/crawl/failures",
        "operations.failures",
        "Return a few requests that failed lately, by outcome",
        _CRAWL,
        "crawl",
        responses={200: "the examples"} | _COMMON,
    ),
    Route(
        "GET",
        "/api/blocked-hosts",
        "operations.blocked",
        "Return the hosts that the crawl leaves alone",
        _CRAWL,
        "crawl",
        responses={200: "the hosts"} | _COMMON,
    ),
    Route(
        "PUT",
        "/api/blocked-hosts/{host}",
        "operations.block",
        "Have the crawl leave a host and its subdomains alone, from now on; its URLs are kept",
        _CRAWL,
        "crawl",
        parameters=(_HOST,),
        responses={200: "blocked"} | INVALID | _COMMON,
    ),
    Route(
        "DELETE",
        "/api/blocked-hosts/{host}",
        "operations.unblock",
        "Let the crawl fetch a host again",
        _CRAWL,
        "crawl",
        parameters=(_HOST,),
        responses={200: "allowed", 404: "it is not blocked"} | _COMMON,
    ),
)


def _page(path: str, handler: str) -> Route:
    return Route("GET", path, handler, "", (), "admin", Access.LOGIN_PAGE, media_types=_HTML)


def _form(path: str, handler: str) -> Route:
    return Route("POST", path, handler, "", (), "admin", Access.SESSION, media_types=_HTML)


_PAGES: Final = (
    _page("/admin", "admin.page"),
    _page("/admin/ranking", "admin.ranking"),
    _page("/admin/hosts", "sections.hosts"),
    _page("/admin/access", "sections.access"),
    _page("/admin/collections", "sections.collections"),
    _page("/admin/schedule", "sections.schedule"),
    _page("/admin/changes", "sections.changes"),
    _page("/admin/health", "sections.health"),
    _form("/admin/hosts", "sections.change_hosts"),
    _form("/admin/access", "sections.change_access"),
    _form("/admin/collections", "sections.change_collections"),
    _form("/admin/schedule", "sections.change_schedule"),
    Route("POST", "/admin/login", "admin.login", media_types=_HTML),
    _form("/admin/logout", "admin.logout"),
    _form("/admin/crawl", "admin.crawl"),
    Route("GET", "/admin/live", "admin.live", "", (), "admin", Access.SESSION, media_types=("text/event-stream",)),
)

ADMIN_ROUTES: Final = (*_API, *(route._replace(metric="/admin") for route in _PAGES))
