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

_ALONE: Final = threading.Lock()
"""PDFium may be called by one thread at a time."""
_LONGEST_TITLE: Final = 300
_LONGEST_FACT: Final = 300
_MOST_LINKS: Final = 200
_DATE: Final = re.compile(r"D:(\d{4})(\d{2})(\d{2})")
_URL: Final = re.compile(r"https?://[^\s<>\"']{1,500}")
_HYPHEN: Final = re.compile("[\u00ad\ufffe\u0002]\r?\n?")


def parse_pdf(fetched: FetchResult, settings: ParseSettings) -> Page | None:
    """Read a PDF; None when it is encrypted or damaged beyond reading."""
    with _ALONE:
        import pypdfium2  # loads a library of 8 MB: only when there is a PDF to read

        try:
            document = pypdfium2.PdfDocument(fetched.body)
        except (pypdfium2.PdfiumError, ValueError, OSError):
            return None
        try:
            return _read(document, fetched, settings)
        except (pypdfium2.PdfiumError, ValueError, OSError):
            return None
        finally:
            document.close()


def _read(document: Any, fetched: FetchResult, settings: ParseSettings) -> Page:
    raw = _read_text(document, settings)
    text = paragraphs(_HYPHEN.sub("", raw), settings.max_text)
    properties = {key: one_line(str(value), _LONGEST_FACT) for key, value in document.get_metadata_dict().items()}
    links = LinkCollector(fetched.request.address.url, _MOST_LINKS)
    for found in _URL.findall(text)[:_MOST_LINKS]:
        links.add(found.rstrip(".,;:)]"))
    head = PageHead(fetched, fetched.request.address.url)
    date = _DATE.match(properties.get("CreationDate", ""))
    title = properties.get("Title", "")
    return Page(
        url=fetched.request.address.url,
        title=one_line(title if _says_something(title) else text.partition("\n")[0], _LONGEST_TITLE),
        text=text,
        links=links.collected(head.nofollow),
        description=properties.get("Subject", ""),
        language=head.language,
        kind="application/pdf",
        noindex=head.noindex,
        nofollow=head.nofollow,
        published=parse_iso_date("-".join(date.groups())) if date else "",
        author=properties.get("Author", ""),
        facts=tuple((key.lower(), value) for key, value in properties.items() if value and key in _KEPT),
    )


_KEPT: Final = frozenset({"Keywords", "Creator", "Producer"})


def _says_something(title: str) -> bool:
    """Tell a title from the file name that programs put there."""
    return len(title) > 2 and not title.lower().endswith((".doc", ".docx", ".pdf", ".dvi", ".tex", ".indd"))


def _read_text(document: Any, settings: ParseSettings) -> str:
    """Gather the text of the pages, until there is enough of it or the time is over."""
    pieces: list[str] = []
    length, deadline = 0, time.monotonic() + settings.max_document_seconds
    for number in range(min(len(document), settings.max_document_pages)):
        page = document[number]
        words = page.get_textpage()
        piece = words.get_text_range(0, max(0, min(words.count_chars(), settings.max_text - length)))
        words.close()
        page.close()
        pieces.append(piece)
        length += len(piece)
        if length >= settings.max_text or time.monotonic() > deadline:
            break
    return "\n".join(pieces)
