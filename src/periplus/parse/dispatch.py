"""From content types to parsers: the table that a new format is added to."""

import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from periplus.parse.formats.directory_listing import parse_ftp_listing, parse_gopher_menu
from periplus.parse.formats.epub import parse_epub
from periplus.parse.formats.feed_page import parse_feed_page
from periplus.parse.formats.markdown import parse_markdown
from periplus.parse.formats.office import parse_docx, parse_open_document, parse_pptx, parse_xlsx
from periplus.parse.formats.pdf import parse_pdf
from periplus.parse.formats.plain_text import parse_plain_text
from periplus.parse.formats.service_description import parse_openapi_json, parse_openapi_yaml, parse_wsdl
from periplus.parse.formats.xml_page import parse_xml
from periplus.parse.html.html_parser import parse_html
from periplus.parse.mime_sniffing import UNTYPED, detect_content_type, media_type_of
from periplus.parse.page_description import describe
from periplus.parse.robots_directives import header_directives
from periplus.records import FetchResult, Page
from periplus.settings import ParseSettings

__all__ = ["PARSERS", "is_html", "is_supported", "needs_process", "parse"]

Parser = Callable[[FetchResult, ParseSettings], Page | None]

_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_OPEN: Final = "application/vnd.oasis.opendocument."
_IN_PROCESS: Final = frozenset(
    {"text/html", "application/xhtml+xml", "text/plain", "text/ftp-dir-listing", "application/gopher-menu"}
)
"""Types whose parsers are written in this project, and linear."""
_MAX_IN_PROCESS: Final = 1 << 20
_MAX_LIST: Final = 64 << 10
"""Bytes of a list that expat reads in a few milliseconds."""

PARSERS: Final[Mapping[str, Parser]] = MappingProxyType(
    {
        "text/html": parse_html,
        "application/xhtml+xml": parse_html,
        "text/plain": parse_plain_text,
        "text/markdown": parse_markdown,
        "text/x-markdown": parse_markdown,
        "application/pdf": parse_pdf,
        "application/rss+xml": parse_feed_page,
        "application/atom+xml": parse_feed_page,
        "application/rdf+xml": parse_feed_page,
        "application/xml": parse_xml,
        "text/xml": parse_xml,
        "application/wsdl+xml": parse_wsdl,
        "application/json": parse_openapi_json,
        "application/vnd.oai.openapi+json": parse_openapi_json,
        "application/yaml": parse_openapi_yaml,
        "application/x-yaml": parse_openapi_yaml,
        "text/yaml": parse_openapi_yaml,
        "application/vnd.oai.openapi": parse_openapi_yaml,
        _OFFICE + "wordprocessingml.document": parse_docx,
        _OFFICE + "spreadsheetml.sheet": parse_xlsx,
        _OFFICE + "presentationml.presentation": parse_pptx,
        _OPEN + "text": parse_open_document,
        _OPEN + "spreadsheet": parse_open_document,
        _OPEN + "presentation": parse_open_document,
        "application/epub+zip": parse_epub,
        "text/ftp-dir-listing": parse_ftp_listing,
        "application/gopher-menu": parse_gopher_menu,
    }
)
"""By content type, which `detect_content_type` determines. Images, audio and video are described by the pages that
embed them."""


def is_supported(content_type: str) -> bool:
    """Return whether a content type has a parser, or may have one because it carries no information."""
    kind = media_type_of(content_type)
    return kind in PARSERS or kind in UNTYPED


def is_html(result: FetchResult) -> bool:
    """Return whether a body is HTML of ordinary size, which `parse` reads in this process."""
    body = result.body
    if not body or len(body) > _MAX_IN_PROCESS:
        return False
    kind = detect_content_type(body, result.header("content-type"), result.request.address.path)
    return PARSERS.get(kind) is parse_html


def needs_process(result: FetchResult, as_list: bool = False) -> bool:
    """Return whether a body is to be parsed in a process of its own, with limits (`ParserPool`).

    That is every format but HTML, text and directory listings of ordinary size. Of a list (a sitemap or a feed) it is
    one that is large when it is unpacked. Takes microseconds, and parses nothing.
    """
    body = result.body
    if as_list:
        return _unpacked_size(body) > _MAX_LIST
    if body.startswith(b"PK\x03\x04"):
        return True
    kind = detect_content_type(body, result.header("content-type"), result.request.address.path)
    if kind in _IN_PROCESS:
        return len(body) > _MAX_IN_PROCESS
    return kind in PARSERS


def _unpacked_size(body: bytes) -> int:
    """Return the size of a body after unpacking, if it is gzip; of a large one, a size above the limit."""
    if not body.startswith(b"\x1f\x8b"):
        return len(body)
    try:
        return len(zlib.decompressobj(wbits=31).decompress(body, _MAX_LIST + 1))
    except zlib.error:
        return len(body)


def parse(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of a fetched body; None if no parser accepts it. Never raises."""
    if not result.body:
        return None
    kind = detect_content_type(result.body, result.header("content-type"), result.request.address.path)
    parser = PARSERS.get(kind)
    page = parser(result, settings) if parser else None
    if page is None or parser is parse_html:
        return page
    if page.kind == "text/html":
        page = msgspec.structs.replace(page, kind=kind)
    return _obey_headers(describe(page, result.request.address.domain), result, settings)


def _obey_headers(page: Page, result: FetchResult, settings: ParseSettings) -> Page:
    """Return a page that is not HTML with the rules for robots in its headers."""
    rules = header_directives(result, settings)
    if rules is None:
        return page
    links = tuple(msgspec.structs.replace(link, nofollow=True) for link in page.links) if rules.nofollow else page.links
    flags = page.flags | rules.flags
    noindex, nofollow = page.noindex or rules.noindex, page.nofollow or rules.nofollow
    return msgspec.structs.replace(page, noindex=noindex, nofollow=nofollow, links=links, flags=flags)
