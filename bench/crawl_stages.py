"""Core time of a crawl by stage: each second of a process belongs to the innermost stage that it runs in.

Timers are put around the methods that begin a stage, so the loop is the real one. A timer takes about a microsecond,
and there are some fifteen a page; the times of a run with timers are not those that pages per second are made of.
"""

import functools
import time
from collections.abc import Callable
from typing import Any


class StageTimer:
    """Adds up the core time of stages, which may be within each other."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage = "loop"
        self._since = time.process_time()

    def switch(self, stage: str) -> str:
        """Begin a stage; return the one before."""
        now = time.process_time()
        before = self._stage
        self.seconds[before] = self.seconds.get(before, 0.0) + now - self._since
        self._stage, self._since = stage, now
        return before

    def wrap(self, owner: Any, name: str, stage: str) -> None:
        """Count what a function takes for a stage."""
        function: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(function)
        def timed(*values: Any, **named: Any) -> Any:
            before = self.switch(stage)
            try:
                return function(*values, **named)
            finally:
                self.switch(before)

        setattr(owner, name, timed)


def time_stages() -> StageTimer:
    """Put timers around the stages of the crawl in this process."""
    from periplus.crawl import fetch_processing, fetch_records
    from periplus.crawl.crawl_state import CrawlState
    from periplus.crawl.crawler import Crawler
    from periplus.crawl.documents import parsing_ahead
    from periplus.crawl.documents.document_parser import DocumentParser
    from periplus.crawl.inspection.crawl_log import CrawlLog
    from periplus.crawl.outlinks import OutlinkExtractor
    from periplus.crawl.regions.regions import RegionTable
    from periplus.fetch import Fetcher
    from periplus.frontier import Frontier
    from periplus.parse.html import html_parser
    from periplus.store import PageStore

    timer = StageTimer()
    places: list[tuple[Any, str, str]] = [
        (Fetcher, "poll", "fetch"),
        (Fetcher, "start", "fetch"),
        (fetch_records, "parse", "parse: type, charset"),
        (fetch_processing, "is_html", "parse: type, charset"),
        (html_parser, "decode_to_utf8", "parse: type, charset"),
        (fetch_records, "fingerprint", "duplicates"),
        (fetch_records, "page_hash", "duplicates"),
        (parsing_ahead, "fingerprint", "duplicates"),
        (parsing_ahead, "hashes_of", "duplicates"),
        (DocumentParser, "submit", "parse: type, charset"),
        (OutlinkExtractor, "extract", "outlinks"),
        (RegionTable, "learn", "regions"),
        (RegionTable, "learn_links", "regions"),
        (CrawlState, "count", "duplicates"),
        (CrawlState, "add", "frontier"),
        (Frontier, "next", "frontier"),
        (Frontier, "done", "frontier"),
        (PageStore, "append", "store: WARC, log records"),
        (PageStore, "flush", "store: log frames, writes"),
        (PageStore, "commit", "store: fsync"),
        (CrawlLog, "add", "crawl log"),
        (CrawlLog, "note_links", "crawl log"),
        (CrawlLog, "flush", "crawl log"),
        (Crawler, "checkpoint", "checkpoint"),
    ]
    for owner, name, stage in places:
        timer.wrap(owner, name, stage)
    names = ("markup, text", "titles", "links", "main content", "facts, media", "flags", "page")
    for number, (function, stage) in enumerate(zip(html_parser.STAGES, names, strict=True)):
        timer.wrap(html_parser, function.__name__, f"parse: {stage}")
        stages = list(html_parser.STAGES)
        stages[number] = getattr(html_parser, function.__name__)
        html_parser.STAGES = tuple(stages)  # type: ignore[misc]
    return timer
