"""The manifest of a shard in storage: its files, and the objects that each consists of."""

import re
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from periplus.errors import CorruptFile, DataError, NothingHere
from periplus.files import decode_json, encode_json, read_file, write_atomically
from periplus.hashing import StreamFingerprint
from periplus.storage.storage_client import Storage
from periplus.storage.storage_records import StoredObject

__all__ = [
    "FolderState",
    "ShardFile",
    "ShardManifest",
    "VersionedManifest",
    "count_matching_parts",
    "encode_manifest",
    "files_prefix",
    "is_newest_copy",
    "manifest_name",
    "read_folder_state",
    "read_shard_manifest",
    "write_folder_state",
]

_FORMAT: Final = 1
_STATE: Final = ".storage.json"
_PATH: Final = re.compile(r"(?:[^./\x00\\][^/\x00\\]*/)*[^./\x00\\][^/\x00\\]*")
_MAX_PATH: Final = 1_000
_CHUNK: Final = 1 << 20
_NUMBERS: Final = range(1 << 16)


class ShardFile(msgspec.Struct, frozen=True):
    """A file of a shard: its bytes are those of its parts, in order."""

    path: str
    """Relative to the folder of the shard, with slashes."""
    length: int
    parts: tuple[StoredObject, ...]


class ShardManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a shard, as its owner has uploaded them last."""

    format: int = _FORMAT
    shard: int
    owner: str
    """Random; identifies the copy of the folder that may upload."""
    generation: int
    """Grows by one with every upload and every new owner."""
    time: float
    files: tuple[ShardFile, ...] = ()

    def objects(self) -> set[str]:
        """Return the names of all objects."""
        return {part.name for file in self.files for part in file.parts}


class VersionedManifest(msgspec.Struct, frozen=True):
    """A manifest and the version that its successor must name."""

    manifest: ShardManifest
    version: str


class FolderState(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder on disk has to do with the shard in storage: `.storage.json`, which is not uploaded."""

    format: int = _FORMAT
    storage: str
    """Identifier of the storage."""
    shard: int
    owner: str = ""
    """The owner of manifests that this folder has written."""
    base_owner: str = ""
    base_generation: int = 0
    """The manifest that the folder was restored from, or has taken over."""


def manifest_name(number: int) -> str:
    """Return the name of the record of a shard."""
    return f"shards/{_checked(number):02d}/manifest.json"


def files_prefix(number: int) -> str:
    """Return the prefix of the objects of a shard."""
    return f"shards/{_checked(number):02d}/files"


def _checked(number: int) -> int:
    if number not in _NUMBERS:
        raise DataError(f"{number} is not the number of a shard.")
    return number


def encode_manifest(manifest: ShardManifest) -> bytes:
    """Return a manifest as the content of its record."""
    return encode_json(manifest)


def read_shard_manifest(storage: Storage, number: int) -> VersionedManifest | None:
    """Return the manifest of a shard; None if nothing was uploaded. Raise `CorruptFile` if it is damaged."""
    name = manifest_name(number)
    record = storage.read_record(name)
    if record is None:
        return None
    hint = "Restore that object from a backup of the storage."
    manifest = decode_json(storage.object_url(name), record.data, ShardManifest, _FORMAT, hint, checksum_since=1)
    fault = _fault(manifest, number)
    if fault:
        raise CorruptFile(f"{storage.object_url(name)} is damaged: {fault}.", hint)
    return VersionedManifest(manifest, record.version)


def _fault(manifest: ShardManifest, number: int) -> str:
    prefix = files_prefix(number) + "/"
    if manifest.shard != number:
        return f"it is that of shard {manifest.shard}"
    if len({file.path for file in manifest.files}) != len(manifest.files):
        return "it names a file twice"
    for file in manifest.files:
        if len(file.path) > _MAX_PATH or not _PATH.fullmatch(file.path):
            return f"{file.path[:80]!r} is not a path within a shard"
        if min((part.length for part in file.parts), default=0) < 0 or file.length < 0:
            return f"a length of {file.path} is negative"
        if sum(part.length for part in file.parts) != file.length:
            return f"the parts of {file.path} do not have its length"
        if not all(part.name.startswith(prefix) for part in file.parts):
            return f"a part of {file.path} belongs to another shard"
    return ""


def read_folder_state(folder: Path) -> FolderState | None:
    """Return what is known of a folder; None if it was never uploaded or restored, or if that cannot be told."""
    path = folder / _STATE
    try:
        return decode_json(path, read_file(path), FolderState, _FORMAT, checksum_since=1)
    except (FileNotFoundError, NothingHere, CorruptFile):
        return None


def write_folder_state(folder: Path, state: FolderState) -> None:
    """Replace the state of a folder, durably."""
    write_atomically(folder / _STATE, encode_json(state))


def is_newest_copy(state: FolderState | None, storage: Storage, manifest: ShardManifest) -> bool:
    """Return whether a folder has everything that is in storage: it wrote this manifest, or was restored from it."""
    if state is None or state.storage != storage.id or state.shard != manifest.shard:
        return False
    if state.owner and state.owner == manifest.owner:
        return True
    return (state.base_owner, state.base_generation) == (manifest.owner, manifest.generation)


def count_matching_parts(path: Path, parts: tuple[StoredObject, ...], length: int, trusted: int = 0) -> int:
    """Return how many parts, from the first on, are the first `length` bytes of a file on disk.

    Parts within the first `trusted` bytes are not compared.
    """
    end = 0
    with path.open("rb") as file:
        for count, part in enumerate(parts):
            begin, end = end, end + part.length
            if end > length or (end > trusted and _checksum(file, begin, part.length) != part.checksum):
                return count
    return len(parts)


def _checksum(file: BinaryIO, begin: int, length: int) -> str:
    """Return the checksum of bytes of a file; '' if it is shorter."""
    file.seek(begin)
    hasher = StreamFingerprint()
    while length:
        chunk = file.read(min(length, _CHUNK))
        if not chunk:
            return ""
        hasher.update(chunk)
        length -= len(chunk)
    return hasher.hexdigest()
