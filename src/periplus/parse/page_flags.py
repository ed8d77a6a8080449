"""Flags that warn about a page: adult content, spam, a paywall, a page that is empty without its scripts."""

import re
from functools import cache
from typing import Final

from periplus.parse.html.flat_page import FlatPage, RowKind
from periplus.parse.html.kernels.markup_hints import SUBSCRIPTIONS, WALLS, find_text_hints
from periplus.parse.html.kernels.word_survey import (
    ListedWords,
    TextSurvey,
    hash_words,
    may_be_stuffed,
    survey_text,
    survey_words,
)
from periplus.parse.keyword_stuffing import LIMITS, LONG_WORD, MIN_FREQUENT, MIN_WORDS, find_keyword_stuffing
from periplus.parse.lazy_property import lazy_property
from periplus.parse.link_survey import count_origins
from periplus.records import Link, PageFlag
from periplus.url import registered_domain

__all__ = ["FlagCollector", "MarkupEvidence", "find_flags"]

_MAX_TEXT: Final = 8_000
_EXPLICIT: Final = """
porn porno pornos pornographic pornographie pornografie pornhub xxx milf milfs blowjob blowjobs cumshot cumshots hentai
camgirl camgirls gangbang bukkake creampie handjob deepthroat fucking fucked pussy cunt dildo dildos nsfw nudes sexfilm
sexfilme sexcam sexcams порно
"""
_ADULT_WORDS: Final = frozenset(_EXPLICIT.encode().split())
_ADULT_RATINGS: Final = ("adult", "mature", "restricted", "rta-5042-1996-1400-1577-rta")
_HIDING_STYLE: Final = re.compile(
    r"display:\s?none|visibility:\s?hidden|font-size:\s?0(?:px|pt|em)?\s?(?:;|\Z)|text-indent:\s?-\d{3,6}|left:\s?-\d{3,6}|"
    r"opacity:\s?0\s?(?:;|\Z)"
)
_PAYWALL_PHRASES: Final = (
    "subscribe to continue",
    "subscribe to keep reading",
    "subscribe to read",
    "for subscribers only",
    "subscriber-only",
    "already a subscriber",
    "in to continue reading",
    "this article is reserved for",
    "nur für abonnenten",
    "jetzt abonnieren und weiterlesen",
    "réservé aux abonnés",
    "exclusivo para suscriptores",
    "solo per gli abbonati",
    "会員限定",
    "有料会員",
)
_PAYWALL_HINTS: Final = (
    "subscri",
    "abonn",
    "continue reading",
    "is reserved for",
    "suscriptores",
    "abbonati",
    "会員",
)
"""Every phrase has one of these, for which `find_text_hints` looks first."""
_WALL_ELEMENT: Final = re.compile(
    rb"(?:class|id)\s?=\s?[\"'][^\"'<>]{0,200}\b(?:paywall|pay-wall|subscriber-wall|regwall)", re.IGNORECASE
)
_WALL_WORDS: Final = (b"paywall", b"pay-wall", b"subscriber-wall", b"regwall")
_SCRIPT_ROOT: Final = re.compile(r"<div[^<>]{0,200}id\s?=\s?[\"']?(?:root|app|__next|__nuxt|main-app|svelte|q-app)\b")
_SCRIPT_NOTICE: Final = re.compile(
    r"(?:enable|requires?|need|activate|activer|aktivieren) .{0,30}javascript|javascript .{0,40}(?:enable|required)"
)
_WORD_BYTES: Final = bytes(
    code if code >= 128 or chr(code).isalnum() or code == ord("_") else 32 for code in range(256)
)
"""Translation of bytes that maps ASCII between words to spaces."""
_PUNCTUATION: Final = tuple(
    re.compile(marks, re.DOTALL)
    for marks in (rb"\xe2\x80.", rb"\xc2[\xa0-\xbf]", rb"\xe3\x80[\x80-\x9f]", rb"\xef\xbc[\x80-\x8f]")
)
"""Quotes, dashes and other punctuation beyond ASCII; one pattern each, as a pattern that begins with a byte is fast."""

_MAX_STYLES: Final = 500
_MAX_HIDDEN_TEXT: Final = 20_000
_MAX_MARKUP: Final = 1 << 20
_MIN_TEXT: Final = 250
_MAX_TEASER: Final = 4_000
_MAX_KEYWORDS: Final = 100
_MIN_FARM_DOMAINS: Final = 40
_MIN_FARM_SHARE: Final = 0.7


class FlagCollector:
    """Collects flags, each with a reason."""

    def __init__(self) -> None:
        self.flags = 0
        self.reasons: list[str] = []

    def add(self, flag: PageFlag, reason: str) -> None:
        """Set a flag; the first reason for it is kept."""
        if not self.flags & flag:
            self.flags |= flag
            self.reasons.append(reason)


class MarkupEvidence:
    """What the flags of an HTML page depend on beyond its text."""

    def __init__(self, flat: FlatPage, is_free: bool, text: str) -> None:
        """Look at a page and its `text`."""
        self.flat = flat
        encoded = flat.encode_text(text)
        self.survey = survey_text(encoded, _MAX_TEXT, _adult_words(), LONG_WORD) if text.isascii() else None
        """What the text is, if it is in ASCII."""
        self.text_hints = find_text_hints(encoded) if self.survey is None else self.survey.hints
        """What `find_text_hints` has found in the text."""
        self.is_free = is_free
        """False if the page states that access must be paid for."""
        self.meta = {name: content for name, content, _ in flat.meta}

    @property
    def most_linked(self) -> int | None:
        """How many characters the texts of the links have at most; None if that is not known."""
        strings = self.flat.strings
        return None if strings is None else sum(map(len, strings.link_texts)) + sum(map(len, strings.link_labels))


def find_flags(
    title: str, text: str, links: tuple[Link, ...], own_domain: str, evidence: MarkupEvidence | None = None
) -> FlagCollector:
    """Return the flags of a page, by its text and links and, for HTML, by its markup."""
    collector = FlagCollector()
    words = _Words(text[:_MAX_TEXT], evidence.survey if evidence else None)
    meta = evidence.meta if evidence else {}
    _check_adult(title, words, meta.get("rating", "").strip().lower(), collector)
    _check_stuffing(words, meta.get("keywords", ""), collector)
    if len(links) >= _MIN_FARM_DOMAINS:
        _check_link_farm(text, links, own_domain, collector, evidence)
    if evidence:
        if evidence.flat.has(RowKind.STYLE):
            _check_hidden_text(text, evidence.flat, collector)
        _check_paywall(text, evidence, collector)
        if len(text) < _MIN_TEXT:
            _check_scripts(text, evidence.flat.data, collector)
    return collector


class _Words:
    """The words of a text, which are told apart only if a look at all of them shows that they matter."""

    def __init__(self, text: str, survey: TextSurvey | None = None) -> None:
        """Look at a text, of which the survey may be known."""
        self._text = text
        self._known = survey

    @lazy_property
    def lowered(self) -> str:
        """The text in lower case."""
        return self._text.lower()

    @lazy_property
    def raw(self) -> bytes:
        """The text in UTF-8, in any case where it is in ASCII; bytes between words are not those of words."""
        if self._text.isascii():
            return self._text.encode()
        raw = self.lowered.encode("utf-8", "ignore")
        for marks in _PUNCTUATION:
            raw = marks.sub(b" ", raw)
        return raw

    @lazy_property
    def all(self) -> list[bytes]:
        """All words in their order."""
        return self.raw.lower().translate(_WORD_BYTES).split()

    @lazy_property
    def _survey(self) -> tuple[int, int, bool]:
        if self._known is not None:
            return self._known[1:]
        return survey_words(self.raw, _adult_words(), LONG_WORD)

    def may_be_stuffed(self) -> bool:
        """Return whether there are enough words, and one of them is frequent."""
        words, most, _ = self._survey
        if words < MIN_WORDS or most <= MIN_FREQUENT * words:
            return False
        return not self._text.isascii() or may_be_stuffed(self.raw, LIMITS)

    def explicit(self) -> list[bytes]:
        """Return the explicit words."""
        return [word for word in self.all if word in _ADULT_WORDS] if self._survey[2] else []


@cache
def _adult_words() -> ListedWords:
    return hash_words(sorted(_ADULT_WORDS))


def _check_adult(title: str, words: _Words, rating: str, collector: FlagCollector) -> None:
    if rating.startswith(_ADULT_RATINGS):
        collector.add(PageFlag.ADULT, "adult: rated so by the page itself")
        return
    explicit = words.explicit()
    if len(explicit) < 3:
        return
    in_title = not _ADULT_WORDS.isdisjoint(_Words(title).all)
    if in_title or (len(set(explicit)) >= 3 and len(explicit) > 0.01 * len(words.all)):
        collector.add(PageFlag.ADULT, f"adult: {len(explicit)} explicit words")


def _check_stuffing(words: _Words, keywords: str, collector: FlagCollector) -> None:
    if keywords.count(",") > _MAX_KEYWORDS:
        collector.add(PageFlag.STUFFED, f"stuffed: {keywords.count(',') + 1} keywords in the head")
        return
    if words.may_be_stuffed() and (reason := find_keyword_stuffing(words.lowered)):
        collector.add(PageFlag.STUFFED, f"stuffed: {reason}")


def _check_link_farm(
    text: str, links: tuple[Link, ...], own_domain: str, collector: FlagCollector, evidence: MarkupEvidence | None
) -> None:
    # Most pages have other text, or link to a few hosts; to see that takes no more than the beginnings of their links.
    most_linked = evidence.most_linked if evidence else None
    if most_linked is not None and most_linked <= _MIN_FARM_SHARE * len(text):
        return
    if count_origins(links) < _MIN_FARM_DOMAINS:
        return
    hosts = {link.url.split("/", 3)[2].partition(":")[0] for link in links if not link.nofollow}
    if len(hosts) < _MIN_FARM_DOMAINS:
        return
    domains = {registered_domain(host) for host in hosts} - {own_domain}
    linked = sum(len(link.text) for link in links)
    if len(domains) >= _MIN_FARM_DOMAINS and linked > _MIN_FARM_SHARE * len(text):
        collector.add(PageFlag.LINK_FARM, f"link farm: links to {len(domains)} domains, and hardly any other text")


def _check_hidden_text(text: str, flat: FlatPage, collector: FlagCollector) -> None:
    """Measure text in elements that a style hides; menus that open on demand count less."""
    hidden, links = 0, 0
    for row in flat.rows(RowKind.STYLE, _MAX_STYLES):
        style = _HIDING_STYLE.search(flat.value(row, 0)[:1_000].lower())
        if style is None:
            continue
        length = len(flat.row_text(row, _MAX_HIDDEN_TEXT))
        hidden += length // 3 if style[0].startswith(("display", "visibility")) else length
        links += flat.count_within(RowKind.LINK, row)
        if hidden > len(text):
            break
    if hidden >= 300 and hidden > 0.3 * len(text):
        collector.add(PageFlag.HIDDEN, f"hidden text: {hidden} characters, {links} links that people do not see")


def _check_paywall(text: str, evidence: MarkupEvidence, collector: FlagCollector) -> None:
    if not evidence.is_free:
        collector.add(PageFlag.PAYWALL, "paywall: the page says it is not free")
        return
    is_short, markup = len(text) < _MAX_TEASER, evidence.flat.data
    has_wall = (
        evidence.flat.hints & WALLS > 0
        and any(word in markup for word in _WALL_WORDS)
        and _WALL_ELEMENT.search(markup) is not None
    )
    may_say_so = evidence.text_hints & SUBSCRIPTIONS or not text.isascii()
    lowered = text.lower() if may_say_so and (is_short or has_wall) else ""
    phrase = ""
    if lowered and any(map(lowered.__contains__, _PAYWALL_HINTS)):
        phrase = next((phrase for phrase in _PAYWALL_PHRASES if phrase in lowered), "")
    if phrase:
        collector.add(PageFlag.PAYWALL, f"paywall: '{phrase}'")
    elif is_short and has_wall:
        collector.add(PageFlag.PAYWALL, "paywall: an element is called so")


def _check_scripts(text: str, markup: bytes, collector: FlagCollector) -> None:
    lowered = markup[:_MAX_MARKUP].decode("utf-8", "ignore").lower()
    scripts = lowered.count("<script")
    if scripts and (
        _SCRIPT_ROOT.search(lowered) or _SCRIPT_NOTICE.search(lowered) or (len(text) < 40 and scripts >= 2)
    ):
        collector.add(PageFlag.SCRIPT_ONLY, f"script-only: {len(text)} characters without running scripts")
