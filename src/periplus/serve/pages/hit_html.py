"""Results as HTML, written by hand: a template takes ten times as long for what every answer has ten of.

Whatever came from a page or a person goes through `escape` here, and nowhere else.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from periplus.records import Hit, PageFlag
from periplus.serve.pages.locales import Tongue
from periplus.serve.pages.page_links import fragment_link, require, safe_link, shown_link
from periplus.serve.search_request import TABS, Asked, address_of

__all__ = ["write_results"]

_HTML: Final = "text/html"
_DAY: Final = 86_400.0
_ADULT: Final = int(PageFlag.ADULT)
_PAYWALL: Final = int(PageFlag.PAYWALL)
_STEP: Final = '<span class="step" aria-hidden="true"> › </span>'
_LONGEST: Final = 60
"""Characters of a link inside a result that are shown."""


def write_results(hits: Sequence[Hit], asked: Asked, tongue: Tongue, now: float) -> str:
    """Write the items of the list of results."""
    writer = _Writer(hits, asked, tongue, now)
    return "\n".join([writer.result(hit, place) for place, hit in enumerate(hits, 1)])


class _Writer:
    """Writes results of one answer; what is the same for all of them is made once."""

    def __init__(self, hits: Sequence[Hit], asked: Asked, tongue: Tongue, now: float) -> None:
        self._asked = asked
        self._tongue = tongue
        self._now = now
        self._say = tongue.escaped
        self._top = max((abs(value) for hit in hits for _, value in hit.reasons), default=0.0) or 1.0
        self._why = escape(address_of(asked, explain="0")).replace("explain=0", "explain={place}") if hits else ""

    def result(self, hit: Hit, place: int) -> str:
        """Write one result."""
        say, link, passage = self._say, shown_link(hit), fragment_link(hit)
        language = self._tongue.foreign(hit.language)
        spoken = f' lang="{language}"' if language else ""
        title = escape(hit.title.strip() or " › ".join(hit.breadcrumbs) or hit.url)
        trail = _STEP.join([f"<bdi>{escape(part)}</bdi>" for part in hit.breadcrumbs])
        key = f"{hit.key:016x}"
        at = (
            f'<a class="passage" href="{escape(passage)}" rel="noreferrer">{say("passage")}</a>'
            if passage != link
            else ""
        )
        return (
            f'<li class="result" id="r{place}" data-host="{escape(hit.breadcrumbs[0]) if hit.breadcrumbs else ""}">'
            f'<article><div class="head"><h2><a class="title" href="{escape(link) or f"#r{place}"}" rel="noreferrer"'
            f' dir="auto"{spoken}>{title}</a></h2>{self._badges(hit)}</div>\n<p class="trail">{trail}</p>'
            f"{self._snippet(hit, spoken)}{self._missing(hit)}{_inside(hit)}\n"
            f'<div class="quiet">{self._similar(hit)}<a class="cached" href="/cached/{key}">{say("cached")}</a> {at} '
            f'<button class="rule" type="button">{say("site rule")}</button> {self._reasons(hit, place, key)}</div>'
            f"</article></li>"
        )

    def _badges(self, hit: Hit) -> str:
        names = []
        if hit.kind and hit.kind != _HTML:
            names.append(escape(self._tongue.kind(hit.kind)))
        if hit.kind in TABS["services"]:
            names.append(self._say("service"))
        if hit.flags & _ADULT:
            names.append(self._say("adult"))
        if hit.flags & _PAYWALL:
            names.append(self._say("paywall"))
        badges = "".join([f"<span>{name}</span>" for name in names])
        return f'<p class="badges">{badges}{self._when(hit)}</p>'

    def _when(self, hit: Hit) -> str:
        news = self._asked.tab == "news"
        when, said = (hit.day * _DAY, "Published") if news else (hit.fetched, "Fetched")
        if not 0 < when < math.inf:
            return ""
        tongue = self._tongue
        date, iso = escape(tongue.date(when)), tongue.iso(when)
        ago = escape(tongue.ago(self._now - when))
        return f'<time datetime="{iso}" title="{self._say(said)} {date}">{ago}</time>'

    def _snippet(self, hit: Hit, spoken: str) -> str:
        if not hit.snippet:
            return ""
        text = "".join([f"<mark>{escape(part)}</mark>" if marked else escape(part) for part, marked in hit.snippet])
        return f'\n<p class="snippet" dir="auto"{spoken}>{text}</p>'

    def _missing(self, hit: Hit) -> str:
        if not hit.missing:
            return ""
        say, asked = self._say("require"), self._asked
        words = ", ".join(
            [
                f'<s>{escape(word)}</s> · <a href="{escape(require(asked, word))}">{say}'
                f'<span class="unseen"> {escape(word)}</span></a>'
                for word in hit.missing
            ]
        )
        return f'\n<p class="missing">{self._say("Missing:")} {words}</p>'

    def _similar(self, hit: Hit) -> str:
        if not hit.similar:
            return ""
        count = self._tongue.number(len(hit.similar))
        said = escape(self._tongue.say("{count} similar", count=count))
        return f'<a class="similar" href="{escape(address_of(self._asked, similar=1))}">{said}</a> '

    def _reasons(self, hit: Hit, place: int, key: str) -> str:
        say = self._say
        if not hit.reasons:
            return f'<a class="why" href="{self._why.replace("{place}", str(place))}#r{place}">{say("why this?")}</a>'
        rows = "".join([self._reason(name, value) for name, value in hit.reasons])
        date = self._tongue.date(hit.fetched)
        when = f"{say('Fetched')} {escape(date)} · " if date else ""
        return (
            f'<details class="why"{" open" if self._asked.opened == place else ""}>'
            f"<summary>{say('why this?')}</summary>"
            f'<div class="reasons"><table><caption class="unseen">{say("What the score is made of")}</caption>{rows}'
            f'<tr class="sum"><th scope="row">{say("score")}</th><td></td>'
            f'<td class="value">{self._tongue.signed(hit.score)}</td></tr></table>'
            f"<p>{when}{say('fingerprint')} <code>{key}</code></p></div></details>"
        )

    def _reason(self, name: str, value: float) -> str:
        sort, length = "less" if value < 0 else "more", 100 * abs(value) / self._top
        return (
            f'<tr><th scope="row">{escape(name)}</th><td class="bar-cell"><svg viewBox="0 0 100 8" '
            f'preserveAspectRatio="none" width="100%" height="8" aria-hidden="true">'
            f'<rect class="{sort}" width="{length:.1f}" height="8"/></svg></td>'
            f'<td class="value">{self._tongue.signed(value)}</td></tr>'
        )


def _inside(hit: Hit) -> str:
    """Write the links to other results of the same site."""
    found = [(title, url) for title, url in hit.links if safe_link(url)]
    if not found:
        return ""
    items = [f'<li><a href="{escape(url)}" rel="noreferrer">{escape(_cut(title))}</a></li>' for title, url in found]
    return f'\n<ul class="inside">{"".join(items)}</ul>'


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
