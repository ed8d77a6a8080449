"""What does a site allow: bytes of robots.txt, sitemaps and feeds to rules and addresses. It never fetches.

In: bodies as they came over the wire, however broken, and the name our crawler goes by.
Out: `Rules` to ask before every request; the page and sitemap addresses that a site lists of its own accord.

    read_robots    robots.txt to Rules (RFC 9309, with the leniency that Google's parser shows)
    read_sitemap   XML, index, text or gzip, or a feed used as a sitemap, to a Sitemap
    read_feed      RSS or Atom to the links of its entries

Nothing here raises for bad bytes: what cannot be read is left out, and a Sitemap says why in `problem`.
Addresses are given as they are written; `periplus.url.address` makes them absolute and canonical.
"""

from periplus.robots.robotstxt import read_robots
from periplus.robots.rules import ALLOW_ALL, DISALLOW_ALL, Rules

__all__ = ["ALLOW_ALL", "DISALLOW_ALL", "Rules", "read_robots"]
