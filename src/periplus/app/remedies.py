"""What to do about a damaged file, by the part of the data folder that it is in."""

from pathlib import Path
from typing import Final

from periplus.errors import CorruptFile
from periplus.files import DataFolder

__all__ = ["with_remedy"]

_REMEDIES: Final = {
    "index": "To repair it: periplus index repair.",
    "graph": "To build it again: periplus index build.",
    "store": "Import the pages into a new folder: periplus import {files} --folder NEW.",
}


def with_remedy(error: CorruptFile, folder: Path) -> CorruptFile:
    """Return the error with a hint, if it has none and names a file of a part that can be built again."""
    if error.hint:
        return error
    hint = next((hint for part, hint in _REMEDIES.items() if f"{folder / part}/" in error.message), "")
    return CorruptFile(error.message, hint.format(files=_sources(DataFolder(folder).store)))


def _sources(store: Path) -> str:
    """Return the files that the pages can be imported from: crawled pages are in WARC files, JSON lines are not."""
    names = [name for name in ("*.warc.*", "shard-*/*.warc.*") if any(store.glob(name))]
    return " ".join(f"{store}/{name}" for name in names) or "FILE-THEY-CAME-FROM"
