"""Which 64-bit keys were ever added: sorted runs that double in size, and a small set for the newest.

A run of `FILE_KEYS` keys or more is a file that is written once and mapped, so that a snapshot writes only what is new,
and memory holds only what is looked at.

    seen/NNNNNNNN.keys   magic "PERISEEN" | version u32 | xxh3 fingerprint u64 | 4 bytes of 0 | keys u64, ascending

A snapshot names its files. One that was merged into another is removed two snapshots later, so that every snapshot on
disk finds its files; one that no snapshot names is of a run that was killed, and is removed too.
"""

import contextlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.checksums import FileFault
from periplus.errors import CorruptFile, NewerFormat
from periplus.files import disk_errors, make_folder, write_atomically
from periplus.hashing import fingerprint

__all__ = ["SeenFile", "SeenSet", "check_seen_files", "seen_folder"]

FILE_KEYS: Final = 65_536
"""Keys from which on a run is a file."""
_MAX_RUN: Final = 1 << 23
"""Keys of the longest run that is merged from others."""
_NEWEST: Final = 8_192
_PREFIX: Final = struct.Struct("<8sIQ")
_PADDING: Final = bytes(4)
_KEYS: Final = _PREFIX.size + len(_PADDING)
"""Where the keys begin, which is a multiple of 8."""
_MAGIC: Final = b"PERISEEN"
_VERSION: Final = 1

Keys = npt.NDArray[np.uint64]


class SeenFile(NamedTuple):
    """A file of keys that a snapshot names."""

    number: int
    keys: int
    checksum: int


class _Run(NamedTuple):
    """Keys in ascending order, and the file that they are mapped from."""

    keys: Keys
    file: SeenFile | None = None


class SeenSet:
    """A growing set of unsigned 64-bit keys, asked in batches."""

    def __init__(self, keys: Keys | None = None, folder: Path | None = None) -> None:
        """Open a set of these keys; with a folder, `dump` writes long runs to files there."""
        self._newest: set[int] = set()
        self._runs: list[_Run] = []
        self._folder = folder
        self._number = 0
        self._obsolete: list[list[int]] = [[], []]
        """Numbers of files that are no longer needed, since this snapshot and since the one before."""
        if keys is not None and len(keys):
            self._runs.append(_Run(np.unique(keys.astype(np.uint64, copy=False))))

    @classmethod
    def load(cls, keys: Keys, folder: Path | None, files: Sequence[SeenFile]) -> "SeenSet":
        """Restore what `dump` returned; raise `CorruptFile` if a file is not the one that was written."""
        seen = cls(keys, folder)
        if files and folder is None:
            raise CorruptFile("The files of the URLs seen are missing.")
        if folder is not None:
            seen._find_files({file.number for file in files})
            mapped = [_Run(_map_file(folder, file), file) for file in files]
            seen._runs = sorted([*mapped, *seen._runs], key=lambda run: -len(run.keys))
        return seen

    def replace(self, keys: Keys) -> "SeenSet":
        """Return a set of other keys in the same folder, whose files replace those of this one."""
        other = SeenSet(keys, self._folder)
        other._number = self._number
        mine = [run.file.number for run in self._runs if run.file is not None]
        other._obsolete = [[*self._obsolete[0], *mine], self._obsolete[1]]
        return other

    def __len__(self) -> int:
        return len(self._newest) + sum(len(run.keys) for run in self._runs)

    def __contains__(self, key: int) -> bool:
        return key in self._newest or bool(self._in_runs(np.array([key], np.uint64))[0])

    def contains_each(self, keys: Sequence[int]) -> list[bool]:
        """Return for each key whether it was ever added."""
        known = list(map(self._newest.__contains__, keys))
        if not self._runs or all(known):
            return known
        present = self._in_runs(np.array(keys, np.uint64)).tolist()
        return [new or old for new, old in zip(known, present, strict=True)]

    def unseen(self, keys: Sequence[int]) -> list[int]:
        """Return the indices in `keys` of those never added, each key once, in order."""
        newest = self._newest
        first: dict[int, int] = {}
        for index, key in enumerate(keys):
            if key not in newest:
                first.setdefault(key, index)
        if not self._runs or not first:
            return list(first.values())
        present = self._in_runs(np.fromiter(first.keys(), np.uint64, len(first)))
        return [index for index, old in zip(first.values(), present.tolist(), strict=True) if not old]

    def update(self, keys: Iterable[int]) -> None:
        """Add keys that `unseen` has just returned."""
        self._newest.update(keys)
        if len(self._newest) >= _NEWEST:
            self._settle()

    def keys(self) -> Keys:
        """Return all keys, sorted."""
        keys = np.concatenate([*(run.keys for run in self._runs), _as_array(self._newest)])
        keys.sort(kind="stable")
        return keys

    def dump(self) -> tuple[bytes, list[SeenFile]]:
        """Write runs that are long enough to files, for the snapshot that is about to name them.

        Return the keys that are in no file, ascending, and the files.
        """
        if self._folder is not None:
            self._runs = [self._file_run(run) if len(run.keys) >= FILE_KEYS else run for run in self._runs]
            for number in self._obsolete.pop():
                with contextlib.suppress(OSError):
                    _path(self._folder, number).unlink(missing_ok=True)
            self._obsolete.insert(0, [])
        rest = np.concatenate([*(run.keys for run in self._runs if run.file is None), _as_array(self._newest)])
        rest.sort(kind="stable")
        return rest.astype("<u8").tobytes(), [run.file for run in self._runs if run.file is not None]

    def _in_runs(self, keys: Keys) -> npt.NDArray[np.bool_]:
        known = np.zeros(len(keys), np.bool_)
        for run, _ in self._runs:
            rows = np.searchsorted(run, keys)
            rows[rows == len(run)] = 0
            known |= run[rows] == keys
        return known

    def _settle(self) -> None:
        """Turn the newest into a run; merge it with every run that is not much longer, so that runs stay few."""
        keys = _as_array(self._newest)
        keys.sort()
        self._newest = set()
        while self._runs and len(self._runs[-1].keys) <= min(2 * len(keys), _MAX_RUN - len(keys)):
            last = self._runs.pop()
            if last.file is not None:
                self._obsolete[0].append(last.file.number)
            keys = np.concatenate((last.keys, keys))
            keys.sort(kind="stable")
        self._runs.append(_Run(keys))

    def _file_run(self, run: _Run) -> _Run:
        """Write a run to a file, unless it is one."""
        if run.file is not None or self._folder is None:
            return run
        with disk_errors(self._folder):
            make_folder(self._folder)
        self._number += 1
        data = _PADDING + run.keys.astype("<u8").tobytes()
        file = SeenFile(self._number, len(run.keys), fingerprint(data))
        path = _path(self._folder, file.number)
        write_atomically(path, _PREFIX.pack(_MAGIC, _VERSION, file.checksum) + data)
        with disk_errors(path):
            return _Run(_keys(np.memmap(path, np.uint8, "r").view(np.ndarray)), file)

    def _find_files(self, named: set[int]) -> None:
        """Note which files there are, and that those without a name in the snapshot are not needed."""
        assert self._folder is not None
        found = [int(path.stem) for path in self._folder.glob("*.keys") if path.stem.isdigit()]
        self._number = max((*found, *named), default=0)
        self._obsolete[1] = [number for number in found if number not in named]


def seen_folder(spill: Path | None) -> Path | None:
    """Return the folder of the files of a frontier that has its queues in `spill`."""
    return spill.with_name("seen") if spill is not None else None


def check_seen_files(folder: Path, files: Sequence[SeenFile]) -> Iterator[FileFault]:
    """Yield the files that a snapshot names and that are missing or damaged."""
    for file in files:
        try:
            _map_file(folder, file)
        except (CorruptFile, NewerFormat) as error:
            yield FileFault(_path(folder, file.number), error.message)


def _as_array(keys: set[int]) -> Keys:
    return np.fromiter(keys, np.uint64, len(keys))


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.keys"


def _map_file(folder: Path, file: SeenFile) -> Keys:
    """Return the keys of a file, verified and mapped."""
    path = _path(folder, file.number)
    try:
        data: npt.NDArray[np.uint8] = np.memmap(path, np.uint8, "r").view(np.ndarray)
    except (OSError, ValueError) as error:
        raise CorruptFile(f"{path} cannot be read: {error}.") from error
    magic, version, checksum = (
        _PREFIX.unpack(data[: _PREFIX.size].tobytes()) if len(data) >= _PREFIX.size else (b"", 0, 0)
    )
    if magic == _MAGIC and version > _VERSION:
        raise NewerFormat(f"{path} has format {version}; this Periplus reads {_VERSION}.", "Upgrade Periplus.")
    is_whole = magic == _MAGIC and checksum == file.checksum and len(data) == _KEYS + 8 * file.keys
    if not is_whole or fingerprint(data[_PREFIX.size :].data) != checksum:
        raise CorruptFile(f"{path} is damaged.")
    return _keys(data)


def _keys(data: npt.NDArray[np.uint8]) -> Keys:
    return data[_KEYS:].view(np.uint64)
