"""Sitemaps, feeds and dates: bytes to URLs. The one XML walker.

In: bodies as they came over the wire, however broken. Out: the page and sitemap URLs that a site lists.

    read_sitemap   XML, index, text or gzip, or a feed used as a sitemap, to a Sitemap
    read_feed      RSS or Atom to the links of its entries
    walk           an XML document, element by element; no entity is expanded

Nothing here raises for bad bytes: what cannot be read is left out, and a Sitemap says why in `problem`.
"""

from periplus.discovery.element_walker import local, walk
from periplus.discovery.feeds import read_feed
from periplus.discovery.sitemaps import Sitemap, read_sitemap

__all__ = ["Sitemap", "local", "read_feed", "read_sitemap", "walk"]
