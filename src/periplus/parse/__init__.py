"""A fetched body to a `Page`: one module for each format, and for HTML a kernel.

In: a `FetchResult` with any bytes and any headers, correct or not.
Out: a `Page` (title, headings, emphasis, text, links, metadata, main content, flags), or None if no parser accepts the
body. Nothing raises, and nothing takes more than about a second, whatever the bytes are.

    parse          parse a fetched body
    is_html        whether a body is HTML that is parsed in this process
    parse_html_each  parse several of these, stage by stage
    is_supported   whether a content type is worth fetching
    main_text      the part of a page's text that is its main content
    structure_html the main content of an HTML page as headings, paragraphs, lists, tables and code
    write_markdown these as Markdown
    extract_forms  the forms of a page that a crawl may fill in
    parse_list     a sitemap or a feed as a page of links
    detect_content_type  the content type of a body, by its bytes where they decide
    needs_process  whether a body is parsed in a process of its own; ParserPool and ParseJob do so
    PARSERS        the table from content type to parser; a new format adds a module and a line

HTML is scanned in one pass by a kernel (`kernels.html`), in time linear in its length; `html.flat_page` makes strings
of the rows that the scan leaves.
"""

from periplus.parse.dispatch import PARSERS, is_html, is_supported, needs_process, parse
from periplus.parse.formats.list_page import parse_list
from periplus.parse.html.form_extraction import extract_forms
from periplus.parse.html.html_parser import parse_html_each
from periplus.parse.html.structured_text import TextBlock, structure_html, write_markdown
from periplus.parse.mime_sniffing import detect_content_type
from periplus.parse.page_description import main_text
from periplus.parse.sandbox.parse_job import ParseJob
from periplus.parse.sandbox.parser_pool import ParsedDocument, ParserPool

__all__ = [
    "PARSERS",
    "ParseJob",
    "ParsedDocument",
    "ParserPool",
    "TextBlock",
    "detect_content_type",
    "extract_forms",
    "is_html",
    "is_supported",
    "main_text",
    "needs_process",
    "parse",
    "parse_html_each",
    "parse_list",
    "structure_html",
    "write_markdown",
]
