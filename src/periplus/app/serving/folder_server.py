"""Serve a data folder: the search page and the HTTP API, in one process or several."""

import atexit
import contextlib
import gc
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.administration.change_log import record_command
from periplus.app.administration.job_scheduler import background_scheduler
from periplus.app.jobs.field_declarations import apply_fields
from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.app.serving.server_actions import server_actions
from periplus.files import DataFolder, open_data_folder
from periplus.health import share_health
from periplus.limits import ResourceMonitor, divide_memory, release_memory
from periplus.settings import Settings
from periplus.supervision import supervise_once

if TYPE_CHECKING:
    from periplus.search import Searcher
    from periplus.serve import ApiKeys, ServerResources

__all__ = ["add_api_key", "api_keys", "open_server", "remove_api_key", "serve_folder"]

_START_THRESHOLD: Final = 100_000
"""Objects after which garbage is collected while a server starts, instead of 700."""


def api_keys(folder: Path, *, create: bool = False) -> "ApiKeys":
    """Return the keys of the HTTP API of a data folder, which is created if wanted."""
    from periplus.serve import ApiKeys

    return ApiKeys(open_data_folder(folder, create=create))


def add_api_key(folder: Path, name: str, role: str, collections: Sequence[str] = ()) -> str:
    """Create a key in a data folder, which is made if it is missing; return its secret."""
    secret = api_keys(folder, create=True).add(name, role, collections)
    limit = f", only {' '.join(collections)}" if collections else ""
    record_command(folder, "add a key", f"{name} ({role}{limit})")
    return secret


def remove_api_key(folder: Path, name: str) -> None:
    """Revoke a key of a data folder; raise `BadInput` if there is none with this name."""
    api_keys(folder).remove(name)
    record_command(folder, "revoke a key", name)


def open_server(folder: Path, settings: Settings, warm: bool = False) -> "ServerResources":
    """Open what one process serves with; the folder may be empty.

    warm: load all kernels now; otherwise a thread does so meanwhile.
    """
    with _rare_collections():
        searcher = _open_searcher(folder, settings)
        from periplus.serve import ApiKeys, ServerResources
    # The first search loads the compiled kernels: no request should wait for that.
    if warm:
        _warm_up(searcher, settings)
    else:
        threading.Thread(target=supervise_once("warm-up", _warm_up), args=(searcher, settings), daemon=True).start()
    keys = ApiKeys(folder)
    keys.ensure_file()
    _share_health(folder)
    return ServerResources(searcher, server_actions(folder, searcher, settings), keys)


def _open_searcher(folder: Path, settings: Settings) -> "Searcher":
    from periplus.app.serving.search_process import IsolatingSearcher
    from periplus.search import Searcher

    apply_fields(folder, settings.fields)
    # An embedding model would be loaded by the other process, too, and takes far more memory than a searcher.
    isolated = settings.serve.expensive_process and not _uses_encoder(folder, settings)
    kind = IsolatingSearcher if isolated else Searcher
    with ThreadPoolExecutor(1) as threads:
        # Most of this compares fingerprints, for which a thread does not need the interpreter.
        opening = threads.submit(kind.open, folder, settings, may_be_empty=True)
        from periplus.serve import ServerResources  # noqa: F401 - loaded meanwhile

        return opening.result()


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Within the block, garbage is seldom collected: what is made while a server starts is kept.

    Nor is it looked at again before the server is warm (`warm_up`).
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(_START_THRESHOLD, *thresholds[1:])
    try:
        yield
        gc.freeze()
    finally:
        gc.set_threshold(*thresholds)


def _warm_up(searcher: "Searcher", settings: Settings) -> None:
    """Load what searching takes; where nothing is indexed yet, by an index of one page elsewhere."""
    from periplus.app.serving.search_process import warm_up
    from periplus.index import build_index
    from periplus.publish import make_published_record
    from periplus.search import Searcher

    if searcher.statistics().documents:
        return warm_up(searcher)
    with tempfile.TemporaryDirectory() as name:
        build_index([make_published_record("First", "The first of two.")], DataFolder(Path(name)).index, settings.index)
        warm_up(Searcher.open(Path(name), settings))


def _uses_encoder(folder: Path, settings: Settings) -> bool:
    """Return whether queries are encoded by an embedding model."""
    from periplus.rank import uses_encoder

    return uses_encoder(DataFolder(folder).index, settings.embeddings)


def _share_health(folder: Path) -> None:
    """Write the health of this process to the data folder until it ends."""
    sharing = share_health(folder)
    sharing.__enter__()
    atexit.register(sharing.__exit__, None, None, None)


def serve_folder(
    folder: Path, settings: Settings, on_ready: Callable[[str], None], observer: Observer = SILENT
) -> None:
    """Serve until SIGINT or SIGTERM; `on_ready` is called with the URL once the server answers.

    A folder that is new or empty is served too: documents can be sent to it.
    """
    open_data_folder(folder, create=True)
    settings = divide_memory(settings, settings.serve.workers or os.cpu_count() or 1)
    compile_kernels(observer)
    single = settings.serve.workers == 1
    # Several processes share what is opened here, kernels and all. An embedding model has threads of its own, which
    # would not exist after a fork: then each process opens everything for itself.
    shared = not _uses_encoder(folder, settings)
    opened = open_server(folder, settings, warm=not single) if single or shared else None
    from periplus.serve import run, run_processes

    with contextlib.ExitStack() as stack:

        def ready(url: str) -> None:
            from periplus.publish import background_publisher, collection_publisher

            stack.enter_context(background_publisher(folder, settings))
            stack.enter_context(collection_publisher(folder, settings))
            monitor = ResourceMonitor(folder, settings.limits, observer.message, release_memory)
            stack.enter_context(monitor.running())
            stack.enter_context(background_scheduler(folder, settings))
            on_ready(url)

        if single and opened is not None:
            run(opened.searcher, settings.serve, ready, opened.actions, opened.keys)
        else:
            run_processes(open_server, (folder, settings), settings.serve, ready, opened)
