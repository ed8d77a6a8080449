"""What a careful reader would warn of: adult content, spam, a paywall, a page that is empty without its scripts."""

import re
from collections import Counter
from typing import Final

from periplus.parse.html.flat_page import FlatPage, RowKind
from periplus.records import Link, PageFlag
from periplus.url import registered_domain

__all__ = ["FlagCollector", "MarkupEvidence", "find_flags"]

_LOOK: Final = 8_000
_EXPLICIT: Final = """
porn porno pornos pornographic pornographie pornografie pornhub xxx milf milfs blowjob blowjobs cumshot cumshots hentai
camgirl camgirls gangbang bukkake creampie handjob deepthroat fucking fucked pussy cunt dildo dildos nsfw nudes sexfilm
sexfilme sexcam sexcams порно
"""
_ADULT_WORDS: Final = frozenset(_EXPLICIT.encode().split())
_RATED: Final = ("adult", "mature", "restricted", "rta-5042-1996-1400-1577-rta")
_UNSEEN: Final = re.compile(
    r"display:\s?none|visibility:\s?hidden|font-size:\s?0(?:px|pt|em)?\s?(?:;|\Z)|text-indent:\s?-\d{3,6}|left:\s?-\d{3,6}|"
    r"opacity:\s?0\s?(?:;|\Z)"
)
_LOCKED: Final = (
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
_WALL: Final = re.compile(
    rb"(?:class|id)\s?=\s?[\"'][^\"'<>]{0,200}\b(?:paywall|pay-wall|subscriber-wall|regwall)", re.IGNORECASE
)
_WALLS: Final = (b"paywall", b"pay-wall", b"subscriber-wall", b"regwall")
_SCRIPTED: Final = re.compile(r"<div[^<>]{0,200}id\s?=\s?[\"']?(?:root|app|__next|__nuxt|main-app|svelte|q-app)\b")
_NEEDS: Final = re.compile(
    r"(?:enable|requires?|need|activate|activer|aktivieren) .{0,30}javascript|javascript .{0,40}(?:enable|required)"
)
_BETWEEN: Final = bytes(code if code >= 128 or chr(code).isalnum() or code == ord("_") else 32 for code in range(256))
"""What parts words in ASCII is made a space."""
_MARKS: Final = tuple(
    re.compile(marks, re.DOTALL)
    for marks in (rb"\xe2\x80.", rb"\xc2[\xa0-\xbf]", rb"\xe3\x80[\x80-\x9f]", rb"\xef\xbc[\x80-\x8f]")
)
"""Quotes, dashes and other punctuation beyond ASCII: a pattern each, as one that begins with a byte is found fast."""

_MOST_STYLES: Final = 500
_LONGEST_HIDDEN: Final = 20_000
_MOST_MARKUP: Final = 1 << 20
_LITTLE_TEXT: Final = 250
_SHORT_TEXT: Final = 4_000
_MANY_WORDS: Final = 160
_WORD_SHARE: Final = 0.09
_PHRASE_SHARE: Final = 0.06
_MOST_KEYWORDS: Final = 100
_FARM_DOMAINS: Final = 40
_FARM_SHARE: Final = 0.7


class FlagCollector:
    """Flags with a reason each."""

    def __init__(self) -> None:
        self.flags = 0
        self.reasons: list[str] = []

    def warn(self, flag: PageFlag, reason: str) -> None:
        """Raise a flag, the first time with its reason."""
        if not self.flags & flag:
            self.flags |= flag
            self.reasons.append(reason)


class MarkupEvidence:
    """What the flags of an HTML page are raised by, beside its text."""

    def __init__(self, flat: FlatPage, free: bool) -> None:
        self.flat = flat
        self.free = free
        """Whether the page does not say that it must be paid for."""
        self.meta = {name: content for name, content, _ in flat.meta}


def find_flags(
    title: str, text: str, links: tuple[Link, ...], own_domain: str, evidence: MarkupEvidence | None = None
) -> FlagCollector:
    """Look at what a page shows and, for HTML, at its markup."""
    warnings = FlagCollector()
    words = _words(text[:_LOOK].lower())
    meta = evidence.meta if evidence else {}
    _look_for_adult(title, words, meta.get("rating", "").strip().lower(), warnings)
    _look_for_stuffing(words, meta.get("keywords", ""), warnings)
    _look_for_farm(text, links, own_domain, warnings)
    if evidence:
        _look_for_hidden(text, evidence.flat, warnings)
        _look_for_wall(text, evidence.flat.data, evidence.free, warnings)
        _look_for_scripts(text, evidence.flat.data, warnings)
    return warnings


def _words(text: str) -> list[bytes]:
    """Split text into words."""
    raw = text.encode("utf-8", "ignore")
    if len(raw) > len(text):
        for marks in _MARKS:
            raw = marks.sub(b" ", raw)
    return raw.translate(_BETWEEN).split()


def _look_for_adult(title: str, words: list[bytes], rating: str, warnings: FlagCollector) -> None:
    if rating.startswith(_RATED):
        warnings.warn(PageFlag.ADULT, "adult: rated so by the page itself")
        return
    if _ADULT_WORDS.isdisjoint(words):
        return
    found = [word for word in words if word in _ADULT_WORDS]
    titled = not _ADULT_WORDS.isdisjoint(_words(title.lower()))
    if len(found) >= 3 and (titled or (len(set(found)) >= 3 and len(found) > 0.01 * len(words))):
        warnings.warn(PageFlag.ADULT, f"adult: {len(found)} explicit words")


def _look_for_stuffing(words: list[bytes], keywords: str, warnings: FlagCollector) -> None:
    if keywords.count(",") > _MOST_KEYWORDS:
        warnings.warn(PageFlag.STUFFED, f"stuffed: {keywords.count(',') + 1} keywords in the head")
        return
    if len(words) < _MANY_WORDS:
        return
    # Short words are grammar in most languages; they are common on every page.
    many = _PHRASE_SHARE * len(words)
    counts = {word: count for word, count in Counter(words).items() if count > many and len(word) > 4}
    if not counts:
        return
    word, count = max(counts.items(), key=lambda pair: pair[1])
    if count > _WORD_SHARE * len(words):
        warnings.warn(PageFlag.STUFFED, f"stuffed: '{word.decode()}' is {count / len(words):.0%} of all words")
        return
    phrase, times = Counter(zip(words, words[1:], words[2:], strict=False)).most_common(1)[0]
    if times >= 10 and times > _PHRASE_SHARE * len(words):
        warnings.warn(PageFlag.STUFFED, f"stuffed: '{b' '.join(phrase).decode()}' {times} times")


def _look_for_farm(text: str, links: tuple[Link, ...], own_domain: str, warnings: FlagCollector) -> None:
    if len(links) < _FARM_DOMAINS:
        return
    hosts = {link.url.split("/", 3)[2].partition(":")[0] for link in links if not link.nofollow}
    if len(hosts) < _FARM_DOMAINS:
        return
    domains = {registered_domain(host) for host in hosts} - {own_domain}
    linked = sum(len(link.text) for link in links)
    if len(domains) >= _FARM_DOMAINS and linked > _FARM_SHARE * len(text):
        warnings.warn(PageFlag.LINK_FARM, f"link farm: links to {len(domains)} domains, and hardly any other text")


def _look_for_hidden(text: str, flat: FlatPage, warnings: FlagCollector) -> None:
    """Measure text in elements that a style keeps out of sight; a menu that opens is no offence."""
    hidden, links = 0, 0
    for row in flat.rows(RowKind.STYLE, _MOST_STYLES):
        trick = _UNSEEN.search(flat.value(row, 0)[:1_000].lower())
        if trick is None:
            continue
        length = len(flat.words(row, _LONGEST_HIDDEN))
        hidden += length // 3 if trick[0].startswith(("display", "visibility")) else length
        links += flat.count_within(RowKind.LINK, row)
        if hidden > len(text):
            break
    if hidden >= 300 and hidden > 0.3 * len(text):
        warnings.warn(PageFlag.HIDDEN, f"hidden text: {hidden} characters, {links} links that people do not see")


def _look_for_wall(text: str, markup: bytes, free: bool, warnings: FlagCollector) -> None:
    if not free:
        warnings.warn(PageFlag.PAYWALL, "paywall: the page says it is not free")
        return
    is_short = len(text) < _SHORT_TEXT
    walled = b"wall" in markup and any(word in markup for word in _WALLS) and _WALL.search(markup) is not None
    lowered = text.lower() if is_short or walled else ""
    phrase = next((phrase for phrase in _LOCKED if phrase in lowered), "") if lowered else ""
    if phrase:
        warnings.warn(PageFlag.PAYWALL, f"paywall: '{phrase}'")
    elif is_short and walled:
        warnings.warn(PageFlag.PAYWALL, "paywall: an element is called so")


def _look_for_scripts(text: str, markup: bytes, warnings: FlagCollector) -> None:
    if len(text) >= _LITTLE_TEXT:
        return
    lowered = markup[:_MOST_MARKUP].decode("utf-8", "ignore").lower()
    scripts = lowered.count("<script")
    if scripts and (_SCRIPTED.search(lowered) or _NEEDS.search(lowered) or (len(text) < 40 and scripts >= 2)):
        warnings.warn(PageFlag.SCRIPT_ONLY, f"script-only: {len(text)} characters without running scripts")
