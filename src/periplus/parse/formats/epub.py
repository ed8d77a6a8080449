"""EPUB to a Page: the metadata of the book, and its chapters in reading order."""

import posixpath
from typing import Final
from urllib.parse import unquote

import msgspec

from periplus.discovery import walk
from periplus.parse.formats.zip_archive import ZipReader
from periplus.parse.html.html_parser import parse_markup
from periplus.parse.page_head import PageHead
from periplus.parse.text_cleanup import language_code, one_line, parse_iso_date
from periplus.records import FetchResult, Link, Page
from periplus.settings import ParseSettings

__all__ = ["parse_epub"]

_MAX_HEADINGS: Final = 64
_MAX_ENTRIES: Final = 5_000
_METADATA: Final = frozenset({"title", "creator", "language", "description", "date", "publisher", "subject"})


class _PackageDocument:
    """The package document of a book: its metadata, its chapters by identifier, and the reading order."""

    def __init__(self) -> None:
        self.metadata: dict[str, str] = {}
        self.chapters: dict[str, str] = {}
        self.spine: list[str] = []
        self._text: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        if name == "item" and "html" in attributes.get("media-type", ""):
            self.chapters[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self.spine.append(attributes.get("idref", ""))
        self._text.clear()
        return len(self.chapters) + len(self.spine) < _MAX_ENTRIES

    def add_text(self, text: str) -> None:
        self._text.append(text)

    def end(self, name: str) -> None:
        value = one_line("".join(self._text), 500)
        if name in _METADATA and value:
            self.metadata.setdefault(name, value)
        self._text.clear()


def parse_epub(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of a book; None if the archive is damaged or lists no chapters."""
    archive = ZipReader(result.body)
    path = _package_path(archive)
    package = _PackageDocument()
    walk(archive.read(path), package.start, package.end, package.add_text)
    names = [package.chapters[key] for key in package.spine if key in package.chapters]
    if not names:
        return None
    chapters = _read_chapters(archive, posixpath.dirname(path), names, result, settings)
    head = PageHead(result, result.request.address.url)
    metadata = package.metadata
    links = {link.url: link for chapter in chapters for link in chapter.links if not _is_internal(link, result)}
    facts = tuple((key, metadata[key]) for key in ("publisher", "subject") if key in metadata)
    return Page(
        url=result.request.address.url,
        title=one_line(metadata.get("title", "") or (chapters[0].title if chapters else ""), 300),
        headings=tuple(heading for chapter in chapters for heading in chapter.headings)[:_MAX_HEADINGS],
        emphasis=tuple(dict.fromkeys(phrase for chapter in chapters for phrase in chapter.emphasis))[:200],
        text="\n".join(chapter.text for chapter in chapters if chapter.text)[: settings.max_text].rstrip(),
        links=tuple(links.values())[: settings.all_links],
        description=metadata.get("description", ""),
        language=language_code(metadata.get("language", "")) or head.language,
        noindex=head.noindex,
        nofollow=head.nofollow,
        published=parse_iso_date(metadata.get("date", "")),
        author=metadata.get("creator", ""),
        kind="application/epub+zip",
        facts=facts,
    )


def _package_path(archive: ZipReader) -> str:
    paths: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "rootfile":
            paths.append(attributes.get("full-path", ""))

    walk(archive.read("META-INF/container.xml"), start, lambda name: None, lambda text: None)
    return paths[0] if paths else ""


def _read_chapters(
    archive: ZipReader, folder: str, names: list[str], result: FetchResult, settings: ParseSettings
) -> list[Page]:
    """Return the chapters, parsed as web pages, until there is enough text."""
    chapters: list[Page] = []
    length = 0
    for name in names[: settings.max_document_pages]:
        data = archive.read(posixpath.normpath(posixpath.join(folder, unquote(name))))
        if not data:
            continue
        chapter, _ = parse_markup(msgspec.structs.replace(result, headers=(), body=data), settings)
        chapters.append(chapter)
        length += len(chapter.text)
        if length > settings.max_text:
            break
    return chapters


def _is_internal(link: Link, result: FetchResult) -> bool:
    """Return whether a link leads from chapter to chapter, and so nowhere on the web."""
    base = result.request.address.url.rpartition("/")[0]
    return link.url.startswith(base) and link.url.partition("#")[0].endswith((".xhtml", ".html", ".htm", ".xml"))
