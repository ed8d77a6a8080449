"""`periplus crawl`: fetch pages, from seeds or from where the last run stopped."""

from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.console import echo, echo_json, format_count
from periplus.cli.console_observer import observe
from periplus.cli.crawl_view import echo_held, echo_queue, echo_status, echo_summary
from periplus.cli.options import AsJson, Seeds, with_settings
from periplus.settings import Settings

__all__ = ["crawl"]

_INTERRUPTED: Final = 130


@with_settings(
    pages="crawl.pages",
    depth="crawl.depth",
    minutes="crawl.minutes",
    shards="crawl.shards",
    recrawl="crawl.recrawl",
    release="crawl.release",
    scope="crawl.scope",
    host="crawl.hosts",
    path="crawl.paths",
    include="crawl.include",
    exclude="crawl.exclude",
    block="crawl.blocklist",
    topic="focus.topic",
    topic_pages="focus.pages",
    delay="frontier.delay",
    contact="fetch.contact",
    connections="fetch.connections",
    allow="fetch.allow",
    hosts_file="fetch.hosts_file",
)
def crawl(
    settings: Settings,
    seeds: Seeds = None,
    pause: Annotated[bool, typer.Option("--pause", help="Pause the crawl that runs in this folder.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the paused crawl.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the crawl that runs, in good order.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show the state of the crawl.")] = False,
    held: Annotated[bool, typer.Option("--held", help="List what is held back, and why.")] = False,
    resize: Annotated[
        int | None, typer.Option("--resize", min=1, max=64, help="Change the number of shards of the crawl that runs.")
    ] = None,
    queue: Annotated[
        str, typer.Option("--queue", metavar="HOST", help="Show what waits at a host, as of the last snapshot.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Crawl from seeds, or resume the last crawl of the data folder."""
    folder = Path(settings.folder)
    commands = {"pause": pause, "resume": resume, "stop": stop}
    if resize is not None:
        _resize(folder, resize)
    elif any(commands.values()):
        _control(folder, next(command for command, wanted in commands.items() if wanted))
    elif held:
        _show_held(folder, as_json)
    elif status:
        _show_status(folder, as_json)
    elif queue:
        _show_queue(folder, settings, queue, as_json)
    else:
        _crawl(folder, settings, seeds or [], as_json)


def _crawl(folder: Path, settings: Settings, seeds: list[str], as_json: bool) -> None:
    from periplus.app import lower_priority, read_seeds, run_crawl

    urls = read_seeds(seeds)
    lower_priority()
    with observe(as_json) as observer:
        run = run_crawl(folder, settings, urls, observer, handle_signals=True)
    if as_json:
        echo_json(run.statistics)
    else:
        echo_summary(run)
        if run.statistics.pages >= settings.crawl.pages:
            echo(f"--pages {settings.crawl.pages:,} is reached, earlier runs included; a higher number continues.")
        elif run.statistics.waiting:
            echo("To continue: the same command.")
        echo("Next: periplus index build")
    if run.interrupted:
        raise typer.Exit(_INTERRUPTED)


def _resize(folder: Path, shards: int) -> None:
    from periplus.app import resize_crawl

    resize_crawl(folder, shards)
    echo(f"The crawl in {folder} continues with {format_count(shards, 'shard')}.")


def _control(folder: Path, command: str) -> None:
    from periplus.app import control_crawl

    control_crawl(folder, command)
    echo(f"Sent '{command}' to the crawl in {folder}.")


def _show_held(folder: Path, as_json: bool) -> None:
    from periplus.app import list_held

    regions = list_held(folder)
    echo_json([region._asdict() for region in regions]) if as_json else echo_held(regions)


def _show_status(folder: Path, as_json: bool) -> None:
    from periplus.app import crawl_status

    found = crawl_status(folder)
    echo_json(found) if as_json else echo_status(folder, found)


def _show_queue(folder: Path, settings: Settings, host: str, as_json: bool) -> None:
    from periplus.app import queue_of_host

    found = queue_of_host(folder, settings, host)
    echo_json(found) if as_json else echo_queue(found)
