"""Vectors for the variant with meaning, where the extra is installed."""

from pathlib import Path

from periplus.errors import MissingPart, NothingHere
from periplus.evaluate.asking import Progress
from periplus.meaning import embed_index
from periplus.settings import Settings

__all__ = ["embed"]


def embed(folder: Path, settings: Settings, progress: Progress) -> None:
    """Give the documents of an index their vectors; raise `MissingPart` where that cannot be done."""
    try:
        embed_index(folder, settings.semantic, progress)
    except NothingHere as error:
        raise MissingPart(str(error)) from error
