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
    sketches = []
    for document, language in zip(documents, languages.tolist(), strict=True):
        title, heading, body = (document.fields[field] for field in (Field.TITLE, Field.HEADING, Field.BODY))
        sketches.append(Sketch(document.url, title, len(heading), body, len(body), language, document.flags))
    return np.rint(PageRanker(settings.weights).rank_many(sketches) * 255).astype(np.uint8)
