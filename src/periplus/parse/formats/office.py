"""Office documents to a Page, by the XML in them: docx, xlsx, pptx, odt, ods, odp."""

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

_MAX_TITLE: Final = 300
_MAX_HEADING: Final = 300
_MAX_HEADINGS: Final = 64
_MAX_STRINGS: Final = 1_000_000
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


class _TextBuilder:
    """Collects paragraphs and headings, within a bound."""

    def __init__(self, max_text: int) -> None:
        self.paragraphs: list[str] = []
        self.headings: list[str] = []
        self._remaining = max_text
        self._line: list[str] = []

    def add_text(self, text: str) -> None:
        if self._remaining > 0:
            self._remaining -= len(text)
            self._line.append(text)

    def end_paragraph(self, heading: bool = False) -> None:
        line = "".join(self._line)
        self._line.clear()
        if not line.strip():
            return
        self.paragraphs.append(line)
        if heading and len(self.headings) < _MAX_HEADINGS:
            self.headings.append(one_line(line, _MAX_HEADING))

    @property
    def is_full(self) -> bool:
        return self._remaining <= 0


def parse_docx(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of a Word document (docx)."""
    archive = ZipReader(result.body)
    builder = _TextBuilder(2 * settings.max_text)
    for name in ("word/document.xml", "word/footnotes.xml"):
        _read_paragraphs(archive.read(name), builder)
    return _page(result, settings, archive, builder, _external_links(archive, "word/_rels/document.xml.rels"))


def parse_pptx(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of a presentation (pptx), slide by slide, with the speaker's notes."""
    archive = ZipReader(result.body)
    builder = _TextBuilder(2 * settings.max_text)
    links: list[str] = []
    for name in archive.matching_names("ppt/slides/slide", ".xml")[: settings.max_document_pages]:
        _read_paragraphs(archive.read(name), builder)
        links += _external_links(archive, f"ppt/slides/_rels/{name.rpartition('/')[2]}.rels")
    for name in archive.matching_names("ppt/notesSlides/notesSlide", ".xml")[: settings.max_document_pages]:
        _read_paragraphs(archive.read(name), builder)
    return _page(result, settings, archive, builder, links)


def _read_paragraphs(data: bytes, builder: _TextBuilder) -> None:
    """Read the XML that Word and PowerPoint share: paragraphs `p` of runs `t`, headings by style or placeholder."""
    state = {"text": False, "heading": False, "placeholder": False}

    def start(name: str, attributes: dict[str, str]) -> bool:
        if name == "t":
            state["text"] = True
        elif name in {"tab", "br", "cr"}:
            builder.add_text(" ")
        elif name == "pStyle":
            state["heading"] = bool(_HEADING.search(attributes.get("w:val", "")))
        elif name == "ph":
            state["placeholder"] = "itle" in attributes.get("type", "")
        elif name == "sp":
            state["placeholder"] = False
        return not builder.is_full

    def end(name: str) -> None:
        if name == "t":
            state["text"] = False
        elif name == "p":
            builder.end_paragraph(state["heading"] or state["placeholder"])
            state["heading"] = False

    walk(data, start, end, lambda text: builder.add_text(text) if state["text"] else None)
    builder.end_paragraph()


def parse_xlsx(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of a workbook (xlsx): the names of its sheets, and a line for each row."""
    archive = ZipReader(result.body)
    builder = _TextBuilder(2 * settings.max_text)
    for name in _sheet_names(archive.read("xl/workbook.xml")):
        builder.add_text(name)
        builder.end_paragraph(heading=True)
    strings = _shared_strings(archive.read("xl/sharedStrings.xml"))
    for name in archive.matching_names("xl/worksheets/sheet", ".xml")[: settings.max_document_pages]:
        _read_rows(archive.read(name), strings, builder)
    return _page(result, settings, archive, builder, [])


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

    walk(data, lambda name, _: len(strings) < _MAX_STRINGS, end, current.append)
    return strings


def _read_rows(data: bytes, strings: list[str], builder: _TextBuilder) -> None:
    cell: list[str] = []
    kind = ""
    inside = False

    def start(name: str, attributes: dict[str, str]) -> bool:
        nonlocal kind, inside
        if name == "c":
            kind = attributes.get("t", "")
        inside = name in {"v", "t"}
        return not builder.is_full

    def end(name: str) -> None:
        nonlocal inside
        inside = False
        if name == "c":
            builder.add_text(_cell_text("".join(cell), kind, strings) + " ")
            cell.clear()
        elif name == "row":
            builder.end_paragraph()

    walk(data, start, end, lambda text: cell.append(text) if inside else None)
    builder.end_paragraph()


def _cell_text(value: str, kind: str, strings: list[str]) -> str:
    if kind != "s":
        return value
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 9 else len(strings)
    return strings[number] if number < len(strings) else ""


def parse_open_document(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of an OpenDocument text, spreadsheet or presentation (odt, ods, odp)."""
    archive = ZipReader(result.body)
    builder = _TextBuilder(2 * settings.max_text)
    inside = 0
    links: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> bool:
        nonlocal inside
        if name in {"p", "h"}:
            inside += 1
        elif name in {"tab", "line-break", "s"}:
            builder.add_text(" ")
        elif name == "a":
            links.append(attributes.get("xlink:href", ""))
        return not builder.is_full

    def end(name: str) -> None:
        nonlocal inside
        if name in {"p", "h"}:
            inside -= 1
            builder.end_paragraph(heading=name == "h")

    walk(archive.read("content.xml"), start, end, lambda text: builder.add_text(text) if inside else None)
    builder.end_paragraph()
    return _page(result, settings, archive, builder, links)


def _external_links(archive: ZipReader, name: str) -> list[str]:
    """Return the external URLs that a part refers to."""
    targets: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "Relationship" and attributes.get("TargetMode") == "External":
            targets.append(attributes.get("Target", ""))

    walk(archive.read(name), start, _ignore, _ignore)
    return targets


def _properties(archive: ZipReader) -> dict[str, str]:
    """Return the properties of the document: title, author, date, description."""
    properties: dict[str, str] = {}
    current: list[str] = []

    def end(name: str) -> None:
        key = _PROPERTIES.get(name)
        if key and (value := one_line("".join(current), 500)):
            properties.setdefault(key, value)
        current.clear()

    for part in ("docProps/core.xml", "meta.xml"):
        walk(archive.read(part), _clear_at_start(current), end, current.append)
    return properties


def _clear_at_start(current: list[str]) -> Callable[[str, dict[str, str]], None]:
    return lambda name, attributes: current.clear()


def _ignore(*_: object) -> None:
    """Do nothing."""


def _page(
    result: FetchResult, settings: ParseSettings, archive: ZipReader, builder: _TextBuilder, targets: list[str]
) -> Page | None:
    if not archive.names:
        return None
    properties = _properties(archive)
    text = paragraphs("\n".join(builder.paragraphs), settings.max_text)
    head = PageHead(result, result.request.address.url)
    links = LinkCollector(result.request.address.url, settings.all_links)
    for target in targets:
        links.add(target)
    first = builder.headings[0] if builder.headings else text.partition("\n")[0]
    return Page(
        url=result.request.address.url,
        title=one_line(properties.get("title") or first, _MAX_TITLE),
        headings=tuple(builder.headings),
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
