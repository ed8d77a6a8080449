"""The named collections of a data folder, for a server: opened when they are first asked for, a bounded number."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from periplus.app.disk_estimates import PublicationRoom
from periplus.app.jobs.field_declarations import apply_fields
from periplus.app.serving.document_service import DocumentService
from periplus.errors import BadInput, Overloaded, SettingsError
from periplus.files import DataFolder
from periplus.settings import FieldSettings, Settings, read_field_settings

if TYPE_CHECKING:
    from periplus.publish import Collection, CollectionCatalog
    from periplus.search import Searcher

__all__ = ["CollectionService", "create_collection", "describe_collection"]

_REFRESH_SECONDS: Final = 0.2
_SWAP_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.02


def create_collection(catalog: "CollectionCatalog", name: str, fields: Mapping[str, Any], public: bool) -> "Collection":
    """Create a collection with own fields, as tables; raise `BadInput` for what is wrong with them."""
    declared = _read_fields(fields)
    return catalog.create(name, public, lambda folder: apply_fields(folder, declared))


def describe_collection(catalog: "CollectionCatalog", collection: "Collection") -> dict[str, Any]:
    """Return what is known about a collection without opening it."""
    from periplus.index import read_schema

    fields = read_schema(DataFolder(catalog.path(collection)).index)
    return {
        "name": collection.name,
        "public": collection.public,
        "created": collection.created,
        "aliases": [alias for alias, target in catalog.aliases().items() if target == collection.name],
        "fields": {name: _as_table(field) for name, field in fields.items()},
    }


def _read_fields(tables: Mapping[str, Any]) -> dict[str, FieldSettings]:
    try:
        return read_field_settings(tables, "of the collection")
    except SettingsError as error:
        raise BadInput(error.message, error.hint) from None


def _as_table(field: FieldSettings) -> dict[str, Any]:
    return {"type": field.type, "filter": field.filter, "facet": field.facet, "sort": field.sort}


class _OpenCollection:
    """A collection that is being asked: its searcher, opened by the first request, and its documents."""

    def __init__(
        self, open_searcher: Callable[[], "Searcher"], make_documents: Callable[["Searcher"], DocumentService]
    ) -> None:
        self._open_searcher = open_searcher
        self._make_documents = make_documents
        self._searcher: Searcher | None = None
        self._documents: DocumentService | None = None
        self._refreshed = 0.0
        self._stamp: tuple[int, int, int] = (0, 0, 0)
        self._lock = threading.Lock()

    def searcher(self, stamp: tuple[int, int, int], at_once: bool = False) -> "Searcher":
        """Return its searcher, which is at most a moment old, and not older than the catalog with this stamp."""
        with self._lock:
            now = time.monotonic()
            if self._searcher is None:
                self._searcher = self._open_searcher()
            elif at_once or stamp != self._stamp or now - self._refreshed > _REFRESH_SECONDS:
                self._searcher.refresh()
            else:
                return self._searcher
            self._refreshed, self._stamp = now, stamp
            return self._searcher

    def documents(self, stamp: tuple[int, int, int]) -> DocumentService:
        """Return its documents."""
        searcher = self.searcher(stamp)
        with self._lock:
            if self._documents is None:
                self._documents = self._make_documents(searcher)
            return self._documents


class CollectionService:
    """What `/api/collections` does; methods may be called from any thread."""

    def __init__(self, folder: Path, settings: Settings, check: Callable[[], None] = lambda: None) -> None:
        """check: raises `Overloaded` while documents cannot be indexed."""
        from periplus.publish import CollectionCatalog

        self._catalog: CollectionCatalog = CollectionCatalog(folder)
        self._settings = settings
        self._check = check
        self._room = PublicationRoom(folder, settings)
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _OpenCollection] = OrderedDict()

    def find(self, name: str) -> "Collection | None":
        """Return the collection with a name, or that an alias stands for."""
        return self._catalog.find(name)

    def all(self) -> list[dict[str, Any]]:
        """Return all collections."""
        return [describe_collection(self._catalog, collection) for collection in self._catalog.all()]

    def describe(self, name: str) -> dict[str, Any] | None:
        """Return a collection with its number of documents; None if there is none."""
        stamp, collection = self._catalog.resolve(name)
        if collection is None:
            return None
        opened = self._opened(collection)
        return describe_collection(self._catalog, collection) | {
            "documents": opened.searcher(stamp, at_once=True).statistics().documents,
            "pending": opened.documents(stamp).pending(),
        }

    def create(self, name: str, fields: Mapping[str, Any], public: bool) -> dict[str, Any]:
        """Create a collection."""
        create_collection(self._catalog, name, fields, public)
        return self.describe(name) or {}

    def change(self, name: str, fields: Mapping[str, Any] | None, public: bool | None) -> dict[str, Any]:
        """Change the own fields of a collection, or who may read it; raise `BadInput` if documents contradict them."""
        collection = self._catalog.find(name)
        if collection is None or collection.name != name:
            raise BadInput(f"There is no collection '{name[:80]}'.")
        if fields is not None:
            apply_fields(self._catalog.path(collection), _read_fields(fields))
        if public is not None and public != collection.public:
            self._catalog.set_public(name, public)
        return self.describe(name) or {}

    def delete(self, name: str) -> None:
        """Delete a collection."""
        self._catalog.delete(name)

    def aliases(self) -> dict[str, str]:
        """Return what each alias stands for."""
        return self._catalog.aliases()

    def change_aliases(self, targets: Mapping[str, str], removed: Sequence[str]) -> dict[str, str]:
        """Change aliases in one step, once all documents that their collections have taken are searchable.

        Raise `Overloaded` if that takes too long.
        """
        deadline = time.monotonic() + _SWAP_SECONDS
        for name in {*targets.values()}:
            stamp, collection = self._catalog.resolve(name)
            if collection is None or collection.name != name:
                raise BadInput(f"There is no collection '{name[:80]}'.")
            documents = self._opened(collection).documents(stamp)
            while documents.pending():
                if time.monotonic() > deadline:
                    raise Overloaded(f"Documents of '{name}' are waiting to be indexed.", "Try again later.")
                time.sleep(_POLL_SECONDS)
        return self._catalog.change_aliases(targets, removed)

    def documents(self, name: str) -> DocumentService | None:
        """Return the documents of a collection; None if there is none."""
        stamp, collection = self._catalog.resolve(name)
        return self._opened(collection).documents(stamp) if collection is not None else None

    def searcher(self, name: str, *, at_once: bool = False) -> "Searcher | None":
        """Return the searcher of a collection; at_once: of its newest generation. None if there is none."""
        stamp, collection = self._catalog.resolve(name)
        return self._opened(collection).searcher(stamp, at_once) if collection is not None else None

    def _opened(self, collection: "Collection") -> _OpenCollection:
        """Return an open collection; that which was not asked for the longest time makes room."""
        with self._lock:
            opened = self._open.pop(collection.folder, None) or self._make(collection)
            self._open[collection.folder] = opened
            while len(self._open) > self._settings.serve.open_collections:
                self._open.popitem(last=False)
            return opened

    def _make(self, collection: "Collection") -> _OpenCollection:
        from periplus.publish import CollectionInbox
        from periplus.search import Searcher

        folder, settings = self._catalog.path(collection), self._settings

        def make_documents(searcher: "Searcher") -> DocumentService:
            inbox = CollectionInbox(self._catalog, collection)
            return DocumentService(folder, searcher, settings, self._check, inbox=inbox, room=self._room)

        return _OpenCollection(lambda: Searcher.open(folder, settings, may_be_empty=True), make_documents)
