"""Wait for one's turn to write to the index of a data folder."""

import contextlib
from pathlib import Path

from periplus.app.observer import SILENT, Observer
from periplus.writer_queue import queue_for_lock

__all__ = ["queue_for_index"]


def queue_for_index(
    folder: Path, seconds: float, activity: str, observer: Observer = SILENT
) -> contextlib.AbstractContextManager[None]:
    """Hold the index of a data folder, after those that wait for it; raise `FolderInUse` after so many seconds."""
    return queue_for_lock(
        folder,
        "index",
        seconds,
        activity,
        lambda refusal: observer.message(f"Waiting for up to {seconds:,.0f} seconds: {refusal.message}"),
    )
