"""Run a crawl while people watch: one block that updates in place, plain lines without a terminal, a summary."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from periplus.cli.console import bytes_as_text, clean, count, is_terminal, note, say
from periplus.cli.stopping import asked_to_stop
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.crawl import CrawlStatistics

__all__ = ["Crawled", "run_crawl", "say_summary"]

_PLAIN_SECONDS: Final = 5.0
_WIDTH: Final = 100


class Crawled(NamedTuple):
    """How a crawl ended."""

    statistics: "CrawlStatistics"
    new: int
    """Pages of this run."""
    interrupted: bool


def run_crawl(folder: Path, settings: Settings, seeds: list[str], quiet: bool = False) -> Crawled:
    """Crawl until there is nothing left, a limit is reached or a person stops it."""
    from periplus.crawl import Crawler

    with (
        Crawler(folder, settings, seeds) as crawler,
        asked_to_stop(crawler.stop, "" if quiet else "finishing what is under way") as signals,
        _watched(quiet) as show,
    ):
        before = crawler.statistics().pages
        after = crawler.run(show)
        return Crawled(after, after.pages - before, bool(signals))


def say_summary(crawled: Crawled) -> None:
    """Say what a crawl came to."""
    found = crawled.statistics
    rate = crawled.new / found.seconds if found.seconds else 0.0
    whole = f" ({found.pages:,} in all)" if crawled.new != found.pages else ""
    new, hosts = count(crawled.new, "page"), count(found.hosts, "host")
    say(f"Crawled {new}{whole} from {hosts} in {found.seconds:,.1f} s: {rate:,.0f} pages/s.")
    say(f"{bytes_as_text(found.bytes)} fetched, {found.copies:,} copies, {found.waiting:,} URLs waiting.")
    if found.errors:
        say("Without a page: " + _errors(found) + ".")
    for remark in found.notes:
        say(clean(remark))


def _errors(found: "CrawlStatistics") -> str:
    return ", ".join(f"{times:,} {name}" for name, times in sorted(found.errors.items(), key=lambda pair: -pair[1]))


@contextlib.contextmanager
def _watched(quiet: bool) -> "Iterator[Callable[[CrawlStatistics], None]]":
    if quiet:
        yield lambda found: None
    elif is_terminal():
        with _live() as show:
            yield show
    else:
        yield _plain()


@contextlib.contextmanager
def _live() -> "Iterator[Callable[[CrawlStatistics], None]]":
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
        yield lambda found: live.update(Text(block(found), overflow="ellipsis", no_wrap=True))


def block(found: "CrawlStatistics") -> str:
    """Draw a crawl in a few lines."""
    lines = [
        f"{found.pages:>9,} pages   {found.rate:,.0f}/s   {bytes_as_text(found.bytes)}   {found.seconds:,.0f} s",
        f"{found.waiting:>9,} waiting   {found.busy:,} under way   {found.hosts:,} hosts   {found.seen:,} URLs seen",
    ]
    if found.errors or found.given_up:
        gone = f"   {found.given_up:,} hosts do not answer" if found.given_up else ""
        lines.append(f"{sum(found.errors.values()):>9,} without a page: {_errors(found)}{gone}")
    lines += [f"          {clean(url)[:_WIDTH]}" for url in found.recent]
    return "\n".join(lines)


def _plain() -> "Callable[[CrawlStatistics], None]":
    last = time.monotonic()

    def show(found: "CrawlStatistics") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PLAIN_SECONDS:
            last = now
            failed = sum(found.errors.values())
            note(f"{found.pages:,} pages, {found.rate:,.0f}/s, {found.waiting:,} waiting, {failed:,} without a page")

    return show
