"""The page store of published pages: a shard of its own, so that no crawl or import holds it for long.

A crawl holds its store for hours, and pages that are published meanwhile have to get into a store, too, or the inbox
would only grow. Readers of `store` read all shards as one.
"""

import contextlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from periplus.records import FetchRecord
from periplus.settings import StoreSettings
from periplus.store import PUBLICATION_SHARD, PageStore, shard_folder

__all__ = ["PublicationStore"]


class PublicationStore:
    """The store of published pages of a data folder, opened for writing by the first call that needs it."""

    def __init__(self, folder: Path, settings: StoreSettings) -> None:
        self._folder = shard_folder(folder / "store", PUBLICATION_SHARD)
        self._settings = settings
        self._store: PageStore | None = None

    def create(self) -> None:
        """Create the store if it does not exist."""
        self.append_all(())
        self.close()

    def append_all(self, records: Iterable[FetchRecord]) -> None:
        """Append records; they are durable when this returns. Raise `FolderInUse` if another process writes here."""
        try:
            if self._store is None:
                self._store = PageStore.open(self._folder, self._settings, write=True)
            for record in records:
                self._store.append(record, None)
            self._store.commit()
        except BaseException:
            with contextlib.suppress(Exception):
                self.close()  # the next call opens it again, which recovers it
            raise

    def close(self) -> None:
        """Release the store."""
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
