"""What varies in a result page beside the results: each part as escaped HTML, by the name of its slot in the frame.

What many pages have is written here, and what few have by small templates. `tests/naive/results.html` is the same page
as one template.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from periplus.records import Query, ResultPage
from periplus.serve.instant.instant_answers import InstantAnswer
from periplus.serve.instant.weather import WeatherQuery
from periplus.serve.pages.locales import Locale
from periplus.serve.pages.trending_pages import TrendingPage
from periplus.serve.result_html.escaping import escape_text, truncate
from periplus.serve.result_html.page_numbers import write_page_numbers
from periplus.serve.search_request import RequestLinks, SearchRequest, request_url

__all__ = ["ResultParts", "ResultView"]

_TITLE: Final = 60
_LONGEST: Final = 200
"""Characters of a query that are shown in a sentence."""
_TABS: Final = {"web": "Web", "media": "Media", "news": "News", "documents": "Documents", "services": "Services"}
_SUGGESTED: Final = 2
"""Corrections that are offered above results."""


class ResultView(NamedTuple):
    """What a result page shows."""

    page: ResultPage
    request: SearchRequest
    """That of the links: with the words of the correction if there is one."""
    query: Query
    results: str
    """The items of the list, as HTML."""
    numbers: Sequence[int]
    """Of the pages that are linked."""
    tabs: Sequence[str]
    languages: tuple[str, ...]
    shorter: Sequence[tuple[str, str]] = ()
    related: Sequence[tuple[str, str]] = ()
    trending: Sequence[TrendingPage] = ()
    answer: InstantAnswer | None = None
    weather: WeatherQuery | None = None
    card_image: str = ""
    clicks: bool = False
    many_hidden: bool = False


class ResultParts:
    """Writes the parts of result pages. Called from several threads."""

    def __init__(self, render_part: Callable[..., str]) -> None:
        """Write with a function that renders a small template: its name, a locale and variables."""
        self._render = render_part
        self._choices = functools.lru_cache(256)(self._write_choices)
        self._text = functools.lru_cache(1024)(_translate)

    def write(self, view: ResultView, locale: Locale) -> dict[str, str]:
        """Return the parts of a page by the names of their slots."""
        query, request, page = view.query, view.request, view.page
        links = RequestLinks(request)
        heading = locale.translate("Results for {words}", words=truncate(page.showing_for or query.words, _LONGEST))
        searched = locale.translate("{pages} searched", pages=locale.count(page.documents, "page"))
        return {
            "title": escape_text(truncate(query.words, _TITLE)),
            "words": escape_text(query.words),
            "locale": request.locale,
            "snapshot": escape_text(query.snapshot.removeprefix("@")),
            "feed": escape_text(f"{links.page(0)}&format=rss"),
            "heading": escape_text(heading),
            "tabs": self._tabs(view, locale) if len(view.tabs) > 1 else "",
            "hidden": _hidden_fields(request, query),
            "choices": self._choices(locale, request.time_range, view.languages, query.language, query.safe),
            "above": self._above(view, locale, links),
            "results": self._results(view, locale, links),
            "searched": escape_text(searched),
        }

    def _write_choices(
        self, locale: Locale, time_range: str, languages: tuple[str, ...], language: str, safe: int
    ) -> str:
        request = SearchRequest(Query("", language=language, safe=safe), time_range=time_range)
        return self._render("filter_choices.html", locale, request=request, languages=languages)

    def _tabs(self, view: ResultView, locale: Locale) -> str:
        links = [
            f'<a href="{escape_text(request_url(view.request, start=0, tab="" if tab == "web" else tab))}"'
            f"{_CURRENT if tab == view.request.tab else ''}>{self._text(locale, _TABS[tab])}</a>"
            for tab in view.tabs
        ]
        return f'<nav class="tabs" aria-label="{self._text(locale, "Types of results")}">{"".join(links)}</nav>'

    def _above(self, view: ResultView, locale: Locale, links: RequestLinks) -> str:
        """Return what stands above the results: answers, their number, corrections and notes."""
        page, query, parts = view.page, view.query, list[str]()
        if page.card is not None:
            parts.append(self._render("result_card.html", locale, card=page.card, card_image=view.card_image))
        if view.answer is not None:
            parts.append(f'<p class="answer" role="status"><span>{escape_text(view.answer.text)}</span></p>')
        if view.weather is not None:
            parts.append(self._render("weather_box.html", locale, request=view.request, weather=view.weather))
        parts.append(self._count(page, locale))
        if page.sites:
            parts.append(self._render("result_sites.html", locale, page=page))
        if page.showing_for or (page.hits and page.corrections):
            parts.append(self._corrections(view, locale, links))
        limited = query.site or view.request.truncated or not query.folded or page.unsearched
        if limited or (view.many_hidden and page.hits):
            parts.append(self._render("result_filters.html", locale, **view._asdict()))
        if page.notes:
            notes = [f'<p class="note">{escape_text(locale.translate_note(note))}</p>' for note in page.notes]
            parts.append(f'<div class="notices" role="status">{"".join(notes)}</div>')
        return "".join(parts)

    def _count(self, page: ResultPage, locale: Locale) -> str:
        """Return how many results there are, how long it took, and what is missing."""
        missing = _missing_shards(page, locale)
        if not page.hits:
            return f'<p class="count warning" role="status">{missing}</p>\n' if missing else ""
        exact = page.exact and not page.unsearched
        count = locale.count(page.total, "result") if exact else locale.estimate(page.total, "result")
        sentence = "{results} in {time}" if exact else "About {results} in {time}"
        sentence = "At least {results} in {time}" if page.unsearched else sentence
        text = escape_text(locale.translate(sentence, results=count, time=locale.duration(page.seconds)))
        warning = missing
        if page.partial and not missing:
            warning = self._text(locale, "there may be more: the search ran out of time")
        warned = f' · <span class="warning">{warning}</span>' if warning else ""
        return f'<p class="count" role="status">{text}{warned}</p>\n'

    def _corrections(self, view: ResultView, locale: Locale, links: RequestLinks) -> str:
        page, words = view.page, view.query.words
        if page.showing_for:
            as_typed = request_url(view.request, q=words, start=0, verbatim=1)
            return (
                f'<p class="note corrected" role="status">{self._text(locale, "Showing results for")} '
                f'<a href="{escape_text(links.page(0))}" dir="auto">{_shown(page.showing_for)}</a>. '
                f'{self._text(locale, "Search instead for")} <a href="{escape_text(as_typed)}" dir="auto">'
                f"{_shown(words)}</a></p>\n"
            )
        offered = [
            f' <a href="{escape_text(links.words(text))}">{_shown(text)}</a>' for text in page.corrections[:_SUGGESTED]
        ]
        return f'<p class="note">{self._text(locale, "Did you mean:")}{",".join(offered)}</p>'

    def _results(self, view: ResultView, locale: Locale, links: RequestLinks) -> str:
        """Return the list of results, or why there are none, and what follows it."""
        related = self._related(view, locale) if view.related else ""
        trending = self._render("trending.html", locale, trending=view.trending) if view.trending else ""
        if not view.page.hits:
            return self._render("nothing.html", locale, **view._asdict()) + related + trending
        kind = "media" if view.request.tab == "media" else "results"
        pages = write_page_numbers(view.query, view.numbers, links, functools.partial(self._text, locale))
        expected = escape_text(links.page(0).replace("/search?", "/why-not?", 1))
        return (
            f'<ol class="{kind}" start="{view.query.start + 1}">\n{view.results}\n</ol>\n{pages}{related}'
            f'<p class="note expected"><a href="{expected}">{self._text(locale, "Not what you expected?")}</a></p>'
            f"{trending}"
        )

    def _related(self, view: ResultView, locale: Locale) -> str:
        items = "".join(
            [
                f'<li><a href="{escape_text(link)}" dir="auto">{escape_text(text)}</a></li>'
                for text, link in view.related
            ]
        )
        title = self._text(locale, "Related searches")
        return (
            f'<nav class="related" aria-labelledby="related-title">\n  <h2 id="related-title">{title}</h2>\n'
            f"  <ul>{items}</ul>\n</nav>"
        )


_CURRENT: Final = ' aria-current="page"'


def _translate(locale: Locale, text: str) -> str:
    return escape_text(locale.translate(text))


def _shown(text: str) -> str:
    return escape_text(truncate(text, _LONGEST))


def _hidden_fields(request: SearchRequest, query: Query) -> str:
    """Return the fields that keep what the form of filters does not ask for."""
    snapshot = "as_of" if query.snapshot.startswith("@") else "snapshot"
    fields = (
        ("tab", "" if request.tab == "web" else request.tab),
        ("hl", request.locale),
        ("site", query.site),
        (snapshot, query.snapshot.removeprefix("@")),
    )
    return "".join([f'<input type="hidden" name="{name}" value="{escape_text(v)}">' for name, v in fields if v])


def _missing_shards(page: ResultPage, locale: Locale) -> str:
    asked, missing = page.shards
    if not missing:
        return ""
    text = "{missing} of {asked} shards did not answer"
    return escape_text(locale.translate(text, missing=locale.number(len(missing)), asked=locale.number(asked)))
