"""A crawl in text: a block that updates in place, a line, a summary at the end, its status from another process."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from periplus.cli.console import clean, echo, format_bytes, format_count

if TYPE_CHECKING:
    from periplus.app import CrawlRun, CrawlStatistics, HeldRegion, HostQueue, ShardStatus

__all__ = ["crawl_block", "crawl_line", "echo_held", "echo_queue", "echo_status", "echo_summary", "format_errors"]

_WIDTH: Final = 100
_MAX_CUTS: Final = 4


def format_errors(errors: dict[str, int]) -> str:
    """Return outcomes and how often each occurred, the most frequent first."""
    return ", ".join(f"{times:,} {name}" for name, times in sorted(errors.items(), key=lambda pair: -pair[1]))


def crawl_line(statistics: "CrawlStatistics") -> str:
    """Return the figures of a crawl in one line."""
    failed = sum(statistics.errors.values())
    return (
        f"{statistics.pages:,} pages, {statistics.rate:,.0f}/s, {statistics.waiting:,} waiting, "
        f"{failed:,} without a page" + (f". Paused: {statistics.paused}" if statistics.paused else "")
    )


def crawl_block(statistics: "CrawlStatistics", shards: "Sequence[ShardStatus]" = ()) -> str:
    """Return a crawl in a few lines, and a line for each of its shards."""
    lines = [
        f"{statistics.pages:>9,} pages   {statistics.rate:,.0f}/s   {format_bytes(statistics.bytes)}"
        f"   {statistics.seconds:,.0f} s",
        f"{statistics.waiting:>9,} waiting   {statistics.busy:,} under way   {statistics.hosts:,} hosts"
        f"   {statistics.seen:,} URLs seen",
    ]
    if statistics.errors or statistics.given_up:
        gone = f"   {statistics.given_up:,} hosts left alone" if statistics.given_up else ""
        failed = sum(statistics.errors.values())
        lines.append(f"{failed:>9,} without a page: {format_errors(statistics.errors)}{gone}")
    if statistics.paused:
        lines.append(f"   paused {statistics.paused}")
    lines += [f"  limited {clean(cut.text)}" for cut in statistics.cuts[:_MAX_CUTS]]
    if statistics.idle:
        lines.append(f"  waiting {clean(statistics.idle)}")
    if statistics.slowest:
        slow = ", ".join(f"{clean(host)} {seconds:.2f} s" for host, seconds in statistics.slowest[:3])
        lines.append(f"  slowest {slow}")
    lines += _shard_lines(shards) or [f"          {clean(url)[:_WIDTH]}" for url in statistics.recent]
    return "\n".join(lines)


def _shard_lines(shards: "Sequence[ShardStatus]") -> list[str]:
    if not shards:
        return []
    lines = ["    shard  state       pages     /s  waiting  under way  failed  to send"]
    for shard in shards:
        statistics = shard.statistics
        last = clean(statistics.recent[-1])[:_WIDTH] if statistics.recent else ""
        lines.append(
            f"{shard.number:>9}  {shard.state:<8} {statistics.pages:>8,} {statistics.rate:>6,.0f}"
            f" {statistics.waiting:>8,} {statistics.busy:>10,} {sum(statistics.errors.values()):>7,}"
            f" {shard.unsent:>8,}   {last}".rstrip()
        )
    return lines


def echo_summary(run: "CrawlRun") -> None:
    """Print the outcome of a crawl."""
    statistics, before = run.statistics, run.before
    rate = run.new_pages / statistics.seconds if statistics.seconds else 0.0
    total = f" ({statistics.pages:,} in all)" if before.pages else ""
    new, hosts = format_count(run.new_pages, "page"), format_count(statistics.hosts, "host")
    echo(f"Crawled {new}{total} from {hosts} in {statistics.seconds:,.1f} s: {rate:,.0f} pages/s.")
    fetched, duplicates = format_bytes(statistics.bytes - before.bytes), statistics.copies - before.copies
    behind = f", {statistics.behind:,} more at hosts that are left alone" if statistics.behind else ""
    echo(f"{fetched} fetched, {duplicates:,} duplicates, {statistics.waiting:,} URLs waiting{behind}.")
    if run.errors:
        echo("Without a page: " + format_errors(run.errors) + ".")
    if statistics.held:
        echo(
            f"{format_count(statistics.held, 'URL')} held back, whose like brought nothing new: periplus crawl --held."
        )
    for cut in statistics.cuts:
        echo(clean(cut.text))
    for remark in statistics.notes:
        echo(clean(remark))


def echo_held(regions: "Sequence[HeldRegion]") -> None:
    """Print what a crawl holds back, the largest region first."""
    if not regions:
        echo("Nothing is held back.")
        return
    for region in regions:
        echo(
            f"{clean(region.region)}: {format_count(region.held, 'URL')} held back, because {region.reason} "
            f"({region.barren:,} of {region.pages:,} pages without anything new). Such as {clean(region.example)}"
        )
    echo("To fetch them: periplus crawl --release REGION, --release HOST or --release '*'.")


def echo_status(folder: Path, status: dict[str, Any]) -> None:
    """Print the status of the crawl of a folder: a line for the whole and one for each shard."""
    if status["state"] == "none":
        echo(f"There was no crawl in {folder}.")
        return
    echo(f"The crawl in {folder} is {status['state']}: {_figures(status)}.")
    for shard in status.get("shards", ()):
        echo(f"Shard {shard['number']} (process {shard['process']}) is {shard['state']}: {_figures(shard)}.")
    if status.get("paused"):
        echo(f"It is paused by a limit, and goes on when there is room. {status['paused']}")
    for cut in status.get("cuts", ()):
        echo(clean(cut["text"]))
    for remark in status.get("notes", ()):
        echo(clean(remark))
    if status["errors"]:
        echo("Without a page: " + format_errors(status["errors"]) + ".")
    _echo_hosts(status.get("host_rows", ()))
    for url, seconds, received in status.get("under_way", ())[:_MAX_CUTS]:
        echo(f"{seconds:>8.1f} s {format_bytes(received):>10}  {clean(url)[:_WIDTH]}")


def _echo_hosts(rows: Sequence[dict[str, Any]]) -> None:
    """Print a table of hosts, those with most URLs first."""
    if rows:
        echo(
            f"{'host':<32} {'state':<10} {'waiting':>9} {'pages':>8} {'errors':>7} {'held':>7} {'next':>7} {'delay':>7}"
        )
    for row in rows:
        echo(
            f"{clean(row['host'])[:32]:<32} {row['state'].replace('_', ' ')[:10]:<10} {row['waiting']:>9,} "
            f"{row['fetched']:>8,} {row['errors']:>7,} {row['held']:>7,} {row['next_seconds']:>6,.0f}s "
            f"{row['delay']:>6,.1f}s"
        )


def echo_queue(queue: "HostQueue") -> None:
    """Print what waits at a host."""
    disk = f", {queue.on_disk:,} of them on disk" if queue.on_disk else ""
    when = f", next in {queue.next_seconds:,.0f} s" if queue.next_seconds >= 1 else ""
    delay = f", Crawl-delay {queue.crawl_delay:g} s" if queue.crawl_delay else ""
    failed = f", {format_count(queue.failures, 'failure')} in a row" if queue.failures else ""
    state = queue.state.replace("_", " ")
    echo(f"{clean(queue.host)} is {state}: {format_count(queue.waiting, 'URL')} waiting{disk}{when}{delay}{failed}.")
    for entry in queue.urls:
        echo(f"{entry.rank:>8.2f}  {clean(entry.url)}")


def _figures(status: dict[str, Any]) -> str:
    return (
        f"{status['pages']:,} pages, {status['rate']:,.0f}/s, {status['waiting']:,} waiting, "
        f"{status['busy']:,} under way"
    )
