"""`periplus web`: a made-up web to crawl, on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from periplus.cli.console import say

__all__ = ["web"]


def web(
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same web.")] = 7,
    hosts: Annotated[int, typer.Option("--hosts", help="How many good hosts.")] = 30,
    pages: Annotated[int, typer.Option("--pages", help="How many articles; home pages and lists come on top.")] = 1_500,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port of every host; 0 finds one.")] = 0,
    trouble: Annotated[
        str,
        typer.Option("--trouble", metavar="KINDS", help="Bad hosts to add, with commas: slow,broken,trap,lying,farm."),
    ] = "",
    write_hosts: Annotated[
        Path, typer.Option("--write-hosts", metavar="FILE", help="Where to write the names that the crawler needs.")
    ] = Path("fakeweb.hosts"),
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Serve a made-up web on loopback addresses until stopped."""
    from periplus.fakeweb import FakeWeb, FakeWebPlan, serve_forever
    from periplus.files import write_atomically

    kinds = tuple(kind.strip() for kind in trouble.split(",") if kind.strip())
    made = FakeWeb(FakeWebPlan(seed, hosts, pages, kinds))

    def ready(found: int) -> None:
        write_atomically(write_hosts, made.hosts_file_text(found).encode())
        say(f"Serving {len(made.hosts):,} hosts on port {found} (Ctrl-C stops). To crawl them, in another terminal:\n")
        options = f"--scope web --delay 0 --allow 127.0.0.0/8 --hosts-file {write_hosts}"
        say(f"    periplus crawl {' '.join(made.seeds)} {options}\n")

    serve_forever(made, port, ready)
