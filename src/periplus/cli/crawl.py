"""`periplus crawl`: fetch pages, from seeds or from where the last run stopped."""

from pathlib import Path
from typing import Annotated

import typer

from periplus.cli.console import say_json
from periplus.cli.crawling import run_crawl, say_next, say_summary
from periplus.cli.options import AsJson, with_settings
from periplus.files import open_data_folder
from periplus.settings import Settings

__all__ = ["crawl"]

INTERRUPTED = 130


@with_settings(
    pages="crawl.pages",
    depth="crawl.depth",
    minutes="crawl.minutes",
    recrawl="crawl.recrawl",
    scope="crawl.scope",
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
    as_json: AsJson = False,
) -> None:
    """Crawl from seeds, or go on where the last run in the same folder stopped."""
    check_seeds(seeds or [])
    folder = open_data_folder(Path(settings.folder), create=True)
    crawled = run_crawl(folder, settings, seeds or [], quiet=as_json)
    if as_json:
        say_json(crawled.statistics)
    else:
        say_summary(crawled)
        say_next(crawled, settings.crawl.pages)
    if crawled.interrupted:
        raise typer.Exit(INTERRUPTED)


def check_seeds(seeds: list[str]) -> None:
    """Refuse what is no URL before anything is written."""
    from periplus.url import address

    for seed in seeds:
        address(seed)
