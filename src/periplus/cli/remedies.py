"""What to do about a damaged file, told by the part of the data folder that it lies in."""

from pathlib import Path
from typing import Final

from periplus.errors import CorruptFile

__all__ = ["with_remedy"]

_REMEDIES: Final = {
    "index": "Put it right: periplus index repair.",
    "graph": "Make it again: periplus index build.",
    "store": "Begin a new folder with the pages: periplus import {files} --folder NEW.",
}


def with_remedy(error: CorruptFile, folder: Path) -> CorruptFile:
    """Give the error with a hint, when it has none and names a file of a part that can be made again."""
    if error.hint:
        return error
    hint = next((hint for part, hint in _REMEDIES.items() if f"{folder / part}/" in error.message), "")
    return CorruptFile(error.message, hint.format(files=_sources(folder / "store")))


def _sources(store: Path) -> str:
    """Name what the pages can be read from again: crawled ones are in WARC files as well, JSON lines are not."""
    names = [name for name in ("*.warc.*", "shard-*/*.warc.*") if any(store.glob(name))]
    return " ".join(f"{store}/{name}" for name in names) or "FILE-THEY-CAME-FROM"
