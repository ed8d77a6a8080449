"""Restore of a shard on a bare machine: into a folder beside its own, which is renamed when every byte is verified.

A restore that was interrupted is resumed: files that are complete are not fetched again. The folder of the shard is
there whole, with its last rename, or not at all.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from periplus.errors import CorruptFile, FolderInUse, NothingHere, StorageFailed
from periplus.files import disk_errors, is_locked, lock_folder, make_folder, sweep_torn, sync_folder
from periplus.storage.shard_manifest import (
    FolderState,
    ShardFile,
    ShardManifest,
    count_matching_parts,
    is_newest_copy,
    read_folder_state,
    read_shard_manifest,
    write_folder_state,
)
from periplus.storage.storage_client import Storage

__all__ = ["RestoreResult", "restore_shard"]

_AT_ONCE: Final = 4
_MANIFESTS: Final = 10
"""How often a newer manifest is read, because it was written while the objects of the last one were fetched."""


class RestoreResult(NamedTuple):
    """What a restore did."""

    generation: int
    """Generation of the manifest that the folder equals."""
    files: int
    bytes: int
    fetched_files: int
    """Files that were fetched; the others were in the folder already, or in that of an interrupted restore."""
    fetched_bytes: int


def restore_shard(storage: Storage, number: int, folder: Path, *, replace: bool = False) -> RestoreResult:
    """Make `folder` equal to shard `number` in storage; its files are verified.

    A folder that has everything already, because it uploaded the shard last, stays as it is. Another folder that is not
    empty is refused with `FolderInUse`, unless `replace`: then its files are used where they are the same, and the rest
    is removed. Raise `NothingHere` if the shard was never uploaded, `CorruptFile` if an object is damaged.
    """
    versioned = read_shard_manifest(storage, number)
    if versioned is None:
        raise NothingHere(f"{storage.url} has no shard {number}.", "Check storage.url and the number of the shard.")
    if is_newest_copy(read_folder_state(folder), storage, versioned.manifest):
        files = versioned.manifest.files
        with disk_errors(folder):
            sync_folder(folder.parent)  # an earlier restore may have ended between its last rename and this
        return RestoreResult(versioned.manifest.generation, len(files), sum(file.length for file in files), 0, 0)
    _check_target(folder, replace)
    with disk_errors(folder):
        make_folder(folder.parent)
    staging = folder.with_name(f".{folder.name}.restoring")
    with lock_folder(staging, "restore"):
        manifest, fetched = _fetch_all(storage, number, staging, folder if replace else None)
        state = FolderState(
            storage=storage.id, shard=number, base_owner=manifest.owner, base_generation=manifest.generation
        )
        write_folder_state(staging, state)
        _publish(staging, folder)
    sizes = [file.length for file in manifest.files]
    return RestoreResult(manifest.generation, len(sizes), sum(sizes), len(fetched), sum(fetched))


def _check_target(folder: Path, replace: bool) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not replace:
        raise FolderInUse(f"{folder} is not empty: a shard cannot be restored there.", "Move it away.")
    for lock in folder.rglob(".*.lock"):
        if is_locked(lock.parent, lock.name[1:].removesuffix(".lock")):
            raise FolderInUse(f"{lock.parent} is in use: its shard cannot be restored.", "Stop the process first.")


def _fetch_all(storage: Storage, number: int, staging: Path, local: Path | None) -> tuple[ShardManifest, list[int]]:
    """Fetch the files of the newest manifest; return it, and the lengths of what was fetched."""
    fetched: list[int] = []
    for _ in range(_MANIFESTS):
        versioned = read_shard_manifest(storage, number)
        if versioned is None:
            break
        try:
            fetched += _fetch_files(storage, versioned.manifest, staging, local)
        except NothingHere as error:
            # The owner has uploaded a newer manifest meanwhile, and removed what only the last one named.
            newest = read_shard_manifest(storage, number)
            if newest is not None and newest.version == versioned.version:
                raise CorruptFile(f"Shard {number} is damaged: {error.message}", "Restore it from a backup.") from error
            continue
        return versioned.manifest, fetched
    raise StorageFailed(f"Shard {number} of {storage.url} changes faster than it is fetched.", "Stop its owner first.")


def _fetch_files(storage: Storage, manifest: ShardManifest, staging: Path, local: Path | None) -> list[int]:
    names = {file.path for file in manifest.files}
    with disk_errors(staging):
        for path in list(_files_below(staging)):
            if path.relative_to(staging).as_posix() not in names:
                path.unlink()
        for folder in {(staging / file.path).parent for file in manifest.files}:
            make_folder(folder)
            sweep_torn(folder)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        lengths = list(pool.map(lambda file: _fetch_file(storage, file, staging, local), manifest.files))
    return [length for length in lengths if length is not None]


def _files_below(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            yield path


def _fetch_file(storage: Storage, file: ShardFile, staging: Path, local: Path | None) -> int | None:
    """Write one file; return its length, or None if it was there."""
    target = staging / file.path
    if _has_content(target, file):
        return None
    if local is not None and _has_content(local / file.path, file):
        with disk_errors(target), contextlib.suppress(FileExistsError):
            os.link(local / file.path, target)
            return None
    storage.join_to_file(file.parts, target)
    return file.length


def _has_content(path: Path, file: ShardFile) -> bool:
    """Return whether a file on disk has the bytes of all parts, and no others."""
    try:
        if path.is_symlink() or path.stat().st_size != file.length:
            return False
        return count_matching_parts(path, file.parts, file.length) == len(file.parts)
    except OSError:
        return False


def _publish(staging: Path, folder: Path) -> None:
    """Make the restored folder durable and give it its name; what was there before is removed after that."""
    stale = folder.with_name(f".{folder.name}.stale")
    with disk_errors(folder):
        for part in (staging, *(path for path in staging.rglob("*") if path.is_dir())):
            sync_folder(part)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(stale)
        with contextlib.suppress(FileNotFoundError):
            os.rename(folder, stale)
        os.rename(staging, folder)
        sync_folder(folder.parent)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(stale)
