"""What one occurrence of a term is worth in each field of a document: BM25F weights over length norms.

The weights of title and URL hold for a collection whose bodies are `_REFERENCE_RATIO` times as long as these fields,
and k1 for bodies of `_REFERENCE_WORDS` words. Elsewhere they follow the lengths of the collection, which are those of
the segment where no others are given: in a page of twenty words a word of the title says hardly more than one of the
body, in a page of two hundred it says much more.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.collection.build_statistics import BuildStatistics
from periplus.index.document_fields import Field, field_weights
from periplus.settings import IndexSettings

__all__ = ["scale_fields"]

_THIN_PAGE_WORDS: Final = 10
"""Words of the body from which on a page counts fully."""
_ADAPTED: Final = (Field.TITLE, Field.URL)
"""Fields whose weights follow lengths; for the others there are no judgements to learn it from."""
_REFERENCE_RATIO: Final = 12.0
_MAX_RATIO: Final = 64.0
_REFERENCE_WORDS: Final = 100.0
_MIN_WORDS: Final = 16.0
_MAX_WORDS: Final = 256.0
_CHUNK: Final = 1 << 16
"""Documents whose weights are computed together."""
_FEW_DOCUMENTS: Final = 64
"""A collection of so many documents follows its lengths half: those of a few pages say little of the collection."""


Floats = npt.NDArray[np.float64]


class _MeanLengths(NamedTuple):
    """The lengths of a collection, by field."""

    documents: int
    mean: Floats
    """Of all documents."""
    filled: Floats
    """Of those that have the field."""


def scale_fields(
    lengths: npt.NDArray[np.int32], settings: IndexSettings, statistics: BuildStatistics | None = None
) -> npt.NDArray[np.float32]:
    """Return the BM25F weight of one occurrence, by document and field.

    statistics: of the collection that the documents are part of; by default they are all of it.
    Pages of hardly any text (titles of tags, of search forms, of files) count less: a short field is worth most.
    """
    weight, b = (np.array(values, np.float64) for values in field_weights(settings))
    means = _measure(lengths) if statistics is None else _read(statistics)
    if means.documents:
        weight *= _length_factors(means, settings)
    mean = np.maximum(means.mean, 1e-9) if means.documents else np.ones(len(weight))
    scale = np.empty(lengths.shape, np.float32)
    for at in range(0, len(lengths), _CHUNK):
        part = lengths[at : at + _CHUNK]
        substance = np.minimum(1.0, part[:, Field.BODY : Field.BODY + 1] / _THIN_PAGE_WORDS)
        share = settings.thin_page_weight + (1 - settings.thin_page_weight) * substance
        scale[at : at + _CHUNK] = share * weight / (1 - b + b * part / mean)
    return scale


def _measure(lengths: npt.NDArray[np.int32]) -> _MeanLengths:
    if not len(lengths):
        return _MeanLengths(0, np.zeros(len(Field)), np.zeros(len(Field)))
    filled = lengths.sum(axis=0) / np.maximum((lengths > 0).sum(axis=0), 1)
    return _MeanLengths(len(lengths), lengths.mean(axis=0), filled)


def _read(statistics: BuildStatistics) -> _MeanLengths:
    tokens, filled = (np.array(column, np.float64) for column in (statistics.tokens, statistics.filled))
    return _MeanLengths(statistics.documents, tokens / max(1, statistics.documents), tokens / np.maximum(filled, 1))


def _length_factors(lengths: _MeanLengths, settings: IndexSettings) -> npt.NDArray[np.float64]:
    """Return by how much the lengths of fields change their weights."""
    mean = lengths.filled
    certainty = lengths.documents / (lengths.documents + _FEW_DOCUMENTS)
    factors = np.ones(len(Field))
    body = float(mean[Field.BODY])
    if not body:
        return factors
    for field in _ADAPTED:
        if mean[field]:
            ratio = min(max(body / float(mean[field]), 1.0), _MAX_RATIO) / _REFERENCE_RATIO
            factors[field] = ratio ** (settings.field_length_exponent * certainty)
    # An impact is w / (k1 + w): dividing all weights by a factor multiplies k1 by it.
    words = min(max(body, _MIN_WORDS), _MAX_WORDS) / _REFERENCE_WORDS
    factors /= words ** (settings.k1_length_exponent * certainty)
    return factors
