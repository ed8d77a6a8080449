"""What people see of a crawl that runs: one block that updates in place, plain lines without a terminal."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from periplus.cli.console import bytes_as_text, clean, is_terminal, note

if TYPE_CHECKING:
    from periplus.crawl import CrawlStatistics, CrawlStatus

__all__ = ["block", "errors_as_text", "watched"]

_PLAIN_SECONDS: Final = 5.0
_LIVE_SECONDS: Final = 0.25
_WIDTH: Final = 100

Show = Callable[..., None]
"""Takes the figures of a crawl, and those of its shards where there are several."""


def errors_as_text(errors: dict[str, int]) -> str:
    """Write outcomes and how often they came, the most frequent first."""
    return ", ".join(f"{times:,} {name}" for name, times in sorted(errors.items(), key=lambda pair: -pair[1]))


@contextlib.contextmanager
def watched(quiet: bool) -> Iterator[Show]:
    """Give a function that shows how a crawl is doing."""
    if quiet:
        yield lambda found, shards=(): None
    elif is_terminal():
        with _live() as show:
            yield show
    else:
        yield _plain()


@contextlib.contextmanager
def _live() -> Iterator[Show]:
    from rich.console import Console
    from rich.live import Live

    last = 0.0
    # Nothing refreshes itself in a thread: shards are forked from this process.
    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:

        def show(found: "CrawlStatistics", shards: "Sequence[CrawlStatus]" = ()) -> None:
            nonlocal last
            if time.monotonic() - last >= _LIVE_SECONDS:
                last = time.monotonic()
                live.update(_drawn(found, shards), refresh=True)

        yield show


def _drawn(found: "CrawlStatistics", shards: "Sequence[CrawlStatus]") -> Any:
    from rich.text import Text

    return Text(block(found, shards), overflow="ellipsis", no_wrap=True)


def block(found: "CrawlStatistics", shards: "Sequence[CrawlStatus]" = ()) -> str:
    """Draw a crawl in a few lines, and a line for each of its shards."""
    lines = [
        f"{found.pages:>9,} pages   {found.rate:,.0f}/s   {bytes_as_text(found.bytes)}   {found.seconds:,.0f} s",
        f"{found.waiting:>9,} waiting   {found.busy:,} under way   {found.hosts:,} hosts   {found.seen:,} URLs seen",
    ]
    if found.errors or found.given_up:
        gone = f"   {found.given_up:,} hosts do not answer" if found.given_up else ""
        lines.append(f"{sum(found.errors.values()):>9,} without a page: {errors_as_text(found.errors)}{gone}")
    if found.slowest:
        slow = ", ".join(f"{clean(host)} {seconds:.2f} s" for host, seconds in found.slowest[:3])
        lines.append(f"  slowest {slow}")
    lines += _shard_lines(shards) or [f"          {clean(url)[:_WIDTH]}" for url in found.recent]
    return "\n".join(lines)


def _shard_lines(shards: "Sequence[CrawlStatus]") -> list[str]:
    """Say what each shard does."""
    if not shards:
        return []
    lines = ["    shard  state       pages     /s  waiting  under way  failed  to send"]
    for status in shards:
        found = status.statistics
        last = clean(found.recent[-1])[:_WIDTH] if found.recent else ""
        lines.append(
            f"{status.number:>9}  {status.state:<8} {found.pages:>8,} {found.rate:>6,.0f} {found.waiting:>8,}"
            f" {found.busy:>10,} {sum(found.errors.values()):>7,} {status.kept:>8,}   {last}".rstrip()
        )
    return lines


def _plain() -> Show:
    last = time.monotonic()

    def show(found: "CrawlStatistics", shards: "Sequence[CrawlStatus]" = ()) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PLAIN_SECONDS:
            last = now
            failed = sum(found.errors.values())
            note(f"{found.pages:,} pages, {found.rate:,.0f}/s, {found.waiting:,} waiting, {failed:,} without a page")

    return show
