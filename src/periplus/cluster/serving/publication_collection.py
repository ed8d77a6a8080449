"""Published pages in the next build of their shard: from the log to the page store, and out of the log afterwards.

1. `collect_publications` appends what is in the log to the page store of the shard, from which the build reads
2. the store and the generation that was built of it are put into storage; then `mark_built` records which publications
   that generation has
3. once brokers ask for that generation and no older one is open, `remove_built` removes them from the log

Until the last step replicas apply publications from the log, to the new generation as well, where that changes nothing.
So a page is found at every moment. A process that is killed between two steps, or within one, leaves the publication in
the log, and the step is repeated.
"""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from periplus.cluster.serving.publication_log import PublicationLog
from periplus.errors import BadInput, CorruptFile
from periplus.files import decode_json, encode_json, read_file, write_atomically
from periplus.publish import PublicationStore
from periplus.records import FetchRecord
from periplus.settings import StoreSettings
from periplus.storage import Storage

__all__ = ["collect_publications", "mark_built", "remove_built"]

_LOG: Final = logging.getLogger("periplus.cluster")
_FILE: Final = "collected-publications.txt"
_FORMAT: Final = 1
_BATCH: Final = 1_000
_BATCH_BYTES: Final = 64 << 20


class _BuiltPublications(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The publications that a generation of a shard has."""

    format: int
    generation: int
    names: tuple[str, ...]


def collect_publications(log: PublicationLog, folder: Path, settings: StoreSettings) -> tuple[str, ...]:
    """Append what is in the log of a shard to the page store of its data folder; return the names of what is there.

    It is durable in the folder when this returns. Damaged publications are left in the log, and reported. Raise
    `FolderInUse` if another process writes published pages to the folder.
    """
    path = folder / _FILE
    names = log.names()
    collected = _read_names(path) & names.keys()
    records: list[FetchRecord] = []
    pending: list[str] = []
    size = 0
    with PublicationStore(folder, settings) as store:

        def append() -> None:
            nonlocal size
            store.append_all(records)
            collected.update(pending)  # only what is durable: a process that ends before appends it again
            write_atomically(path, "".join(f"{name}\n" for name in sorted(collected)).encode("ascii"))
            records.clear()
            pending.clear()
            size = 0

        for name, length in names.items():
            if name in collected:
                continue
            try:
                publication = log.read(name, length)
                record = publication.record() if publication is not None else None
            except (CorruptFile, BadInput) as error:
                _LOG.error("A publication is not collected: %s", error)
                continue
            if record is not None:
                records.append(record)
                pending.append(name)
                size += length
            if len(records) >= _BATCH or size >= _BATCH_BYTES:
                append()
        if records:
            append()
    return tuple(sorted(collected))


def _read_names(path: Path) -> set[str]:
    """Return the names of publications that were collected before."""
    try:
        return set(read_file(path).decode("ascii", "replace").splitlines())
    except FileNotFoundError:
        return set()


def mark_built(storage: Storage, shard: int, generation: int, names: Iterable[str]) -> None:
    """Record which publications a generation of a shard has; called once the store and the generation are in storage.

    A generation that is built again replaces what was recorded of it.
    """
    name = _record_name(shard, generation)
    data = encode_json(_BuiltPublications(_FORMAT, generation, tuple(sorted(names))))
    record = storage.read_record(name)
    if record is None:
        storage.create_record(name, data)
    elif record.data != data:
        storage.replace_record(name, data, record.version)


def remove_built(storage: Storage, shard: int, generation: int) -> int:
    """Remove from the log what this generation of a shard has, or an earlier one; return how many publications.

    Called once brokers ask for the generation, and all replicas have closed earlier ones. A process that is killed
    meanwhile leaves the record, and the next call removes the rest.
    """
    log, count = PublicationLog(storage, shard), 0
    for item in storage.list_objects(_folder(shard)):
        number = item.name.rpartition("/")[2].removesuffix(".json")
        if not number.isdigit() or int(number) > generation:
            continue
        record = storage.read_record(item.name)
        if record is None:
            continue
        built = decode_json(Path(item.name), record.data, _BuiltPublications, _FORMAT, checksum_since=1)
        present = log.names().keys() & set(built.names)
        log.remove(present)
        storage.delete([item.name])
        count += len(present)
    return count


def _folder(shard: int) -> str:
    return f"shards/{shard:02d}/built-publications"


def _record_name(shard: int, generation: int) -> str:
    return f"{_folder(shard)}/{generation:08d}.json"
