"""Files for crawlers: robots.txt, sitemaps and feeds."""

import gzip
import math
from collections.abc import Iterable
from email.utils import formatdate
from typing import Final
from xml.sax.saxutils import escape

from periplus.fakeweb.model.fake_sites import Site
from periplus.fakeweb.model.web_graph import Article, WebGraph

__all__ = ["FORBIDDEN", "feed", "good_urls", "modified", "robots", "sitemap"]

FORBIDDEN: Final = "/private/"
"""The folder that every robots.txt with rules disallows."""

_PER_SITEMAP: Final = 5_000
_NEWEST: Final = 15
_BEGIN: Final = 1_704_067_200
_XMLNS: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"


def modified(number: int, version: int) -> int:
    """Return the time of a page's latest change, in seconds since 1970."""
    return _BEGIN + number % 5_000 * 3_600 + version * 86_400


def robots(site: Site) -> bytes | None:
    """Return robots.txt; None for a site without one."""
    if site.robots == "missing":
        return None
    lines = ["# Welcome, robots.", "User-agent: GreedyBot", "Disallow: /", "", "User-agent: *"]
    lines.append(f"Disallow: {FORBIDDEN}" if site.robots != "empty" else "Disallow:")
    if site.robots == "print":
        lines.append("Disallow: /*print=1$")
    if site.robots == "delay":
        lines.append("Crawl-delay: 0.2")
    if site.sitemap == "plain":
        lines.append(f"Sitemap: http://{site.name}/sitemap.xml")
    if site.sitemap == "index":
        lines.append(f"\nSitemap: http://{site.name}/sitemap-index.xml")
    return ("\r\n" if site.number % 2 else "\n").join([*lines, ""]).encode()


def good_urls(graph: WebGraph, site: Site) -> Iterable[str]:
    """Return the addresses of a site's home page and articles."""
    yield f"http://{site.name}/"
    for number in range(int(graph.first[site.number]), int(graph.first[site.number + 1])):
        yield graph.article(number).url


def sitemap(graph: WebGraph, site: Site, path: str) -> bytes | None:
    """Return one of a site's sitemap files; None if there is no such file."""
    if site.sitemap == "plain" and path == "/sitemap.xml":
        return _url_set(good_urls(graph, site))
    if site.sitemap != "index":
        return None
    files = math.ceil((graph.size(site) + 1) / _PER_SITEMAP)
    if path == "/sitemap-index.xml":
        return _sitemap_index(f"http://{site.name}/sitemap-{number}.xml.gz" for number in range(1, files + 1))
    for number in range(1, files + 1):
        if path == f"/sitemap-{number}.xml.gz":
            urls = list(good_urls(graph, site))[(number - 1) * _PER_SITEMAP : number * _PER_SITEMAP]
            return gzip.compress(_url_set(urls), mtime=0)
    return None


def _url_set(urls: Iterable[str]) -> bytes:
    body = "".join(f"<url><loc>{escape(url)}</loc><lastmod>2024-01-01</lastmod></url>\n" for url in urls)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{_XMLNS}">\n{body}</urlset>\n'.encode()


def _sitemap_index(urls: Iterable[str]) -> bytes:
    body = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>\n" for url in urls)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="{_XMLNS}">\n{body}</sitemapindex>\n'.encode()


def feed(graph: WebGraph, site: Site) -> bytes | None:
    """Return the feed of a site's first articles; RSS links have a tracking parameter."""
    if site.feed == "none":
        return None
    first = int(graph.first[site.number])
    articles = [graph.article(first + position) for position in range(min(_NEWEST, graph.size(site)))]
    return (_rss if site.feed == "rss" else _atom)(site, articles).encode()


def _rss(site: Site, articles: list[Article]) -> str:
    items = "".join(
        f"<item><title>{escape(article.title)}</title>"
        f"<link>{escape(article.url + ('&' if '?' in article.path else '?') + 'utm_source=feed')}</link>"
        f"<pubDate>{formatdate(modified(article.number, 0), usegmt=True)}</pubDate></item>\n"
        for article in articles
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>'
        f"<title>{escape(site.title)}</title><link>http://{site.name}/</link>\n{items}</channel></rss>\n"
    )


def _atom(site: Site, articles: list[Article]) -> str:
    entries = "".join(
        f'<entry><title>{escape(article.title)}</title><link href="{escape(article.url)}"/>'
        f"<id>{escape(article.url)}</id></entry>\n"
        for article in articles
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<title>{escape(site.title)}</title><id>http://{site.name}/</id>\n{entries}</feed>\n"
    )
