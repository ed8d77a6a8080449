"""The script of a text: UTF-8 bytes to the script of most of their letters."""

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["SCRIPT_BLOCKS", "find_scripts"]

SCRIPT_BLOCKS = 0x30000 >> 4
"""Blocks of 16 code points in the table of scripts; further code points have none."""
_HAN_PER_KANA = 9
"""Han characters for each kana or Hangul syllable up to which a text is Japanese or Korean."""
_LATIN_PER_LETTER = 3
"""Latin letters that one of another script outweighs: names are in Latin letters everywhere, and rarely in others."""


@njit(cache=True, nogil=True)
def find_scripts(
    data: npt.NDArray[np.uint8],
    bounds: npt.NDArray[np.int64],
    script_of: npt.NDArray[np.uint8],
    weights: npt.NDArray[np.int64],
    han: int,
    kana: int,
    hangul: int,
    scripts: npt.NDArray[np.uint8],
    letters: npt.NDArray[np.int32],
) -> None:  # pragma: no cover - compiled
    """Find the script of each text: that of most of its letters.

    Parameters
    ----------
    data, bounds: the texts in UTF-8, and the offset of each; one offset more than texts. Any bytes are allowed.
    script_of: the script of each block of 16 code points, 0 for none; 1 is Latin.
    weights: how many letters of an alphabet a character of each script counts as.
    han, kana, hangul: these scripts; a text in Han characters with some kana or Hangul is in the latter.
    scripts, letters: the script of each text, and the weight of its letters less that of other letters but at least 1,
        filled in; 0 for a text without letters.

    Returns
    -------
    None.
    """
    counts = np.zeros(len(weights), np.int64)
    for text in range(len(bounds) - 1):
        counts[:] = 0
        at, end = bounds[text], bounds[text + 1]
        while at < end:
            first = np.int64(data[at])
            if first < 0x80:
                low = first | 32
                counts[1] += low >= 97 and low <= 122
                at += 1
                continue
            size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            if first < 0xC2 or first > 0xF4 or at + size > end:
                at += 1
                continue
            code = first & (0xFF >> (size + 1))
            for i in range(1, size):
                code = (code << 6) | (np.int64(data[at + i]) & 0x3F)
            if code >> 4 < len(script_of):
                counts[script_of[code >> 4]] += 1
            at += size
        for other in (kana, hangul):
            if counts[other] * _HAN_PER_KANA >= counts[han] and counts[other] > 0:
                counts[other] += counts[han]
                counts[han] = 0
        best, total = 0, 0
        for script in range(1, len(counts)):
            counts[script] *= weights[script]
            total += counts[script]
            factor = 1 if script == 1 else _LATIN_PER_LETTER
            best_factor = 1 if best == 1 else _LATIN_PER_LETTER
            if counts[script] * factor > (counts[best] * best_factor if best else 0):
                best = script
        scripts[text] = best
        letters[text] = max(1, 2 * counts[best] - total) if best else 0


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    data, bounds = np.frombuffer(b"a word", np.uint8), np.array([0, 6], np.int64)
    script_of, weights = np.zeros(SCRIPT_BLOCKS, np.uint8), np.ones(4, np.int64)
    find_scripts(data, bounds, script_of, weights, 1, 2, 3, np.zeros(1, np.uint8), np.zeros(1, np.int32))
