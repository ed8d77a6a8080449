"""`periplus serve`: the search page and the HTTP API."""

from pathlib import Path

from periplus.cli.console import say
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import with_settings
from periplus.cli.serving import open_all
from periplus.files import open_data_folder
from periplus.settings import Settings

__all__ = ["serve"]


@with_settings(host="serve.host", port="serve.port", workers="serve.workers")
def serve(settings: Settings) -> None:
    """Serve the search page and the API until stopped."""
    folder = open_data_folder(Path(settings.folder), create=False)
    from periplus.search import publishing
    from periplus.serve import run, run_processes

    opened = open_all(folder, settings)
    compile_kernels()

    def ready(url: str) -> None:
        say(f"Searching at {url} (Ctrl-C stops)")

    with publishing(folder, settings):
        if settings.serve.workers == 1:
            run(opened.searcher, settings.serve, ready, opened.actions, opened.keys)
        else:
            del opened  # that it opens is known; the processes have their own
            run_processes(open_all, (folder, settings), settings.serve, ready)
