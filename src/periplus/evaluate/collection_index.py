"""The index of a collection: made in a temporary folder, or in one that is kept and used again while it fits."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.evaluate.collection import Collection, read_documents
from periplus.evaluate.query_runner import Progress
from periplus.files import disk_errors, write_atomically
from periplus.hashing import fingerprint_text
from periplus.index import build_index
from periplus.settings import IndexSettings, Settings
from periplus.typed_decoding import parse_json

__all__ = ["CollectionIndex", "open_collection_index"]

_NOTE: Final = "made-of.json"


class _IndexSource(msgspec.Struct, frozen=True):
    """What a stored index was built from."""

    bytes: int
    changed: int
    """When the documents were changed last, in nanoseconds."""
    settings: IndexSettings
    ids: tuple[str, ...] = ()


class CollectionIndex(NamedTuple):
    """A collection that can be searched."""

    folder: Path
    ids: list[str]
    """The collection's names of documents, by number."""
    keys: npt.NDArray[np.uint64]
    """Keys of the index, ascending, and the number of each."""
    numbers: npt.NDArray[np.int64]


@contextlib.contextmanager
def open_collection_index(
    folder: Path, collection: Collection, settings: Settings, keep: Path | None, progress: Progress
) -> Iterator[CollectionIndex]:
    """Index a collection for as long as the block runs; with `keep`, in a folder of its name in there, for longer."""
    if keep is not None:
        yield _kept(collection, settings, keep / folder.resolve().name, progress)
        return
    with tempfile.TemporaryDirectory(prefix="periplus-evaluate-") as place:
        yield _build(collection, settings, Path(place), progress)


def _kept(collection: Collection, settings: Settings, place: Path, progress: Progress) -> CollectionIndex:
    with disk_errors(collection.documents):
        found = collection.documents.stat()
    wanted = _IndexSource(found.st_size, found.st_mtime_ns, settings.index)
    ids = _ids_of(place / _NOTE, wanted)
    if ids is not None:
        return _with_keys(place / "index", ids)
    with disk_errors(place):
        (place / "index").mkdir(parents=True, exist_ok=True)
    made = _build(collection, settings, place / "index", progress)
    write_atomically(place / _NOTE, msgspec.json.encode(msgspec.structs.replace(wanted, ids=tuple(made.ids))))
    return made


def _ids_of(path: Path, wanted: _IndexSource) -> list[str] | None:
    """Return the names of documents if the stored index was built from the same source."""
    try:
        known = parse_json(path.read_bytes(), _IndexSource)
    except (OSError, msgspec.MsgspecError):
        return None
    return list(known.ids) if msgspec.structs.replace(known, ids=()) == wanted else None


def _build(collection: Collection, settings: Settings, place: Path, progress: Progress) -> CollectionIndex:
    ids: list[str] = []
    build_index(read_documents(collection.documents, ids), place, settings.index, None, progress)
    return _with_keys(place, ids)


def _with_keys(place: Path, ids: list[str]) -> CollectionIndex:
    keys = np.array([fingerprint_text(str(number)) for number in range(len(ids))], np.uint64)
    order = np.argsort(keys)
    return CollectionIndex(place, ids, keys[order], order)
