"""`periplus web`: a made-up web to crawl, on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from periplus.cli.console import say

__all__ = ["web"]


def web(
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same web.")] = 1,
    hosts: Annotated[int, typer.Option("--hosts", min=1, max=10_000, help="How many hosts.")] = 30,
    pages: Annotated[int, typer.Option("--pages", min=1, help="How many pages in all.")] = 1_500,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port of every host; 0 picks one.")] = 0,
    trouble: Annotated[bool, typer.Option("--trouble", help="Add slow, broken, trapping and lying hosts.")] = False,
    write_hosts: Annotated[
        Path,
        typer.Option("--write-hosts", metavar="FILE", help="Where to write the hosts file that the crawler reads."),
    ] = Path("fakeweb.hosts"),
) -> None:
    """Serve a made-up web on loopback addresses until stopped."""
    raise NotImplementedError
