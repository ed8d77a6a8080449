"""What every section of settings is, and the folder for files that can be computed again."""

import os
from pathlib import Path

import msgspec

__all__ = ["Section", "cache_folder"]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of the sections of settings."""


def cache_folder() -> Path:
    """Return the folder for files that can be computed again, by the XDG conventions."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "periplus"
