"""`periplus serve`: the search page and the HTTP API."""

from pathlib import Path

from periplus.cli.console import say
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import with_settings
from periplus.files import open_data_folder
from periplus.settings import Settings

__all__ = ["serve"]


@with_settings(host="serve.host", port="serve.port")
def serve(settings: Settings) -> None:
    """Serve the search page and the API until stopped."""
    folder = open_data_folder(Path(settings.folder), create=False)
    from periplus.search import Searcher
    from periplus.serve import run

    searcher = Searcher.open(folder, settings)
    compile_kernels()
    run(searcher, settings.serve, lambda url: say(f"Searching at {url} (Ctrl-C stops)"))
