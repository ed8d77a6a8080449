"""Structured data of a page: OpenGraph, JSON-LD, microdata and infobox tables as facts, and its media.

All of it is in the rows that the kernel leaves; only a few tables are read as markup.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from periplus.parse.formats.feed_page import strip_markup
from periplus.parse.html.flat_page import FlatPage, RowKind
from periplus.parse.html.media_extraction import extract_media
from periplus.parse.kernels.html_state import ROW_NUMBER
from periplus.parse.lazy_property import lazy_property
from periplus.parse.link_collector import make_resolver, resolve_all
from periplus.parse.media_links import linked_media
from periplus.parse.text_cleanup import one_line, parse_iso_date
from periplus.records import Link, Media

__all__ = ["StructuredData", "extract_structured_data"]

_TABLE_ROW: Final = re.compile(
    r"<th\b[^<>]{0,500}>(.{1,1000}?)</th>.{0,40}?<td\b[^<>]{0,500}>(.{1,3000}?)</td>", re.DOTALL | re.I
)
_INFOBOX: Final = re.compile(
    r"\b(?:infobox|factbox|fact-table|spec-table|specs|product-attributes|datasheet)\b", re.IGNORECASE
)
_OPEN_GRAPH: Final = ("og:", "article:", "product:", "book:", "music:", "video:", "profile:")
_AUTHOR_NAMES: Final = (
    "author article:author dc.creator dcterms.creator parsely-author sailthru.author citation_author byl"
)
_AUTHORS: Final = frozenset(_AUTHOR_NAMES.split())
_MEDIA_META: Final = {
    "og:image": "image",
    "og:image:url": "image",
    "twitter:image": "image",
    "og:video": "video",
    "og:video:url": "video",
    "og:audio": "audio",
    "og:audio:url": "audio",
}
_MEDIA_TEXTS: Final = frozenset({"og:image:alt", "twitter:image:alt"})
_PROPERTY_NAMES: Final = (
    "@type headline name description datePublished dateModified genre sku isbn price priceCurrency ratingValue "
    "startDate endDate servesCuisine telephone streetAddress addressLocality addressCountry duration numberOfPages "
    "birthDate deathDate jobTitle nationality award legalName foundingDate numberOfEmployees openingHours elevation "
    "inLanguage countryOfOrigin applicationCategory operatingSystem softwareVersion programmingLanguage license "
    "codeRepository prepTime cookTime totalTime recipeYield recipeCategory recipeCuisine calories"
)
_PROPERTIES: Final = tuple(_PROPERTY_NAMES.split())
_ENTITIES: Final = (
    "author",
    "creator",
    "publisher",
    "brand",
    "performer",
    "director",
    "manufacturer",
    "offers",
    "location",
    *("birthPlace", "deathPlace", "affiliation", "worksFor", "alumniOf", "founder", "containedInPlace"),
    *("actor", "productionCompany", "organizer"),
)
_PLACES: Final = {key: place for place, key in enumerate(_PROPERTIES)}
_ENTITY_SET: Final = frozenset(_ENTITIES)
_CLEAN_KEYS: Final = frozenset((*(key.lstrip("@") for key in _PROPERTIES), *_ENTITIES))
"""Names of facts that are in one line, and not too long."""
_SIMPLE: Final = (str, int, float)
_FEW: Final = 60
"""Properties of a node that are looked up in the list; of more, the list is looked up in the node."""
_NESTED: Final = ("address", "nutrition")
"""Entities whose own properties are facts of the page."""
_MAX_LINKS: Final = 5_000
_MAX_TABLES: Final = 1_000
_MAX_INFOBOXES: Final = 4
_MAX_PROPERTIES: Final = 500
_MAX_FACTS: Final = 60
_MAX_MEDIA: Final = 100
_MAX_FACT: Final = 300
_MAX_KEY: Final = 60
_MAX_SCRIPT: Final = 200_000
_MAX_TABLE: Final = 100_000


class StructuredData:
    """Collects facts and media, each once, within bounds."""

    def __init__(self, base: str) -> None:
        self.author = ""
        self.published = ""
        self.is_free = True
        """False if the page states that access must be paid for."""
        self.facts: dict[tuple[str, str], None] = {}
        self.media: dict[str, Media] = {}
        self._base = base

    @lazy_property
    def _resolve(self) -> Callable[[str], str]:
        return make_resolver(self._base)

    def add_fact(self, key: str, value: str) -> None:
        """Add a fact, unless there are enough."""
        value = one_line(value, _MAX_FACT)
        if value and len(self.facts) < _MAX_FACTS:
            self.facts[(key if key in _CLEAN_KEYS else one_line(key, _MAX_KEY), value)] = None

    def add_media(self, reference: str, kind: str, text: str) -> None:
        """Add an image, audio, video or text track; of several texts the longest is kept."""
        if not reference or reference.startswith("data:") or len(self.media) >= _MAX_MEDIA:
            return
        url = self._resolve(reference)
        media = self.media.get(url)
        if url and (media is None or len(media.text) < len(text)):
            self.media[url] = Media(url, kind, text)

    def add_images(self, references: Sequence[str], texts: Sequence[str]) -> None:
        """Add images as `add_media` does, each with its text."""
        written = "".join(references)
        if len(self.media) + len(references) > _MAX_MEDIA or "data:" in written or "#" in written:
            for reference, text in zip(references, texts, strict=True):
                self.add_media(reference, "image", text)
            return
        media = self.media
        for url, text in zip(resolve_all(references, self._base), texts, strict=True):
            if url and ((earlier := media.get(url)) is None or len(earlier.text) < len(text)):
                media[url] = Media(url, "image", text)

    def add_linked_media(self, links: tuple[Link, ...]) -> None:
        """Add what plain links lead to; what the page also embeds has its text from there."""
        for media in linked_media(links):
            if media.url not in self.media and len(self.media) < _MAX_MEDIA:
                self.media[media.url] = media


def extract_structured_data(flat: FlatPage, base: str) -> StructuredData:
    """Return the facts and media of a page, in linear time."""
    data = StructuredData(base)
    _read_meta(flat, data)
    for script in flat.scripts:
        _read_json_ld(script[:_MAX_SCRIPT], data)
    if flat.has(RowKind.TABLE):
        _read_tables(flat, data)
    if flat.has(RowKind.PROPERTY):
        _read_microdata(flat, data)
    data.author = data.author or _linked_author(flat)
    extract_media(flat, data.add_media, data.add_images)
    return data


def _read_meta(flat: FlatPage, data: StructuredData) -> None:
    """Read OpenGraph and the author."""
    source = ""
    for name, content, _ in flat.meta:
        if name in _MEDIA_META:
            source = content
            data.add_media(source, _MEDIA_META[name], "")
        elif name in _MEDIA_TEXTS:
            data.add_media(source, "image", one_line(content, _MAX_FACT))
        elif name in _AUTHORS and not content.startswith("http"):
            data.author = data.author or one_line(content, 200)
        elif name.startswith(_OPEN_GRAPH):
            data.add_fact(name, content)


def _linked_author(flat: FlatPage) -> str:
    """Return the text of the first link with rel=author."""
    if flat.strings is not None and not flat.strings.all_link_bits & RowKind.AUTHOR:
        return ""
    numbers = flat.numbers(RowKind.LINK, _MAX_LINKS)
    index = next((index for index, number in enumerate(numbers) if number & RowKind.AUTHOR), -1)
    return one_line(flat.row_text(flat.rows(RowKind.LINK, index + 1)[index], 200), 200) if index >= 0 else ""


def _read_tables(flat: FlatPage, data: StructuredData) -> None:
    """Read tables whose class is infobox or the like."""
    classes = flat.values(RowKind.TABLE, 0, _MAX_TABLES) if flat.strings is None else flat.strings.tables
    offsets = flat.numbers(RowKind.TABLE, _MAX_TABLES)
    boxes = [offset for offset, name in zip(offsets, classes, strict=True) if _INFOBOX.search(name)]
    for begin in boxes[:_MAX_INFOBOXES]:
        end = flat.data.find(b"</table", begin, begin + _MAX_TABLE)
        for row in flat.data[begin : max(begin, end)].decode("utf-8", "ignore").split("<tr")[:200]:
            if match := _TABLE_ROW.search(row[:5_000]):
                data.add_fact(strip_markup(match[1], 60).rstrip(":"), strip_markup(match[2], _MAX_FACT))


def _read_json_ld(text: bytes, data: StructuredData) -> None:
    try:
        document = msgspec.json.decode(text.strip())
    except (msgspec.DecodeError, RecursionError, ValueError):
        return
    items: list[Any] = document if isinstance(document, list) else [document]
    for item in items[:20]:
        graph = item.get("@graph") if isinstance(item, dict) else None
        for node in graph[:20] if isinstance(graph, list) else (item,):
            if isinstance(node, dict):
                _read_node(node, data)


def _read_node(node: dict[str, Any], data: StructuredData) -> None:
    for key in [key for key in _PROPERTIES if key in node] if len(node) > _FEW else _in_order(node):
        value = _first(node[key])
        if isinstance(value, _SIMPLE) and not isinstance(value, bool):
            data.add_fact(key.lstrip("@"), str(value))
    for nested in [_first(node[name]) for name in _NESTED if name in node]:
        for key in _PROPERTIES if isinstance(nested, dict) else ():
            if not key.startswith("@") and isinstance(nested.get(key), str):
                data.add_fact(key, nested[key])
    for key in _ENTITIES if not _ENTITY_SET.isdisjoint(node) else ():
        if key not in node:
            continue
        for entity in _as_list(node.get(key))[:3]:
            name = entity.get("name") or entity.get("price") if isinstance(entity, dict) else entity
            if isinstance(name, str):
                data.add_fact("price" if key == "offers" else key, name)
                if key == "author":
                    data.author = data.author or one_line(name, 200)
    data.published = data.published or parse_iso_date(str(node.get("datePublished") or ""))
    if node.get("isAccessibleForFree") in (False, "False", "false"):
        data.is_free = False


def _in_order(node: dict[str, Any]) -> list[str]:
    """Return the properties of a node in the order in which they become facts."""
    return sorted([key for key in node if key in _PLACES], key=_PLACES.__getitem__)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _read_microdata(flat: FlatPage, data: StructuredData) -> None:
    """Read microdata: the value of `content` or `datetime`, or the text of the element."""
    for row in flat.rows(RowKind.PROPERTY, _MAX_PROPERTIES):
        name = flat.value(row, 0).strip()
        value = flat.value(row, 1) or flat.row_text(row, _MAX_FACT)
        if name == "articleBody" or not value.strip() or (row[ROW_NUMBER] and name not in _ENTITIES):
            continue
        data.add_fact(name, value)
        if name == "datePublished":
            data.published = data.published or parse_iso_date(value)
        elif name in {"author", "creator"}:
            data.author = data.author or one_line(value, 200)
