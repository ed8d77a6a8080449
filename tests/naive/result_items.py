"""Naive twin of `serve.result_html.hit_html`: every text is escaped by itself, every link is made from scratch."""

import math
import re
from collections.abc import Sequence
from html import escape
from typing import Final
from urllib.parse import quote

from periplus.records import Hit, PageFlag
from periplus.serve.pages.locales import Locale
from periplus.serve.pages.media_tab import HasThumbnail, icon_html
from periplus.serve.pages.number_formats import PLAIN_KINDS
from periplus.serve.pages.page_links import require_word, safe_link
from periplus.serve.pages.reason_labels import ReasonRow, label_reasons
from periplus.serve.search_request import TABS, SearchRequest, request_url

__all__ = ["write_results"]

_DAY: Final = 86_400
_ADULT: Final = int(PageFlag.ADULT)
_NOARCHIVE: Final = int(PageFlag.NOARCHIVE)
_PAYWALL: Final = int(PageFlag.PAYWALL)
_SEPARATOR: Final = '<span class="step" aria-hidden="true"> › </span>'
_DOTS: Final = "… "
_AFTER_HEADING: Final = " · "
_LEAST_TEXT: Final = 40
"""Characters that a snippet has at least without its heading."""
_MAX_LINK_TITLE: Final = 60
"""Characters of the title of a link inside a result."""


def result_link(hit: Hit) -> str:
    """Return the link of a result."""
    if match := re.fullmatch(r"https://published\.invalid/([0-9a-f]{64})", hit.url):
        return f"/c/{match[1]}"
    if re.match(r"https?://[^/]*\.invalid(?:[:/]|$)", hit.url, re.IGNORECASE):
        return f"/cached/{hit.key:016x}"
    return safe_link(hit.url)


def is_published_here(hit: Hit) -> bool:
    """Return whether a result is content that was published here."""
    return re.fullmatch(r"https://published\.invalid/([0-9a-f]{64})", hit.url) is not None


def fragment_link(hit: Hit) -> str:
    """Return the link of a result with a text fragment."""
    link = result_link(hit)
    if hit.kind not in ("text/html", "text/plain") or not link.startswith("http") or "#" in link:
        return link
    words = _fragment_words(hit)
    if len(words) < 3:
        return link
    return f"{link}#:~:text={quote(' '.join(words), safe='').replace('-', '%2D')}"


def _fragment_words(hit: Hit) -> list[str]:
    texts = [text for text, _ in hit.snippet]
    if hit.answer[0] < hit.answer[1]:
        return "".join(texts)[hit.answer[0] : hit.answer[1]].split()[:8]
    first = next((n for n, (_, marked) in enumerate(hit.snippet) if marked), None)
    if first is None:
        return []
    words = "".join(texts[first:]).replace("…", " ").encode("utf-8", "ignore").decode().split()
    return words[: min(8, len(words) - 1)]


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
        self._explain_url = (
            escape(request_url(request, explain="0")).replace("explain=0", "explain={number}") if hits else ""
        )

    def write(self, hit: Hit, number: int) -> str:
        """Return one result."""
        translate, link, passage = self._translate, result_link(hit), fragment_link(hit)
        language = self._locale.foreign(hit.language)
        lang = f' lang="{language}"' if language else ""
        title = escape(hit.title.strip() or " › ".join(hit.breadcrumbs) or hit.url)
        trail = (translate("published here"),) if is_published_here(hit) else _trail(hit.breadcrumbs)
        breadcrumbs = _SEPARATOR.join([f"<bdi>{part}</bdi>" for part in trail])
        key, icon = f"{hit.key:016x}", icon_html(hit.url, self._has_thumbnail)
        passage_link = (
            f'<a class="passage" href="{escape(passage)}" rel="noreferrer">{translate("passage")}</a>'
            if passage != link
            else ""
        )
        return (
            f'<li class="result" id="r{number}" data-host="{escape(hit.breadcrumbs[0]) if hit.breadcrumbs else ""}">'
            f'<article><h2><a class="title" href="{escape(link) or f"#r{number}"}" rel="noreferrer"'
            f' dir="auto"{lang}>{title}</a></h2>\n<p class="meta">{icon}<span class="breadcrumbs">{breadcrumbs}</span>'
            f"{self._date(hit)}{self._badges(hit)}</p>"
            f"{self._snippet(hit, lang)}{self._missing(hit)}{_site_links(hit)}\n"
            f'<div class="quiet">{self._similar(hit)}{self._cached(hit, key)} '
            f'{passage_link} <button class="rule" type="button">{translate("site rule")}</button> '
            f"{self._reasons(hit, number, key)}</div></article></li>"
        )

    def _cached(self, hit: Hit, key: str) -> str:
        if hit.flags & _NOARCHIVE:
            return ""
        return f'<a class="cached" href="/cached/{key}">{self._translate("cached")}</a>'

    def _badges(self, hit: Hit) -> str:
        """Return labels of what a reader would not expect: a type other than a plain page, a warning."""
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
        when = float(hit.day * _DAY)
        date = escape(self._locale.day(when, self._now))
        return f'<time datetime="{self._locale.iso(when)[:10]}">{date}</time>' if date else ""

    def _snippet(self, hit: Hit, lang: str) -> str:
        if not hit.snippet:
            return ""
        snippet, (begin, end) = _without_title(hit.snippet, hit.answer, hit.title)
        if begin < end:
            before, answer, after = _divide(snippet, (begin, end))
            if "".join(part for part, _ in before) == _DOTS and answer[0][0][:1].isupper():
                before = []
            text = f'{_mark(before)}<b class="answer-sentence">{_mark(answer)}</b>{_mark(after)}'
        else:
            text = _mark(_from_sentence(snippet))
        return f'\n<p class="snippet" dir="auto"{lang}>{text}</p>'

    def _missing(self, hit: Hit) -> str:
        if not hit.missing:
            return ""
        label, request = self._translate("require"), self._request
        words = ", ".join(
            [
                f'<s>{escape(word)}</s> · <a href="{escape(require_word(request, word))}">{label}'
                f'<span class="unseen"> {escape(word)}</span></a>'
                for word in hit.missing
            ]
        )
        return f'\n<p class="missing">{self._translate("Missing:")} {words}</p>'

    def _similar(self, hit: Hit) -> str:
        if not hit.similar:
            return ""
        count = self._locale.number(len(hit.similar))
        label = escape(self._locale.translate("{count} similar", count=count))
        return f'<a class="similar" href="{escape(request_url(self._request, similar=1))}">{label}</a> '

    def _reasons(self, hit: Hit, number: int, key: str) -> str:
        translate = self._translate
        if not hit.reasons:
            url = self._explain_url.replace("{number}", str(number))
            return f'<a class="why" href="{url}#r{number}">{translate("why this?")}</a>'
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


def _trail(breadcrumbs: Sequence[str]) -> list[str]:
    """Return the host and the parts of the path, escaped, with spaces where a path has none."""
    return [escape(part if not n else part.replace("_", " ")) for n, part in enumerate(breadcrumbs)]


def _mark(pieces: Sequence[tuple[str, bool]]) -> str:
    """Return pieces of a snippet, those that are highlighted as such."""
    return "".join([f"<mark>{escape(part)}</mark>" if marked else escape(part) for part, marked in pieces])


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
