"""Tell a running crawl to pause, to go on or to stop, from another process: one word in a file of its folder."""

import contextlib
from pathlib import Path
from typing import Final

from periplus.errors import BadInput, FolderInUse
from periplus.files import lock_folder, write_atomically

__all__ = ["asked", "clear", "tell"]

_FILE: Final = "control"
_WORDS: Final = frozenset({"pause", "resume", "stop"})


def tell(folder: Path, word: str) -> None:
    """Leave a word for the crawl that runs in a data folder; raise `BadInput` when none does."""
    if word not in _WORDS:
        raise BadInput(f"A crawl cannot be told to '{word}'.", "It can pause, resume and stop.")
    if not (folder / "crawl").is_dir():
        raise BadInput(f"No crawl is running in {folder}.")
    try:
        with lock_folder(folder / "crawl", "crawl"):
            pass
    except FolderInUse:
        write_atomically(folder / "crawl" / _FILE, word.encode())
        return
    raise BadInput(f"No crawl is running in {folder}.")


def asked(folder: Path) -> str:
    """Give the word that was left for the crawl of this folder, or ''."""
    try:
        word = (folder / "crawl" / _FILE).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return word if word in _WORDS else ""


def clear(folder: Path) -> None:
    """Forget what was left."""
    with contextlib.suppress(OSError):
        (folder / "crawl" / _FILE).unlink()
