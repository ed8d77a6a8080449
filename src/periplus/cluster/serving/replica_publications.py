"""Published pages in the index of one replica: applied from the logs in storage, whoever has written them there.

    FOLDER/publications.txt    the names of what was applied to this folder, a line each

A publication is applied by adding it to the inbox of the folder, which a thread indexes. It is applied once, unless the
process ends between the two steps: applying it again does no harm. Of several for one URL the latest counts.

A shard applies the pages of the hosts that it owns in this generation. Mostly these are in its own log; what was
published while other shards owned the hosts is in theirs, which are read when the folder is opened and now and then.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.cluster.serving.publication_log import Publication, PublicationLog, list_logs
from periplus.cluster.serving.serving_table import serving_shard
from periplus.errors import BadInput, CorruptFile, PeriplusError
from periplus.files import disk_errors
from periplus.publish import Inbox, background_publisher, publish_all, warm_publisher
from periplus.records import FetchRecord
from periplus.settings import Settings
from periplus.storage import Storage
from periplus.url import parse_address

if TYPE_CHECKING:
    from periplus.crawl import HostPartitioner

__all__ = ["PublicationSource", "ReplicaPublications"]

_LOG: Final = logging.getLogger("periplus.cluster")
_FILE: Final = "publications.txt"
_WHOLE_SECONDS: Final = 30.0
"""Between two times that all logs are listed whole; in between, what is new in the own ones is."""


class PublicationSource:
    """The logs that a shard applies in one generation, and the hosts that it owns."""

    def __init__(self, storage: Storage, shard: int, owners: Sequence[int] = (), served: Sequence[int] = ()) -> None:
        """owners: the shards that own hosts; served: those that have an index. Without them, the shard owns all."""
        self._storage, self._shard, self._served = storage, shard, tuple(served)
        self._partitioner: HostPartitioner | None = None
        if owners and served:
            from periplus import crawl  # a replica without owners does without the crawler

            self._partitioner = crawl.HostPartitioner(tuple(owners))
        own = [n for n in owners if serving_shard(n, self._served) == shard] if self._partitioner else [shard]
        self._own = {number: PublicationLog(storage, number) for number in own}
        self._logs = dict(self._own)

    def owns(self, record: FetchRecord) -> bool:
        """Return whether the host of a page belongs to this shard."""
        if self._partitioner is None:
            return True
        owner = self._partitioner.owner(parse_address(record.url).host)
        return serving_shard(owner, self._served) == self._shard

    def names(self, after: str | None) -> Iterator[tuple[PublicationLog, str, int]]:
        """Yield publications with their logs, the oldest first; with `after`, as `PublicationLog.names`."""
        logs = self._own
        if after is None and self._partitioner is not None:
            for number in list_logs(self._storage):
                self._logs.setdefault(number, PublicationLog(self._storage, number))
            logs = self._logs
        entries = [(name, log, length) for log in logs.values() for name, length in log.names(after=after).items()]
        for name, log, length in sorted(entries, key=lambda entry: entry[0]):
            yield log, name, length


class ReplicaPublications:
    """What was published since a generation was built, in the folder of that generation on this replica."""

    def __init__(self, folder: Path, settings: Settings, source: PublicationSource | None) -> None:
        self._folder, self._settings = folder, settings
        self._path = folder / _FILE
        self._source = source
        self._others: set[str] = set()
        """Names of publications of other shards, which are not applied here."""
        self._listed = -_WHOLE_SECONDS
        self._lock = threading.Lock()
        self._names: set[str] = set()
        self._last = ""
        """The highest name."""
        self._latest: dict[str, str] = {}
        """By key of the URL, the name of the latest publication."""
        self._inbox = Inbox(folder)
        self._stack = contextlib.ExitStack()
        self._read()

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
        self._last = max(self._last, name)
        key = name[21:37]
        self._latest[key] = max(name, self._latest.get(key, ""))

    def apply(self, publication: Publication) -> bool:
        """Apply a publication, unless it was, or is of another shard; return whether it was applied.

        It is durable in this folder then.
        """
        with self._lock:
            name = publication.name
            if name in self._names or name in self._others:
                return False
            record = publication.record()
            if self._source is not None and not self._source.owns(record):
                self._others.add(name)
                return False
            if name > self._latest.get(name[21:37], ""):
                try:
                    self._inbox.add_record(record)
                except BadInput as error:  # deleted here, or not a page: it will not become one
                    _LOG.warning("A publication is left out: %s", error)
            with disk_errors(self._path), self._path.open("a", encoding="ascii") as file:
                file.write(name + "\n")
            self._note(name)
            return True

    def catch_up(self) -> int:
        """Apply what is in the logs and was not applied; return how much it was.

        The first time all logs are listed, and now and then; otherwise what is new in the own ones.
        """
        if self._source is None:
            return 0
        now = time.monotonic()
        whole = now - self._listed >= _WHOLE_SECONDS
        applied = 0
        for log, name, length in self._source.names(None if whole else self._last):
            if name in self._names or name in self._others:
                continue
            try:
                publication = log.read(name, length)
                applied += publication is not None and self.apply(publication)
            except (CorruptFile, BadInput) as error:
                _LOG.error("%s", error)
                self._others.add(name)
        if whole:
            self._listed = now
        return applied

    def start(self) -> None:
        """Apply and index what was published until now; on return it is searchable, and a thread does the same.

        What indexing takes is loaded then, so that the first page that is published is found as soon as any other.
        """
        if self._source is None:
            return
        warm_publisher(self._settings)
        self.catch_up()
        if self._names:
            publish_all(self._folder, self._settings, self._inbox)
        self._stack.enter_context(background_publisher(self._folder, self._settings))

    def close(self) -> None:
        """Stop indexing; what is in the inbox is indexed when the folder is opened again."""
        with contextlib.suppress(PeriplusError):
            self._stack.close()
