"""BM25 as others have it: bm25s, Lucene's variant, k1 1.2, b 0.75, Snowball stems and bm25s's English stop words."""

from pathlib import Path
from typing import Final

import bm25s
import Stemmer

from periplus.evaluate import read_collection, read_documents
from periplus.text import detect_language

__all__ = ["STEMMERS", "bm25_run", "language_of"]

STEMMERS: Final = {"en": "english", "de": "german", "es": "spanish", "ar": "arabic"}
"""Languages that it is measured in. It splits at spaces only: elsewhere a comparison would say nothing."""
_SAMPLE: Final = 20

Run = dict[str, dict[str, float]]


def language_of(folder: Path) -> str:
    """Return the language of a collection, detected from its first documents."""
    texts = []
    for visit in read_documents(read_collection(folder).documents, []):
        texts.append(visit.page.text if visit.page else "")
        if len(texts) == _SAMPLE:
            break
    return detect_language(" ".join(texts))


def bm25_run(folder: Path, language: str = "en") -> Run:
    """Return the best 100 documents of every query of a collection, with their scores."""
    collection = read_collection(folder)
    ids: list[str] = []
    texts = [f"{v.page.title} {v.page.text}" for v in read_documents(collection.documents, ids) if v.page]
    stemmer = Stemmer.Stemmer(STEMMERS[language])
    stops = "en" if language == "en" else None
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    model.index(bm25s.tokenize(texts, stopwords=stops, stemmer=stemmer, show_progress=False), show_progress=False)
    queries = list(collection.queries.items())
    tokens = bm25s.tokenize([q for _, q in queries], stopwords=stops, stemmer=stemmer, show_progress=False)
    found, scores = model.retrieve(tokens, k=min(100, len(ids)), show_progress=False)
    return {
        query: {ids[n]: float(s) for n, s in zip(row, values, strict=True) if s > 0}
        for (query, _), row, values in zip(queries, found, scores, strict=True)
    }
