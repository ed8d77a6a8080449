"""`periplus crawl`: fetch pages, from seeds or from where the last run stopped."""

from pathlib import Path
from typing import Annotated

import typer

from periplus.cli.console import say, say_json
from periplus.cli.crawling import run_crawl, say_next, say_summary
from periplus.cli.folders import folder_to_fill
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

__all__ = ["crawl"]

INTERRUPTED = 130


@with_settings(
    pages="crawl.pages",
    depth="crawl.depth",
    minutes="crawl.minutes",
    recrawl="crawl.recrawl",
    scope="crawl.scope",
    host="crawl.hosts",
    path="crawl.paths",
    include="crawl.include",
    exclude="crawl.exclude",
    block="crawl.block",
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
    as_json: AsJson = False,
) -> None:
    """Crawl from seeds, or go on where the last run in the same folder stopped."""
    words = {"pause": pause, "resume": resume, "stop": stop}
    if any(words.values()):
        tell_crawl(Path(settings.folder), next(word for word, wanted in words.items() if wanted))
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


def tell_crawl(folder: Path, word: str) -> None:
    """Tell the crawl that runs in a folder to pause, resume or stop."""
    from periplus.crawl import tell

    tell(folder, word)
    say(f"The crawl in {folder} was told to {word}.")


def check_seeds(seeds: list[str]) -> None:
    """Refuse what is no URL before anything is written."""
    from periplus.url import address

    for seed in seeds:
        address(seed)
