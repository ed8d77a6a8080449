"""Code of others that a crawl calls: `on_page` with every page before it is stored, `on_link` with every new link.

A hook is a class, a module or any object with one or both of these. It is named by `crawl.hooks` ("module:object"), or
by an entry point of the group `periplus.crawl` in an installed package. What it raises is counted and reported, and
the crawl goes on as if it had not been called.
"""

import importlib
import logging
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, Final

import msgspec

from periplus.errors import SettingsError
from periplus.records import FetchRecord, FetchRequest, FetchResult, Page
from periplus.typed_decoding import convert_to

__all__ = ["HOOK_GROUP", "CrawlHooks"]

HOOK_GROUP: Final = "periplus.crawl"
_MAX_NOTES: Final = 8
_MAX_RANK: Final = 1_000.0
_LOG: Final = logging.getLogger("periplus.crawl")


class CrawlHooks:
    """The hooks of a crawl, and how often each has failed."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._on_page: list[tuple[str, Callable[..., Any]]] | None = None
        self._on_link: list[tuple[str, Callable[..., Any]]] = []
        self.failures: dict[str, int] = {}
        """How often each hook has failed, by its name and what it raised last."""
        self._last: dict[str, str] = {}

    def load(self) -> None:
        """Import the hooks; raise `SettingsError` for one of `crawl.hooks` that cannot be imported."""
        if self._on_page is not None:
            return
        self._on_page = []
        hooks = [(name, _import_hook(name)) for name in self._names]
        for name, hook, error in _installed_hooks():
            if error:
                self._count(name, error)
            elif name not in self._names:
                hooks.append((name, hook))
        for name, hook in hooks:
            for method, methods in (("on_page", self._on_page), ("on_link", self._on_link)):
                function = getattr(hook, method, None)
                if callable(function):
                    methods.append((f"{name}.{method}", function))

    def __bool__(self) -> bool:
        """Return whether there are any."""
        if self._on_page is None:
            self.load()
        return bool(self._on_page or self._on_link)

    def visit_page(self, record: FetchRecord, result: FetchResult) -> FetchRecord:
        """Return a record with the page that hooks have made of it: another one, or one that is not indexed."""
        if self._on_page is None:
            self.load()
        for name, on_page in self._on_page or ():
            if record.page is None:
                break
            try:
                record = _replace_page(record, on_page(record.page, result))
            except (Exception, SystemExit) as error:
                self._count(name, error)
        return record

    def visit_links(self, record: FetchRecord, requests: list[FetchRequest]) -> list[FetchRequest]:
        """Return the requests that no hook refuses, with the ranks that hooks have changed."""
        if self._on_page is None:
            self.load()
        for name, on_link in self._on_link:
            wanted = []
            for request in requests:
                try:
                    changed = _change_request(request, on_link(request.address.url, record.url))
                except (Exception, SystemExit) as error:
                    self._count(name, error)
                    changed = request
                if changed is not None:
                    wanted.append(changed)
            requests = wanted
        return requests

    def notes(self) -> tuple[str, ...]:
        """Return a sentence for the operator about each hook that has failed."""
        rows = sorted(self.failures.items(), key=lambda row: -row[1])[:_MAX_NOTES]
        return tuple(f"The hook {name} failed {count:,} times, last with {self._last[name]}." for name, count in rows)

    def _count(self, name: str, error: BaseException) -> None:
        self._last[name] = f"{type(error).__name__}: {error}"[:200].rstrip(".")
        self.failures[name] = self.failures.get(name, 0) + 1
        if self.failures[name] == 1:
            _LOG.warning("The hook %s failed; further failures are counted.", name, exc_info=error)


def _replace_page(record: FetchRecord, answer: object) -> FetchRecord:
    """Apply the answer of `on_page`: None is no change, False hides the page from the index, a page replaces it."""
    if answer is None or answer is True:
        return record
    assert record.page is not None
    if answer is False:
        return msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, noindex=True))
    if not isinstance(answer, Page):
        raise TypeError(f"on_page returned {type(answer).__name__}, not None, False or a Page")
    # What is stored has to be readable again: a wrong type in a field would make it a damaged record.
    page = convert_to(msgspec.to_builtins(answer), Page)
    return msgspec.structs.replace(record, page=msgspec.structs.replace(page, url=record.page.url))


def _change_request(request: FetchRequest, answer: object) -> FetchRequest | None:
    """Apply the answer of `on_link`: None or True is no change, False drops the link, a number is added to its rank."""
    if answer is None or answer is True:
        return request
    if answer is False:
        return None
    if not isinstance(answer, int | float) or not -_MAX_RANK <= answer <= _MAX_RANK:
        raise TypeError(f"on_link returned {answer!r:.40}, not None, a truth value or a number up to {_MAX_RANK:,.0f}")
    return msgspec.structs.replace(request, rank=request.rank + answer)


@lru_cache(32)
def _import_hook(name: str) -> Any:
    """Return the object that 'module:object' names; a class is called once in each process."""
    module, colon, path = name.partition(":")
    try:
        hook: Any = importlib.import_module(module)
        for part in path.split(".") if path else ():
            hook = getattr(hook, part)
        return hook() if isinstance(hook, type) else hook
    except (Exception, SystemExit) as error:
        problem = f"{type(error).__name__}: {error}"
        hint = "" if colon else "Write it as 'module:object'."
        raise SettingsError(f"crawl.hooks: '{name[:80]}' cannot be imported ({problem[:200]}).", hint) from error


@lru_cache(1)
def _installed_hooks() -> tuple[tuple[str, Any, Exception | None], ...]:
    """Return the hooks of installed packages, and what failed where one cannot be imported."""
    found: list[tuple[str, Any, Exception | None]] = []
    for entry in entry_points(group=HOOK_GROUP):
        try:
            hook = entry.load()
            found.append((entry.value, hook() if isinstance(hook, type) else hook, None))
        except Exception as error:
            found.append((entry.value, None, error))
    return tuple(found)
