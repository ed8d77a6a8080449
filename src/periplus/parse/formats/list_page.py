"""Sitemaps and feeds that a crawl reads as lists: pages that consist of links."""

from typing import Final

from periplus.discovery import parse_sitemap
from periplus.records import LIST_KIND, FetchResult, Link, Page

__all__ = ["parse_list"]

_MAX_LISTED: Final = 50_000


def parse_list(result: FetchResult) -> tuple[Page, str]:
    """Return a sitemap or feed as a page of links, and why not all of it was read, or ''.

    Sitemaps that an index lists become the feeds of the page.
    """
    sitemap = parse_sitemap(result.body)
    page = Page(
        url=result.request.address.url,
        links=tuple(Link(url) for url in sitemap.pages[:_MAX_LISTED]),
        kind=LIST_KIND,
        noindex=True,
        feeds=sitemap.sitemaps[:_MAX_LISTED],
        changed=sitemap.changed[:_MAX_LISTED],
    )
    return page, sitemap.problem
