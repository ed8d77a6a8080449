"""How good documents are by themselves: a column that ranking reads."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from periplus.index.fields import Document, Field
from periplus.score import PageRanker, Sketch
from periplus.settings import IndexSettings

__all__ = ["rank_documents"]


def rank_documents(
    documents: Sequence[Document], languages: npt.NDArray[np.uint8], settings: IndexSettings
) -> npt.NDArray[np.uint8]:
    """Give the static rank of each document by itself, in steps of 1/255: the static ranker of docs/ranking.md."""
    title, heading, body = int(Field.TITLE), int(Field.HEADING), int(Field.BODY)
    sketches = [
        Sketch(url, fields[title], len(fields[heading]), fields[body], len(fields[body]), language, flags)
        for (_, url, _, _, _, _, _, fields, flags, *_), language in zip(documents, languages.tolist(), strict=True)
    ]
    return np.rint(PageRanker(settings.weights).rank_many(sketches) * 255).astype(np.uint8)
