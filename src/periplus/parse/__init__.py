"""What is in the bytes: a fetched body to a `Page`, a file per format.

In: a `FetchResult` with any bytes and any headers, true or not.
Out: a `Page` (title, headings, emphasis, text, links, what the page says about itself), or None when no reader
takes it. Nothing raises, and nothing takes more than about a second, whatever the bytes are.

    parse      read a fetched body
    main_text  the part of a page's text that is its main content
    readable   whether a content type is worth fetching
    read_forms the forms of a page that a crawl may fill in
    READERS    the table from content type to reader; a new format adds a file and a line

HTML is read in one pass by a kernel (`kernels.html`), in time linear in its length; `flat` slices what that found.
"""

from periplus.parse.dispatch import PARSERS, is_supported, parse
from periplus.parse.html.form_extraction import extract_forms
from periplus.parse.page_description import main_text

__all__ = ["PARSERS", "extract_forms", "is_supported", "main_text", "parse"]
