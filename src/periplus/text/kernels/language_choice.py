"""The choice of a language: what the model makes of a text, weighed by what is declared and by what its site is in."""

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["choose_languages"]

_FLOOR = np.float32(1e-3)
"""Added to every probability of the model: it errs, most of all about short texts."""
_SHORT_FLOOR, _SHORT = np.float32(0.02), np.float32(20.0)
"""What is added besides for a text without letters, and the letters from which on nothing is."""
_LEAST_WEIGHT, _MOST_WEIGHT = np.float32(0.01), np.float32(0.2)
"""Factor of a language that nothing expected, for a text without letters and for a long one; it grows with the square
of the length."""
_DECLARED = np.float32(2.0)
"""Weight of a declared language against that of the other expectations."""
_LONG = np.float32(150.0)
"""Letters of a long text."""


@njit(cache=True, nogil=True)
def choose_languages(
    scores: npt.NDArray[np.float32],
    scripts: npt.NDArray[np.uint8],
    letters: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float32],
    priors: npt.NDArray[np.float32],
    prior_of: npt.NDArray[np.int32],
    declared: npt.NDArray[np.uint8],
    languages: npt.NDArray[np.uint8],
    probabilities: npt.NDArray[np.float32],
) -> None:  # pragma: no cover - compiled
    """Choose the language of each text.

    Parameters
    ----------
    scores: the probabilities of the model, a row for each text, a column for each language.
    scripts, letters: of each text, from `find_scripts`.
    weights: by script and language, 0 for a language that is not written in a script.
    priors, prior_of: expectations of the languages, from 0 to 1; and the row of each text among them, -1 for none.
    declared: the language that each text declares, 0 for none.
    languages, probabilities: filled in; 0 for a text without any evidence.

    Returns
    -------
    None.
    """
    for text in range(len(scores)):
        row, stated, script = prior_of[text], declared[text], scripts[text]
        highest = np.float32(0.0)
        only = 0
        for language in range(1, scores.shape[1]):
            highest = max(highest, scores[text, language])
            only += weights[script, language] > 0
        has_evidence = highest > 0 or only == 1
        least = np.float32(0.0)
        if has_evidence:
            length = min(np.float32(letters[text]) / _LONG, np.float32(1.0))
            least = _LEAST_WEIGHT + (_MOST_WEIGHT - _LEAST_WEIGHT) * length * length
        floor = _FLOOR + _SHORT_FLOOR * max(np.float32(0.0), np.float32(1.0) - np.float32(letters[text]) / _SHORT)
        total, most, best = np.float32(0.0), np.float32(0.0), 0
        for language in range(1, scores.shape[1]):
            value, weight = np.float32(0.0), weights[script, language]
            if row >= 0 or stated > 0:
                expected = np.float32(0.0)
                if row >= 0:
                    expected = priors[row, language]
                if stated > 0:
                    expected = (expected + _DECLARED * np.float32(language == stated)) / (_DECLARED + (row >= 0))
                if letters[text] == 0:
                    value = expected
                elif weight > 0:  # what is expected here replaces what is expected anywhere
                    value = max(weight, expected) * (least + (np.float32(1.0) - least) * expected)
            elif has_evidence:
                value = weight
            if letters[text] > 0:
                value *= scores[text, language] + floor
            total += value
            if value > most:
                most, best = value, language
        languages[text] = best
        probabilities[text] = most / total if total > 0 else np.float32(0.0)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    choose_languages(
        np.zeros((1, 2), np.float32),
        np.zeros(1, np.uint8),
        np.zeros(1, np.int32),
        np.ones((1, 2), np.float32),
        np.ones((1, 2), np.float32),
        np.zeros(1, np.int32),
        np.zeros(1, np.uint8),
        np.zeros(1, np.uint8),
        np.zeros(1, np.float32),
    )
