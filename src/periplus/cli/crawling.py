"""Run a crawl, in one process or several, while people watch; say what it came to."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from periplus.cli.console import bytes_as_text, clean, count, say
from periplus.cli.crawl_view import errors_as_text, watched
from periplus.cli.stopping import asked_to_stop
from periplus.errors import BadInput
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.crawl import CrawlStatistics

__all__ = ["Crawled", "run_crawl", "say_next", "say_status", "say_summary"]

_STOPPING: Final = "finishing what is under way"


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
    from periplus.crawl import count_shards

    several = max(settings.crawl.shards, count_shards(folder)) > 1
    crawled = (_run_shards if several else _run_one)(folder, settings, seeds, quiet)
    _refuse_private(crawled.statistics)
    return crawled


def _run_one(folder: Path, settings: Settings, seeds: list[str], quiet: bool) -> Crawled:
    from periplus.crawl import Crawler

    with (
        Crawler(folder, settings, seeds) as crawler,
        asked_to_stop(crawler.stop, "" if quiet else _STOPPING) as signals,
        watched(quiet) as show,
    ):
        before = crawler.statistics()
        return Crawled(crawler.run(show), before, bool(signals))


def _run_shards(folder: Path, settings: Settings, seeds: list[str], quiet: bool) -> Crawled:
    from periplus.crawl import Supervisor

    supervisor = Supervisor(folder, settings, seeds, settings.crawl.shards)
    with asked_to_stop(supervisor.stop, "" if quiet else _STOPPING) as signals, watched(quiet) as show:
        found = supervisor.run(show)
    return Crawled(found, supervisor.before(), bool(signals))


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
        say("Without a page: " + errors_as_text(crawled.errors) + ".")
    for remark in found.notes:
        say(clean(remark))


def say_status(folder: Path, found: dict[str, Any]) -> None:
    """Say how the crawl of a folder is, in a line for the whole and one for each shard."""
    if found["state"] == "none":
        say(f"There was no crawl in {folder}.")
        return
    say(f"The crawl in {folder} is {found['state']}: {_figures(found)}.")
    for shard in found.get("shards", ()):
        say(f"Shard {shard['number']} (process {shard['process']}) is {shard['state']}: {_figures(shard)}.")
    if found["errors"]:
        say("Without a page: " + errors_as_text(found["errors"]) + ".")


def _figures(found: dict[str, Any]) -> str:
    return (
        f"{found['pages']:,} pages, {found['rate']:,.0f}/s, {found['waiting']:,} waiting, {found['busy']:,} under way"
    )


def say_next(crawled: Crawled, most: int) -> None:
    """Say what to do after a crawl of at most `most` pages."""
    if crawled.statistics.pages >= most:
        say(f"That is all of --pages {most:,}, which counts earlier runs too; a higher number goes on.")
    elif crawled.statistics.waiting:
        say("Go on: the same command.")
    say("Next: periplus index build")
