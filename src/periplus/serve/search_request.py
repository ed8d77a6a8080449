"""Parsing of search requests: URL parameters to a `Query`. Invalid values are corrected, or refused for programs."""

import functools
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, quote_plus

import msgspec

from periplus.errors import BadInput
from periplus.records import Query

__all__ = [
    "CATEGORIES",
    "FORMATS",
    "MAX_COUNT",
    "MAX_ENOUGH",
    "MAX_QUERY_LENGTH",
    "MAX_START",
    "OWN_RULES",
    "PAGE_SIZE",
    "TABS",
    "TIME_RANGES",
    "RequestLinks",
    "SearchRequest",
    "parse_api_request",
    "parse_page_request",
    "parse_parameters",
    "parse_passage_request",
    "request_url",
    "seems_expensive",
]

MAX_QUERY_LENGTH: Final = 2_000
"""Characters of a query; a longer one is truncated, and the page says so."""
MAX_START: Final = 10_000
_MAX_FIELD: Final = 100
MAX_COUNT: Final = 100
MAX_ENOUGH: Final = 1_000_000
PAGE_SIZE: Final = 10
"""Results on a page for people."""
FORMATS: Final = ("html", "json", "rss", "csv")
TIME_RANGES: Final = {"day": 1, "week": 7, "month": 31, "year": 366}
"""Values of `time_range`, in days."""
_DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
TABS: Final[dict[str, tuple[str, ...]]] = {
    "web": (),
    "media": (),
    "news": (),
    "documents": ("application/pdf", "application/epub+zip", _DOCX, "application/vnd.oasis.opendocument.text"),
    "services": ("application/json", "application/yaml", "application/wsdl+xml"),
}
"""Tabs, and the content types that each shows. Only service descriptions are indexed with the types of services."""
CATEGORIES: Final = {
    "general": "web",
    "images": "media",
    "videos": "media",
    "music": "media",
    "news": "news",
    "files": "documents",
    "it": "web",
    "science": "web",
    "map": "web",
    "social media": "web",
}
"""Categories of SearXNG, and the tab that answers each."""
_ANY_LANGUAGE: Final = frozenset({"all", "auto", "any"})
"""Values of `language` that exclude no page."""
_FEATURE_TABS: Final = frozenset({"media", "news"})
"""Tabs that select pages by what they contain, whatever their content type."""

_LONG_REQUEST: Final = 400
"""Bytes of a query string that hardly anybody types."""
_MARKS: Final = (b"*", b"%2A", b"%2a", b"..", b":", b"%3A", b"%3a", b"%22")
_MANY_MARKS: Final = 8
_DEEP: Final = re.compile(
    rb"(?:^|&)(?:start=\d{3}|page(?:no)?=\d{2}|explain=1(?:&.*)?&count=\d{3}|count=\d{3}.*&explain=1)"
)
"""Pages of results behind the first hundred, and explanations of a hundred."""
_UNPRINTABLE: Final = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff]+")
_LANGUAGE: Final = re.compile(r"[a-z]{2,8}")
_LOCALE: Final = re.compile(r"[a-z]{2}")
_SNAPSHOT: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SITE: Final = re.compile(r"[a-z0-9.\-]{1,253}")
_RULES: Final = re.compile(r"[0-9a-f]{32}(?:,[0-9a-f]{32}){0,3}")
OWN_RULES: Final = "own_rules"
"""The parameter that stands for the cookie of rules."""


class SearchRequest(msgspec.Struct, frozen=True):
    """One search request, parsed."""

    query: Query
    truncated: bool = False
    """Whether the query was too long."""
    explained: int = 0
    """The result, counted from 1, whose explanation is open; 0 for none."""
    format: str = "html"
    tab: str = "web"
    time_range: str = ""
    """A key of `TIME_RANGES`, or ''."""
    locale: str = ""
    """The interface language that was requested by `hl`, or ''."""
    rules: str = ""
    """The ids of rule sets that were requested by `rules`, separated by commas; '' for those of the browser."""


def parse_parameters(query_string: bytes) -> dict[str, str]:
    """Return the parameters of a query string; invalid UTF-8 is replaced, and the last of equal names counts."""
    text = query_string.decode("utf-8", "replace")
    return dict(parse_qsl(text, keep_blank_values=True, errors="replace"))


def seems_expensive(query_string: bytes) -> bool:
    """Return whether a request is for an expensive search by its length, operators and page, before it is parsed.

    Most are found expensive only once they are planned; this saves to plan those twice that nobody types.
    """
    if len(query_string) > _LONG_REQUEST or _DEEP.search(query_string):
        return True
    return sum(query_string.count(mark) for mark in _MARKS) > _MANY_MARKS


def parse_page_request(parameters: Mapping[str, str]) -> SearchRequest:
    """Parse a request of a person; invalid values are replaced by the nearest valid ones."""
    words, truncated = _clean_query(parameters.get("q", ""))
    page = _whole_number(parameters.get("page", "") or parameters.get("pageno", "")) or 1
    start = _whole_number(parameters.get("start", ""))
    start = min((page - 1) * PAGE_SIZE if start is None else start, MAX_START) // PAGE_SIZE * PAGE_SIZE
    explained = min(_whole_number(parameters.get("explain", "")) or 0, PAGE_SIZE)
    safe = min(_whole_number(parameters.get("safesearch", "")) or 0, 2)
    return _with_filters(parameters, Query(words, start, PAGE_SIZE, explained > 0, safe=safe), truncated, explained)


def parse_api_request(parameters: Mapping[str, str]) -> SearchRequest:
    """Parse a request of a program; raise `BadInput` for invalid values."""
    words, truncated = _clean_query(parameters.get("q", ""))
    if not words and not any(parameters.get(name, "").strip() for name in ("filter", "sort", "facets")):
        raise BadInput("The query is missing.", "Add q, for example /search?q=lighthouse&format=json.")
    name = "size" if "size" in parameters else "count"
    size = _bounded(name, parameters.get(name, str(PAGE_SIZE)), 1, MAX_COUNT)
    page_name = "page" if parameters.get("page") else "pageno"
    page = _bounded(page_name, parameters.get(page_name, "") or "1", 1, MAX_START // size + 1)
    start = _bounded("start", parameters.get("start", str((page - 1) * size)), 0, MAX_START)
    safe = _bounded("safesearch", parameters.get("safesearch", "") or "0", 0, 2)
    explain = _bounded("explain", parameters.get("explain", "0"), 0, 1) == 1
    _bounded("enough", parameters.get("enough", "") or "0", 0, MAX_ENOUGH)
    for name, value, choices in (
        ("time_range", parameters.get("time_range", ""), TIME_RANGES),
        ("tab", parameters.get("tab", ""), TABS),
    ):
        if value and value not in choices:
            raise BadInput(f"{name} is invalid.", f"Use one of {', '.join(choices)}.")
    if parameters.get("rules", "") and not _RULES.fullmatch(parameters["rules"]):
        raise BadInput("rules is invalid.", "Use the id of a rule set, 32 hexadecimal digits; several with commas.")
    return _with_filters(parameters, Query(words, start, size, explain, safe=safe), truncated, 0)


def parse_passage_request(parameters: Mapping[str, str], default: int, most: int) -> tuple[SearchRequest, int]:
    """Parse a request for passages; return it and the budget of tokens. Raise `BadInput` for invalid values."""
    tokens = _bounded("tokens", parameters.get("tokens", "") or str(default), 1, most)
    pages = _bounded("count", parameters.get("count", "") or "20", 1, MAX_COUNT)
    return parse_api_request({**parameters, "count": str(pages)}), tokens


def _with_filters(parameters: Mapping[str, str], query: Query, truncated: bool, explained: int) -> SearchRequest:
    """Add the filters; an invalid language or site is ignored."""
    language = re.split("[-_]", (parameters.get("lang", "") or parameters.get("language", "")).strip().lower())[0]
    site = parameters.get("site", "").strip().lower()
    time_range = parameters.get("time_range", "") if parameters.get("time_range", "") in TIME_RANGES else ""
    tab = parameters.get("tab", "") if parameters.get("tab", "") in TABS else _tab_of_categories(parameters)
    locale = parameters.get("hl", "").lower()
    rules = parameters.get("rules", "") if _RULES.fullmatch(parameters.get("rules", "")) else ""
    own_rules = rules or parameters.get(OWN_RULES, "")
    query = msgspec.structs.replace(
        query,
        language=language if _LANGUAGE.fullmatch(language) and language not in _ANY_LANGUAGE else "",
        site=site if _SITE.fullmatch(site) else "",
        days=TIME_RANGES.get(time_range, 0),
        kinds=TABS[tab],
        having=tab if tab in _FEATURE_TABS else "",
        folded=parameters.get("similar", "") != "1",
        verbatim=parameters.get("verbatim", "") == "1",
        rules=tuple(own_rules.split(",")) if _RULES.fullmatch(own_rules) else (),
        snapshot=_snapshot(parameters),
        as_you_type=parameters.get("as_you_type", "") == "1" and not parameters.get("q", "")[-1:].isspace(),
        filter=parameters.get("filter", "")[:MAX_QUERY_LENGTH].strip(),
        sort=parameters.get("sort", "")[:_MAX_FIELD].strip(),
        facets=tuple(name for name in parameters.get("facets", "")[:MAX_QUERY_LENGTH].split(",") if name.strip()),
        every_word=parameters.get("match", "") == "all",
        enough=-1 if (enough := _whole_number(parameters.get("enough", ""))) is None else min(enough, MAX_ENOUGH),
    )
    format_name = parameters.get("format", "").lower()
    return SearchRequest(
        query,
        truncated,
        explained,
        format_name if format_name in FORMATS else "html",
        tab,
        time_range,
        locale if _LOCALE.fullmatch(locale) else "",
        rules,
    )


def _snapshot(parameters: Mapping[str, str]) -> str:
    """Return the snapshot that a request names, or '@' and a date; raise `BadInput` if it is invalid."""
    name, date = parameters.get("snapshot", ""), parameters.get("as_of", "")
    if name and date:
        raise BadInput("snapshot and as_of exclude each other.", "Use one of them.")
    if name and not _SNAPSHOT.fullmatch(name):
        raise BadInput("snapshot is invalid.", "It is a name that periplus snapshot list shows.")
    if date and not _DATE.fullmatch(date):
        raise BadInput("as_of is invalid.", "Use a date such as 2026-05-01.")
    return f"@{date}" if date else name


def _tab_of_categories(parameters: Mapping[str, str]) -> str:
    """Return the tab for categories as SearXNG's clients name them, in one parameter or in one for each."""
    names = parameters.get("categories", "") or parameters.get("category", "")
    chosen = [name.strip().lower() for name in names.split(",", len(CATEGORIES))]
    chosen += [name for name in CATEGORIES if parameters.get(f"category_{name}", "off") != "off"]
    tabs = {CATEGORIES[name] for name in chosen if name in CATEGORIES}
    return tabs.pop() if len(tabs) == 1 else "web"


_NAMES: Final = (
    "q",
    "start",
    "explain",
    "lang",
    "site",
    "time_range",
    "safesearch",
    "tab",
    "similar",
    "verbatim",
    "hl",
    "rules",
    "snapshot",
    "as_of",
    "enough",
)


def request_url(request: SearchRequest, **changes: str | int) -> str:
    """Return the URL of the same request with some parameters changed; '' or 0 removes one."""
    query = request.query
    values: tuple[str | int, ...] = (
        query.words,
        query.start,
        0,
        query.language,
        query.site,
        request.time_range,
        query.safe,
        "" if request.tab == "web" else request.tab,
        "" if query.folded else 1,
        1 if query.verbatim else "",
        request.locale,
        request.rules,
        "" if query.snapshot.startswith("@") else query.snapshot,
        query.snapshot[1:] if query.snapshot.startswith("@") else "",
        "" if query.enough < 0 else str(query.enough),
    )
    parameters = dict(zip(_NAMES, values, strict=True)) | changes
    return "/search?" + "&".join([f"{name}={_quoted(value)}" for name, value in parameters.items() if value])


class RequestLinks:
    """URLs of one request, which has words, with other words or another page; `request_url` makes each from scratch."""

    def __init__(self, request: SearchRequest) -> None:
        self._request = request
        self.head = _words_url(request.query.words)
        """The URL up to the number of results that are skipped."""
        self.rest = request_url(request, start=0).removeprefix(self.head)
        """The URL from there on."""

    def page(self, start: int) -> str:
        """Return the URL of the results after so many."""
        return f"{self.head}&start={start}{self.rest}" if start else self.head + self.rest

    def explain(self, number: str) -> str:
        """Return the URL of these results, with one of them explained; what stands for its number is not quoted."""
        start = self._request.query.start
        return f"{self.head}{f'&start={start}' if start else ''}&explain={number}{self.rest}"

    def words(self, text: str) -> str:
        """Return the URL of the first results for other words."""
        return _words_url(text) + self.rest if text else request_url(self._request, q="", start=0)


def _words_url(words: str) -> str:
    return f"/search?q={_quoted(words)}"


@functools.lru_cache(4096)
def _quoted(value: str | int) -> str:
    """Quote a value for a query string; a result page has dozens of links that differ in one number."""
    return str(value) if isinstance(value, int) else quote_plus(value, errors="replace")


def _clean_query(text: str) -> tuple[str, bool]:
    clean = _UNPRINTABLE.sub(" ", text).strip()
    return clean[:MAX_QUERY_LENGTH].rstrip(), len(clean) > MAX_QUERY_LENGTH


def _whole_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _bounded(name: str, text: str, minimum: int, maximum: int) -> int:
    value = _whole_number(text)
    if value is None or not minimum <= value <= maximum:
        raise BadInput(f"{name} is invalid.", f"Use a whole number from {minimum} to {maximum}.")
    return value
