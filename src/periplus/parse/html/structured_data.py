"""What a page states in a form for machines: OpenGraph, JSON-LD, microdata and infobox tables as facts, and its media.

All of it is in the rows that the kernel has left; only a few tables are looked at as markup.
"""

import re
from typing import Any, Final

import msgspec

from periplus.parse.formats.feed_page import strip_markup
from periplus.parse.html.flat_page import FlatPage, RowKind
from periplus.parse.html.media_extraction import extract_media
from periplus.parse.link_collector import resolve_url
from periplus.parse.text_cleanup import one_line, parse_iso_date
from periplus.records import Media

__all__ = ["StructuredData", "extract_structured_data"]

_ROW: Final = re.compile(
    r"<th\b[^<>]{0,500}>(.{1,1000}?)</th>.{0,40}?<td\b[^<>]{0,500}>(.{1,3000}?)</td>", re.DOTALL | re.I
)
_BOX: Final = re.compile(
    r"\b(?:infobox|factbox|fact-table|spec-table|specs|product-attributes|datasheet)\b", re.IGNORECASE
)
_GRAPH: Final = ("og:", "article:", "product:", "book:", "music:", "video:", "profile:")
_WRITERS: Final = "author article:author dc.creator dcterms.creator parsely-author sailthru.author citation_author byl"
_AUTHORS: Final = frozenset(_WRITERS.split())
_MEDIA_META: Final = {
    "og:image": "image",
    "og:image:url": "image",
    "twitter:image": "image",
    "og:video": "video",
    "og:video:url": "video",
    "og:audio": "audio",
    "og:audio:url": "audio",
}
_MEDIA_WORDS: Final = frozenset({"og:image:alt", "twitter:image:alt"})
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
_MOST_LINKS: Final = 5_000
_MOST_SCRIPTS: Final = 8
_MOST_TABLES: Final = 1_000
_MOST_BOXES: Final = 4
_MOST_PROPERTIES: Final = 500
_MOST_FACTS: Final = 60
_MOST_MEDIA: Final = 100
_LONGEST_FACT: Final = 300
_LONGEST_SCRIPT: Final = 200_000
_LONGEST_TABLE: Final = 100_000


class StructuredData:
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
        value = one_line(value, _LONGEST_FACT)
        if value and len(self.facts) < _MOST_FACTS:
            self.facts[(one_line(key, 60), value)] = None

    def show(self, reference: str, kind: str, text: str) -> None:
        """Keep an image, a sound, a film or a text track."""
        if not reference or reference.startswith("data:") or len(self.media) >= _MOST_MEDIA:
            return
        url = resolve_url(reference, self._base)
        known = self.media.get(url)
        if url and (known is None or len(known.text) < len(text)):
            self.media[url] = Media(url, kind, text)


def extract_structured_data(flat: FlatPage, base: str) -> StructuredData:
    """Read facts and media out of a page, in linear time."""
    details = StructuredData(base)
    _read_meta(flat, details)
    for row in flat.rows(RowKind.DATA, _MOST_SCRIPTS):
        _read_linked_data(flat.data[row[2] : min(row[3], row[2] + _LONGEST_SCRIPT)], details)
    _read_tables(flat, details)
    _read_microdata(flat, details)
    details.author = details.author or _linked_author(flat)
    extract_media(flat, details.show)
    return details


def _read_meta(flat: FlatPage, details: StructuredData) -> None:
    """Read OpenGraph and the author."""
    shown = ""
    for name, content, _ in flat.meta:
        if name in _MEDIA_META:
            shown = content
            details.show(shown, _MEDIA_META[name], "")
        elif name in _MEDIA_WORDS:
            details.show(shown, "image", one_line(content, _LONGEST_FACT))
        elif name in _AUTHORS and not content.startswith("http"):
            details.author = details.author or one_line(content, 200)
        elif name.startswith(_GRAPH):
            details.state(name, content)


def _linked_author(flat: FlatPage) -> str:
    """Give the text of the first link that is said to lead to the author."""
    numbers = flat.numbers(RowKind.LINK, _MOST_LINKS)
    place = next((place for place, number in enumerate(numbers) if number & RowKind.AUTHOR), -1) if any(numbers) else -1
    return one_line(flat.words(flat.rows(RowKind.LINK, place + 1)[place], 200), 200) if place >= 0 else ""


def _read_tables(flat: FlatPage, details: StructuredData) -> None:
    """Read tables that are called infobox or the like."""
    classes = flat.values(RowKind.TABLE, 0, _MOST_TABLES)
    boxes = [
        place
        for place, name in zip(flat.numbers(RowKind.TABLE, _MOST_TABLES), classes, strict=True)
        if _BOX.search(name)
    ]
    for place in boxes[:_MOST_BOXES]:
        end = flat.data.find(b"</table", place, place + _LONGEST_TABLE)
        for row in flat.data[place : max(place, end)].decode("utf-8", "ignore").split("<tr")[:200]:
            if found := _ROW.search(row[:5_000]):
                details.state(strip_markup(found[1], 60).rstrip(":"), strip_markup(found[2], _LONGEST_FACT))


def _read_linked_data(text: bytes, details: StructuredData) -> None:
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


def _read_thing(thing: dict[str, Any], details: StructuredData) -> None:
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
    details.published = details.published or parse_iso_date(str(thing.get("datePublished") or ""))
    if thing.get("isAccessibleForFree") in (False, "False", "false"):
        details.free = False


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _read_microdata(flat: FlatPage, details: StructuredData) -> None:
    """Read the values of itemprop attributes: of `content` or `datetime`, or the text of the element."""
    for row in flat.rows(RowKind.PROPERTY, _MOST_PROPERTIES):
        name = flat.value(row, 0).strip()
        value = flat.value(row, 1) or flat.words(row, _LONGEST_FACT)
        if name == "articleBody" or not value.strip() or (row[1] and name not in _PERSONS):
            continue
        details.state(name, value)
        if name == "datePublished":
            details.published = details.published or parse_iso_date(value)
        elif name in {"author", "creator"}:
            details.author = details.author or one_line(value, 200)
