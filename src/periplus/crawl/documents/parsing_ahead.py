"""HTML of one turn of the crawl, parsed before any of it is stored: stage by stage, and not page by page.

What a page leaves depends on its body alone until it is compared with others, so it makes no difference when it is
parsed. That, and storing, is done for one page after the other, in the order in which they came.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from periplus.crawl.documents.page_hashes import hashes_of
from periplus.crawl.policies.original_urls import OriginalUrls
from periplus.crawl.regions.novelty import PageShingles
from periplus.hashing import fingerprint
from periplus.parse import extract_forms, parse_html_each
from periplus.records import FetchResult, Page
from periplus.settings import ParseSettings

__all__ = ["PageAhead", "batches_of", "parse_ahead", "parser_fault"]

_MAX_PAGES: Final = 64
_MAX_BYTES: Final = 1 << 20
"""Results that are processed together, and their bytes, beyond which one more page is none of them."""
_LARGE: Final = 64 << 10
"""Bytes of a page from which on it is parsed alone: scans of several would not fit into the caches together."""


class PageAhead(NamedTuple):
    """What becomes of a body, whatever other pages there are."""

    content: int
    """Fingerprint of the body."""
    page: Page | None
    fault: str
    """Why there is no page, or ''."""
    simhash: int
    """Of the main content; 0 if it is too short to compare."""
    shingles: PageShingles | None
    """Of title and main content, if they are made ahead."""


def batches_of(results: Iterable[FetchResult]) -> Iterator[list[FetchResult]]:
    """Yield results in their order, so many at a time as are processed together."""
    batch: list[FetchResult] = []
    size = 0
    for result in results:
        if batch and (len(batch) >= _MAX_PAGES or size + len(result.body) > _MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(result)
        size += len(result.body)
    if batch:
        yield batch


def parse_ahead(
    results: Sequence[FetchResult], settings: ParseSettings, forms: bool, known: OriginalUrls
) -> dict[int, PageAhead]:
    """Return what becomes of bodies of HTML, by the `id` of each result.

    Parameters: forms, whether their forms are extracted, too; known, contents that were stored before. Those are left
    out, and all but the first of several with one content: they are most likely duplicates, which are not parsed.
    """
    chosen: dict[int, FetchResult] = {}
    for result in results:
        content = fingerprint(result.body)
        if content not in chosen and content not in known:
            chosen[content] = result
    large = [content for content, result in chosen.items() if len(result.body) >= _LARGE]
    small = [content for content, result in chosen.items() if len(result.body) < _LARGE]
    ahead: dict[int, PageAhead] = {}
    for part in (small, *([content] for content in large)):
        pages = parse_html_each([chosen[content] for content in part], settings)
        for content, page in zip(part, pages, strict=True):
            ahead[id(chosen[content])] = _page_ahead(content, chosen[content], page, forms)
    return ahead


def _page_ahead(content: int, result: FetchResult, page: Page | Exception, forms: bool) -> PageAhead:
    if isinstance(page, Page) and forms:
        try:
            page = msgspec.structs.replace(page, forms=extract_forms(result))
        except Exception as error:
            page = error
    if isinstance(page, Exception):
        return PageAhead(content, None, parser_fault(page), 0, None)
    return PageAhead(content, page, "", *hashes_of(page))


def parser_fault(error: Exception) -> str:
    """Return what is stored of a page whose parser has raised this, which by contract it never does."""
    return f"the parser failed: {type(error).__name__}"
