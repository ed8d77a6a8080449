"""`periplus up`: crawl, index and serve at once; new pages become searchable while the crawl goes on."""

from pathlib import Path
from typing import Annotated

import typer

from periplus.cli.console import echo, format_count
from periplus.cli.console_observer import observe
from periplus.cli.options import Seeds, with_settings
from periplus.settings import Settings

__all__ = ["up"]


@with_settings(
    host="serve.host",
    port="serve.port",
    pages="crawl.pages",
    shards="crawl.shards",
    depth="crawl.depth",
    scope="crawl.scope",
    delay="frontier.delay",
    contact="fetch.contact",
    allow="fetch.allow",
    hosts_file="fetch.hosts_file",
)
def up(
    settings: Settings,
    seeds: Seeds = None,
    every: Annotated[
        float, typer.Option("--every", min=1, help="Shortest time between two rankings of all pages, in seconds.")
    ] = 15.0,
) -> None:
    """Crawl, index and serve at once, until stopped; without a URL or a crawl, serve documents that are sent."""
    from periplus.app import read_seeds, run_live

    urls = read_seeds(seeds or [])
    crawls = bool(urls) or (Path(settings.folder) / "crawl").is_dir()

    def ready(url: str) -> None:
        echo(f"Searching at {url}, while {'the crawl goes on' if crawls else 'documents are sent'} (Ctrl-C stops all)")

    with observe() as observer:
        pages = run_live(Path(settings.folder), settings, urls, ready, every=every, observer=observer)
    echo(f"Stopped. {format_count(pages, 'page')} searchable. To continue: the same command.")
    echo("Without crawling: periplus index build adds the last pages, periplus serve serves them.")
