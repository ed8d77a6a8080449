"""What a page is compared by, whatever other pages there are: by one call for its simhash and its shingles."""

from typing import NamedTuple

import numpy as np

from periplus.crawl.documents.kernels import hash_page
from periplus.crawl.policies.near_duplicates import CONTENT_LIMITS, page_hash
from periplus.crawl.regions.novelty import MAX_OWN_WORDS, MAX_TEXT, PageShingles
from periplus.records import LIST_KIND, Page

__all__ = ["PageHashes", "hashes_of"]


class PageHashes(NamedTuple):
    """What a page is compared by."""

    simhash: int
    """Of the main content; 0 if it is too short to compare."""
    shingles: PageShingles | None
    """None if they are made when the page is compared, as of the few pages that are not in ASCII."""


def hashes_of(page: Page) -> PageHashes:
    """Return what a page is compared by."""
    text, url = page.text, page.url
    if not (text.isascii() and url.isascii()) or "%" in url or page.kind == LIST_KIND:
        return PageHashes(page_hash(page), None)
    simhash, shingles, mark = hash_page(
        np.frombuffer(page.title.encode("utf-8", "replace"), np.uint8),
        np.frombuffer(text.encode(), np.uint8),
        np.array(page.main or (0, len(text)), np.int64),
        np.frombuffer(url.encode(), np.uint8),
        *(MAX_TEXT, MAX_OWN_WORDS, *CONTENT_LIMITS),
    )
    return PageHashes(simhash, PageShingles(page, shingles, mark))
