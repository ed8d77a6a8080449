"""`periplus crawl`: fetch pages, from seeds or from where the last run stopped."""

from pathlib import Path
from typing import Annotated

import typer

from periplus.cli.console import count, say, say_json
from periplus.cli.crawling import run_crawl, say_next, say_status, say_summary
from periplus.cli.folders import folder_to_fill
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

__all__ = ["crawl"]

INTERRUPTED = 130


@with_settings(
    pages="crawl.pages",
    depth="crawl.depth",
    minutes="crawl.minutes",
    shards="crawl.shards",
    recrawl="crawl.recrawl",
    scope="crawl.scope",
    host="crawl.hosts",
    path="crawl.paths",
    include="crawl.include",
    exclude="crawl.exclude",
    block="crawl.block",
    topic="focus.topic",
    topic_pages="focus.pages",
    delay="frontier.delay",
    connections="fetch.connections",
    allow="fetch.allow",
    hosts_file="fetch.hosts",
)
def crawl(
    settings: Settings,
    seeds: Annotated[
        list[str] | None, typer.Argument(help="URLs to begin at; none to go on with the last crawl.")
    ] = None,
    pause: Annotated[bool, typer.Option("--pause", help="Let the crawl that runs in this folder pause.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Let it go on.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Let it stop in good order.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Say how it is.")] = False,
    resize: Annotated[
        int | None, typer.Option("--resize", min=1, max=64, help="Let a crawl in shards go on with so many.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Crawl from seeds, or go on where the last run in the same folder stopped."""
    words = {"pause": pause, "resume": resume, "stop": stop}
    if any(words.values()) or status or resize is not None:
        word = next((word for word, wanted in words.items() if wanted), "")
        tell_crawl(Path(settings.folder), word, resize, as_json)
        return
    check_seeds(seeds or [])
    with folder_to_fill(settings) as folder:
        crawled = run_crawl(folder, settings, seeds or [], quiet=as_json)
    if as_json:
        say_json(crawled.statistics)
    else:
        say_summary(crawled)
        say_next(crawled, settings.crawl.pages)
    if crawled.interrupted:
        raise typer.Exit(INTERRUPTED)


def tell_crawl(folder: Path, word: str, resize: int | None = None, as_json: bool = False) -> None:
    """Tell the crawl that runs in a folder to pause, resume, stop or have other shards; or ask how it is."""
    from periplus.crawl import CrawlControl

    control = CrawlControl(folder)
    if resize is not None:
        control.resize(resize)
        say(f"The crawl in {folder} goes on with {count(resize, 'shard')}.")
    elif word:
        getattr(control, word)()
        say(f"The crawl in {folder} was told to {word}.")
    elif as_json:
        say_json(control.status())
    else:
        say_status(folder, control.status())


def check_seeds(seeds: list[str]) -> None:
    """Refuse what is no URL before anything is written."""
    from periplus.url import parse_address

    for seed in seeds:
        parse_address(seed)
