"""Whether a change of the crawler changed what it does: a crawl without a network or a clock, line by line.

.venv/bin/python bench/crawl_equality.py --write FILE     # with the code as it was
.venv/bin/python bench/crawl_equality.py --against FILE   # with the code as it is

The fake web and the web of traps answer in the process, one request at a time or `--turn` of them, and time passes only
with them: so two runs of equal code request the same URLs in the same order. A line for each fetch says what was stored
of it (outcome, digests, duplicates, a digest of the page and of its links), and the last lines say what is left: seen
and waiting URLs, held-back regions, cuts. Ends with 1 if a line differs. `--pages` bounds each crawl.
"""

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parent))

from periplus.crawl import Crawler, crawler
from periplus.fakeweb import FakeWeb, FakeWebPlan
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings
from periplus.store import PageStore
from traps import TrapWeb

_SECONDS = 0.01
"""What each request takes."""
_OUTCOMES = {3: Outcome.REDIRECT, 4: Outcome.GONE, 5: Outcome.SERVER_ERROR}


class DirectFetcher:
    """A fetcher that asks a web in the process, for so many requests in each turn of the crawl."""

    def __init__(self, web: Any, turn: int = 1) -> None:
        self._web, self._turn = web, turn
        self._waiting: list[FetchRequest] = []
        self.answered = 0

    def now(self) -> float:
        """Return the time, which is the number of requests so far."""
        return 1_700_000_000 + _SECONDS * self.answered

    def start(self, request: FetchRequest, *values: Any, **named: Any) -> None:
        """Accept a request."""
        self._waiting.append(request)

    def poll(self, timeout: float) -> list[FetchResult]:
        """Answer the oldest requests."""
        self.answered += not self._waiting
        asked, self._waiting = self._waiting[: self._turn], self._waiting[self._turn :]
        return [self._answer(request) for request in asked]

    def _answer(self, request: FetchRequest) -> FetchResult:
        self.answered += 1
        address = request.address
        answer = self._web.response(address.host, address.path, {})
        headers = tuple((name.lower(), value) for name, value in answer.headers)
        outcome = _OUTCOMES.get(answer.status // 100, Outcome.OK)
        result = FetchResult(request, outcome, self.now(), answer.status, headers, answer.body, _SECONDS)
        location = dict(headers).get("location", "") if outcome is Outcome.REDIRECT else ""
        return msgspec.structs.replace(result, location=location)

    def busy(self) -> int:
        """Return the number of requests that wait."""
        return len(self._waiting)

    def is_full(self) -> bool:
        """Return whether enough wait for a turn."""
        return len(self._waiting) >= self._turn

    def under_way(self) -> tuple[()]:
        """Return nothing: no request takes time."""
        return ()

    def bandwidth_wait(self) -> float:
        """Return 0: there is no limit."""
        return 0.0

    def watch(self, descriptor: int) -> None:
        """Watch nothing."""

    def close(self) -> None:
        """Close nothing."""


def crawl(web: Any, pages: int, folder: Path, turn: int = 1) -> Iterator[str]:
    """Crawl a web; yield the lines that say what came of it."""
    fetcher = DirectFetcher(web, turn)
    opened, clock, sleep = crawler.open_fetcher, Crawler._now, crawler.time.sleep
    settings = Settings(
        fetch=FetchSettings(allow=("127.0.0.0/8",)),
        frontier=FrontierSettings(delay=0, max_delay=0, per_address=0),
        crawl=CrawlSettings(scope="web", pages=pages, checkpoint_seconds=3_600),
    )
    try:
        crawler.open_fetcher = lambda *values: fetcher  # type: ignore[assignment]
        Crawler._now = lambda self: fetcher.now()  # type: ignore[method-assign]
        crawler.time.sleep = lambda seconds: None  # type: ignore[assignment]
        with Crawler(folder, settings, web.seeds) as crawling:
            while crawling.step():
                pass
            statistics = crawling.statistics()
            state = crawling._state
            held = [repr(region) for region in state.outlinks.regions.held()]
            regions = hashlib.sha256(msgspec.json.encode(state.outlinks.regions.dump())).hexdigest()
            seen = hashlib.sha256(state.frontier.seen_keys().tobytes()).hexdigest()
    finally:
        crawler.open_fetcher, Crawler._now, crawler.time.sleep = opened, clock, sleep  # type: ignore[method-assign]
    with PageStore.open(folder / "store", settings.store) as store:
        for record in store.records():
            page = record.page
            digest = hashlib.sha256(msgspec.msgpack.encode(page)).hexdigest()[:16] if page is not None else ""
            links = hashlib.sha256("\n".join(link.url for link in page.links).encode()).hexdigest()[:16] if page else ""
            kept = (record.content, record.simhash, record.duplicate_of, record.near_duplicate_of, record.location)
            yield " ".join(map(str, (record.url, record.outcome.value, record.depth, *kept, digest, links)))
    yield f"pages {statistics.pages} seen {statistics.seen} {seen} waiting {statistics.waiting} held {statistics.held}"
    yield f"regions {regions}"
    yield f"cuts {statistics.cuts}"
    yield from held


def main() -> int:
    """Crawl both webs, and write or compare what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--pages", type=int, default=3_000)
    parser.add_argument("--turn", type=int, default=1, help="requests that are answered together")
    asked = parser.parse_args()
    lines: list[str] = []
    plan = FakeWebPlan(seed=7, hosts=30, pages=1_500)
    for name, web in (("fake web", FakeWeb(plan)), ("traps", TrapWeb(1, 200))):
        with tempfile.TemporaryDirectory() as folder:
            found = list(crawl(web, asked.pages, Path(folder) / "data", asked.turn))
        print(f"{name}: {len(found):,} lines")
        lines += [f"{name}: {line}" for line in found]
    if asked.write:
        asked.write.write_text("\n".join(lines))
    if not asked.against:
        return 0
    before = asked.against.read_text().split("\n")
    different = [pair for pair in zip(before, lines, strict=False) if pair[0] != pair[1]]
    for old, new in different[:5]:
        print(f"- {old}\n+ {new}")
    count = len(different) + abs(len(before) - len(lines))
    print(f"{len(lines):,} lines, {count:,} differ")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
