"""`periplus mcp`: tools for language models."""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.console import log
from periplus.cli.console_observer import observe
from periplus.cli.options import with_settings
from periplus.settings import Settings

__all__ = ["mcp"]

_KEY: Final = "PERIPLUS_API_KEY"


@with_settings()
def mcp(
    settings: Settings,
    url: Annotated[
        str,
        typer.Option(
            "--url",
            help="URL of a running server, to ask that instead of the data folder; PERIPLUS_API_KEY may hold its key.",
        ),
    ] = "",
    http: Annotated[
        bool, typer.Option("--http", help="Serve over streamable HTTP instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on with --http.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="Port to listen on with --http; 0 is any free one.")
    ] = 8081,
) -> None:
    """Serve tools for language models by the Model Context Protocol: search, read pages, find in a site."""
    from periplus.app import serve_agents

    with observe() as observer:
        serve_agents(
            Path(settings.folder),
            settings,
            url=url,
            key=os.environ.get(_KEY, "") if url else "",
            address=(host, port) if http else None,
            on_ready=lambda address: log(f"MCP at {address} (Ctrl-C stops)"),
            observer=observer,
        )
