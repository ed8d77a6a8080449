"""Published pages in the next build: from the logs of all shards into the set of pages that a generation has.

    publication-sets/GGGGGGGG-ATTEMPT/MM-NN-PPPP   pages that build unit MM has collected for shard NN
    publication-sets/GGGGGGGG-ATTEMPT/MM-logs      the names of those that it has read in logs
    publication-sets/GGGGGGGG.json                 all of them: the set of generation G, written last

1. every build unit collects the pages of its log and of its part of the last set, and divides them by the shards that
   own their hosts now (`collect_publications`): pages follow hosts that have moved, and so do withdrawals
2. every build unit appends what was collected for its shard to the store that it builds from (`append_collected`)
3. when the generation is in storage, `save_set` records its set; then the generation is published
4. once brokers ask for that generation and no older one is open, `remove_built` removes the pages from the logs

Until the last step replicas apply publications from the logs, to the new generation as well, where that changes
nothing. So a page is found at every moment. A process that is killed between two steps, or within one, leaves the
publications in the logs, and the next attempt collects them again. Of several publications of a page, the last counts.
"""

import logging
import secrets
import struct
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import msgspec

from periplus.cluster.serving.publication_log import Publication, PublicationLog, check_publication, list_logs
from periplus.cluster.serving.serving_table import serving_shard
from periplus.errors import BadInput, CorruptFile
from periplus.files import decode_json, disk_errors, encode_json, make_folder
from periplus.publish import PublicationStore
from periplus.records import FetchRecord, Outcome
from periplus.settings import StoreSettings
from periplus.storage import Storage, StoredObject
from periplus.store import PageStore
from periplus.typed_decoding import parse_msgpack
from periplus.url import parse_address

__all__ = [
    "CollectedPublications",
    "append_collected",
    "collect_publications",
    "join_collected",
    "new_attempt",
    "read_set",
    "remove_built",
    "remove_sets",
    "save_set",
]

_LOG: Final = logging.getLogger("periplus.cluster")
_ROOT: Final = "publication-sets"
_FORMAT: Final = 1
_NAME_BYTES: Final = 54
_FRAME: Final = struct.Struct(f"<I{_NAME_BYTES}s")
_PART_BYTES: Final = 64 << 20
_BATCH: Final = 1_000
_READERS: Final = 8
_OUTCOMES: Final = (Outcome.OK, Outcome.GONE)


class CollectedPublications(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What build units have collected: of one of them, or of all."""

    parts: dict[int, tuple[StoredObject, ...]] = {}
    """By the shard that it is for."""
    logs: tuple[StoredObject, ...] = ()
    """Objects with the names of publications in logs: msgpack of names by log."""


class _PublicationSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: int
    generation: int
    collected: CollectedPublications


class _Position(NamedTuple):
    name: str
    offset: int
    length: int


class _Spool:
    """A file of publications; of several of a page it yields the last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._positions: dict[str, _Position] = {}
        with disk_errors(path):
            make_folder(path.parent)
            self._file: BinaryIO = path.open("w+b")

    def add(self, publication: Publication) -> None:
        """Add a publication, unless there is a later one of its page."""
        name, data = publication
        key = name[21:37]
        if key in self._positions and self._positions[key].name >= name:
            return
        with disk_errors(self._path):
            self._positions[key] = _Position(name, self._file.seek(0, 2), len(data))
            self._file.write(data)

    def __iter__(self) -> Iterator[Publication]:
        for name, offset, length in sorted(self._positions.values()):
            with disk_errors(self._path):
                self._file.seek(offset)
                yield Publication(name, self._file.read(length))

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def collect_publications(
    storage: Storage, shard: int, shards: Sequence[int], base: int, attempt: str, scratch: Path
) -> CollectedPublications:
    """Store what build unit `shard` reads of the logs and of the set of generation `base`, by owner; return what.

    shards: those that pages are divided by. Logs and parts of shards that are not among them are read by others.
    Damaged publications are left in the logs, and reported.
    """
    spool = _Spool(scratch / "collected")
    try:
        previous = read_set(storage, base).parts if base else {}
        for number, objects in previous.items():
            if serving_shard(number, shards) == shard:
                for publication in _read_parts(storage, objects):
                    spool.add(publication)
        names: dict[int, list[str]] = {}
        for number in list_logs(storage):
            if serving_shard(number, shards) == shard:
                names[number] = []
                for publication in _read_log(PublicationLog(storage, number)):
                    spool.add(publication)
                    names[number].append(publication.name)
        parts = _store_parts(storage, spool, shards, f"{_ROOT}/{attempt}/{shard:02d}")
    finally:
        spool.close()
    if not any(names.values()):
        return CollectedPublications(parts)
    logs = storage.put(f"{_ROOT}/{attempt}/{shard:02d}-logs", msgspec.msgpack.encode(names))
    return CollectedPublications(parts, (logs,))


def _read_log(log: PublicationLog) -> Iterator[Publication]:
    def read(entry: tuple[str, int]) -> Publication | None:
        try:
            publication = log.read(*entry)
            if publication is not None:
                parse_address(check_publication(publication).url)
            return publication
        except (CorruptFile, BadInput) as error:
            _LOG.error("A publication is not collected: %s", error)
            return None

    entries = list(log.names().items())
    with ThreadPoolExecutor(_READERS) as pool:
        for begin in range(0, len(entries), _READERS):
            yield from filter(None, pool.map(read, entries[begin : begin + _READERS]))


def _read_parts(storage: Storage, parts: Iterable[StoredObject]) -> Iterator[Publication]:
    """Yield the publications of parts; raise `CorruptFile` if one is damaged: what it has is nowhere else."""
    for part in parts:
        data, offset = storage.get(part), 0
        while offset < len(data):
            try:
                length, name = _FRAME.unpack_from(data, offset)
                offset += _FRAME.size
                yield Publication(name.decode("ascii"), data[offset : offset + length])
            except (struct.error, UnicodeDecodeError) as error:
                raise CorruptFile(f"{storage.object_url(part.name)} is damaged at byte {offset}.") from error
            offset += length


def _store_parts(
    storage: Storage, spool: _Spool, shards: Sequence[int], prefix: str
) -> dict[int, tuple[StoredObject, ...]]:
    """Store publications by the shard that owns their host; return the objects."""
    from periplus.crawl import HostPartitioner

    partitioner = HostPartitioner(tuple(shards))
    parts: dict[int, list[StoredObject]] = {}
    buffers: dict[int, bytearray] = {}
    size = 0

    def store(owner: int) -> None:
        objects = parts.setdefault(owner, [])
        objects.append(storage.put(f"{prefix}-{owner:02d}-{len(objects):04d}", bytes(buffers.pop(owner))))

    for publication in spool:
        owner = partitioner.owner(parse_address(check_publication(publication).url).host)
        frame = _FRAME.pack(len(publication.data), publication.name.encode("ascii")) + publication.data
        buffer = buffers.setdefault(owner, bytearray())
        buffer += frame
        size += len(frame)
        if size >= _PART_BYTES:
            largest = max(buffers, key=lambda number: len(buffers[number]))
            size -= len(buffers[largest])
            store(largest)
    for owner in sorted(buffers):
        store(owner)
    return {owner: tuple(objects) for owner, objects in parts.items()}


def join_collected(collected: Iterable[CollectedPublications]) -> CollectedPublications:
    """Return what all build units have collected."""
    parts: dict[int, tuple[StoredObject, ...]] = {}
    logs: tuple[StoredObject, ...] = ()
    for part in collected:
        logs += part.logs
        for owner, objects in part.parts.items():
            parts[owner] = parts.get(owner, ()) + objects
    return CollectedPublications(parts, logs)


def append_collected(
    storage: Storage, parts: Sequence[StoredObject], folder: Path, settings: StoreSettings, crawled: PageStore | None
) -> int:
    """Append what was collected for a shard to the store of published pages in a folder; return how many pages.

    crawled: the pages of the crawl. One that was fetched after it was published stays as it was fetched.
    """
    spool, count = _Spool(folder / ".publications"), 0
    try:
        for publication in _read_parts(storage, parts):
            spool.add(publication)
        with PublicationStore(folder, settings) as store:
            records: list[FetchRecord] = []
            for publication in spool:
                record = check_publication(publication)
                if crawled is not None and _is_replaced(record, crawled):
                    continue
                records.append(record)
                if len(records) >= _BATCH:
                    store.append_all(records)
                    count, records = count + len(records), []
            if records:
                store.append_all(records)
        return count + len(records)
    finally:
        spool.close()


def _is_replaced(record: FetchRecord, crawled: PageStore) -> bool:
    """Return whether the crawl has fetched a page after it was published, or found that it is gone."""
    fetched = (crawled.find(record.key), crawled.find_latest(record.key))
    return any(other is not None and other.outcome in _OUTCOMES and other.when > record.when for other in fetched)


def _set_name(generation: int) -> str:
    return f"{_ROOT}/{generation:08d}.json"


def new_attempt(generation: int) -> str:
    """Return a name for an attempt to collect publications."""
    return f"{generation:08d}-{secrets.token_hex(4)}"


def save_set(storage: Storage, generation: int, collected: CollectedPublications) -> None:
    """Record what a generation has; called once the generation is in storage, before it is published.

    Raise `StorageConflict` if another build has made the same generation.
    """
    storage.create_record(_set_name(generation), encode_json(_PublicationSet(_FORMAT, generation, collected)))


def read_set(storage: Storage, generation: int) -> CollectedPublications:
    """Return what a generation has; nothing, if it was built without published pages."""
    name = _set_name(generation)
    record = storage.read_record(name)
    if record is None:
        return CollectedPublications()
    return decode_json(Path(name), record.data, _PublicationSet, _FORMAT, checksum_since=1).collected


def remove_built(storage: Storage, generation: int) -> int:
    """Remove from the logs what a generation has; return how many publications.

    Called once brokers ask for the generation, and all replicas have closed earlier ones. A process that is killed
    meanwhile leaves the rest, which the next call removes.
    """
    count = 0
    for stored in read_set(storage, generation).logs:
        names = parse_msgpack(storage.get(stored), dict[int, list[str]])
        for number, built in names.items():
            log = PublicationLog(storage, number)
            present = log.names().keys() & set(built)
            log.remove(present)
            count += len(present)
    return count


def remove_sets(storage: Storage, generation: int, keep: Iterable[int]) -> None:
    """Remove the sets of generations up to this one that are not to be kept, and what failed attempts have left."""
    kept = set(keep) | {generation}
    named = {_set_name(number) for number in kept}
    for number in kept:
        collected = read_set(storage, number)
        named |= {stored.name for stored in collected.logs}
        named |= {stored.name for objects in collected.parts.values() for stored in objects}
    names = []
    for item in storage.list_objects(_ROOT):
        digits = item.name.removeprefix(f"{_ROOT}/")[:8]
        if digits.isdigit() and int(digits) <= generation and item.name not in named:
            names.append(item.name)
    storage.delete(sorted(names, key=lambda name: not name.endswith(".json")))
