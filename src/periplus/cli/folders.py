"""The data folder of a command that writes: made when needed, and taken away again when nothing came of it."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from periplus.errors import FolderInUse, NothingHere, PeriplusError
from periplus.files import open_data_folder
from periplus.settings import Settings

__all__ = ["folder_to_fill"]


@contextlib.contextmanager
def folder_to_fill(settings: Settings) -> Iterator[Path]:
    """Give the data folder, made if there is none; when the command fails before the first visit, unmake it."""
    folder = Path(settings.folder)
    new = not folder.exists()
    open_data_folder(folder, create=True)
    try:
        yield folder
    except FolderInUse:
        raise  # then it is somebody else's, whoever made it
    except (PeriplusError, OSError):
        if new and _is_empty(folder, settings):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _is_empty(folder: Path, settings: Settings) -> bool:
    """Say whether the page store is known to hold nothing."""
    from periplus.store import PageStore

    try:
        with PageStore.open(folder / "store", settings.store) as store:
            return store.statistics().records == 0
    except NothingHere:
        return True
    except (PeriplusError, OSError):
        return False
