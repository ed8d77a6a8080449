"""The data folder of a call that writes: created when needed, removed again if nothing was stored in it."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from periplus.errors import FolderInUse, NothingHere, PeriplusError
from periplus.files import DataFolder, open_data_folder
from periplus.settings import Settings

__all__ = ["no_pages_error", "writable_folder"]


def no_pages_error(folder: Path) -> NothingHere:
    """Return the error for a data folder without pages."""
    return NothingHere(f"There are no pages in {folder}.", "Begin with: periplus crawl URL, or periplus import FILE.")


@contextlib.contextmanager
def writable_folder(folder: Path, settings: Settings) -> Iterator[DataFolder]:
    """Create the data folder if there is none; remove it if the block fails before the first page is stored."""
    new = not folder.exists()
    open_data_folder(folder, create=True)
    try:
        yield DataFolder(folder)
    except FolderInUse:
        raise  # another process uses it, whoever created it
    except (PeriplusError, OSError):
        if new and _is_empty(DataFolder(folder), settings):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _is_empty(data: DataFolder, settings: Settings) -> bool:
    """Return whether the page store certainly has nothing in it."""
    from periplus.store import PageStore

    try:
        with PageStore.open(data.store, settings.store) as store:
            return store.statistics().records == 0
    except NothingHere:
        return True
    except (PeriplusError, OSError):
        return False
