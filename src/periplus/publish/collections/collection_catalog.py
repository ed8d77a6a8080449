"""The named collections of a data folder and their aliases, in one file: whatever changes, changes in one step.

    collections.json            names, folders, who may read them, aliases
    collections/FOLDER          a data folder for each collection
    collections/pending/FOLDER  it may have documents to index; any process writes it, the publisher removes it

A reader resolves a name once for each request, by the file as it is then: it sees what an alias stood for before a
change or after it, never a mix.
"""

import contextlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadInput
from periplus.files import (
    decode_json,
    disk_errors,
    encode_json,
    make_folder,
    open_data_folder,
    read_file,
    sync_folder,
    write_atomically,
)
from periplus.publish.inbox import Inbox
from periplus.records import FetchRecord
from periplus.writer_queue import queue_for_lock

__all__ = ["Collection", "CollectionCatalog", "CollectionInbox"]

_FILE: Final = "collections.json"
_FOLDER: Final = "collections"
_PENDING: Final = "pending"
_FORMAT: Final = 1
_REMEDY: Final = "Restore it from a backup: the folders of collections are in 'collections'."
_LOCK_SECONDS: Final = 30.0
_MOST: Final = 10_000
"""Collections, and aliases, of one data folder."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FOLDER_NAME: Final = re.compile(r"[0-9a-f]{16}")

Stamp = tuple[int, int, int]


class Collection(msgspec.Struct, frozen=True):
    """A named collection."""

    name: str
    folder: str
    """The name of its data folder, which no other collection ever has."""
    created: float
    public: bool = False
    """Whether anybody may search it; otherwise a key is needed."""


class _Catalog(msgspec.Struct, frozen=True):
    format: int = _FORMAT
    collections: dict[str, Collection] = {}
    aliases: dict[str, str] = {}


class CollectionCatalog:
    """The collections of a data folder. Any process may read and change them; a change is seen by all at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / _FILE
        self._known: tuple[Stamp, _Catalog] = ((-1, -1, -1), _Catalog())

    def all(self) -> tuple[Collection, ...]:
        """Return all collections, by name."""
        collections = self._read()[1].collections
        return tuple(collections[name] for name in sorted(collections))

    def aliases(self) -> dict[str, str]:
        """Return what each alias stands for."""
        return dict(sorted(self._read()[1].aliases.items()))

    def find(self, name: str) -> Collection | None:
        """Return the collection with a name, or that an alias stands for."""
        return self.resolve(name)[1]

    def resolve(self, name: str) -> "tuple[Stamp, Collection | None]":
        """Return the collection with a name, and what differs after every change of the catalog."""
        stamp, catalog = self._read()
        return stamp, catalog.collections.get(catalog.aliases.get(name, name))

    def path(self, collection: Collection) -> Path:
        """Return the data folder of a collection."""
        return self._folder / _FOLDER / collection.folder

    def create(self, name: str, public: bool, prepare: Callable[[Path], None] = lambda _: None) -> Collection:
        """Create a collection; prepare: called with its data folder before anybody can see it. Raise `BadInput`."""
        _check_name(name)
        with self._changing() as catalog:
            if name in catalog.collections or name in catalog.aliases:
                raise BadInput(f"There is already a collection or an alias called '{name}'.", "Choose another name.")
            if len(catalog.collections) >= _MOST:
                raise BadInput(f"There are {_MOST:,} collections.", "Delete some, or use a field to tell them apart.")
            made = Collection(name, secrets.token_hex(8), time.time(), public)
            prepare(open_data_folder(self.path(made), create=True))
            self._write(_changed(catalog, collections=catalog.collections | {name: made}))
        return made

    def set_public(self, name: str, public: bool) -> Collection:
        """Change who may read a collection; raise `BadInput` if there is none."""
        with self._changing() as catalog:
            collection = msgspec.structs.replace(_require(catalog, name), public=public)
            self._write(_changed(catalog, collections=catalog.collections | {name: collection}))
        return collection

    def delete(self, name: str) -> None:
        """Delete a collection, its documents with it; raise `BadInput` if there is none, or an alias stands for it.

        Requests that have begun are still answered: the publisher removes its files a while later.
        """
        with self._changing() as catalog:
            _require(catalog, name)
            used = [alias for alias, target in catalog.aliases.items() if target == name]
            if used:
                raise BadInput(f"The alias '{used[0]}' stands for '{name}'.", "Change or remove the alias first.")
            left = {other: collection for other, collection in catalog.collections.items() if other != name}
            self._write(_changed(catalog, collections=left))

    def change_aliases(self, targets: Mapping[str, str], removed: Sequence[str] = ()) -> dict[str, str]:
        """Set what aliases stand for, and remove others, all in one step; return all aliases then.

        Raise `BadInput` for a name that is none, and change nothing.
        """
        with self._changing() as catalog:
            aliases = dict(catalog.aliases)
            for alias in removed:
                if aliases.pop(alias, None) is None:
                    raise BadInput(f"There is no alias '{alias[:80]}'.")
            for alias, target in targets.items():
                _check_name(alias)
                _require(catalog, target)
                if alias in catalog.collections:
                    raise BadInput(f"'{alias}' is a collection.", "Choose another name for the alias.")
                aliases[alias] = target
            if len(aliases) > _MOST:
                raise BadInput(f"There would be more than {_MOST:,} aliases.", "Remove some.")
            self._write(_changed(catalog, aliases=aliases))
        return dict(sorted(aliases.items()))

    def mark_pending(self, collection: Collection) -> None:
        """Note, for the publisher, that a collection has documents to index. It is only a hint, and not synced."""
        pending = self._folder / _FOLDER / _PENDING
        pending.mkdir(exist_ok=True)
        (pending / collection.folder).touch()

    def take_pending(self) -> list[str]:
        """Return the folders of collections that were marked, and remove the marks."""
        try:
            names = os.listdir(self._folder / _FOLDER / _PENDING)
        except FileNotFoundError:
            return []
        for name in names:
            (self._folder / _FOLDER / _PENDING / name).unlink(missing_ok=True)
        return names

    def orphans(self) -> list[Path]:
        """Return the data folders that belong to no collection, which may be created at this moment."""
        try:
            names = os.listdir(self._folder / _FOLDER)
        except FileNotFoundError:
            return []
        known = {collection.folder for collection in self._read()[1].collections.values()}
        return [self._folder / _FOLDER / name for name in names if _FOLDER_NAME.fullmatch(name) and name not in known]

    def remove_orphan(self, path: Path) -> None:
        """Remove a data folder, unless it belongs to a collection."""
        with queue_for_lock(self._folder, "collections", _LOCK_SECONDS):
            if path not in self.orphans():
                return
        shutil.rmtree(path, ignore_errors=True)

    def find_folder(self, name: str) -> Collection | None:
        """Return the collection with a data folder."""
        return next((found for found in self._read()[1].collections.values() if found.folder == name), None)

    def _read(self) -> tuple[Stamp, _Catalog]:
        """Return the file and its stamp, read again if it has changed."""
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return (0, 0, 0), _Catalog()
        stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
        known = self._known
        if stamp != known[0]:
            catalog = decode_json(self._path, read_file(self._path), _Catalog, _FORMAT, _REMEDY, checksum_since=1)
            known = self._known = (stamp, catalog)
        return known

    @contextlib.contextmanager
    def _changing(self) -> Iterator[_Catalog]:
        """Hold the file, so that no change of another process is lost, and yield what it has now."""
        with queue_for_lock(self._folder, "collections", _LOCK_SECONDS):
            with disk_errors(self._path):
                sync_folder(self._folder)  # an earlier change may have been renamed, but not synced
            yield self._read()[1]

    def _write(self, catalog: _Catalog) -> None:
        with disk_errors(self._path):
            make_folder(self._folder / _FOLDER, 0o700)
        write_atomically(self._path, encode_json(catalog))


class CollectionInbox(Inbox):
    """The inbox of a collection: what is added is marked for the publisher of all collections."""

    def __init__(self, catalog: CollectionCatalog, collection: Collection) -> None:
        super().__init__(catalog.path(collection))
        self._catalog = catalog
        self._collection = collection

    def add_batch(self, records: Sequence[FetchRecord]) -> int:
        """Add documents at once; they are durable when this returns. Return the number of the batch."""
        found = self._catalog.find(self._collection.name)
        if found is None or found.folder != self._collection.folder:
            raise BadInput(f"The collection '{self._collection.name}' was deleted.")
        number = super().add_batch(records)
        self._catalog.mark_pending(self._collection)
        return number


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        hint = "A name has up to 64 letters, digits, - and _, and begins with a letter or digit."
        raise BadInput("A collection or alias cannot have this name.", hint)


def _require(catalog: _Catalog, name: str) -> Collection:
    collection = catalog.collections.get(name)
    if collection is None:
        hint = f"It is an alias of '{catalog.aliases[name]}'." if name in catalog.aliases else ""
        raise BadInput(f"There is no collection '{name[:80]}'.", hint)
    return collection


def _changed(
    catalog: _Catalog, collections: dict[str, Collection] | None = None, aliases: dict[str, str] | None = None
) -> _Catalog:
    return _Catalog(
        _FORMAT,
        catalog.collections if collections is None else collections,
        catalog.aliases if aliases is None else aliases,
    )
