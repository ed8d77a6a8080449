"""Scrapy with the same duty as our crawler: obey robots.txt, follow every link once, keep the HTML."""

from pathlib import Path
from typing import Any, BinaryIO

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.resolver import CachingThreadedResolver

from crawlweb import BenchWeb


class LoopbackResolver(CachingThreadedResolver):
    """Every name is this machine, without asking anybody."""

    def getHostByName(self, name: str, timeout: Any = ()) -> Any:  # noqa: N802
        from twisted.internet import defer

        return defer.succeed("127.0.0.1")


class LinkSpider(Spider):
    """Follow all links; append every page to one file."""

    name = "links"

    def __init__(self, seed: str, kept: BinaryIO, counted: list[int], **more: Any) -> None:
        super().__init__(**more)
        self.start_urls = [seed]
        self._kept = kept
        self._counted = counted
        self._links = LinkExtractor()

    def parse(self, response: Any) -> Any:
        self._counted[0] += 1
        self._kept.write(response.body)
        for link in self._links.extract_links(response):
            yield Request(link.url, self.parse)


SETTINGS: dict[str, Any] = {
    "ROBOTSTXT_OBEY": True,
    "AUTOTHROTTLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "DNS_RESOLVER": "scrapy_peer.LoopbackResolver",
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
}


def run(web: BenchWeb, port: int, kept: Path, connections: int, most: int) -> int:
    """Crawl up to about `most` pages of the web at `port`, whatever port the URLs name; give their number."""
    counted = [0]
    process = CrawlerProcess({**SETTINGS, "CONCURRENT_REQUESTS": connections, "CLOSESPIDER_PAGECOUNT": most})
    with kept.open("wb") as file:
        process.crawl(LinkSpider, seed=web.urls()[0], kept=file, counted=counted)
        from twisted.internet import reactor

        connect = reactor.connectTCP  # type: ignore[attr-defined]
        reactor.connectTCP = lambda host, _, *rest, **more: connect(host, port, *rest, **more)  # type: ignore[attr-defined]
        process.start()
    return counted[0]
