"""Vectors for the variant with meaning, where the extra is installed.

Where a collection has more documents than its queries can ever look at, only candidates of queries are embedded, as
they are met: meaning orders the best candidates by words; other vectors would be asked for only to find neighbours.
"""

import os
from pathlib import Path
from typing import Final

import msgspec

from periplus.embeddings import embed_index, open_encoder
from periplus.errors import MissingPart, NothingHere
from periplus.evaluate.query_runner import Progress
from periplus.evaluate.variants import Variant

__all__ = ["embed_collection"]

_CANDIDATES: Final = 50
"""Documents of a query that are compared by embeddings."""


def embed_collection(folder: Path, variant: Variant, documents: int, queries: int, progress: Progress) -> Variant:
    """Embed the documents; return the variant to run. Raise `MissingPart` without the model or its packages."""
    embeddings = msgspec.structs.replace(variant.settings.embeddings, threads=os.cpu_count() or 1)
    try:
        if documents <= queries * _CANDIDATES:
            embed_index(folder, embeddings, progress)
            return variant
        open_encoder(embeddings)
    except NothingHere as error:
        raise MissingPart(str(error)) from error
    on_demand = msgspec.structs.replace(embeddings, on_demand=True)
    return msgspec.structs.replace(variant, settings=msgspec.structs.replace(variant.settings, embeddings=on_demand))
