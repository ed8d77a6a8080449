"""Versions of the stored signals, by which a reader recognizes that there is something new to read."""

from pathlib import Path
from typing import NamedTuple

from periplus.signals.judgements import CLICKS_FILE
from periplus.signals.page_popularity import VISIT_COUNTS_FILE

__all__ = ["FileVersion", "SignalsVersion", "signals_version"]


class FileVersion(NamedTuple):
    """State of one file; both fields are 0 if it does not exist."""

    modified: int = 0
    """Modification time in nanoseconds."""
    size: int = 0


class SignalsVersion(NamedTuple):
    """State of the signals that ranking reads."""

    clicks: FileVersion
    visit_counts: FileVersion


def signals_version(folder: Path) -> SignalsVersion:
    """Return the version of the signals in a data folder; two versions are equal if nothing has changed between."""
    return SignalsVersion(_version(folder / CLICKS_FILE), _version(folder / VISIT_COUNTS_FILE))


def _version(path: Path) -> FileVersion:
    try:
        state = path.stat()
    except OSError:
        return FileVersion()
    return FileVersion(state.st_mtime_ns, state.st_size)
