"""The conversion of a `FetchResult` into the `FetchRecord` that is stored."""

import email.utils
import time
from datetime import UTC

import msgspec

from periplus.crawl.documents.parsing_ahead import PageAhead, parser_fault
from periplus.crawl.policies.near_duplicates import NearDuplicateIndex, page_hash
from periplus.crawl.policies.original_urls import OriginalUrls
from periplus.errors import BadUrl
from periplus.hashing import fingerprint
from periplus.parse import ParsedDocument, extract_forms, parse, parse_list
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome, Page
from periplus.settings import ParseSettings
from periplus.url import parse_address

__all__ = ["DuplicateTable", "make_failure_record", "make_page_record", "retry_after"]


class DuplicateTable:
    """The first URL with each content. A page that names a canonical URL is entered under that one."""

    def __init__(self, urls: OriginalUrls | None = None, near: bytes = b"") -> None:
        self.urls = urls if urls is not None else OriginalUrls()
        self.near = NearDuplicateIndex(near)

    def find_duplicate(self, content: int, url: str) -> str:
        """Return another URL with this content, or ''."""
        original = self.urls.get(content)
        return original if original is not None and original != url else ""

    def find_near_duplicate(self, simhash: int, url: str) -> str:
        """Return the URL of a page with a similar simhash, or ''."""
        content = self.near.find(simhash)
        return self.find_duplicate(content, url) if content is not None else ""

    def learn(self, record: FetchRecord) -> None:
        """Enter the content of a page."""
        if record.page is None or record.duplicate_of or not record.content:
            return
        self.urls.add(record.content, _canonical(record.page, record.url))
        if record.simhash and not record.near_duplicate_of and not (record.revisit and self.near.find(record.simhash)):
            self.near.add(record.simhash, record.content)


def _canonical(page: Page, url: str) -> str:
    if page.canonical:
        try:
            return parse_address(page.canonical, url).url
        except BadUrl:
            pass
    return url


def make_failure_record(
    request: FetchRequest,
    outcome: Outcome,
    result: FetchResult | None = None,
    when: float | None = None,
    fault: str = "",
) -> FetchRecord:
    """Return the record of a request without a page; without a `result`, of one that was never sent."""
    if result is None:
        start = time.time() if when is None else when
        address = request.address
        return FetchRecord(
            address.url, address.key, outcome, start, depth=request.depth, hops=request.hops, fault=fault
        )
    return FetchRecord(
        url=request.address.url,
        key=request.address.key,
        outcome=outcome,
        when=result.when,
        status=result.status,
        depth=request.depth,
        location=result.location,
        elapsed=result.elapsed,
        hops=request.hops,
        retry_after=retry_after(result) or 0.0,
    )


def make_page_record(
    result: FetchResult,
    settings: ParseSettings,
    duplicates: DuplicateTable,
    as_list: bool = False,
    forms: bool = False,
    parsed: ParsedDocument | PageAhead | None = None,
) -> FetchRecord:
    """Return the record of a successful fetch, with the page parsed from its body unless it is a duplicate.

    With `as_list` the body is parsed as a sitemap or feed; with `forms` the forms of the page are extracted too. What
    another process has `parsed`, or what was parsed together with others, is not parsed here.
    """
    request = result.request
    ahead = parsed if isinstance(parsed, PageAhead) else None
    content = ahead.content if ahead is not None else fingerprint(result.body) if result.body else 0
    duplicate_of = "" if as_list or not content else duplicates.find_duplicate(content, request.address.url)
    page, outcome, fault = None, Outcome.OK, ""
    truncated = result.outcome is Outcome.TOO_LARGE
    if not duplicate_of:
        page, fault = _parse(result, settings, as_list, forms) if parsed is None else (parsed.page, parsed.fault)
        if page is None and truncated:
            outcome = Outcome.TOO_LARGE
        elif page is None:
            outcome = Outcome.PARSE_FAILED if fault else Outcome.WRONG_TYPE
    if ahead is not None and page is not None:
        simhash = ahead.simhash
    else:
        simhash = page_hash(page) if page is not None and content else 0
    return FetchRecord(
        url=request.address.url,
        key=request.address.key,
        outcome=outcome,
        when=result.when,
        status=result.status,
        depth=request.depth,
        elapsed=result.elapsed,
        content=content,
        etag=result.header("etag")[:256],
        modified=result.header("last-modified")[:64],
        page=page,
        duplicate_of=duplicate_of,
        bytes=len(result.body),
        hops=request.hops,
        simhash=simhash,
        near_duplicate_of=duplicates.find_near_duplicate(simhash, request.address.url) if simhash else "",
        fault=fault,
        truncated=truncated,
    )


def _parse(result: FetchResult, settings: ParseSettings, as_list: bool, forms: bool) -> tuple[Page | None, str]:
    """Return the page of a body, or None, and what is wrong with it."""
    try:
        if as_list:
            return parse_list(result)
        page = parse(result, settings)
        if forms and page is not None and page.kind == "text/html":
            page = msgspec.structs.replace(page, forms=extract_forms(result))
    except Exception as error:
        # By contract a parser never raises; if one does, a single page must not end the crawl.
        return None, parser_fault(error)
    return page, ""


def retry_after(result: FetchResult) -> float | None:
    """Return the seconds of the Retry-After header, a number or a date; None if there is none."""
    text = result.header("retry-after").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    if not text:
        return None
    try:
        date = email.utils.parsedate_to_datetime(text)
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, date.timestamp() - result.when)
    except (ValueError, TypeError, OverflowError):
        return None
