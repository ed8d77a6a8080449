"""PDF to a Page, through PDFium: text page by page, title and properties, within a bound of pages and of time."""

import re
import threading
import time
from typing import Any, Final

from periplus.parse.link_collector import LinkCollector
from periplus.parse.page_head import PageHead
from periplus.parse.text_cleanup import one_line, paragraphs, parse_iso_date
from periplus.records import FetchResult, Page
from periplus.settings import ParseSettings

__all__ = ["parse_pdf"]

_LOCK: Final = threading.Lock()
"""PDFium is not thread-safe."""
_MAX_TITLE: Final = 300
_MAX_PROPERTY: Final = 300
_MAX_LINKS: Final = 200
_DATE: Final = re.compile(r"D:(\d{4})(\d{2})(\d{2})")
_URL: Final = re.compile(r"https?://[^\s<>\"']{1,500}")
_HYPHEN: Final = re.compile("[\u00ad\ufffe\u0002]\r?\n?")


def parse_pdf(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of a PDF; None if it is encrypted or too damaged to read."""
    with _LOCK:
        import pypdfium2  # loads a library of 8 MB: only when there is a PDF to read

        try:
            document = pypdfium2.PdfDocument(result.body)
        except (pypdfium2.PdfiumError, ValueError, OSError):
            return None
        try:
            return _make_page(document, result, settings)
        except (pypdfium2.PdfiumError, ValueError, OSError):
            return None
        finally:
            document.close()


def _make_page(document: Any, result: FetchResult, settings: ParseSettings) -> Page:
    raw = _read_text(document, settings)
    text = paragraphs(_HYPHEN.sub("", raw), settings.max_text)
    properties = {key: one_line(str(value), _MAX_PROPERTY) for key, value in document.get_metadata_dict().items()}
    links = LinkCollector(result.request.address.url, _MAX_LINKS)
    for url in _URL.findall(text)[:_MAX_LINKS]:
        links.add(url.rstrip(".,;:)]"))
    head = PageHead(result, result.request.address.url)
    date = _DATE.match(properties.get("CreationDate", ""))
    title = properties.get("Title", "")
    return Page(
        url=result.request.address.url,
        title=one_line(title if _is_meaningful(title) else text.partition("\n")[0], _MAX_TITLE),
        text=text,
        links=links.collected(head.nofollow),
        description=properties.get("Subject", ""),
        language=head.language,
        kind="application/pdf",
        noindex=head.noindex,
        nofollow=head.nofollow,
        published=parse_iso_date("-".join(date.groups())) if date else "",
        author=properties.get("Author", ""),
        facts=tuple((key.lower(), value) for key, value in properties.items() if value and key in _FACTS),
    )


_FACTS: Final = frozenset({"Keywords", "Creator", "Producer"})


def _is_meaningful(title: str) -> bool:
    """Return whether a title is more than the file name that programs put there."""
    return len(title) > 2 and not title.lower().endswith((".doc", ".docx", ".pdf", ".dvi", ".tex", ".indd"))


def _read_text(document: Any, settings: ParseSettings) -> str:
    """Return the text of the pages, until there is enough of it or the time is over."""
    pieces: list[str] = []
    length, deadline = 0, time.monotonic() + settings.max_document_seconds
    for number in range(min(len(document), settings.max_document_pages)):
        page = document[number]
        text_page = page.get_textpage()
        piece = text_page.get_text_range(0, max(0, min(text_page.count_chars(), settings.max_text - length)))
        text_page.close()
        page.close()
        pieces.append(piece)
        length += len(piece)
        if length >= settings.max_text or time.monotonic() > deadline:
            break
    return "\n".join(pieces)
