"""What one fetch comes to: from `FetchResult` to the `FetchRecord` that the log keeps."""

import email.utils
import time
from datetime import UTC
from typing import Final

import msgspec

from periplus.crawl.policies.near_duplicates import NearDuplicateIndex, page_hash
from periplus.discovery import parse_sitemap
from periplus.errors import BadUrl
from periplus.hashing import fingerprint
from periplus.parse import extract_forms, parse
from periplus.records import LIST_KIND, FetchRecord, FetchRequest, FetchResult, Link, Outcome, Page
from periplus.settings import ParseSettings
from periplus.url import parse_address

__all__ = ["DuplicateTable", "make_failure_record", "make_page_record", "parse_list", "retry_after"]

_MAX_LISTED: Final = 50_000


class DuplicateTable:
    """Which URL has a content first. A page that names another URL as canonical speaks for that one."""

    def __init__(self, urls: dict[int, str] | None = None, near: bytes = b"") -> None:
        self.urls = urls or {}
        self.near = NearDuplicateIndex(near)

    def find_duplicate(self, content: int, url: str) -> str:
        """Give the URL that already has this content, or ''."""
        original = self.urls.get(content, url)
        return original if original != url else ""

    def find_near_duplicate(self, value: int, url: str) -> str:
        """Give the URL of a page with nearly this simhash, or ''."""
        content = self.near.find(value)
        return self.find_duplicate(content, url) if content is not None else ""

    def learn(self, visit: FetchRecord) -> None:
        """Remember the content of a page."""
        if visit.page is None or visit.duplicate_of or not visit.content:
            return
        self.urls.setdefault(visit.content, _canonical(visit.page, visit.url))
        if visit.simhash and not visit.near_duplicate_of and not (visit.revisit and self.near.find(visit.simhash)):
            self.near.add(visit.simhash, visit.content)


def _canonical(page: Page, url: str) -> str:
    if page.canonical:
        try:
            return parse_address(page.canonical, url).url
        except BadUrl:
            pass
    return url


def make_failure_record(
    due: FetchRequest, outcome: Outcome, fetched: FetchResult | None = None, when: float | None = None
) -> FetchRecord:
    """Make the visit of a fetch that brought no page, or of none at all."""
    if fetched is None:
        began = time.time() if when is None else when
        return FetchRecord(due.address.url, due.address.key, outcome, began, depth=due.depth, hops=due.hops)
    return FetchRecord(
        url=due.address.url,
        key=due.address.key,
        outcome=outcome,
        when=fetched.when,
        status=fetched.status,
        depth=due.depth,
        location=fetched.location,
        elapsed=fetched.elapsed,
        hops=due.hops,
        retry_after=retry_after(fetched) or 0.0,
    )


def make_page_record(
    fetched: FetchResult, settings: ParseSettings, originals: DuplicateTable, as_list: bool = False, forms: bool = False
) -> FetchRecord:
    """Read the body of a fetch that went well, with its `forms` if they are wanted. Copies are not read again."""
    due = fetched.request
    content = fingerprint(fetched.body) if fetched.body else 0
    duplicate_of = "" if as_list or not content else originals.find_duplicate(content, due.address.url)
    page, outcome = None, Outcome.OK
    if as_list:
        page = parse_list(fetched)
    elif not duplicate_of:
        page, outcome = _parse(fetched, settings)
        if forms and page is not None and page.kind == "text/html":
            page = msgspec.structs.replace(page, forms=extract_forms(fetched))
    value = page_hash(page) if page is not None and content else 0
    return FetchRecord(
        url=due.address.url,
        key=due.address.key,
        outcome=outcome,
        when=fetched.when,
        status=fetched.status,
        depth=due.depth,
        elapsed=fetched.elapsed,
        content=content,
        etag=fetched.header("etag")[:256],
        modified=fetched.header("last-modified")[:64],
        page=page,
        duplicate_of=duplicate_of,
        bytes=len(fetched.body),
        hops=due.hops,
        simhash=value,
        near_duplicate_of=originals.find_near_duplicate(value, due.address.url) if value else "",
    )


def _parse(fetched: FetchResult, settings: ParseSettings) -> tuple[Page | None, Outcome]:
    try:
        page = parse(fetched, settings)
    except Exception:
        # A reader never raises by its contract; should it, one page must not end a crawl of millions.
        return None, Outcome.BAD_RESPONSE
    return page, Outcome.OK if page is not None else Outcome.WRONG_TYPE


def parse_list(fetched: FetchResult) -> Page:
    """Read a sitemap or feed as a page of nothing but links; sitemaps that it names become its feeds."""
    sitemap = parse_sitemap(fetched.body)
    return Page(
        url=fetched.request.address.url,
        links=tuple(Link(url) for url in sitemap.pages[:_MAX_LISTED]),
        kind=LIST_KIND,
        noindex=True,
        feeds=sitemap.sitemaps[:_MAX_LISTED],
        changed=sitemap.changed[:_MAX_LISTED],
    )


def retry_after(fetched: FetchResult) -> float | None:
    """Give the seconds that a host asks to be left alone, as a number or as a date; None when it does not ask."""
    text = fetched.header("retry-after").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    if not text:
        return None
    try:
        moment = email.utils.parsedate_to_datetime(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - fetched.when)
    except (ValueError, TypeError, OverflowError):
        return None
