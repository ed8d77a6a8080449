"""Office documents to a Page, by the XML inside: docx, xlsx, pptx and the OpenDocument ones."""

import re
from collections.abc import Callable
from typing import Final

from periplus.discovery import walk
from periplus.parse.formats.zip_archive import ZipReader
from periplus.parse.link_collector import LinkCollector
from periplus.parse.page_head import PageHead
from periplus.parse.text_cleanup import one_line, paragraphs, parse_iso_date
from periplus.records import FetchResult, Page
from periplus.settings import ParseSettings

__all__ = ["parse_docx", "parse_open_document", "parse_pptx", "parse_xlsx"]

_LONGEST_TITLE: Final = 300
_LONGEST_HEADING: Final = 300
_MOST_HEADINGS: Final = 64
_MOST_STRINGS: Final = 1_000_000
_HEADING: Final = re.compile(r"(?:heading|title|berschrift|titre)", re.IGNORECASE)
_PROPERTIES: Final = {
    "title": "title",
    "creator": "author",
    "initial-creator": "author",
    "created": "date",
    "creation-date": "date",
    "date": "date",
    "description": "description",
    "subject": "subject",
    "keywords": "keywords",
    "keyword": "keywords",
}


class _Writing:
    """Gathers paragraphs and headings, within a bound."""

    def __init__(self, most: int) -> None:
        self.pieces: list[str] = []
        self.headings: list[str] = []
        self.references: list[tuple[str, str]] = []
        self._most = most
        self._line: list[str] = []

    def say(self, text: str) -> None:
        if self._most > 0:
            self._most -= len(text)
            self._line.append(text)

    def end(self, heading: bool = False) -> None:
        line = "".join(self._line)
        self._line.clear()
        if not line.strip():
            return
        self.pieces.append(line)
        if heading and len(self.headings) < _MOST_HEADINGS:
            self.headings.append(one_line(line, _LONGEST_HEADING))

    @property
    def full(self) -> bool:
        return self._most <= 0


def parse_docx(fetched: FetchResult, settings: ParseSettings) -> Page | None:
    """Read a word processor's document (docx)."""
    archive = ZipReader(fetched.body)
    writing = _Writing(2 * settings.max_text)
    for name in ("word/document.xml", "word/footnotes.xml"):
        _read_paragraphs(archive.read(name), writing)
    return _page(fetched, settings, archive, writing, _related(archive, "word/_rels/document.xml.rels"))


def parse_pptx(fetched: FetchResult, settings: ParseSettings) -> Page | None:
    """Read a presentation (pptx), slide by slide, with the speaker's notes."""
    archive = ZipReader(fetched.body)
    writing = _Writing(2 * settings.max_text)
    related: list[str] = []
    for name in archive.under("ppt/slides/slide", ".xml")[: settings.max_document_pages]:
        _read_paragraphs(archive.read(name), writing)
        related += _related(archive, f"ppt/slides/_rels/{name.rpartition('/')[2]}.rels")
    for name in archive.under("ppt/notesSlides/notesSlide", ".xml")[: settings.max_document_pages]:
        _read_paragraphs(archive.read(name), writing)
    return _page(fetched, settings, archive, writing, related)


def _read_paragraphs(data: bytes, writing: _Writing) -> None:
    """Read what Word and PowerPoint share: paragraphs `p` of runs `t`, a style or a placeholder for headings."""
    state = {"text": False, "heading": False, "placeholder": False}

    def start(name: str, attributes: dict[str, str]) -> bool:
        if name == "t":
            state["text"] = True
        elif name in {"tab", "br", "cr"}:
            writing.say(" ")
        elif name == "pStyle":
            state["heading"] = bool(_HEADING.search(attributes.get("w:val", "")))
        elif name == "ph":
            state["placeholder"] = "itle" in attributes.get("type", "")
        elif name == "sp":
            state["placeholder"] = False
        return not writing.full

    def end(name: str) -> None:
        if name == "t":
            state["text"] = False
        elif name == "p":
            writing.end(state["heading"] or state["placeholder"])
            state["heading"] = False

    walk(data, start, end, lambda text: writing.say(text) if state["text"] else None)
    writing.end()


def parse_xlsx(fetched: FetchResult, settings: ParseSettings) -> Page | None:
    """Read a workbook (xlsx): the names of its sheets, and a line for each row."""
    archive = ZipReader(fetched.body)
    writing = _Writing(2 * settings.max_text)
    for name in _sheet_names(archive.read("xl/workbook.xml")):
        writing.say(name)
        writing.end(heading=True)
    strings = _shared_strings(archive.read("xl/sharedStrings.xml"))
    for name in archive.under("xl/worksheets/sheet", ".xml")[: settings.max_document_pages]:
        _read_rows(archive.read(name), strings, writing)
    return _page(fetched, settings, archive, writing, [])


def _sheet_names(data: bytes) -> list[str]:
    names: list[str] = []
    walk(data, lambda name, more: names.append(more.get("name", "")) if name == "sheet" else None, _ignore, _ignore)
    return names


def _shared_strings(data: bytes) -> list[str]:
    strings: list[str] = []
    current: list[str] = []

    def end(name: str) -> None:
        if name == "si":
            strings.append("".join(current).strip()[:4_096])
            current.clear()

    walk(data, lambda name, _: len(strings) < _MOST_STRINGS, end, current.append)
    return strings


def _read_rows(data: bytes, strings: list[str], writing: _Writing) -> None:
    cell: list[str] = []
    kind = ""
    inside = False

    def start(name: str, attributes: dict[str, str]) -> bool:
        nonlocal kind, inside
        if name == "c":
            kind = attributes.get("t", "")
        inside = name in {"v", "t"}
        return not writing.full

    def end(name: str) -> None:
        nonlocal inside
        inside = False
        if name == "c":
            writing.say(_shown("".join(cell), kind, strings) + " ")
            cell.clear()
        elif name == "row":
            writing.end()

    walk(data, start, end, lambda text: cell.append(text) if inside else None)
    writing.end()


def _shown(value: str, kind: str, strings: list[str]) -> str:
    if kind != "s":
        return value
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 9 else len(strings)
    return strings[number] if number < len(strings) else ""


def parse_open_document(fetched: FetchResult, settings: ParseSettings) -> Page | None:
    """Read an OpenDocument text, spreadsheet or presentation (odt, ods, odp)."""
    archive = ZipReader(fetched.body)
    writing = _Writing(2 * settings.max_text)
    inside = 0
    related: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> bool:
        nonlocal inside
        if name in {"p", "h"}:
            inside += 1
        elif name in {"tab", "line-break", "s"}:
            writing.say(" ")
        elif name == "a":
            related.append(attributes.get("xlink:href", ""))
        return not writing.full

    def end(name: str) -> None:
        nonlocal inside
        if name in {"p", "h"}:
            inside -= 1
            writing.end(heading=name == "h")

    walk(archive.read("content.xml"), start, end, lambda text: writing.say(text) if inside else None)
    writing.end()
    return _page(fetched, settings, archive, writing, related)


def _related(archive: ZipReader, name: str) -> list[str]:
    """Give the outer addresses that a part refers to."""
    found: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "Relationship" and attributes.get("TargetMode") == "External":
            found.append(attributes.get("Target", ""))

    walk(archive.read(name), start, _ignore, _ignore)
    return found


def _properties(archive: ZipReader) -> dict[str, str]:
    """Read what the document says about itself: title, author, date, description."""
    found: dict[str, str] = {}
    current: list[str] = []

    def end(name: str) -> None:
        key = _PROPERTIES.get(name)
        if key and (value := one_line("".join(current), 500)):
            found.setdefault(key, value)
        current.clear()

    for part in ("docProps/core.xml", "meta.xml"):
        walk(archive.read(part), _clearing(current), end, current.append)
    return found


def _clearing(current: list[str]) -> Callable[[str, dict[str, str]], None]:
    return lambda name, attributes: current.clear()


def _ignore(*_: object) -> None:
    """Take no notice."""


def _page(
    fetched: FetchResult, settings: ParseSettings, archive: ZipReader, writing: _Writing, related: list[str]
) -> Page | None:
    if not archive.names:
        return None
    properties = _properties(archive)
    text = paragraphs("\n".join(writing.pieces), settings.max_text)
    head = PageHead(fetched, fetched.request.address.url)
    links = LinkCollector(fetched.request.address.url, settings.max_links)
    for reference in related:
        links.add(reference)
    first = writing.headings[0] if writing.headings else text.partition("\n")[0]
    return Page(
        url=fetched.request.address.url,
        title=one_line(properties.get("title") or first, _LONGEST_TITLE),
        headings=tuple(writing.headings),
        text=text,
        links=links.collected(head.nofollow),
        description=properties.get("description") or properties.get("subject", ""),
        language=head.language,
        noindex=head.noindex,
        nofollow=head.nofollow,
        published=parse_iso_date(properties.get("date", "")),
        author=properties.get("author", ""),
        facts=(("keywords", properties["keywords"]),) if "keywords" in properties else (),
    )
