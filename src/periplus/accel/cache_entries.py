"""Writes compiled kernels to the cache so that any number of processes may do it at once, and be killed meanwhile.

Numba writes the index of a kernel first, then the code that it refers to, and gives code the name that earlier code
had. A process that is killed between the two, or two that write at once, can leave an index that refers to the code of
another version or of other types. Here code gets a new name, the index refers to it only once it is there, and a lock
is held from reading an index until it is written.
"""

import contextlib
import fcntl
import itertools
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

__all__ = ["LOCK", "folder_lock", "save_entry"]

LOCK: Final = "index.lock"
"""The file in a folder of compiled kernels that is locked while an index is changed."""


@contextlib.contextmanager
def folder_lock(folder: Path, name: str = LOCK) -> Iterator[None]:
    """Hold a lock of a folder; the system releases it when the process ends, however that happens."""
    descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Without locks, as on some network file systems, the order of writing still holds.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def save_entry(entries: Any, key: Any, data: Any) -> None:
    """Save compiled code under its key.

    Parameters
        entries: Numba's `IndexDataCacheFile` of one kernel
        key: types of the arguments, processor, and hashes of the bytecode
        data: what Numba stores
    """
    folder = Path(entries._cache_path)
    with folder_lock(folder):
        index = _read_index(entries)
        index[key] = next(name for name in map(entries._data_name, itertools.count(1)) if not (folder / name).exists())
        entries._save_data(index[key], data)
        entries._save_index(index)
        _remove_unused(folder, entries._index_name.removesuffix(".nbi"), set(index.values()))


def _read_index(entries: Any) -> dict[Any, str]:
    """Return the index of a kernel; an empty one if it cannot be read, or is of other sources."""
    try:
        index: dict[Any, str] = entries._load_index()
    except (OSError, EOFError, ImportError, AttributeError, ValueError, pickle.UnpicklingError):
        return {}
    return index


def _remove_unused(folder: Path, base: str, used: set[str]) -> None:
    """Remove the code of a kernel that its index does not refer to."""
    for path in folder.glob(f"{base}.*.nbc"):
        if path.name not in used:
            path.unlink(missing_ok=True)
