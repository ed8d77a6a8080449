"""Sitemaps and feeds that a crawl reads as lists: pages that consist of links."""

from typing import Final

import msgspec

from periplus.discovery import parse_sitemap
from periplus.parse.formats.feed_page import parse_feed_page
from periplus.parse.link_collector import MAX_URL_CHARACTERS, count_within
from periplus.records import LIST_KIND, FetchResult, Link, Page
from periplus.settings import ParseSettings

__all__ = ["parse_list"]

_MAX_LISTED: Final = 50_000
_MEDIA_MARKS: Final = (b"enclosure", b"media:content")


def parse_list(result: FetchResult) -> tuple[Page, str]:
    """Return a sitemap or feed as a page of links, and why not all of it was read, or ''.

    Sitemaps that an index lists become the feeds of the page.
    """
    sitemap = parse_sitemap(result.body)
    pages = min(_MAX_LISTED, count_within(sitemap.pages, MAX_URL_CHARACTERS))
    lists = min(_MAX_LISTED, count_within(sitemap.sitemaps, MAX_URL_CHARACTERS // 4))
    page = Page(
        url=result.request.address.url,
        links=tuple(Link(url) for url in sitemap.pages[:pages]),
        kind=LIST_KIND,
        noindex=True,
        feeds=sitemap.sitemaps[:lists],
        changed=sitemap.changed[:pages],
    )
    is_whole = pages == len(sitemap.pages) and lists == len(sitemap.sitemaps)
    return _as_podcast(page, result), sitemap.problem or ("" if is_whole else "more entries than are read")


def _as_podcast(page: Page, result: FetchResult) -> Page:
    """Return a list with the title, text and media of a feed, if that has episodes to hear or watch."""
    if not any(mark in result.body for mark in _MEDIA_MARKS):
        return page
    feed = parse_feed_page(result, ParseSettings())
    if feed is None or feed.noindex:
        return page
    return msgspec.structs.replace(feed, links=page.links, changed=page.changed) if page.links else feed
