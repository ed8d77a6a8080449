"""Language identification: the script of a text, a model over its words, and what is declared or expected.

A script that only one language uses decides by itself. Elsewhere the model (see `language_model`) gives a probability
to each language of the script. A declared language and the languages of a site are evidence besides: they decide about
short texts and hardly count for long ones. See docs/decisions/030-language-identification.md.
"""

import functools
import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import MissingPart
from periplus.text.kernels import language_choice, language_scores, script_finder
from periplus.text.language_codes import LANGUAGE_ENTRIES, LANGUAGES, language_number
from periplus.text.language_model import LanguageModel, load_model
from periplus.text.scripts import SCRIPTS, languages_by_script, script_blocks

__all__ = [
    "LanguageEvidence",
    "LanguageGuess",
    "choose_languages",
    "detect_language",
    "detect_languages",
    "measure_texts",
]

_SAMPLE_BYTES: Final = 1_000
"""Bytes of a text that are examined."""
_WEIGHTS: Final = (0.0, 0.05, 0.3, 1.0)
"""Weight of a language by how many pages are in it: the model knows many that hardly any page is in."""
_OTHER_HAN: Final = 0.005
"""Weight of languages but Chinese for a text in Han characters alone."""
_DENSE_SCRIPTS: Final = ("Hani", "Jpan", "Hang", "Thai", "Laoo", "Khmr", "Mymr", "Tibt")
_DENSE_LETTERS: Final = 3
"""Letters of an alphabet that a character of these scripts counts as."""
_FEW_LETTERS: Final = 100
_LETTERS_PER_VECTOR: Final = 4
"""Letters for each vector of the model: those of words that it knows nothing about are no evidence."""
_LEAST_PROBABILITY: Final = 0.1
"""A language that is less probable than this is not returned."""

_log = logging.getLogger(__name__)


class LanguageEvidence(NamedTuple):
    """What texts say about their languages by themselves, a row for each text."""

    scores: npt.NDArray[np.float32]
    """The probability of each language, by number; all 0 where the script decides, or where nothing does."""
    scripts: npt.NDArray[np.uint8]
    letters: npt.NDArray[np.int32]


class LanguageGuess(NamedTuple):
    """The language of a text."""

    code: str
    """'' if there is no evidence."""
    probability: float


def detect_language(text: str) -> str:
    """Return the code of the language of a text, judged by its beginning; '' if there is no evidence."""
    return detect_languages([text])[0].code


def detect_languages(
    texts: Sequence[str], declared: Sequence[str] = (), priors: npt.NDArray[np.float32] | None = None
) -> list[LanguageGuess]:
    """Return the language of each text, judged by its beginning.

    declared: the language tag that each text declares, '' for none.
    priors: the expectation of each language by number, from 0 to 1, the same for all texts.
    """
    raw = [_prepare(text) for text in texts]
    evidence = measure_texts(raw)
    numbers = np.array([language_number(tag) for tag in declared] or [0] * len(raw), np.uint8)
    rows = None if priors is None else priors.reshape(1, -1)
    languages, probabilities = choose_languages(evidence, numbers, rows)
    pairs = zip(languages.tolist(), probabilities.tolist(), strict=True)
    return [LanguageGuess(LANGUAGES[number], round(probability, 6)) for number, probability in pairs]


def _prepare(text: str) -> bytes:
    """Return the sample of a text as UTF-8; capitals throughout are of no language, and are lowered."""
    sample = text[:_SAMPLE_BYTES]
    return (sample.lower() if sample.isupper() else sample).encode("utf-8", "replace")


def measure_texts(texts: Sequence[bytes]) -> LanguageEvidence:
    """Return what each of some UTF-8 texts says about its language; all of its bytes are examined."""
    data, bounds = _join(texts)
    scripts, letters = np.zeros(len(texts), np.uint8), np.zeros(len(texts), np.int32)
    scores = np.zeros((len(texts), len(LANGUAGES)), np.float32)
    script_finder.find_scripts(data, bounds, script_blocks(), *_script_weights(), scripts, letters)
    if model := _load_model():
        skipped = _decisive_scripts()[scripts]
        counts = np.zeros(len(texts), np.int32)
        language_scores.score_texts(model.arrays, data, bounds, skipped, scores, counts)
        # The model knows few words with capitals: a title of one or two may have none of them.
        unknown = np.flatnonzero(~skipped & (letters <= _FEW_LETTERS) & (counts == 0))
        if len(unknown):
            lowered = [texts[i].decode("utf-8", "replace").lower().encode() for i in unknown.tolist()]
            again = np.zeros((len(unknown), len(LANGUAGES)), np.float32)
            counts_again = np.zeros(len(unknown), np.int32)
            none = np.zeros(len(unknown), np.bool_)
            language_scores.score_texts(model.arrays, *_join(lowered), none, again, counts_again)
            scores[unknown], counts[unknown] = again, counts_again
        letters = np.where(skipped, letters, np.minimum(letters, counts * _LETTERS_PER_VECTOR)).astype(np.int32)
    return LanguageEvidence(scores, scripts, letters)


def _join(texts: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return texts one after the other, and the offset of each."""
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=bounds[1:])
    return np.frombuffer(b"".join(texts) or b"\0", np.uint8), bounds


def choose_languages(
    evidence: LanguageEvidence,
    declared: npt.NDArray[np.uint8],
    priors: npt.NDArray[np.float32] | None = None,
    prior_of: npt.NDArray[np.int32] | None = None,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Return the number of the language of each text, 0 without evidence, and its probability.

    declared: the number of the language that each text declares, 0 for none.
    priors, prior_of: rows with the expectation of each language, from 0 to 1, and the row of each text, -1 for none;
        without `prior_of`, the first row is for all.
    """
    count = len(evidence.letters)
    if priors is None:
        priors, prior_of = np.zeros((1, len(LANGUAGES)), np.float32), np.full(count, -1, np.int32)
    elif prior_of is None:
        prior_of = np.zeros(count, np.int32)
    languages, probabilities = np.zeros(count, np.uint8), np.zeros(count, np.float32)
    language_choice.choose_languages(
        *evidence, _language_weights(), priors, prior_of, declared, languages, probabilities
    )
    languages[probabilities < _LEAST_PROBABILITY] = 0
    return languages, probabilities


@functools.cache
def _load_model() -> LanguageModel | None:
    """Return the model; None if it is not installed: then only scripts and expectations tell languages apart."""
    try:
        return load_model()
    except MissingPart as error:
        _log.warning("%s Languages are told apart by script and declaration only.", error)
        return None


@functools.cache
def _script_weights() -> tuple[npt.NDArray[np.int64], int, int, int]:
    weights = np.array([_DENSE_LETTERS if script in _DENSE_SCRIPTS else 1 for script in SCRIPTS], np.int64)
    return weights, SCRIPTS.index("Hani"), SCRIPTS.index("Jpan"), SCRIPTS.index("Hang")


@functools.cache
def _decisive_scripts() -> npt.NDArray[np.bool_]:
    """Return whether the model is left out for a script: one language at most is written in it."""
    return np.asarray(languages_by_script().sum(axis=1) < 2)


@functools.cache
def _language_weights() -> npt.NDArray[np.float32]:
    """Return the weight of each language in each script."""
    by_language = np.array([_WEIGHTS[entry.prior] for entry in LANGUAGE_ENTRIES], np.float32)
    weights: npt.NDArray[np.float32] = np.where(languages_by_script(), by_language, np.float32(0.0))
    han = SCRIPTS.index("Hani")
    weights[han, np.array(LANGUAGES) != "zh"] *= _OTHER_HAN
    return weights
