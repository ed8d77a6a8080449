"""Verify a data folder: every file by its kind, and the store and the index as a whole."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from periplus.app.checking.file_kinds import PARTS, FileKind, find_kind
from periplus.app.observer import SILENT, Observer
from periplus.checksums import FileFault
from periplus.errors import BadInput, NothingHere, PeriplusError
from periplus.files import DataFolder, is_data_folder, is_locked

__all__ = ["FolderCheck", "FolderFault", "check_data_folder"]


class FolderFault(msgspec.Struct, frozen=True):
    """One fault of a data folder."""

    part: str
    path: str
    """The file, relative to the data folder."""
    reason: str
    meaning: str = ""
    """What it means, and what a repair does about it."""
    torn: bool = False
    """Whether a crash explains it, and nothing acknowledged is lost."""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}." + (f" ({self.meaning})" if self.meaning else "")


class FolderCheck(msgspec.Struct, frozen=True):
    """What a check has found."""

    files: int
    bytes: int
    faults: tuple[FolderFault, ...]


def check_data_folder(folder: Path, parts: tuple[str, ...] = (), observer: Observer = SILENT) -> FolderCheck:
    """Read every byte of the parts of a data folder, of all without `parts`; return all faults.

    What a running process has not finished to write is not a fault.
    """
    if unknown := set(parts) - set(PARTS):
        raise BadInput(f"There is no part '{min(unknown)}'.", f"Parts are {', '.join(PARTS)}.")
    if not folder.is_dir() or not any(folder.iterdir()):
        raise NothingHere(f"There is no data folder {folder}.", "Choose another with --folder.")
    walk = _FolderWalk(folder, parts or PARTS, observer)
    faults = list(walk.run())
    return FolderCheck(walk.files, walk.bytes, tuple(dict.fromkeys(faults)))


class _FolderWalk:
    """One walk over a data folder."""

    def __init__(self, folder: Path, parts: tuple[str, ...], observer: Observer) -> None:
        self._data = DataFolder(folder)
        self._parts = parts
        self._observer = observer
        self.files = self.bytes = 0

    def run(self) -> Iterator[FolderFault]:
        """Yield all faults."""
        names = [path.relative_to(self._data.path).as_posix() for path in sorted(self._data.path.rglob("*"))]
        names = [name for name in names if not any(piece.startswith(".") for piece in name.split("/"))]
        if "other" in self._parts and not is_data_folder(self._data.path):
            yield FolderFault("other", "periplus.json", "is missing", "is written again")
        for number, name in enumerate(names):
            self._observer.progress("checking files", number, len(names))
            yield from self._check_file(name)
        self._observer.progress("checking files", len(names), len(names))
        for part, check in _PART_CHECKS.items():
            if part in self._parts:
                for fault in check(self._data, self._observer):
                    yield self._locate(fault, part)

    def _check_file(self, name: str) -> Iterator[FolderFault]:
        path = self._data.path / name
        if not path.is_file():
            return
        kind = find_kind(name)
        if kind is None:
            if "other" in self._parts:
                yield FolderFault("other", name, "is not a file of Periplus", "nothing reads it")
            return
        if kind.part not in self._parts:
            return
        try:
            self.files, self.bytes = self.files + 1, self.bytes + path.stat().st_size
            for fault in kind.check(path):
                yield self._locate(fault, kind.part)
        except FileNotFoundError:
            return  # it was replaced meanwhile
        except OSError as error:
            yield FolderFault(kind.part, name, f"cannot be read: {error.strerror}", kind.meaning)

    def _locate(self, fault: FileFault, part: str) -> FolderFault:
        name = fault.path.relative_to(self._data.path).as_posix()
        kind: FileKind | None = find_kind(name)
        meaning = "a crash cut it short; what was acknowledged is there" if fault.torn else kind.meaning if kind else ""
        return FolderFault(part, name, fault.reason.rstrip("."), meaning, fault.torn)


def _check_store(data: DataFolder, observer: Observer) -> Iterator[FileFault]:
    from periplus.store import check_store_folder, shard_folders

    if data.store.is_dir():
        for folder in (data.store, *shard_folders(data.store).values()):
            yield from check_store_folder(folder, observer.progress, writing=is_locked(folder, "pages"))


def _check_index(data: DataFolder, observer: Observer) -> Iterator[FileFault]:
    """Check what the files of an index say together; each by itself was verified before."""
    from periplus.embeddings import check_vectors
    from periplus.index import check_index, index_tail_faults

    if not data.index.is_dir():
        return
    try:
        lines = check_index(data.index, observer.progress) + check_vectors(data.index, observer.progress)
    except NothingHere:
        lines = []
        if any(data.index.glob("seg-*")):
            yield FileFault(data.index / "manifest.json", "is missing")
    except PeriplusError as error:
        lines = [error.message]
    for line in lines:
        yield _as_fault(line, data.index)
    if not is_locked(data.path, "index") and not is_locked(data.index, "index"):
        yield from index_tail_faults(data.index)


def _as_fault(line: str, folder: Path) -> FileFault:
    """Return the fault of a line that names a file or folder of `folder` at its beginning or, else, of the manifest."""
    for word in (line.split(" ", 1)[0], line.split(": ", 1)[0]):
        path = Path(word.rstrip(":"))
        if path.is_relative_to(folder) and path != folder:
            return FileFault(path, line[len(word) :].lstrip(": "))
    return FileFault(folder / "manifest.json", line)


_PART_CHECKS: Final[dict[str, Callable[[DataFolder, Observer], Iterator[FileFault]]]] = {
    "store": _check_store,
    "index": _check_index,
}
