"""What a page states in a form for machines: OpenGraph, JSON-LD, microdata and infobox tables as facts, and its media.

One sweep over a few tags of the decoded markup, whichever reader has read the text.
"""

import html
import re
from typing import Any, Final

import msgspec

from periplus.parse.feeds import rough_text
from periplus.parse.links import absolute
from periplus.parse.tidy import iso_date, one_line
from periplus.records import Media

__all__ = ["Details", "read_details"]

_TAG: Final = re.compile(
    r"<(meta|img|video|audio|source|track|/?figure|figcaption|script|table|h[1-6]|object|embed)\b([^<>]{0,4000})>",
    re.IGNORECASE,
)
_ATTRIBUTE: Final = re.compile(
    r"([\w:.-]{1,40})\s{0,4}=\s{0,4}(?:\"([^\"]{0,2000})\"|'([^']{0,2000})'|([^\s\"'>]{1,2000}))"
)
_PROPERTY: Final = re.compile(r"<(\w{1,12})\s([^<>]{1,4000})>([^<]{0,300})")
_ROW: Final = re.compile(
    r"<th\b[^<>]{0,500}>(.{1,1000}?)</th>.{0,40}?<td\b[^<>]{0,500}>(.{1,3000}?)</td>", re.DOTALL | re.I
)
_BOX: Final = re.compile(
    r"\b(?:infobox|factbox|fact-table|spec-table|specs|product-attributes|datasheet)\b", re.IGNORECASE
)
_GRAPH: Final = ("og:", "article:", "product:", "book:", "music:", "video:", "profile:")
_AUTHORS: Final = frozenset({"author", "article:author", "dc.creator", "dcterms.creator", "parsely-author", "byl"})
_MEDIA_META: Final = {
    "og:image": "image",
    "og:image:url": "image",
    "twitter:image": "image",
    "og:video": "video",
    "og:video:url": "video",
    "og:audio": "audio",
    "og:audio:url": "audio",
}
_STATED: Final = (
    "@type headline name description datePublished dateModified genre sku isbn price priceCurrency ratingValue "
    "startDate endDate servesCuisine telephone streetAddress addressLocality addressCountry duration numberOfPages"
)
_PERSONS: Final = (
    "author",
    "creator",
    "publisher",
    "brand",
    "performer",
    "director",
    "manufacturer",
    "offers",
    "location",
)
_MOST_TAGS: Final = 5_000
_MOST_FACTS: Final = 60
_MOST_MEDIA: Final = 100
_LONGEST_FACT: Final = 300
_LONGEST_SCRIPT: Final = 200_000
_LONGEST_TABLE: Final = 100_000


class Details:
    """Gathers facts and media, each once, within bounds."""

    def __init__(self, base: str) -> None:
        self.author = ""
        self.published = ""
        self.free = True
        """Whether the page does not say that it must be paid for."""
        self.facts: dict[tuple[str, str], None] = {}
        self.media: dict[str, Media] = {}
        self._base = base

    def state(self, key: str, value: str) -> None:
        """Keep a fact."""
        value = one_line(html.unescape(value[: 4 * _LONGEST_FACT]), _LONGEST_FACT)
        if value and len(self.facts) < _MOST_FACTS:
            self.facts[(one_line(key, 60), value)] = None

    def show(self, reference: str, kind: str, text: str) -> None:
        """Keep an image, a sound, a film or a text track."""
        if not reference or reference.startswith("data:") or len(self.media) >= _MOST_MEDIA:
            return
        url = absolute(html.unescape(reference), self._base)
        known = self.media.get(url)
        if url and (known is None or len(known.text) < len(text)):
            self.media[url] = Media(url, kind, text)


def read_details(markup: str, base: str) -> Details:
    """Read facts and media out of a page's markup, in linear time."""
    details = Details(base)
    sweep = _Sweep(markup, details)
    for number, found in enumerate(_TAG.finditer(markup)):
        if number >= _MOST_TAGS:
            break
        sweep.take(found)
    if "itemprop" in markup:
        _read_microdata(markup, details)
    return details


def _attributes(raw: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(raw):
        found.setdefault(name.lower(), double or single or bare)
    return found


class _Sweep:
    """Where in the page we are: in which figure, under which heading, in which film."""

    def __init__(self, markup: str, details: Details) -> None:
        self._markup = markup
        self._details = details
        self._figure: list[tuple[str, str, str]] | None = None
        self._heading = ""
        self._player = ("", "")
        self._scripts = self._tables = 0

    def take(self, found: re.Match[str]) -> None:
        """Take note of one tag."""
        tag, raw = found[1].lower(), found[2]
        if tag == "meta":
            self._meta(_attributes(raw))
        elif tag in {"img", "video", "audio", "source", "track", "embed", "object"}:
            self._show(tag, _attributes(raw))
        elif tag == "figure":
            self._figure = []
        elif tag == "/figure":
            self._figure = None
        elif tag == "figcaption":
            self._caption(found.end())
        elif tag == "script":
            self._script(raw, found.end())
        elif tag == "table":
            self._table(raw, found.end())
        else:
            self._heading = rough_text(self._markup[found.end() : found.end() + 300].partition("</")[0], 200)

    def _meta(self, attributes: dict[str, str]) -> None:
        name = (attributes.get("property") or attributes.get("name") or "").lower()
        content = attributes.get("content", "")
        if name in _MEDIA_META:
            self._details.show(content, _MEDIA_META[name], "")
        elif name in _AUTHORS and not content.startswith("http"):
            self._details.author = self._details.author or one_line(html.unescape(content), 200)
        elif name.startswith(_GRAPH):
            self._details.state(name, content)

    def _show(self, tag: str, attributes: dict[str, str]) -> None:
        source = attributes.get("src") or attributes.get("data-src") or attributes.get("data") or ""
        words = next((attributes[key] for key in ("alt", "aria-label", "title", "label") if attributes.get(key)), "")
        text = one_line(html.unescape(words), 300)
        if tag in {"video", "audio"}:
            self._player = (tag, text or self._heading)
            self._add(source, tag, text or self._heading)
            self._add(attributes.get("poster", ""), "image", text)
        elif tag == "source" and self._player[0]:
            self._add(source, self._player[0], text or self._player[1])
        elif tag == "track":
            self._add(source, "track", text or self._player[1])
        elif tag == "img" and (text or self._figure is not None):
            self._add(source, "image", text)
        elif tag in {"embed", "object"} and attributes.get("type", "").startswith(("video/", "audio/")):
            self._add(source, attributes["type"][:5], text or self._heading)

    def _add(self, source: str, kind: str, text: str) -> None:
        if self._figure is not None and source:
            self._figure.append((source, kind, text))
        self._details.show(source, kind, text)

    def _caption(self, place: int) -> None:
        """Give what stands in a figure its caption, beside its own words."""
        piece = self._markup[place : place + 2_000].partition("</figcaption")[0]
        caption = rough_text(piece, 300)
        for source, kind, text in self._figure or ():
            self._details.show(source, kind, one_line(f"{text}. {caption}" if text else caption, 300))

    def _script(self, raw: str, place: int) -> None:
        if "ld+json" not in raw or self._scripts >= 8:
            return
        self._scripts += 1
        end = self._markup.find("</script", place, place + _LONGEST_SCRIPT)
        if end > 0:
            _read_linked_data(self._markup[place:end], self._details)

    def _table(self, raw: str, place: int) -> None:
        if self._tables >= 4 or not _BOX.search(raw):
            return
        self._tables += 1
        end = self._markup.find("</table", place, place + _LONGEST_TABLE)
        for row in self._markup[place : max(place, end)].split("<tr")[:200]:
            if found := _ROW.search(row[:5_000]):
                self._details.state(rough_text(found[1], 60).rstrip(":"), rough_text(found[2], _LONGEST_FACT))


def _read_linked_data(text: str, details: Details) -> None:
    try:
        document = msgspec.json.decode(text.strip())
    except (msgspec.DecodeError, RecursionError, ValueError):
        return
    waiting: list[Any] = document if isinstance(document, list) else [document]
    for thing in waiting[:20]:
        graph = thing.get("@graph") if isinstance(thing, dict) else None
        for one in graph[:20] if isinstance(graph, list) else (thing,):
            if isinstance(one, dict):
                _read_thing(one, details)


def _read_thing(thing: dict[str, Any], details: Details) -> None:
    for key in _STATED.split():
        value = thing.get(key)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            details.state(key.lstrip("@"), str(value))
    for key in _PERSONS:
        for one in _several(thing.get(key))[:3]:
            name = one.get("name") or one.get("price") if isinstance(one, dict) else one
            if isinstance(name, str):
                details.state("price" if key == "offers" else key, name)
                if key == "author":
                    details.author = details.author or one_line(name, 200)
    details.published = details.published or iso_date(str(thing.get("datePublished") or ""))
    if thing.get("isAccessibleForFree") in (False, "False", "false"):
        details.free = False


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _read_microdata(markup: str, details: Details) -> None:
    """Read the values of itemprop attributes: of `content` or `datetime`, or the text that follows."""
    for number, found in enumerate(_PROPERTY.finditer(markup)):
        if number >= 20_000 or len(details.facts) >= _MOST_FACTS:
            break
        if "itemprop" not in found[2]:
            continue
        attributes = _attributes(found[2])
        name = attributes.get("itemprop", "")
        value = attributes.get("content") or attributes.get("datetime") or found[3]
        if name == "articleBody" or not value.strip():
            continue
        details.state(name, value)
        if name == "datePublished":
            details.published = details.published or iso_date(value)
        elif name in {"author", "creator"}:
            details.author = details.author or one_line(html.unescape(value), 200)
