"""Results as the template writes them: everything that needs a call is called here, once for each, and not by it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from periplus.records import Flag, Hit
from periplus.serve.asked import TABS, Asked, address_of
from periplus.serve.links import fragment_link, require, safe_link, shown_link
from periplus.serve.tongues import Tongue

__all__ = ["Shown", "show"]

_HTML: Final = "text/html"


class Shown(NamedTuple):
    """One result, ready to be written."""

    place: int
    host: str
    link: str
    title: str
    language: str
    """'' when it is the page's own."""
    badges: tuple[str, ...]
    when: str
    """How long ago it was fetched; '' when that is not known."""
    date: str
    iso: str
    trail: tuple[str, ...]
    snippet: tuple[tuple[str, bool], ...]
    missing: tuple[tuple[str, str], ...]
    """Words, each with the address of the query that requires it."""
    inside: tuple[tuple[str, str], ...]
    similar: str
    key: str
    passage: str
    why: str
    """Where its explanation is."""
    reasons: tuple[tuple[str, str, bool, str], ...]
    """Name, length of the bar in percent, whether it counts against, and value."""
    score: str


def show(hits: Sequence[Hit], asked: Asked, tongue: Tongue, now: float) -> list[Shown]:
    """Make results ready to be written."""
    top = max((abs(value) for hit in hits for _, value in hit.reasons), default=0.0) or 1.0
    why = address_of(asked, explain="0")
    return [_show(hit, place, asked, tongue, now, top, why) for place, hit in enumerate(hits, 1)]


def _show(hit: Hit, place: int, asked: Asked, tongue: Tongue, now: float, top: float, why: str) -> Shown:
    link = shown_link(hit)
    passage = fragment_link(hit)
    count = len(hit.similar)
    return Shown(
        place,
        hit.trail[0] if hit.trail else "",
        link or f"#r{place}",
        hit.title.strip() or " › ".join(hit.trail) or hit.url,
        tongue.foreign(hit.language),
        _badges(hit, tongue),
        tongue.ago(now - hit.fetched) if hit.fetched > 0 else "",
        tongue.date(hit.fetched),
        tongue.iso(hit.fetched),
        hit.trail,
        hit.snippet,
        tuple((word, require(asked, word)) for word in hit.missing),
        tuple((title, url) for title, url in hit.links if safe_link(url)),
        tongue.say("{count} similar", count=tongue.number(count)) if count else "",
        f"{hit.key:016x}",
        passage if passage != link else "",
        why.replace("explain=0", f"explain={place}") + f"#r{place}",
        tuple((n, f"{100 * abs(v) / top:.1f}", v < 0, tongue.signed(v)) for n, v in hit.reasons),
        tongue.signed(hit.score) if hit.reasons else "",
    )


def _badges(hit: Hit, tongue: Tongue) -> tuple[str, ...]:
    badges = []
    if hit.kind and hit.kind != _HTML:
        badges.append(tongue.kind(hit.kind))
    if hit.kind in TABS["services"]:
        badges.append(tongue.say("service"))
    if hit.flags & Flag.ADULT:
        badges.append(tongue.say("adult"))
    if hit.flags & Flag.PAYWALL:
        badges.append(tongue.say("paywall"))
    return tuple(badges)
