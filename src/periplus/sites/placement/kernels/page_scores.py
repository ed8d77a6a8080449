"""Scores of pages for sites: what the words, the language, the region and the host of a page say about who reads it."""

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["PlacementTable", "fill_slots", "find_rows", "hash_prefixes", "score_pages"]

_SEED: Final = np.uint64(0xCBF29CE484222325)
_PRIME: Final = np.uint64(0x100000001B3)


class PlacementTable(NamedTuple):
    """What is known of the sites, by evidence: a word, a language, a region or a host."""

    slots: npt.NDArray[np.uint64]
    """Keys of evidence, 0 for none, in a hash table with linear probing; a power of two."""
    slot_rows: npt.NDArray[np.int32]
    """The row of the key in each slot."""
    ratios: npt.NDArray[np.float32]
    """Rows by sites: the logarithm of how much more often the evidence occurs at a site than at all of them."""
    priors: npt.NDArray[np.float32]
    """One for each site."""


@njit(cache=True, nogil=True)
def hash_prefixes(
    blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], first: int, letters: int, keys: npt.NDArray[np.uint64]
) -> None:  # pragma: no cover - compiled
    """Hash the first letters of words, so that most inflected forms of a word have the same key.

    Parameters
    ----------
    blob, starts: the words in UTF-8, and the offset of each; one offset more than words.
    first: the number of the first word to hash.
    letters: the number of letters that count.
    keys: the key of each word from `first` on, never 0, filled in.
    """
    for word in range(first, len(starts) - 1):
        hashed, count = _SEED, 0
        for at in range(starts[word], starts[word + 1]):
            byte = blob[at]
            if byte & 0xC0 != 0x80:  # not a continuation byte
                count += 1
                if count > letters:
                    break
            hashed = (hashed ^ np.uint64(byte)) * _PRIME
        # Multiplication mixes upwards only, and slots are the low bits.
        hashed ^= hashed >> np.uint64(32)
        keys[word - first] = hashed | np.uint64(1)


@njit(cache=True, nogil=True)
def fill_slots(
    keys: npt.NDArray[np.uint64], slots: npt.NDArray[np.uint64], slot_rows: npt.NDArray[np.int32]
) -> None:  # pragma: no cover - compiled
    """Enter keys into an empty hash table.

    Parameters
    ----------
    keys: the key of each row, distinct and not 0.
    slots, slot_rows: as in `PlacementTable`, of a power of two above the number of keys; filled in.
    """
    mask, one = np.uint64(len(slots) - 1), np.uint64(1)
    for row in range(len(keys)):
        slot = (keys[row] >> one) & mask
        while slots[slot] != 0:
            slot = (slot + one) & mask
        slots[slot] = keys[row]
        slot_rows[slot] = row


@njit(cache=True, nogil=True)
def find_rows(
    table: PlacementTable, keys: npt.NDArray[np.uint64], rows: npt.NDArray[np.int32]
) -> None:  # pragma: no cover - compiled
    """Find the rows of keys.

    Parameters
    ----------
    table: the table.
    keys: any keys.
    rows: the row of each key, -1 if it has none; filled in.
    """
    mask, one = np.uint64(len(table.slots) - 1), np.uint64(1)
    for number in range(len(keys)):
        slot = (keys[number] >> one) & mask
        rows[number] = -1
        while table.slots[slot] != 0:
            if table.slots[slot] == keys[number]:
                rows[number] = table.slot_rows[slot]
                break
            slot = (slot + one) & mask


@njit(cache=True, nogil=True)
def score_pages(
    table: PlacementTable,
    tokens: npt.NDArray[np.int32],
    lengths: npt.NDArray[np.int32],
    word_rows: npt.NDArray[np.int32],
    text_weight: float,
    evidence_rows: npt.NDArray[np.int32],
    evidence_weights: npt.NDArray[np.float32],
    closeness: npt.NDArray[np.float32],
    preferred: npt.NDArray[np.int64],
    stamps: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int32],
    scores: npt.NDArray[np.float32],
    matched: npt.NDArray[np.int32],
    ranking: npt.NDArray[np.int64],
) -> None:  # pragma: no cover - compiled
    """Score pages for all sites, and rank the sites of each page.

    The score of a site is its prior, plus the weighted ratios of language, region and host, plus the ratios of the
    words: each counts 1 + ln(occurrences), and their sum is divided by the root of the number of such counts, since
    words of one page are not independent.

    Parameters
    ----------
    table: what is known of the sites.
    tokens, lengths: the word ids of all pages, page after page, and the number of each page.
    word_rows: the row of each word id, -1 if nothing is known of it.
    text_weight: weight of words.
    evidence_rows: pages by kinds of evidence, a row or -1.
    evidence_weights: weight of each kind.
    closeness: pages by sites, added to the score; 0 where nothing is known.
    preferred: the site that precedes others with the same score, for each page.
    stamps, counts: scratch, one for each word id; stamps are -1 at first, and are left so.
    scores: pages by sites, filled in.
    matched: pieces of evidence that each page had, words and others, filled in.
    ranking: pages by sites, the best first, filled in.
    """
    sites = len(table.priors)
    position = 0
    for page in range(len(lengths)):
        begin, end = position, position + lengths[page]
        position = end
        scores[page, :] = 0.0
        total, found = 0.0, 0
        for at in range(begin, end):
            word = tokens[at]
            if word_rows[word] >= 0:
                if stamps[word] != page:
                    stamps[word], counts[word] = page, 0
                    found += 1
                counts[word] += 1
        for at in range(begin, end):
            word = tokens[at]
            row = word_rows[word]
            if row >= 0 and stamps[word] == page:
                stamps[word] = -1  # once for each word
                weight = 1.0 + math.log(counts[word])
                total += weight
                for site in range(sites):
                    scores[page, site] += weight * table.ratios[row, site]
        if total > 0.0:
            scale = text_weight / math.sqrt(total)
            for site in range(sites):
                scores[page, site] *= scale
        for kind in range(len(evidence_weights)):
            row = evidence_rows[page, kind]
            if row >= 0:
                found += 1
                for site in range(sites):
                    scores[page, site] += evidence_weights[kind] * table.ratios[row, site]
        matched[page] = found
        for site in range(sites):
            scores[page, site] += table.priors[site] + closeness[page, site]
        _rank_sites(scores[page], preferred[page], ranking[page])


@njit(cache=True, nogil=True)
def _rank_sites(
    scores: npt.NDArray[np.float32], preferred: int, ranking: npt.NDArray[np.int64]
) -> None:  # pragma: no cover - compiled
    """Order sites by score; of equals the preferred one is first, then the one with the lowest number."""
    for site in range(len(scores)):
        at = site
        while at > 0:
            before = ranking[at - 1]
            is_better = scores[site] > scores[before] or (scores[site] == scores[before] and site == preferred)
            if not is_better:
                break
            ranking[at] = before
            at -= 1
        ranking[at] = site


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    slots, slot_rows = np.zeros(2, np.uint64), np.zeros(2, np.int32)
    keys, rows = np.ones(1, np.uint64), np.zeros(1, np.int32)
    hash_prefixes(np.zeros(1, np.uint8), np.array([0, 1], np.int64), 0, 1, keys)
    fill_slots(keys, slots, slot_rows)
    table = PlacementTable(slots, slot_rows, np.zeros((1, 1), np.float32), np.zeros(1, np.float32))
    find_rows(table, keys, rows)
    score_pages(
        table,
        np.zeros(1, np.int32),
        np.ones(1, np.int32),
        rows,
        1.0,
        np.zeros((1, 1), np.int32),
        np.zeros(1, np.float32),
        np.zeros((1, 1), np.float32),
        np.zeros(1, np.int64),
        np.full(1, -1, np.int32),
        np.zeros(1, np.int32),
        np.zeros((1, 1), np.float32),
        np.zeros(1, np.int32),
        np.zeros((1, 1), np.int64),
    )
