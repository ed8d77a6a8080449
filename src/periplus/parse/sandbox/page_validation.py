"""Checks of a page that came from a process which may be in the hands of its document.

What decodes as a `Page` has the right types; here are the bounds that the parsers keep to, on which the rest relies.
"""

import math
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Final

from periplus.errors import BadInput
from periplus.parse.dispatch import PARSERS
from periplus.records import LIST_KIND, Page, PageFlag
from periplus.settings import ParseSettings

__all__ = ["check_page"]

_MAX_LISTED: Final = 50_000
_MAX_SEQUENCE: Final = 10_000
"""Headings, phrases, images, media, facts, forms, reasons."""
_MAX_STRING: Final = 100_000
_MAX_URL: Final = 65_536
_ALL_FLAGS: Final = int(reduce(or_, PageFlag.__members__.values()))
"""Iteration over flags leaves out those of several bits, such as SNIPPET_LIMIT."""
_KINDS: Final = frozenset((*PARSERS, LIST_KIND))


def check_page(page: Page, url: str, settings: ParseSettings) -> None:
    """Raise `BadInput` if a page cannot have been parsed from a document of this URL."""
    links = max(settings.all_links, _MAX_LISTED if page.kind == LIST_KIND else 0)
    if page.url != url:
        raise BadInput("The page has another URL.")
    if page.kind not in _KINDS or page.flags & ~_ALL_FLAGS:
        raise BadInput("The page has a kind or flags that no parser sets.")
    if len(page.text) > settings.max_text or len(page.links) > links or len(page.feeds) > links:
        raise BadInput("The page has more text or links than the settings allow.")
    sequences = (page.headings, page.emphasis, page.images, page.media, page.facts, page.forms, page.reasons)
    if any(len(sequence) > _MAX_SEQUENCE for sequence in sequences):
        raise BadInput("The page has more of something than any parser extracts.")
    strings = (page.title, page.canonical, page.description, page.language, page.charset, page.published, page.author)
    texts = (*strings, page.preview, page.service, *page.headings, *page.emphasis, *page.reasons)
    if any(len(text) > _MAX_STRING for text in texts):
        raise BadInput("The page has a longer string than any parser extracts.")
    urls = (*(link.url for link in (*page.links, *page.images)), *(media.url for media in page.media), *page.feeds)
    if any(len(address) > _MAX_URL for address in urls):
        raise BadInput("The page has a longer URL than any parser extracts.")
    _check_offsets(page)
    if len(page.changed) > links or not all(map(math.isfinite, page.changed)):
        raise BadInput("The page has dates that no parser sets.")


def _check_offsets(page: Page) -> None:
    """Check that the ranges of the main content are within the text, and in order."""
    bounds = (0, *page.main, len(page.text))
    if len(page.main) % 2 or any(after < before for before, after in pairwise(bounds)):
        raise BadInput("The main content is not within the text.")
