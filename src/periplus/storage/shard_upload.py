"""Upload of a shard: new objects first, then the manifest that names them, then the removal of what it no longer names.

An object is written once and never changed: its name ends with a random text. A file that grew is continued by a
further object; small ones at its end are replaced by one, so that a file has few objects and no byte is uploaded more
than about log2(64 MB / bytes per upload) times. The manifest is a record: of two machines that upload the same shard,
the one that has not read the last manifest fails with `StorageConflict`, and nothing that it wrote is ever named.
"""

import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from periplus.errors import StorageConflict
from periplus.files import disk_errors, make_folder
from periplus.hashing import fingerprint_text
from periplus.storage.shard_capture import CapturedFile, capture_folder, remove_capture
from periplus.storage.shard_manifest import (
    FolderState,
    ShardFile,
    ShardManifest,
    count_matching_parts,
    encode_manifest,
    files_prefix,
    is_newest_copy,
    manifest_name,
    read_folder_state,
    read_shard_manifest,
    write_folder_state,
)
from periplus.storage.storage_client import Storage
from periplus.storage.storage_records import StoredObject, is_name

__all__ = ["ShardMirror", "UploadResult", "part_ranges", "upload_shard"]

_LARGEST_PART: Final = 64 << 20
"""Parts of a file are joined up to this size."""
_AT_ONCE: Final = 4
_MAX_PATH: Final = 500
"""Longer paths are not repeated in the names of objects."""


class UploadResult(NamedTuple):
    """What an upload did."""

    generation: int
    """Generation of the manifest that is in storage now."""
    files: int
    bytes: int
    """Size of the shard."""
    uploaded_objects: int
    uploaded_bytes: int
    removed_objects: int


class _Range(NamedTuple):
    """Bytes of a file that become an object."""

    file: CapturedFile
    begin: int
    length: int


class ShardMirror:
    """Keeps the shard in storage up to date with a folder. It is the owner of the shard as long as no other takes over.

    Raise `StorageConflict` if the storage has something that the folder does not have: restore the folder then.
    """

    def __init__(self, folder: Path, storage: Storage, number: int) -> None:
        self.folder = folder
        self.number = number
        self._storage = storage
        self._prefix = files_prefix(number)
        self._owner = secrets.token_hex(8)
        self._cache: dict[str, tuple[CapturedFile, ShardFile]] = {}
        self._swept = False
        """Whether all objects of the shard are named by the manifest; after an upload that failed, that is unknown."""
        self.progress = 0
        """Objects that were stored so far: grows while an upload goes on."""
        self._lock = threading.Lock()
        self._manifest: ShardManifest | None = None
        self._version = ""
        with disk_errors(folder):
            make_folder(folder)
        self._take_over()

    @property
    def generation(self) -> int:
        """Generation of the manifest in storage; 0 if nothing was uploaded."""
        return self._manifest.generation if self._manifest is not None else 0

    def _take_over(self) -> None:
        """Become the owner: an earlier one, if it still runs, cannot change the manifest from here on."""
        versioned = read_shard_manifest(self._storage, self.number)
        state = read_folder_state(self.folder)
        if versioned is None:
            write_folder_state(self.folder, self._state("", 0))
            return
        manifest = versioned.manifest
        if not is_newest_copy(state, self._storage, manifest):
            raise StorageConflict(
                f"{self.folder} is not the newest copy of shard {self.number}: {self._storage.url} has generation "
                f"{manifest.generation} of another one.",
                "Restore the shard into an empty folder.",
            )
        # Written first: after a crash in between, the folder is still known to be based on this manifest.
        write_folder_state(self.folder, self._state(manifest.owner, manifest.generation))
        self._manifest, self._version = manifest, versioned.version
        self._commit(manifest.files)

    def _state(self, base_owner: str, base_generation: int) -> FolderState:
        return FolderState(
            storage=self._storage.id,
            shard=self.number,
            owner=self._owner,
            base_owner=base_owner,
            base_generation=base_generation,
        )

    def upload(self) -> UploadResult:
        """Upload what the folder has now; on return, all that was on disk at the time of the call is in storage.

        If this raises, the storage has the last upload, or this one if only the removal of old objects failed; call it
        again. After a `StorageConflict` another machine owns the shard: stop.
        """
        with self._lock:
            try:
                return self._upload(capture_folder(self.folder))
            finally:
                remove_capture(self.folder)

    def _upload(self, captured: list[CapturedFile]) -> UploadResult:
        # Listed before the commit: whoever takes over after the commit writes objects that are not among these.
        leftovers = set() if self._swept else {entry.name for entry in self._storage.list_objects(self._prefix)}
        is_swept, self._swept = self._swept, False
        plans = {file.path: self._plan(file) for file in captured}
        ranges = [item for _, new in plans.values() for item in new]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            objects = iter(list(pool.map(self._put, ranges)))
        files = []
        for file in captured:
            reused, new = plans[file.path]
            entry = ShardFile(file.path, file.length, (*reused, *(next(objects) for _ in new)))
            files.append((file, entry))
        removed = self._commit_files(tuple(entry for _, entry in files), leftovers, is_forced=not is_swept)
        self._swept = True
        self._cache = {file.path: (file, entry) for file, entry in files}
        return UploadResult(
            self.generation,
            len(files),
            sum(file.length for file in captured),
            len(ranges),
            sum(item.length for item in ranges),
            removed,
        )

    def _plan(self, file: CapturedFile) -> tuple[tuple[StoredObject, ...], list[_Range]]:
        """Return the objects that a file shares with the last upload, and the ranges to upload after them."""
        shared = self._shared_parts(file)
        end = sum(part.length for part in shared)
        if end == file.length:
            return shared, []
        reused, ranges = part_ranges([part.length for part in shared], file.length)
        return shared[:reused], [_Range(file, begin, length) for begin, length in ranges]

    def _shared_parts(self, file: CapturedFile) -> tuple[StoredObject, ...]:
        last, entry = self._cache.get(file.path, (None, None))
        if last is not None and entry is not None and last.identity == file.identity:
            return entry.parts
        if entry is None:
            entry = self._entries().get(file.path)
        if entry is None:
            return ()
        # Bytes that were durable at the last upload, in the same file, are the same; others are compared.
        is_same_file = last is not None and last.identity[0] == file.identity[0]
        durable = min(last.durable, file.durable) if is_same_file and last is not None else 0
        with disk_errors(file.source):
            return entry.parts[: count_matching_parts(file.source, entry.parts, file.length, durable)]

    def _entries(self) -> dict[str, ShardFile]:
        return {file.path: file for file in self._manifest.files} if self._manifest is not None else {}

    def _put(self, item: _Range) -> StoredObject:
        stored = self._storage.put_file(self._object_name(item), item.file.source, item.begin, item.length)
        self.progress += 1
        return stored

    def _object_name(self, item: _Range) -> str:
        path = (
            item.file.path
            if is_name(item.file.path) and len(item.file.path) < 500
            else f"other/{fingerprint_text(item.file.path):016x}"
        )
        return f"{self._prefix}/{path}/{item.begin:012d}-{self._owner}-{secrets.token_hex(4)}"

    def _commit_files(self, files: tuple[ShardFile, ...], leftovers: set[str], is_forced: bool) -> int:
        """Write the manifest, then remove what it does not name of earlier ones and of `leftovers`; return how many.

        Nothing is removed without a commit: it fails if another machine has taken over.
        """
        before = leftovers | (self._manifest.objects() if self._manifest is not None else set())
        if is_forced or self._manifest is None or self._manifest.files != files:
            self._commit(files)
        assert self._manifest is not None
        unnamed = before - self._manifest.objects()
        self._storage.delete(sorted(unnamed))
        return len(unnamed)

    def _commit(self, files: tuple[ShardFile, ...]) -> None:
        try:
            self._write_manifest(files)
        except StorageConflict:
            if not self._adopt_manifest():
                raise
            self._write_manifest(files)

    def _write_manifest(self, files: tuple[ShardFile, ...]) -> None:
        manifest = ShardManifest(
            shard=self.number, owner=self._owner, generation=self.generation + 1, time=time.time(), files=files
        )
        name, data = manifest_name(self.number), encode_manifest(manifest)
        if self._version:
            self._version = self._storage.replace_record(name, data, self._version)
        else:
            self._version = self._storage.create_record(name, data)
        self._manifest = manifest

    def _adopt_manifest(self) -> bool:
        """Continue from the manifest in storage if this owner wrote it; return whether it did.

        The answer to a write that succeeded may have been lost, for longer than requests are repeated.
        """
        versioned = read_shard_manifest(self._storage, self.number)
        if versioned is None or versioned.manifest.owner != self._owner:
            return False
        self._manifest, self._version = versioned.manifest, versioned.version
        return True


def upload_shard(folder: Path, storage: Storage, number: int) -> UploadResult:
    """Upload a data folder as shard `number`, once; a running shard keeps a `ShardMirror`, which reads less."""
    return ShardMirror(folder, storage, number).upload()


def part_ranges(lengths: list[int], total: int) -> tuple[int, list[tuple[int, int]]]:
    """Return how many parts of a file are reused, and the ranges (begin, length) to upload after them.

    Parts at the end that are not longer than what follows them are uploaded again with it.
    """
    end = sum(lengths)
    count, begin = len(lengths), end
    while count and lengths[count - 1] <= total - begin and total - begin + lengths[count - 1] <= _LARGEST_PART:
        count -= 1
        begin -= lengths[count]
    return count, [(start, min(_LARGEST_PART, total - start)) for start in range(begin, total, _LARGEST_PART)]
