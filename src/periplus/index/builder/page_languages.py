"""The language of each document of a batch: by its main content, what it declares, and the languages of its site."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index.document_fields import Document, Field
from periplus.index.site_languages import SiteLanguages
from periplus.text import (
    LANGUAGES,
    NO_LANGUAGE,
    LanguageEvidence,
    choose_languages,
    language_number,
    measure_texts,
    normalize_language,
)

__all__ = ["identify_languages", "sample_text"]

_LANGUAGE: Final = Document._fields.index("language")
_CHUNK: Final = 8_192
"""Documents whose probabilities are in memory at once."""
_SHORT_SAMPLES: Final = (120, 72)
"""Bytes of a document that the model examines: without a declared language, and to confirm one."""
_LONG_SAMPLE: Final = 600
"""Bytes that it examines of the others, where the short sample is not clear or contradicts what is declared."""
_CLEAR, _CONFIRMED = 0.9, 0.6
"""Probability from which on the language of a short sample is clear: of any language, and of the declared one."""
_FEW_LETTERS: Final = 30
"""Letters below which no sample is clear."""
_WINDOW_BYTES: Final = 4_000
"""Beginning of the main content from which samples are taken."""
_PARAGRAPH_BYTES: Final = 80
"""Shorter paragraphs are headings, captions or entries of a list."""
_CERTAIN_LETTERS: Final = 80.0
"""Letters from which on a page counts in full for the languages of its site."""
_LEAST_LETTERS, _LEAST_CERTAINTY = 20, 0.6
"""Letters and probability from which on it counts at all."""


def identify_languages(documents: Sequence[Document], sites: SiteLanguages) -> list[Document]:
    """Return documents with their language instead of the one that they declare; `sites` learns from them.

    Those that declare to be in none (`NO_LANGUAGE`) are left as they are.
    """
    identified: list[Document] = []
    for begin in range(0, len(documents), _CHUNK):
        part = documents[begin : begin + _CHUNK]
        tags = {document.language for document in part}
        none = {tag for tag in tags if normalize_language(tag) == NO_LANGUAGE}
        if none == tags:
            identified += part
            continue
        codes = [LANGUAGES[number] for number in _identify(part, sites).tolist()]
        identified += [
            document
            if document.language == code or (not code and document.language in none)
            else _with_language(document, code)
            for document, code in zip(part, codes, strict=True)
        ]
    return identified


def _with_language(document: Document, code: str) -> Document:
    """Return a document in another language; by position, since this runs for most pages."""
    return Document._make((*document[:_LANGUAGE], code, *document[_LANGUAGE + 1 :]))


def _identify(documents: Sequence[Document], sites: SiteLanguages) -> npt.NDArray[np.uint8]:
    tags = {tag: normalize_language(tag) for tag in {document.language for document in documents}}
    if NO_LANGUAGE in tags.values():
        numbers_of_all = _no_languages(len(documents))
        others = [row for row, document in enumerate(documents) if tags[document.language] != NO_LANGUAGE]
        if others:
            numbers_of_all[others] = _identify([documents[row] for row in others], sites)
        return numbers_of_all
    numbers = {tag: language_number(code) for tag, code in tags.items()}
    declared = np.array([numbers[document.language] for document in documents], np.uint8)
    hosts = [document.host for document in documents]
    # A site is judged by what its pages contain: what they declare would count twice.
    sizes = [_SHORT_SAMPLES[number > 0] for number in declared.tolist()]
    samples = [sample_text(document.fields, size) for document, size in zip(documents, sizes, strict=True)]
    evidence = measure_texts(samples)
    languages, probabilities = choose_languages(evidence, _no_languages(len(documents)))
    certainty = _certainty(evidence, probabilities)
    is_confirmed = declared == languages
    is_clear = (probabilities >= np.where(is_confirmed, _CONFIRMED, _CLEAR)) & (evidence.letters >= _FEW_LETTERS)
    rows = np.flatnonzero(~(is_clear & (is_confirmed | (declared == 0))))
    evidence = measure_texts([sample_text(documents[row].fields, _LONG_SAMPLE) for row in rows.tolist()])
    languages[rows], longer = choose_languages(evidence, _no_languages(len(rows)))
    certainty[rows] = _certainty(evidence, longer)
    sites.add(hosts, languages, certainty)
    expectations = sites.expectations([hosts[row] for row in rows.tolist()])
    languages[rows], _ = choose_languages(evidence, declared[rows], *expectations)
    return languages


def _no_languages(count: int) -> npt.NDArray[np.uint8]:
    return np.zeros(count, np.uint8)


def _certainty(evidence: LanguageEvidence, probabilities: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return how much each document counts for the languages of its site, from 0 to 1."""
    length = np.minimum(evidence.letters / np.float32(_CERTAIN_LETTERS), np.float32(1.0))
    counts = (probabilities >= _LEAST_CERTAINTY) & (evidence.letters >= _LEAST_LETTERS)
    return np.where(counts, probabilities * length, np.float32(0.0)).astype(np.float32)


def sample_text(fields: Sequence[bytes], size: int) -> bytes:
    """Return what to examine of a document, as UTF-8: the first long paragraphs of its main content.

    The title and the headings are added where there is little text.
    """
    body = fields[Field.BODY]
    sample = body[:size]
    if b"\n" in sample and len(body) > size:
        paragraphs = body[:_WINDOW_BYTES].split(b"\n")
        long = b"\n".join([paragraph for paragraph in paragraphs if len(paragraph) >= _PARAGRAPH_BYTES])
        sample = (long if 2 * len(long) >= size else long + b"\n" + sample)[:size]
    if 2 * len(sample) < size:
        sample = b"\n".join((fields[Field.TITLE], sample, fields[Field.HEADING]))[:size]
    return sample.decode("utf-8", "replace").lower().encode() if sample.isupper() else sample
