"""Published pages in the index of one replica: applied from the log of the shard, whoever has written them there.

    FOLDER/publications.txt    the names of what was applied to this folder, a line each

A publication is applied by adding it to the inbox of the folder, which a thread indexes. It is applied once, unless the
process ends between the two steps: applying it again does no harm. Of several for one URL the latest counts.
"""

import contextlib
import logging
import threading
from pathlib import Path
from typing import Final

from periplus.cluster.serving.publication_log import Publication, PublicationLog
from periplus.errors import BadInput, CorruptFile, PeriplusError
from periplus.files import disk_errors
from periplus.publish import Inbox, background_publisher
from periplus.settings import Settings

__all__ = ["ReplicaPublications"]

_LOG: Final = logging.getLogger("periplus.cluster")
_FILE: Final = "publications.txt"
_MAX_BATCH: Final = 1_000
"""Publications that are applied in one go."""


class ReplicaPublications:
    """What was published since a generation was built, in the folder of that generation on this replica."""

    def __init__(self, folder: Path, settings: Settings, log: PublicationLog | None) -> None:
        self._path = folder / _FILE
        self._log = log
        self._lock = threading.Lock()
        self._names: set[str] = set()
        self._latest: dict[str, str] = {}
        """By key of the URL, the name of the latest publication."""
        self._inbox = Inbox(folder)
        self._stack = contextlib.ExitStack()
        self._read()
        if log is not None:
            self._stack.enter_context(background_publisher(folder, settings))

    @property
    def count(self) -> int:
        """How many publications were applied."""
        return len(self._names)

    def _read(self) -> None:
        if not self._path.exists():
            return
        with disk_errors(self._path):
            for name in self._path.read_text("ascii", "replace").splitlines():
                self._note(name)

    def _note(self, name: str) -> None:
        self._names.add(name)
        key = name[21:37]
        self._latest[key] = max(name, self._latest.get(key, ""))

    def apply(self, publication: Publication) -> bool:
        """Apply a publication, unless it was; return whether it was new. It is durable in this folder then."""
        with self._lock:
            if publication.name in self._names:
                return False
            if publication.name > self._latest.get(publication.name[21:37], ""):
                try:
                    self._inbox.add_record(publication.record())
                except BadInput as error:  # deleted here, or not a page: it will not become one
                    _LOG.warning("A publication is left out: %s", error)
            with disk_errors(self._path), self._path.open("a", encoding="ascii") as file:
                file.write(publication.name + "\n")
            self._note(publication.name)
            return True

    def catch_up(self) -> int:
        """Apply what is in the log and was not applied; return how much it was."""
        if self._log is None:
            return 0
        applied = 0
        for name, length in self._log.names().items():
            if name in self._names:
                continue
            try:
                publication = self._log.read(name, length)
            except CorruptFile as error:
                _LOG.error("%s", error)
                continue
            applied += publication is not None and self.apply(publication)
            if applied >= _MAX_BATCH:
                break
        return applied

    def close(self) -> None:
        """Stop indexing; what is in the inbox is indexed when the folder is opened again."""
        with contextlib.suppress(PeriplusError):
            self._stack.close()
