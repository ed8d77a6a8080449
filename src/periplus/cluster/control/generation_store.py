"""Generations of the index in storage: immutable, one for all shards, so that every replica opens the same bytes.

    STORAGE/generations/GGGGGGGG/shards/NN/...      the files of index/ and graph/ of a shard
    STORAGE/generations/GGGGGGGG/shards/NN.json     their names, lengths and checksums: written last

A replica restores a generation into a folder of its own, verified, and renames it when it is complete.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile, NothingHere, StorageConflict
from periplus.files import decode_json, encode_json, make_folder, sync_folder
from periplus.storage import Storage, StoredObject

__all__ = ["GenerationFile", "list_generations", "remove_generations", "restore_generation", "store_generation"]

_FORMAT: Final = 1
_PARTS: Final = ("index", "graph", "models")
_ROOT: Final = "generations"
_AT_ONCE: Final = 4
_SKIPPED: Final = re.compile(r"^\.|\.lock$")


class GenerationFile(msgspec.Struct, frozen=True):
    """One file of a generation."""

    path: str
    stored: StoredObject


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: int
    generation: int
    shard: int
    files: tuple[GenerationFile, ...]
    statistics_epoch: int = 0


def _prefix(generation: int, shard: int) -> str:
    return f"{_ROOT}/{generation:08d}/shards/{shard:02d}"


def store_generation(storage: Storage, folder: Path, generation: int, shard: int, statistics_epoch: int = 0) -> int:
    """Upload index and graph of a data folder as a generation of a shard; return the number of bytes.

    What was uploaded before is complete, or is uploaded again.
    """
    files = list(_files(folder))
    prefix = _prefix(generation, shard)
    if not any(path.startswith("index/") for path in files):
        raise NothingHere(f"There is no index in {folder}.")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        stored = pool.map(lambda path: storage.put_file(f"{prefix}/{path}", folder / path), files)
        entries = tuple(GenerationFile(path, item) for path, item in zip(files, stored, strict=True))
    data = encode_json(_Manifest(_FORMAT, generation, shard, entries, statistics_epoch))
    name = f"{prefix}.json"
    record = storage.read_record(name)
    if record is None:
        with contextlib.suppress(StorageConflict):
            storage.create_record(name, data)
    elif record.data != data:
        storage.replace_record(name, data, record.version)
    return sum(entry.stored.length for entry in entries)


def _files(folder: Path) -> Iterator[str]:
    for part in _PARTS:
        for path in sorted((folder / part).rglob("*")):
            if path.is_file() and not _SKIPPED.search(path.name):
                yield path.relative_to(folder).as_posix()


def restore_generation(storage: Storage, generation: int, shard: int, folder: Path) -> int:
    """Restore a generation of a shard to a folder, unless it is there; return the number of bytes that were fetched."""
    if folder.is_dir():
        return 0
    name = f"{_prefix(generation, shard)}.json"
    record = storage.read_record(name)
    if record is None:
        raise NothingHere(f"{storage.object_url(name)} does not exist: generation {generation} was not built.")
    manifest = decode_json(Path(name), record.data, _Manifest, _FORMAT, checksum_since=1)
    staging = folder.with_name(f".{folder.name}.restoring")
    shutil.rmtree(staging, ignore_errors=True)
    for entry in manifest.files:
        relative = Path(entry.path)
        if relative.is_absolute() or ".." in relative.parts or relative.parts[0] not in _PARTS:
            raise CorruptFile(f"{storage.object_url(name)} is damaged: it names {entry.path[:80]!r}.")
        make_folder((staging / relative).parent)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda entry: storage.get_file(entry.stored, staging / entry.path), manifest.files))
    os.rename(staging, folder)
    sync_folder(folder.parent)
    return sum(entry.stored.length for entry in manifest.files)


def list_generations(storage: Storage) -> list[int]:
    """Return the generations in storage, complete or not, in ascending order."""
    names = (summary.name.split("/")[1] for summary in storage.list_objects(_ROOT))
    return sorted({int(name) for name in names if name.isdigit()})


def remove_generations(storage: Storage, keep: set[int]) -> None:
    """Remove the generations that are not to be kept; their manifests first."""
    for generation in list_generations(storage):
        if generation not in keep:
            names = [summary.name for summary in storage.list_objects(f"{_ROOT}/{generation:08d}")]
            storage.delete(sorted(names, key=lambda name: not name.endswith(".json")))
