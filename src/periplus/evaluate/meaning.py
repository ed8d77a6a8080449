"""Vectors for the variant with meaning, where the extra is installed."""

from pathlib import Path

from periplus.errors import MissingPart
from periplus.evaluate.asking import Progress
from periplus.settings import Settings

__all__ = ["embed"]


def embed(folder: Path, settings: Settings, progress: Progress) -> None:
    """Give the documents of an index their vectors; raise `MissingPart` where that cannot be done."""
    raise MissingPart("There is no semantic stage in this version.", "Nothing to do.")
