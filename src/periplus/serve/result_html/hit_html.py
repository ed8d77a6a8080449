"""Results as HTML without a template, which would take ten times as long for what every page has ten of.

Text from pages and people is escaped here.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from periplus.records import Hit, PageFlag
from periplus.serve.pages.locales import Locale
from periplus.serve.pages.media_tab import HasThumbnail, icon_html
from periplus.serve.pages.number_formats import PLAIN_KINDS
from periplus.serve.pages.page_links import fragment_link, is_published_here, require_word, result_link, safe_link
from periplus.serve.pages.reason_labels import ReasonRow, label_reasons
from periplus.serve.result_html.escaping import escape_all
from periplus.serve.search_request import TABS, RequestLinks, SearchRequest, request_url

__all__ = ["write_results"]

_Pieces = Sequence[tuple[str, bool]]
_Snippet = tuple[_Pieces, ...]
"""The pieces of a snippet: none, all, or those before, in and after the sentence that answers."""

_DAY: Final = 86_400
_ADULT: Final = int(PageFlag.ADULT)
_NOARCHIVE: Final = int(PageFlag.NOARCHIVE)
_PAYWALL: Final = int(PageFlag.PAYWALL)
_BADGES: Final = _ADULT | _PAYWALL
_SEPARATOR: Final = '</bdi><span class="step" aria-hidden="true"> › </span><bdi>'
_DOTS: Final = "… "
_AFTER_HEADING: Final = " · "
_LEAST_TEXT: Final = 40
"""Characters that a snippet has at least without its heading."""
_NUMBER: Final = "{number}"
"""Where the number of a result goes in the link that explains it."""
_MAX_LINK_TITLE: Final = 60
"""Characters of the title of a link inside a result."""


def write_results(
    hits: Sequence[Hit],
    request: SearchRequest,
    locale: Locale,
    now: float,
    has_thumbnail: HasThumbnail = lambda _: False,
) -> str:
    """Return the items of the list of results."""
    writer = _HitWriter(hits, request, locale, now, has_thumbnail)
    return "\n".join([writer.write(hit, number) for number, hit in enumerate(hits, 1)])


class _HitWriter:
    """Writes the results of one page; what they have in common is computed once."""

    def __init__(
        self, hits: Sequence[Hit], request: SearchRequest, locale: Locale, now: float, has_thumbnail: HasThumbnail
    ) -> None:
        self._has_thumbnail = has_thumbnail
        self._request = request
        self._locale = locale
        self._now = now
        self._translate = locale.translate_escaped
        explain_url = escape(RequestLinks(request).explain(_NUMBER)) if hits else ""
        self._before_number, _, self._after_number = explain_url.partition(_NUMBER)
        self._today = int(now // _DAY)
        self._published = self._translate("published here")
        self._passage = f"{self._translate('passage')}</a>"
        self._rule = f'<button class="rule" type="button">{self._translate("site rule")}</button> '
        self._required: dict[str, str] = {}

    def write(self, hit: Hit, number: int) -> str:
        """Return one result."""
        link, snippet = result_link(hit), _arrange(hit)
        texts = [link, hit.title.strip() or " › ".join(hit.breadcrumbs) or hit.url, *_trail(hit.breadcrumbs)]
        begin = len(texts)
        texts += [text for part in snippet for text, _ in part]
        href, title, *trail = (escaped := escape_all(texts))[:begin]
        host = trail[0] if trail else ""
        if is_published_here(hit):
            trail = [self._published]
        language = self._locale.foreign(hit.language)
        lang = f' lang="{language}"' if language else ""
        fragment = fragment_link(hit, link)[len(link) :]
        passage = f'<a class="passage" href="{href}{fragment}" rel="noreferrer">{self._passage}' if fragment else ""
        breadcrumbs = f"<bdi>{_SEPARATOR.join(trail)}</bdi>" if trail else ""
        key = f"{hit.key:016x}"
        return (
            f'<li class="result" id="r{number}" data-host="{host}">'
            f'<article><h2><a class="title" href="{href or f"#r{number}"}" rel="noreferrer"'
            f' dir="auto"{lang}>{title}</a></h2>\n<p class="meta">{icon_html(hit.url, self._has_thumbnail)}'
            f'<span class="breadcrumbs">{breadcrumbs}</span>{self._date(hit)}{self._badges(hit)}</p>'
            f"{_write_snippet(snippet, iter(escaped[begin:]), lang)}"
            f"{self._missing(hit) if hit.missing else ''}{_site_links(hit) if hit.links else ''}\n"
            f'<div class="quiet">{self._similar(hit) if hit.similar else ""}{self._cached(hit, key)} {passage} '
            f"{self._rule}{self._reasons(hit, number, key)}</div></article></li>"
        )

    def _cached(self, hit: Hit, key: str) -> str:
        if hit.flags & _NOARCHIVE:
            return ""
        return f'<a class="cached" href="/cached/{key}">{self._translate("cached")}</a>'

    def _badges(self, hit: Hit) -> str:
        """Return labels of what a reader would not expect: a type other than a plain page, a warning."""
        if hit.kind == "text/html" and not hit.flags & _BADGES:
            return ""
        names = []
        if hit.kind in TABS["services"]:
            names.append(self._translate("service"))
        elif hit.kind and hit.kind not in PLAIN_KINDS:
            names.append(escape(self._locale.kind(hit.kind)))
        if hit.flags & _ADULT:
            names.append(self._translate("adult"))
        if hit.flags & _PAYWALL:
            names.append(self._translate("paywall"))
        badges = "".join([f"<span>{name}</span>" for name in names])
        return f'<span class="badges">{badges}</span>' if badges else ""

    def _date(self, hit: Hit) -> str:
        """Return the date of the page itself; a page without one has the day of its fetch, which is not shown."""
        fetched = int(hit.fetched // _DAY) if 0 < hit.fetched < math.inf else 0
        if hit.day <= 0 or (hit.day == fetched and self._request.tab != "news"):
            return ""
        return _write_date(self._locale, hit.day, self._today)

    def _missing(self, hit: Hit) -> str:
        words = ", ".join([self._required.get(word) or self._require(word) for word in hit.missing])
        return f'\n<p class="missing">{self._translate("Missing:")} {words}</p>'

    def _require(self, word: str) -> str:
        """Return a word that a page lacks, with the link that requires it; it is the same in all results."""
        label = self._translate("require")
        self._required[word] = (
            f'<s>{escape(word)}</s> · <a href="{escape(require_word(self._request, word))}">{label}'
            f'<span class="unseen"> {escape(word)}</span></a>'
        )
        return self._required[word]

    def _similar(self, hit: Hit) -> str:
        count = self._locale.number(len(hit.similar))
        label = escape(self._locale.translate("{count} similar", count=count))
        return f'<a class="similar" href="{escape(request_url(self._request, similar=1))}">{label}</a> '

    def _reasons(self, hit: Hit, number: int, key: str) -> str:
        translate = self._translate
        if not hit.reasons:
            url = f"{self._before_number}{number}{self._after_number}#r{number}"
            return f'<a class="why" href="{url}">{translate("why this?")}</a>'
        rows = "".join([self._reason(row) for row in label_reasons(hit.reasons, self._locale)])
        checked = self._locale.ago(self._now - hit.fetched) if 0 < hit.fetched < math.inf else ""
        fetched = escape(self._locale.translate("Checked {ago}", ago=checked)) + " · " if checked else ""
        return (
            f'<details class="why"{" open" if self._request.explained == number else ""}>'
            f"<summary>{translate('why this?')}</summary>"
            f'<div class="reasons"><table><caption class="unseen">{translate("What put this result here")}</caption>'
            f"{rows}</table>"
            f"<p>{fetched}{translate('page id')} <code>{key}</code></p></div></details>"
        )

    def _reason(self, row: ReasonRow) -> str:
        sign, length = "less" if row.value < 0 else "more", 100 * abs(row.share)
        return (
            f'<tr><th scope="row" dir="auto">{escape(row.label)}</th><td class="bar-cell"><svg viewBox="0 0 100 8" '
            f'preserveAspectRatio="none" width="100%" height="8" aria-hidden="true">'
            f'<rect class="{sign}" width="{length:.1f}" height="8"/></svg></td>'
            f'<td class="value">{self._locale.percent(row.share)}</td></tr>'
        )


@functools.lru_cache(4096)
def _write_date(locale: Locale, day: int, today: int) -> str:
    """Return a date, in days since 1970, as it is shown on a day; '' if it is out of range."""
    when = float(day * _DAY)
    date = escape(locale.day(when, float(today * _DAY)))
    return f'<time datetime="{locale.iso(when)[:10]}">{date}</time>' if date else ""


def _trail(breadcrumbs: Sequence[str]) -> list[str]:
    """Return the host and the parts of the path, with spaces where a path has none."""
    return [part if not n else part.replace("_", " ") for n, part in enumerate(breadcrumbs)]


def _arrange(hit: Hit) -> _Snippet:
    """Return the pieces of the snippet of a result, as they are shown."""
    if not hit.snippet:
        return ()
    snippet, (begin, end) = _without_title(hit.snippet, hit.answer, hit.title)
    if begin >= end:
        return (_from_sentence(snippet),)
    before, answer, after = _divide(snippet, (begin, end))
    if "".join(part for part, _ in before) == _DOTS and answer[0][0][:1].isupper():
        before = []
    return before, answer, after


def _write_snippet(snippet: _Snippet, escaped: Iterator[str], lang: str) -> str:
    """Return a snippet; escaped: its texts in order."""
    if not snippet:
        return ""
    parts = [_mark(part, escaped) for part in snippet]
    text = parts[0] if len(parts) == 1 else f'{parts[0]}<b class="answer-sentence">{parts[1]}</b>{parts[2]}'
    return f'\n<p class="snippet" dir="auto"{lang}>{text}</p>'


def _mark(pieces: _Pieces, escaped: Iterator[str]) -> str:
    """Return pieces of a snippet, those that are highlighted as such."""
    return "".join([f"<mark>{next(escaped)}</mark>" if marked else next(escaped) for _, marked in pieces])


def _from_sentence(pieces: Sequence[tuple[str, bool]]) -> Sequence[tuple[str, bool]]:
    """Return a snippet without the dots before it if it begins with a sentence."""
    first, marked = pieces[0]
    rest = first.removeprefix(_DOTS)
    following = rest or (pieces[1][0] if len(pieces) > 1 else "")
    return ((rest, marked), *pieces[1:]) if rest != first and following[:1].isupper() else pieces


def _without_title(
    pieces: Sequence[tuple[str, bool]], answer: tuple[int, int], title: str
) -> tuple[Sequence[tuple[str, bool]], tuple[int, int]]:
    """Return a snippet, and where its answer is, without a heading at its beginning that repeats the title.

    It stays where the query's words are in it alone: a snippet without any of them looks like that of a wrong result.
    """
    heading, separator, rest = "".join([text for text, _ in pieces]).partition(_AFTER_HEADING)
    if not separator or len(rest) < _LEAST_TEXT or not title.casefold().startswith(heading.strip("… ").casefold()):
        return pieces, answer
    cut = len(heading) + len(separator)
    left_out, shown = _divide(pieces, (cut,))
    begin, end = answer if answer[0] >= cut else (cut, cut)  # The heading is no answer to what the title says.
    if any(marked for _, marked in left_out) and not any(marked for _, marked in shown):
        return pieces, (begin, end)
    return shown, (begin - cut, end - cut)


def _divide(pieces: Sequence[tuple[str, bool]], cuts: Sequence[int]) -> list[list[tuple[str, bool]]]:
    """Return the pieces of a snippet in parts, divided at some of its characters."""
    parts: list[list[tuple[str, bool]]] = [[]]
    at, left = 0, list(cuts)
    for text, marked in pieces:
        rest = text
        while left and left[0] <= at + len(rest):
            size = max(0, left.pop(0) - at)
            parts[-1].append((rest[:size], marked))
            parts.append([])
            rest, at = rest[size:], at + size
        parts[-1].append((rest, marked))
        at += len(rest)
    return [[piece for piece in part if piece[0]] for part in parts] + [[]] * len(left)


def _site_links(hit: Hit) -> str:
    """Return the links to other results of the same site."""
    links = [(title, url) for title, url in hit.links if safe_link(url)]
    if not links:
        return ""
    items = [f'<li><a href="{escape(url)}" rel="noreferrer">{escape(_shorten(title))}</a></li>' for title, url in links]
    return f'\n<ul class="inside">{"".join(items)}</ul>'


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_LINK_TITLE else text[: _MAX_LINK_TITLE - 1].rstrip() + "…"
