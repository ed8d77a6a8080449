"""What a careful reader would warn of: adult content, spam, a paywall, a page that is empty without its scripts."""

import re
from collections import Counter
from itertools import islice
from typing import Final

from periplus.parse.feeds import rough_text
from periplus.records import Flag, Link
from periplus.url import registered_domain

__all__ = ["Warnings", "find_flags"]

_LOOK: Final = 12_000
_EXPLICIT: Final = """
porn porno pornos pornographic pornographie pornografie pornhub xxx milf milfs blowjob blowjobs cumshot cumshots hentai
camgirl camgirls gangbang bukkake creampie handjob deepthroat fucking fucked pussy cunt dildo dildos nsfw nudes sexfilm
sexfilme sexcam sexcams порно
"""
_ADULT_WORDS: Final = frozenset(_EXPLICIT.split())
_RATED: Final = re.compile(
    r"<meta[^<>]{0,200}(?:rta-5042-1996-1400-1577-rta|name\s{0,2}=\s{0,2}[\"']?rating[\"']?[^<>]{0,60}"
    r"content\s{0,2}=\s{0,2}[\"']?(?:adult|mature|restricted))",
    re.IGNORECASE,
)
_KEYWORDS: Final = re.compile(
    r"<meta[^<>]{0,200}name\s{0,2}=\s{0,2}[\"']?keywords[\"']?[^<>]{0,60}content\s{0,2}=\s{0,2}[\"']([^\"'<>]{0,20000})",
    re.IGNORECASE,
)
_UNSEEN: Final = re.compile(
    r"display:\s?none|visibility:\s?hidden|font-size:\s?0(?:px|pt|em)?\s?(?:;|\Z)|text-indent:\s?-\d{3,6}|left:\s?-\d{3,6}|"
    r"opacity:\s?0\s?[;\"']"
)
_STYLED: Final = re.compile(r"<(\w{1,12})\s(?:[^<>]{0,600}?\s)?style=[\"']([^\"'<>]{0,500})")
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
_WALL: Final = re.compile(r"(?:class|id)\s?=\s?[\"'][^\"'<>]{0,200}\b(?:paywall|pay-wall|subscriber-wall|regwall)")
_SCRIPTED: Final = re.compile(r"<div[^<>]{0,200}id\s?=\s?[\"']?(?:root|app|__next|__nuxt|main-app|svelte|q-app)\b")
_NEEDS: Final = re.compile(
    r"(?:enable|requires?|need|activate|activer|aktivieren) .{0,30}javascript|javascript .{0,40}(?:enable|required)"
)
_WORD: Final = re.compile(r"\w{3,30}")

_MOST_STYLES: Final = 500
_LITTLE_TEXT: Final = 250
_MANY_WORDS: Final = 120
_WORD_SHARE: Final = 0.12
_PHRASE_SHARE: Final = 0.08
_MOST_KEYWORDS: Final = 100
_FARM_DOMAINS: Final = 40
_FARM_SHARE: Final = 0.7


class Warnings:
    """Flags with a reason each."""

    def __init__(self) -> None:
        self.flags = 0
        self.reasons: list[str] = []

    def warn(self, flag: Flag, reason: str) -> None:
        """Raise a flag, the first time with its reason."""
        if not self.flags & flag:
            self.flags |= flag
            self.reasons.append(reason)


def find_flags(
    title: str, text: str, links: tuple[Link, ...], own_domain: str, markup: str = "", free: bool = True
) -> Warnings:
    """Look at what a page shows and, for HTML, at its markup."""
    warnings = Warnings()
    lowered = markup.lower()
    words = _WORD.findall(text[:_LOOK].lower())
    _look_for_adult(title, words, lowered[:_LOOK], warnings)
    _look_for_stuffing(words, lowered[:_LOOK], warnings)
    _look_for_farm(text, links, own_domain, warnings)
    if markup:
        _look_for_hidden(text, lowered, warnings)
        _look_for_wall(text, lowered, free, warnings)
        _look_for_scripts(text, lowered, warnings)
    return warnings


def _look_for_adult(title: str, words: list[str], head: str, warnings: Warnings) -> None:
    if "rating" in head and _RATED.search(head):
        warnings.warn(Flag.ADULT, "adult: rated so by the page itself")
        return
    found = [word for word in words if word in _ADULT_WORDS]
    titled = not _ADULT_WORDS.isdisjoint(_WORD.findall(title.lower()))
    if len(found) >= 3 and (titled or (len(set(found)) >= 3 and len(found) > 0.01 * len(words))):
        warnings.warn(Flag.ADULT, f"adult: {len(found)} explicit words")


def _look_for_stuffing(words: list[str], head: str, warnings: Warnings) -> None:
    keywords = _KEYWORDS.search(head) if "keywords" in head else None
    if keywords and keywords[1].count(",") > _MOST_KEYWORDS:
        warnings.warn(Flag.STUFFED, f"stuffed: {keywords[1].count(',') + 1} keywords in the head")
        return
    # Short words are grammar in most languages; they are common on every page.
    longer = [word for word in words if len(word) > 4]
    if len(words) < _MANY_WORDS or not longer:
        return
    word, count = Counter(longer).most_common(1)[0]
    if count > _WORD_SHARE * len(words):
        warnings.warn(Flag.STUFFED, f"stuffed: '{word}' is {count / len(words):.0%} of all words")
        return
    if count <= _PHRASE_SHARE * len(words):
        return
    phrase, times = Counter(zip(words, words[1:], words[2:], strict=False)).most_common(1)[0]
    if times >= 10 and times > _PHRASE_SHARE * len(words):
        warnings.warn(Flag.STUFFED, f"stuffed: '{' '.join(phrase)}' {times} times")


def _look_for_farm(text: str, links: tuple[Link, ...], own_domain: str, warnings: Warnings) -> None:
    if len(links) < _FARM_DOMAINS:
        return
    hosts = {link.url.split("/", 3)[2].partition(":")[0] for link in links if not link.nofollow}
    if len(hosts) < _FARM_DOMAINS:
        return
    domains = {registered_domain(host) for host in hosts} - {own_domain}
    linked = sum(len(link.text) for link in links)
    if len(domains) >= _FARM_DOMAINS and linked > _FARM_SHARE * len(text):
        warnings.warn(Flag.LINK_FARM, f"link farm: links to {len(domains)} domains, and hardly any other text")


def _look_for_hidden(text: str, markup: str, warnings: Warnings) -> None:
    """Measure text in elements that a style keeps out of sight; a menu that opens is no offence."""
    hidden, links = 0, 0
    for found in islice(_STYLED.finditer(markup) if "style=" in markup else (), _MOST_STYLES):
        trick = _UNSEEN.search(found[2])
        if trick is None:
            continue
        place = markup.find(">", found.end()) + 1
        piece = markup[place : place + 20_000].partition(f"</{found[1]}")[0]
        length = len(rough_text(piece, 20_000))
        sly = not trick[0].startswith(("display", "visibility"))
        hidden += length if sly else length // 3
        links += piece.count("<a ")
        if hidden > len(text):
            break
    if hidden >= 300 and hidden > 0.3 * len(text):
        warnings.warn(Flag.HIDDEN, f"hidden text: {hidden} characters, {links} links that people do not see")


def _look_for_wall(text: str, markup: str, free: bool, warnings: Warnings) -> None:
    lowered = text.lower()
    phrase = next((phrase for phrase in _LOCKED if phrase in lowered), "")
    if not free:
        warnings.warn(Flag.PAYWALL, "paywall: the page says it is not free")
    elif phrase and (len(text) < 4_000 or _WALL.search(markup)):
        warnings.warn(Flag.PAYWALL, f"paywall: '{phrase}'")
    elif len(text) < 3_000 and "paywall" in markup and _WALL.search(markup):
        warnings.warn(Flag.PAYWALL, "paywall: an element is called so")


def _look_for_scripts(text: str, markup: str, warnings: Warnings) -> None:
    scripts = markup.count("<script") if len(text) < _LITTLE_TEXT else 0
    if not scripts:
        return
    if _SCRIPTED.search(markup) or _NEEDS.search(markup) or (len(text) < 40 and scripts >= 2):
        warnings.warn(Flag.SCRIPT_ONLY, f"script-only: {len(text)} characters without running scripts")
