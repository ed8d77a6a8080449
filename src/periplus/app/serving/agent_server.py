"""Serve tools for language models (MCP): over a data folder, or over a running server."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from periplus import __version__
from periplus.app.observer import SILENT, Observer
from periplus.errors import SettingsError
from periplus.files import open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.agents import ApiCaller

__all__ = ["serve_agents"]


def serve_agents(
    folder: Path,
    settings: Settings,
    *,
    url: str = "",
    key: str = "",
    address: tuple[str, int] | None = None,
    on_ready: Callable[[str], None] = lambda _: None,
    observer: Observer = SILENT,
) -> None:
    """Serve MCP over standard input and output, or over HTTP at an address, until the client or a signal ends it.

    url: that of a running server, which is asked instead of the data folder; key: its API key. Raise `MissingPart`
    where the packages for MCP are not installed.
    """
    from periplus.agents import check_mcp, serve_http, serve_stdio

    check_mcp()
    if key and not url:
        raise SettingsError("An API key is for a running server.", "Add --url, or leave the key out.")
    api = _server_api(url, key) if url else _folder_api(folder, settings, observer)
    with contextlib.suppress(KeyboardInterrupt):
        if address is None:
            asyncio.run(serve_stdio(api, __version__))
        else:
            names = settings.serve.host_names
            asyncio.run(serve_http(api, __version__, *address, names, on_ready))


def _server_api(url: str, key: str) -> "ApiCaller":
    from periplus.agents import UrlCaller

    return UrlCaller(url, key)


def _folder_api(folder: Path, settings: Settings, observer: Observer) -> "ApiCaller":
    """Return the API of a data folder, in this process; it follows new generations of the index."""
    from periplus.agents import AsgiCaller
    from periplus.app.kernel_compilation import compile_kernels
    from periplus.evaluate import QueryDiagnosis, diagnose
    from periplus.records import Query
    from periplus.search import Searcher
    from periplus.serve import Actions, make_app

    searcher = Searcher.open(open_data_folder(folder, create=False), settings, may_be_empty=True)
    compile_kernels(observer)
    # The one client is this process, and it may take its time: pages are read for a model, not for a person who waits.
    own = msgspec.structs.replace(
        settings.serve,
        host="127.0.0.1",
        host_names=(),
        rate=0.0,
        deadline=max(settings.serve.deadline, 5.0),
        access_log="",
    )

    def why(query: Query, url: str) -> QueryDiagnosis:
        return diagnose(searcher, folder, settings, query, url)

    return AsgiCaller(make_app(searcher, own, Actions(why=why)))
