"""Vectors for the variant with meaning, where the extra is installed."""

from pathlib import Path
from typing import Final

from periplus.evaluate.asking import Progress
from periplus.index import Index
from periplus.meaning import embed_index, open_encoder
from periplus.settings import Settings

__all__ = ["embed"]

_FEW: Final = 5_000
"""Up to this many documents are embedded beforehand; of more, those that queries need, as they need them."""


def embed(folder: Path, settings: Settings, progress: Progress) -> None:
    """Give the documents of an index their vectors; raise `MissingPart` where that cannot be done."""
    encoder = open_encoder(settings.semantic, progress)
    if Index.open(folder, verify=False).documents <= _FEW:
        embed_index(folder, settings.semantic, progress, encoder)
