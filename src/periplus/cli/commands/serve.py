"""`periplus serve`: the search page and the HTTP API."""

import contextlib
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
    if not (folder / "index").is_dir():
        open_all(folder, settings)  # says that there is nothing to search, before anybody waits for kernels
    compile_kernels()
    alone = settings.serve.workers == 1
    # Several processes share what is opened here, kernels and all. A model of meanings has threads of its own, which
    # would not be there after forking: then each opens everything for itself.
    shared = not settings.semantic.on
    opened = open_all(folder, settings, warm=not alone) if alone or shared else None
    from periplus.serve import run, run_processes

    with contextlib.ExitStack() as beside:

        def ready(url: str) -> None:
            from periplus.publish import background_publisher

            beside.enter_context(background_publisher(folder, settings))
            say(f"Searching at {url} (Ctrl-C stops)")

        if alone and opened is not None:
            run(opened.searcher, settings.serve, ready, opened.actions, opened.keys)
        else:
            run_processes(open_all, (folder, settings), settings.serve, ready, opened)
