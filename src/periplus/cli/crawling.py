"""Run a crawl while people watch: one block that updates in place, plain lines without a terminal, a summary."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from periplus.cli.console import bytes_as_text, clean, count, is_terminal, note, say
from periplus.cli.stopping import asked_to_stop
from periplus.errors import BadInput
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.crawl import CrawlStatistics

__all__ = ["Crawled", "run_crawl", "say_next", "say_summary"]

_PLAIN_SECONDS: Final = 5.0
_WIDTH: Final = 100


class Crawled(NamedTuple):
    """How a crawl ended."""

    statistics: "CrawlStatistics"
    """Over all runs."""
    before: "CrawlStatistics"
    """What earlier runs had come to."""
    interrupted: bool

    @property
    def new(self) -> int:
        """Pages of this run."""
        return self.statistics.pages - self.before.pages

    @property
    def errors(self) -> dict[str, int]:
        """Requests of this run that brought no page, by outcome."""
        known = self.before.errors
        every = {name: times - known.get(name, 0) for name, times in self.statistics.errors.items()}
        return {name: times for name, times in every.items() if times > 0}


def run_crawl(folder: Path, settings: Settings, seeds: list[str], quiet: bool = False) -> Crawled:
    """Crawl until there is nothing left, a limit is reached or a person stops it.

    Raise `BadInput` when all that there was to fetch lies on private addresses, which nobody allowed.
    """
    from periplus.crawl import Crawler

    with (
        Crawler(folder, settings, seeds) as crawler,
        asked_to_stop(crawler.stop, "" if quiet else "finishing what is under way") as signals,
        _watched(quiet) as show,
    ):
        before = crawler.statistics()
        crawled = Crawled(crawler.run(show), before, bool(signals))
    _refuse_private(crawled.statistics)
    return crawled


def _refuse_private(found: "CrawlStatistics") -> None:
    from periplus.records import Outcome

    if not found.pages and not found.waiting and set(found.errors) == {Outcome.FORBIDDEN_ADDRESS.value}:
        raise BadInput(
            "All of it is on private or loopback addresses, which are not fetched unless allowed.",
            "Name their range: --allow 127.0.0.0/8 (or fetch.allow in periplus.toml).",
        )


def say_summary(crawled: Crawled) -> None:
    """Say what a crawl came to."""
    found, before = crawled.statistics, crawled.before
    rate = crawled.new / found.seconds if found.seconds else 0.0
    whole = f" ({found.pages:,} in all)" if before.pages else ""
    new, hosts = count(crawled.new, "page"), count(found.hosts, "host")
    say(f"Crawled {new}{whole} from {hosts} in {found.seconds:,.1f} s: {rate:,.0f} pages/s.")
    fetched, copies = bytes_as_text(found.bytes - before.bytes), found.copies - before.copies
    say(f"{fetched} fetched, {copies:,} copies, {found.waiting:,} URLs waiting.")
    if crawled.errors:
        say("Without a page: " + _errors(crawled.errors) + ".")
    for remark in found.notes:
        say(clean(remark))


def say_next(crawled: Crawled, most: int) -> None:
    """Say what to do after a crawl of at most `most` pages."""
    if crawled.statistics.pages >= most:
        say(f"That is all of --pages {most:,}, which counts earlier runs too; a higher number goes on.")
    elif crawled.statistics.waiting:
        say("Go on: the same command.")
    say("Next: periplus index build")


def _errors(errors: dict[str, int]) -> str:
    return ", ".join(f"{times:,} {name}" for name, times in sorted(errors.items(), key=lambda pair: -pair[1]))


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
        lines.append(f"{sum(found.errors.values()):>9,} without a page: {_errors(found.errors)}{gone}")
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
