"""Periplus: a complete web search engine that crawls, indexes, ranks and serves.

    import periplus

    with periplus.open("data") as engine:
        engine.crawl(["https://example.org/"], pages=100)
        engine.build()
        for hit in engine.search("lighthouse").hits:
            print(hit.title, hit.url)

`open` returns an `Engine`; `Settings` are its settings, `PeriplusError` is the base class of all errors. See
docs/library.md. The package is divided as ARCHITECTURE.md says; nothing of it is loaded before it is used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from periplus.app import Engine
    from periplus.errors import PeriplusError
    from periplus.settings import Settings

__all__ = ["Engine", "PeriplusError", "Settings", "__version__", "open"]

__version__ = "0.1.0"

_LAZY = {"Engine": "periplus.app", "PeriplusError": "periplus.errors", "Settings": "periplus.settings"}


def open(folder: "str | os.PathLike[str]", settings: "Settings | None" = None) -> "Engine":
    """Return an `Engine` for a data folder, which need not exist yet.

    Without `settings` the defaults apply: neither periplus.toml nor the environment is read.
    """
    from periplus.app import Engine

    return Engine(folder, settings)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value
