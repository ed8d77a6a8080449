"""Answers to searches as finished bytes: made whole in one thread, from the query string to what goes over the wire."""

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from periplus.errors import NothingHere, Overloaded
from periplus.records import Query, ResultPage
from periplus.serve.api.result_formats import as_csv, as_json, as_rss
from periplus.serve.instant.instant_answers import instant_answer
from periplus.serve.instant.weather import WeatherAsked, ask_weather
from periplus.serve.pages.hit_html import write_results
from periplus.serve.pages.locales import Tongue, pick_tongue
from periplus.serve.pages.media_tab import MEDIA_POLICY, write_media
from periplus.serve.pages.page_links import page_numbers, without_one
from periplus.serve.pages.page_templates import Pages
from periplus.serve.pages.trending_pages import Trend
from periplus.serve.protocols import SearcherLike
from periplus.serve.request_bodies import encode_json
from periplus.serve.search_request import (
    FARTHEST,
    FORMATS,
    PAGE,
    TABS,
    Asked,
    address_of,
    ask_page,
    ask_program,
    parameters,
)

__all__ = ["PATHS", "About", "Asking", "Made", "Results", "form_of"]

PATHS: Final = frozenset({"/search", "/api/search", "/suggest"})
"""What is answered here: the same for everybody, and so kept."""
_TYPES: Final = {"application/json": "json", "application/rss+xml": "rss", "text/csv": "csv", "text/html": "html"}
_TOO_MANY_HIDDEN: Final = 0.2
"""Share of results left out by safe search beyond which the page says so."""
_SUGGESTIONS: Final = 8
_LONGEST_TYPED: Final = 200


class Asking(NamedTuple):
    """All of a request that its answer depends on; it is also the name under which the answer is kept."""

    path: str
    query: bytes
    form: str
    """What the Accept header would like."""
    tongue: str
    """What the Accept-Language header would like."""
    base: str
    """Scheme and host as the client wrote them, for addresses in feeds."""


class Made(NamedTuple):
    """An answer."""

    body: bytes
    kind: str
    """Its content type."""
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


class About(NamedTuple):
    """What a page of results has beside results."""

    trending: Callable[[], Sequence[Trend]] = tuple
    clicks: bool = False
    """Whether the page tells which result was opened."""
    weather: tuple[bool, bool] = (False, False)
    """Whether it can ask for the weather, and for places by name."""


class Results:
    """Makes answers. Called from several threads."""

    def __init__(self, searcher: SearcherLike, pages: Pages, busy: Callable[[], bool], about: About) -> None:
        self._searcher = searcher
        self._pages = pages
        self._busy = busy
        self._about = about

    def make(self, asking: Asking) -> Made:
        """Answer a search; raise `BadInput` for what makes no sense to a program, `NothingHere` before the first."""
        given = parameters(asking.query)
        if asking.path == "/suggest":
            return self._suggest(given.get("q", "")[:_LONGEST_TYPED])
        if asking.path == "/api/search":
            return self._for_program(ask_program(given), "json", asking.base)
        form = given.get("format", "").lower() or asking.form
        if form in FORMATS and form != "html":
            return self._for_program(ask_program(given), form, asking.base)
        return self._page(ask_page(given), pick_tongue(given, asking.tongue))

    def _suggest(self, words: str) -> Made:
        """Complete what somebody types, in the form that browsers read."""
        found = self._searcher.suggest(words, _SUGGESTIONS)
        relevance = {"google:suggestrelevance": [round(1000 * worth) for _, worth in found]}
        body = [words, [text for text, _ in found], [], [], relevance]
        return Made(encode_json(body), "application/x-suggestions+json")

    def _for_program(self, asked: Asked, form: str, base: str) -> Made:
        found = self._searcher.search(asked.query)
        if not found.documents:
            raise NothingHere("Nothing is indexed yet.")
        if form == "csv":
            headers = ((b"content-disposition", b'attachment; filename="results.csv"'),)
            return Made(as_csv(found).encode("utf-8", "replace"), "text/csv; charset=utf-8", 200, headers)
        if form == "rss":
            return Made(as_rss(found, asked, base).encode("utf-8", "replace"), "application/rss+xml")
        answer = instant_answer(asked.query.words)
        return Made(encode_json(as_json(found, asked, [answer.text] if answer else [])), "application/json")

    def _page(self, asked: Asked, tongue: Tongue) -> Made:
        if not asked.query.words:
            return Made(b"", "text/html; charset=utf-8", 303, ((b"location", b"/"),))
        found = self._searcher.search(asked.query)
        if not found.documents:
            return Made(self._pages.text("first_run.html", tongue), "text/html; charset=utf-8", 200)
        lost = not found.hits and not asked.query.start
        body = self._results(found, asked, tongue, self._shorter(asked) if lost else [])
        headers = ((b"content-security-policy", MEDIA_POLICY),) if asked.tab == "media" else ()
        return Made(body, "text/html; charset=utf-8", 200, headers)

    def _shorter(self, asked: Asked) -> list[tuple[str, str]]:
        """List the words without which something is found, each with the address of the query without it."""
        useful: list[tuple[str, str]] = []
        with contextlib.suppress(Overloaded):
            for word, rest in without_one(asked.query):
                if self._busy():  # a busy server has better things to do
                    break
                if self._searcher.search(rest).hits:
                    useful.append((word, address_of(asked, q=rest.words)))
        return useful

    def _weather(self, query: Query) -> WeatherAsked | None:
        offered, places = self._about.weather
        return ask_weather(query.words, places) if offered and not query.start else None

    def _results(self, found: ResultPage, asked: Asked, tongue: Tongue, shorter: list[tuple[str, str]]) -> bytes:
        query, facts = asked.query, self._searcher.statistics()
        return self._pages.text(
            "results.html",
            tongue,
            asked=asked,
            query=query,
            found=found,
            numbers=page_numbers(query, found.total, len(found.hits), FARTHEST),
            current=query.start // PAGE + 1,
            per_page=PAGE,
            results=_write(found, asked, tongue),
            shorter=shorter,
            answer=instant_answer(query.words) if not query.start else None,
            tabs=[tab for tab, kinds in TABS.items() if tab in ("web", asked.tab) or facts.kinds & {tab, *kinds}],
            languages=list(dict.fromkeys((*facts.languages, *filter(None, (query.language,))))),
            clicks=self._about.clicks,
            trending=self._about.trending() if not query.start else (),
            weather=self._weather(query),
            much_hidden=found.hidden > _TOO_MANY_HIDDEN * max(1, found.examined),
        )


def _write(found: ResultPage, asked: Asked, tongue: Tongue) -> str:
    if asked.tab == "media":
        return write_media(found.hits, asked.query.words, tongue)
    return write_results(found.hits, asked, tongue, time.time())


@functools.lru_cache(1024)
def form_of(accepted: str) -> str:
    """Give the first type of an Accept header that we have; a page when there is none."""
    for part in accepted.split(",")[:20]:
        form = _TYPES.get(part.partition(";")[0].strip().lower())
        if form:
            return form
    return "html"
