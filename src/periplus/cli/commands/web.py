"""`periplus web`: a generated web to crawl, on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from periplus.cli.console import echo

if TYPE_CHECKING:
    from periplus.app import FakeWebAddress

__all__ = ["web"]


def web(
    seed: Annotated[int, typer.Option("--seed", help="The same seed generates the same web.")] = 7,
    hosts: Annotated[int, typer.Option("--hosts", help="Number of well-behaved hosts.")] = 30,
    pages: Annotated[
        int, typer.Option("--pages", help="Number of articles; home pages and lists come on top.")
    ] = 1_500,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port of every host; 0 finds one.")] = 0,
    trouble: Annotated[
        str,
        typer.Option("--trouble", metavar="KINDS", help="Bad hosts to add, with commas: slow,broken,trap,lying,farm."),
    ] = "",
    write_hosts: Annotated[
        Path, typer.Option("--write-hosts", metavar="FILE", help="File for the host names that the crawler needs.")
    ] = Path("fakeweb.hosts"),
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Serve a generated web on loopback addresses until stopped."""
    from periplus.app import serve_fake_web

    kinds = [kind.strip() for kind in trouble.split(",") if kind.strip()]
    serve_fake_web(_ready, write_hosts, seed=seed, hosts=hosts, pages=pages, trouble=kinds, port=port)


def _ready(web: "FakeWebAddress") -> None:
    echo(f"Serving {web.hosts:,} hosts on port {web.port} (Ctrl-C stops). To crawl them, in another terminal:\n")
    options = f"--scope web --delay 0 --allow 127.0.0.0/8 --hosts-file {web.hosts_file}"
    echo(f"    periplus crawl {' '.join(web.seeds)} {options}\n")
