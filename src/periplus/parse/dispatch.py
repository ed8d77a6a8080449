"""Which reader takes which bytes: the table that a new format is added to."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from periplus.parse.formats.directory_listing import read_folder, read_menu
from periplus.parse.formats.epub import read_epub
from periplus.parse.formats.feed_page import read_feed_page
from periplus.parse.formats.markdown import read_markdown
from periplus.parse.formats.office import read_docx, read_open_document, read_pptx, read_xlsx
from periplus.parse.formats.pdf import read_pdf
from periplus.parse.formats.plain_text import read_plain
from periplus.parse.formats.service_description import read_json, read_wsdl, read_yaml
from periplus.parse.formats.xml_page import read_xml
from periplus.parse.html.html_parser import read_html
from periplus.parse.mime_sniffing import UNTYPED, declared, kind_of
from periplus.parse.page_description import describe
from periplus.records import FetchResult, Page
from periplus.settings import ParseSettings

__all__ = ["READERS", "parse", "readable"]

Reader = Callable[[FetchResult, ParseSettings], Page | None]

_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_OPEN: Final = "application/vnd.oasis.opendocument."

READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "text/html": read_html,
        "application/xhtml+xml": read_html,
        "text/plain": read_plain,
        "text/markdown": read_markdown,
        "text/x-markdown": read_markdown,
        "application/pdf": read_pdf,
        "application/rss+xml": read_feed_page,
        "application/atom+xml": read_feed_page,
        "application/rdf+xml": read_feed_page,
        "application/xml": read_xml,
        "text/xml": read_xml,
        "application/wsdl+xml": read_wsdl,
        "application/json": read_json,
        "application/vnd.oai.openapi+json": read_json,
        "application/yaml": read_yaml,
        "application/x-yaml": read_yaml,
        "text/yaml": read_yaml,
        "application/vnd.oai.openapi": read_yaml,
        _OFFICE + "wordprocessingml.document": read_docx,
        _OFFICE + "spreadsheetml.sheet": read_xlsx,
        _OFFICE + "presentationml.presentation": read_pptx,
        _OPEN + "text": read_open_document,
        _OPEN + "spreadsheet": read_open_document,
        _OPEN + "presentation": read_open_document,
        "application/epub+zip": read_epub,
        "text/ftp-dir-listing": read_folder,
        "application/gopher-menu": read_menu,
    }
)
"""By content type; `sniff` decides on the type. An image, sound or film is read where a page shows it."""


def readable(content_type: str) -> bool:
    """Tell whether some reader takes this content type, or might, as it says nothing."""
    kind = declared(content_type)
    return kind in READERS or kind in UNTYPED


def parse(fetched: FetchResult, settings: ParseSettings) -> Page | None:
    """Read what was fetched into a Page; None when there is nothing in it that a reader takes. Never raises."""
    if not fetched.body:
        return None
    kind = kind_of(fetched.body, fetched.header("content-type"), fetched.request.address.path)
    reader = READERS.get(kind)
    page = reader(fetched, settings) if reader else None
    if page is None or reader is read_html:
        return page
    if page.kind == "text/html":
        page = msgspec.structs.replace(page, kind=kind)
    return describe(page, fetched.request.address.domain)
