"""robots.txt bytes to the rules of one crawler. Nothing here fetches.

In: the body of a robots.txt as it came over the wire, however broken, and the user agent of the crawler.
Out: `RobotsRules`, checked before every request: `allows(path)`, the crawl delay, the sitemap URLs.

    parse_robots   robots.txt to RobotsRules (RFC 9309, as lenient as Google's parser)

Bad bytes never raise: what cannot be parsed is ignored. Sitemap URLs are returned as written in the file;
`periplus.url.parse_address` makes them absolute and canonical.
"""

from periplus.robots.robotstxt import parse_robots
from periplus.robots.rules import ALLOW_ALL, DISALLOW_ALL, RobotsRules

__all__ = ["ALLOW_ALL", "DISALLOW_ALL", "RobotsRules", "parse_robots"]
