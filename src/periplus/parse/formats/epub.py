"""EPUB to a Page: the book's own description, then its chapters in reading order."""

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

_MOST_HEADINGS: Final = 64
_MOST_ENTRIES: Final = 5_000
_ABOUT: Final = frozenset({"title", "creator", "language", "description", "date", "publisher", "subject"})


class _Book:
    """The package document: what the book says about itself, its files, and their order."""

    def __init__(self) -> None:
        self.about: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.order: list[str] = []
        self._current: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        if name == "item" and "html" in attributes.get("media-type", ""):
            self.files[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self.order.append(attributes.get("idref", ""))
        self._current.clear()
        return len(self.files) + len(self.order) < _MOST_ENTRIES

    def text(self, text: str) -> None:
        self._current.append(text)

    def end(self, name: str) -> None:
        value = one_line("".join(self._current), 500)
        if name in _ABOUT and value:
            self.about.setdefault(name, value)
        self._current.clear()


def parse_epub(fetched: FetchResult, settings: ParseSettings) -> Page | None:
    """Read a book; None when the archive is damaged or names no chapters."""
    archive = ZipReader(fetched.body)
    place = _package_place(archive)
    book = _Book()
    walk(archive.read(place), book.start, book.end, book.text)
    names = [book.files[key] for key in book.order if key in book.files]
    if not names:
        return None
    chapters = _read_chapters(archive, posixpath.dirname(place), names, fetched, settings)
    head = PageHead(fetched, fetched.request.address.url)
    about = book.about
    links = {link.url: link for chapter in chapters for link in chapter.links if not _is_inner(link, fetched)}
    facts = tuple((key, about[key]) for key in ("publisher", "subject") if key in about)
    return Page(
        url=fetched.request.address.url,
        title=one_line(about.get("title", "") or (chapters[0].title if chapters else ""), 300),
        headings=tuple(heading for chapter in chapters for heading in chapter.headings)[:_MOST_HEADINGS],
        emphasis=tuple(dict.fromkeys(words for chapter in chapters for words in chapter.emphasis))[:200],
        text="\n".join(chapter.text for chapter in chapters if chapter.text)[: settings.max_text].rstrip(),
        links=tuple(links.values())[: settings.max_links],
        description=about.get("description", ""),
        language=language_code(about.get("language", "")) or head.language,
        noindex=head.noindex,
        nofollow=head.nofollow,
        published=parse_iso_date(about.get("date", "")),
        author=about.get("creator", ""),
        kind="application/epub+zip",
        facts=facts,
    )


def _package_place(archive: ZipReader) -> str:
    places: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "rootfile":
            places.append(attributes.get("full-path", ""))

    walk(archive.read("META-INF/container.xml"), start, lambda name: None, lambda text: None)
    return places[0] if places else ""


def _read_chapters(
    archive: ZipReader, folder: str, names: list[str], fetched: FetchResult, settings: ParseSettings
) -> list[Page]:
    """Read chapters as the web pages they are, until there is text enough."""
    chapters: list[Page] = []
    length = 0
    for name in names[: settings.max_document_pages]:
        data = archive.read(posixpath.normpath(posixpath.join(folder, unquote(name))))
        if not data:
            continue
        chapter, _ = parse_markup(msgspec.structs.replace(fetched, headers=(), body=data), settings)
        chapters.append(chapter)
        length += len(chapter.text)
        if length > settings.max_text:
            break
    return chapters


def _is_inner(link: Link, fetched: FetchResult) -> bool:
    """Tell a link from chapter to chapter, which leads nowhere on the web."""
    base = fetched.request.address.url.rpartition("/")[0]
    return link.url.startswith(base) and link.url.partition("#")[0].endswith((".xhtml", ".html", ".htm", ".xml"))
