"""`periplus serve`: the search page and the HTTP API."""

from pathlib import Path

from periplus.cli.console import echo
from periplus.cli.console_observer import observe
from periplus.cli.options import with_settings
from periplus.settings import Settings

__all__ = ["serve"]


@with_settings(host="serve.host", port="serve.port", workers="serve.workers")
def serve(settings: Settings) -> None:
    """Serve the search page and the API until stopped; a new folder is created, and documents can be sent to it."""
    from periplus.app import serve_folder

    with observe() as observer:
        serve_folder(Path(settings.folder), settings, lambda url: echo(f"Searching at {url} (Ctrl-C stops)"), observer)
