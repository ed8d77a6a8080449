"""Sitemaps, feeds and dates: bytes to URLs. The one XML walker.

In: bodies as they came over the wire, however broken. Out: the pages, sitemaps and entries that a site lists.

    parse_sitemap  XML, index, text or gzip, or a feed used as a sitemap, to a Sitemap
    parse_feed     RSS or Atom to a Feed of entries; None if it is neither
    walk           any XML, element by element; internal subsets of DTDs are refused; depth, size, time bounded

Nothing here raises for bad bytes: what cannot be parsed is left out, and `problem` states why.
"""

from periplus.discovery.feeds import FEED_ROOTS, Enclosure, Feed, FeedEntry, parse_feed
from periplus.discovery.sitemaps import SITEMAP_ROOTS, Sitemap, parse_sitemap
from periplus.discovery.xml_walker import local_name, walk

__all__ = [
    "FEED_ROOTS",
    "SITEMAP_ROOTS",
    "Enclosure",
    "Feed",
    "FeedEntry",
    "Sitemap",
    "local_name",
    "parse_feed",
    "parse_sitemap",
    "walk",
]
