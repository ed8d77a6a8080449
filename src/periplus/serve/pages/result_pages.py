"""Responses to searches: rendered completely in one thread, from the query string to the bytes of the body."""

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from periplus.errors import Overloaded
from periplus.records import Query, ResultPage, SearchLimits
from periplus.serve.api.result_formats import EMPTY_NOTE, as_csv, as_json, as_rss
from periplus.serve.instant.instant_answers import instant_answer
from periplus.serve.instant.weather import WeatherQuery, parse_weather_query
from periplus.serve.middleware.slow_query_log import SlowQueryLog
from periplus.serve.pages.locales import Locale, choose_locale
from periplus.serve.pages.media_tab import HasThumbnail, thumbnail_link, write_media
from periplus.serve.pages.page_links import page_numbers, queries_without_one_word
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.pages.related_queries import related_queries
from periplus.serve.pages.trending_pages import TrendingPage
from periplus.serve.protocols import SearcherLike
from periplus.serve.request_bodies import encode_json
from periplus.serve.result_html.hit_html import write_results
from periplus.serve.result_html.result_page import ResultPageWriter
from periplus.serve.result_html.result_parts import ResultView
from periplus.serve.search_request import (
    FORMATS,
    MAX_START,
    TABS,
    RequestLinks,
    SearchRequest,
    parse_api_request,
    parse_page_request,
    parse_parameters,
    request_url,
)

__all__ = ["CacheKey", "PageExtras", "RenderedPage", "ResultRenderer", "preferred_format"]

_FORMAT_BY_TYPE: Final = {
    "application/json": "json",
    "application/rss+xml": "rss",
    "text/csv": "csv",
    "text/html": "html",
}
_HTML: Final = "text/html; charset=utf-8"
_DAY: Final = 86_400
_MANY_HIDDEN: Final = 0.2
"""Share of results hidden by safe search above which the page says so."""
_SUGGESTIONS: Final = 8
_MAX_PREFIX_LENGTH: Final = 200


class CacheKey(NamedTuple):
    """Everything in a request that its response depends on."""

    path: str
    query: bytes
    format: str
    """Preferred by the Accept header; for completions, 'list' or ''."""
    locale: str
    """Preferred by the Accept-Language header."""
    base: str
    """Scheme and host as sent by the client, for URLs in feeds."""


class RenderedPage(NamedTuple):
    """A response to a search."""

    body: bytes
    media_type: str
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()
    cacheable: bool = True
    """False for an answer that is incomplete because its time ran out: the next one may be complete."""


class PageExtras(NamedTuple):
    """What a result page shows besides results."""

    trending: Callable[[], Sequence[TrendingPage]] = tuple
    clicks: bool = False
    """Whether the page reports which result was opened."""
    weather: tuple[bool, bool] = (False, False)
    """Whether there is a service for the weather, and one for names of places."""
    has_thumbnail: HasThumbnail = lambda _: False
    """Whether there is a thumbnail of an image, by its URL."""


class ResultRenderer:
    """Renders responses to searches. Called from several threads."""

    def __init__(
        self,
        searcher: SearcherLike,
        renderer: PageRenderer,
        is_busy: Callable[[], bool],
        extras: PageExtras,
        slow_queries: SlowQueryLog,
    ) -> None:
        self._searcher = searcher
        self._renderer = renderer
        self._writer = ResultPageWriter(renderer)
        self._is_busy = is_busy
        self._extras = extras
        self._slow_queries = slow_queries

    def render(self, key: CacheKey, limits: SearchLimits | None = None) -> RenderedPage:
        """Render a response; raise `BadInput` for a program's invalid request, `NothingHere` if the index is empty.

        limits: of its search; raise `ExpensiveQuery` for one that is estimated to cost more.
        """
        parameters, limits = parse_parameters(key.query), limits or SearchLimits()
        if key.path == "/autocompleter":
            return self._autocomplete(parameters.get("q", "")[:_MAX_PREFIX_LENGTH], key.format == "list")
        if key.path == "/suggest":
            return self._suggest(parameters.get("q", "")[:_MAX_PREFIX_LENGTH])
        if key.path == "/api/search":
            return self._for_program(parse_api_request(parameters), "json", key.base, limits)
        format_name = parameters.get("format", "").lower() or key.format
        if format_name in FORMATS and format_name != "html":
            return self._for_program(parse_api_request(parameters), format_name, key.base, limits)
        return self._page(parse_page_request(parameters), choose_locale(parameters, key.locale), limits)

    def _suggest(self, prefix: str) -> RenderedPage:
        """Complete a query, in the format of OpenSearch suggestions."""
        completions = self._searcher.suggest(prefix, _SUGGESTIONS)
        relevance = {"google:suggestrelevance": [round(1000 * score) for _, score in completions]}
        body = [prefix, [text for text, _ in completions], [], [], relevance]
        return RenderedPage(encode_json(body), "application/x-suggestions+json")

    def _autocomplete(self, prefix: str, as_list: bool) -> RenderedPage:
        """Complete a query as SearXNG does: a list for the scripts of a page, OpenSearch suggestions for browsers."""
        completions = [text for text, _ in self._searcher.suggest(prefix, _SUGGESTIONS)]
        vary = ((b"vary", b"x-requested-with, accept-encoding"),)
        if as_list:
            return RenderedPage(encode_json(completions), "application/json", headers=vary)
        return RenderedPage(encode_json([prefix, completions]), "application/x-suggestions+json", headers=vary)

    def _search(self, query: Query, limits: SearchLimits) -> ResultPage:
        page = self._searcher.search(query, limits)
        self._slow_queries.add(page)
        return page

    def _for_program(self, request: SearchRequest, format_name: str, base: str, limits: SearchLimits) -> RenderedPage:
        page = self._search(request.query, limits)
        if not page.documents:
            page = msgspec.structs.replace(page, notes=(*page.notes, EMPTY_NOTE))
        cacheable = not page.partial and page.documents > 0
        if format_name == "csv":
            body, kind = as_csv(page).encode("utf-8", "replace"), "text/csv; charset=utf-8"
            headers = ((b"content-disposition", b'attachment; filename="results.csv"'),)
            return RenderedPage(body, kind, 200, headers, cacheable)
        if format_name == "rss":
            body, kind = as_rss(page, request, base).encode("utf-8", "replace"), "application/rss+xml"
        else:
            answer = instant_answer(request.query.words)
            body, kind = encode_json(as_json(page, request, [answer.text] if answer else [])), "application/json"
        return RenderedPage(body, kind, cacheable=cacheable)

    def _page(self, request: SearchRequest, locale: Locale, limits: SearchLimits) -> RenderedPage:
        if not request.query.words:
            return RenderedPage(b"", _HTML, 303, ((b"location", b"/"),))
        end = time.monotonic() + limits.seconds
        page = self._search(request.query, limits)
        if not page.documents:
            return RenderedPage(self._renderer.render("first_run.html", locale), _HTML, 200)
        no_results = not page.hits and not page.partial and not request.query.start
        shorter = self._shorter_queries(request, limits, end) if no_results else []
        body = self._results(page, request, locale, shorter)
        return RenderedPage(body, _HTML, 200, cacheable=not page.partial)

    def _shorter_queries(self, request: SearchRequest, limits: SearchLimits, end: float) -> list[tuple[str, str]]:
        """Return the words without which there are results, each with the URL of the query without it.

        end: when the time of the request is up (monotonic).
        """
        shorter: list[tuple[str, str]] = []
        with contextlib.suppress(Overloaded):
            for word, query in queries_without_one_word(request.query):
                left = end - time.monotonic()
                if left <= 0 or self._is_busy():  # other searches are more important
                    break
                if self._search(query, SearchLimits(left, limits.cost)).hits:
                    shorter.append((word, request_url(request, q=query.words)))
        return shorter

    def _weather(self, query: Query) -> WeatherQuery | None:
        available, by_name = self._extras.weather
        return parse_weather_query(query.words, by_name) if available and not query.start else None

    def _card_image(self, page: ResultPage) -> str:
        """Return the link of the thumbnail for the card, or ''."""
        image = page.card.image if page.card is not None else ""
        return thumbnail_link(image) if image and self._extras.has_thumbnail(image) else ""

    def _related(self, page: ResultPage, request: SearchRequest) -> list[tuple[str, str]]:
        """Return related searches, each with its URL, below the first page of results if there is time for them."""
        if not page.hits or request.query.start or request.tab != "web" or self._is_busy():
            return []
        words = page.showing_for or request.query.words
        related = related_queries(self._searcher, words, page.hits, page.corrections[:2])
        links = RequestLinks(request)
        return [(text, links.words(text)) for text in related]

    def _results(
        self, page: ResultPage, request: SearchRequest, locale: Locale, shorter: list[tuple[str, str]]
    ) -> bytes:
        query, statistics = request.query, self._searcher.statistics()
        if page.showing_for:  # Links lead to more results of the correction.
            corrected = msgspec.structs.replace(query, words=page.showing_for)
            request = msgspec.structs.replace(request, query=corrected)
        view = ResultView(
            page,
            request,
            query,
            _write_hits(page, request, locale, self._extras.has_thumbnail),
            page_numbers(query, page.total, len(page.hits), MAX_START),
            [tab for tab, kinds in TABS.items() if tab in ("web", request.tab) or statistics.kinds & {tab, *kinds}],
            tuple(dict.fromkeys((*statistics.languages, *filter(None, (query.language,))))),
            shorter,
            self._related(page, request),
            self._extras.trending() if not query.start else (),
            instant_answer(query.words) if not query.start else None,
            self._weather(query),
            self._card_image(page),
            self._extras.clicks,
            page.hidden > _MANY_HIDDEN * max(1, page.examined),
        )
        return self._writer.write(view, locale)


def _write_hits(page: ResultPage, request: SearchRequest, locale: Locale, has_thumbnail: HasThumbnail) -> str:
    if request.tab == "media":
        return write_media(page.hits, request.query.words, locale, has_thumbnail)
    now = page.query.today * _DAY if page.query.today else time.time()
    return write_results(page.hits, request, locale, now, has_thumbnail)


@functools.lru_cache(1024)
def preferred_format(accept: str) -> str:
    """Return the format of the first media type in an Accept header that is available; 'html' if none is."""
    for part in accept.split(",")[:20]:
        format_name = _FORMAT_BY_TYPE.get(part.partition(";")[0].strip().lower())
        if format_name:
            return format_name
    return "html"
