"""Spelling candidates: words of a vocabulary that may have been intended by another.

The sorted words are traversed as a trie: what a word shares with the one before is not examined again, and a prefix
with too many edits excludes all words with that prefix. The states are those of a Levenshtein automaton, as bits: one
for each letter of the typed word, for no edit, one and two. Matches are scored by `edit_cost`.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.vocabulary.kernels.edit_cost import edit_cost, sound_key
from periplus.index.vocabulary.kernels.surface_forms import MAX_LETTERS, Vocabulary

__all__ = ["BLOCK", "CandidateList", "SoundIndex", "build_sound_index", "find_candidates", "look_up_frequencies"]

BLOCK = 64
"""Words that are skipped at once, where all share enough with those before them."""
_ONE_EDIT_LETTERS = 3
"""Only one edit is allowed in this many first letters: people seldom mistype them, and there are many prefixes."""
_MAX_SAME_SOUND = 256
"""Words of one sound that are scored."""


class SoundIndex(NamedTuple):
    """Indexes of a vocabulary: words by sound, and what words of a block share."""

    key: npt.NDArray[np.uint32]
    """The sounds of all words, in order."""
    word: npt.NDArray[np.int32]
    """The word of each."""
    least: npt.NDArray[np.uint8]
    """The least that any word of a block shares with the one before it."""


class CandidateList(NamedTuple):
    """Spelling candidates, best first."""

    word: npt.NDArray[np.int32]
    cost: npt.NDArray[np.int32]
    score: npt.NDArray[np.float32]


@njit(cache=True, nogil=True)
def build_sound_index(words: Vocabulary) -> SoundIndex:  # pragma: no cover - compiled
    """Return the indexes of a vocabulary."""
    count = len(words.count)
    keys = np.empty(count, np.uint32)
    least = np.full(-(-count // BLOCK), 255, np.uint8)
    for word in range(count):
        keys[word] = sound_key(words.letters, words.start[word], words.start[word + 1])
        least[word // BLOCK] = min(least[word // BLOCK], words.shared[word])
    order = np.argsort(keys)
    return SoundIndex(keys[order], order.astype(np.int32), least)


@njit(cache=True, nogil=True)
def look_up_frequencies(
    words: Vocabulary, letters: npt.NDArray[np.uint16], start: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:  # pragma: no cover - compiled
    """Return the document frequency of each word (`letters` cut by `start`), 0 if the vocabulary does not have it."""
    candidates = np.zeros(len(start) - 1, np.int32)
    for wanted in range(len(candidates)):
        first, size = start[wanted], start[wanted + 1] - start[wanted]
        low, high = 0, len(words.count)
        while low < high:
            middle = (low + high) >> 1
            begin = words.start[middle]
            length = words.start[middle + 1] - begin
            order = np.int64(0)
            for i in range(min(length, size)):
                order = np.int64(words.letters[begin + i]) - np.int64(letters[first + i])
                if order != 0:
                    break
            if order == 0:
                order = length - size
            if order == 0:
                candidates[wanted] = words.count[middle]
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
    return candidates


@njit(cache=True, nogil=True, forceinline=True)
def _add_candidate(
    candidates: CandidateList, used: int, word: int, cost: int, score: float
) -> int:  # pragma: no cover - compiled
    """Add a word if it is among the best; return how many there are."""
    for i in range(used):
        if candidates.word[i] == word:
            return used
    most = len(candidates.word)
    if used == most and score <= candidates.score[most - 1]:
        return used
    at = min(used, most - 1)
    while at > 0 and candidates.score[at - 1] < score:
        candidates.word[at], candidates.cost[at], candidates.score[at] = (
            candidates.word[at - 1],
            candidates.cost[at - 1],
            candidates.score[at - 1],
        )
        at -= 1
    candidates.word[at], candidates.cost[at], candidates.score[at] = word, cost, score
    return min(used + 1, most)


@njit(cache=True, nogil=True)
def find_candidates(
    words: Vocabulary,
    sounds: SoundIndex,
    typed: npt.NDArray[np.uint16],
    max_edits: int,
    weight: float,
    candidates: CandidateList,
) -> int:  # pragma: no cover - compiled
    """Find words that may have been intended.

    Parameters
        words, sounds: a vocabulary, and its indexes
        typed: the letters of a word
        max_edits: 1 or 2; words that sound like it may have more
        weight: what an edit of cost 100 takes off the score, which is the logarithm of the document frequency
        candidates: arrays for candidates, best first; filled
    Returns
        how many there are
    """
    masks = np.zeros(256, np.uint64)
    for i in range(len(typed)):
        masks[typed[i] & 255] |= np.uint64(1) << np.uint64(i)
    rows = np.zeros((3, 2 * MAX_LETTERS + 2), np.int32)
    used = _add_same_sound(words, sounds, typed, weight, candidates, rows)
    return _add_similar(words, sounds.least, typed, max_edits, weight, candidates, used, masks, rows)


@njit(cache=True, nogil=True)
def _add_same_sound(
    words: Vocabulary, sounds: SoundIndex, typed: Any, weight: float, candidates: CandidateList, rows: Any
) -> int:  # pragma: no cover - compiled
    """Add the words that sound like the typed one; return how many candidates there are."""
    used, wanted = 0, sound_key(typed, 0, len(typed))
    at = np.searchsorted(sounds.key, wanted)
    end = min(len(sounds.key), at + _MAX_SAME_SOUND)
    while at < end and sounds.key[at] == wanted:
        word = np.int64(sounds.word[at])
        begin, last = words.start[word], words.start[word + 1]
        if abs(last - begin - len(typed)) <= 3:
            cost = min(edit_cost(typed, 0, len(typed), words.letters, begin, last, rows), 100 + 40 * len(typed))
            score = np.log(1.0 + words.count[word]) - weight * cost / 100
            if cost <= 220:
                used = _add_candidate(candidates, used, word, cost, score)
        at += 1
    return used


@njit(cache=True, nogil=True)
def _add_similar(
    words: Vocabulary,
    least: Any,
    typed: Any,
    max_edits: int,
    weight: float,
    candidates: CandidateList,
    used: int,
    masks: Any,
    rows: Any,
) -> int:  # pragma: no cover - compiled
    """Add the words within `max_edits`; `states` has, for each depth, the bits for no edit, one and two."""
    states = np.zeros((MAX_LETTERS + 1, 3), np.uint64)
    one, two = np.uint64(1), np.uint64(2)
    states[0, 0], states[0, 1], states[0, 2] = 1, 3, 3
    accept = one << np.uint64(len(typed))
    count, depth, word = len(words.count), 0, 0
    dead_depth = 255  # Prefixes of this length have too many edits.
    while word < count:
        if words.shared[word] >= dead_depth:
            word += 1
            while word % BLOCK == 0 and word < count and least[word // BLOCK] >= dead_depth:
                word += BLOCK
            continue
        dead_depth = 255
        begin = words.start[word]
        length = words.start[word + 1] - begin
        depth = np.int64(words.shared[word])
        while depth < length:
            letter = words.letters[begin + depth]
            mask = masks[letter & 255]
            r0, r1, r2 = states[depth, 0], states[depth, 1], states[depth, 2]
            n0 = (r0 & mask) << one
            n1 = ((r1 & mask) << one) | r0 | (r0 << one) | (n0 << one)
            n2 = ((r2 & mask) << one) | r1 | (r1 << one) | (n1 << one)
            if depth > 0:
                swap = mask & (masks[words.letters[begin + depth - 1] & 255] >> one)
                n1 |= (states[depth - 1, 0] & swap) << two
                n2 |= (states[depth - 1, 1] & swap) << two
            depth += 1
            if depth <= _ONE_EDIT_LETTERS:
                n2 = n1
            states[depth, 0], states[depth, 1], states[depth, 2] = n0, n1, n2
            alive = n2 if max_edits > 1 else n1
            if alive & ((accept << one) - one) == 0:
                dead_depth = depth
                break
        if dead_depth == 255:
            alive = states[length, 2] if max_edits > 1 else states[length, 1]
            if alive & accept != 0:
                cost = edit_cost(typed, 0, len(typed), words.letters, begin, begin + length, rows)
                score = np.log(1.0 + words.count[word]) - weight * cost / 100
                used = _add_candidate(candidates, used, word, cost, score)
        word += 1
    return used


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    from periplus.index.vocabulary.kernels import surface_forms as vocabulary

    words = vocabulary.unpack_vocabulary(
        vocabulary.pack_vocabulary(np.frombuffer(b"ab", np.uint8), np.array([0, 2]), np.ones(1, np.int32)), 1
    )
    typed = np.array([97, 99], np.uint16)
    typed.flags.writeable = False
    look_up_frequencies(words, typed, np.array([0, 2]))
    candidates = CandidateList(np.zeros(4, np.int32), np.zeros(4, np.int32), np.zeros(4, np.float32))
    find_candidates(words, build_sound_index(words), typed, 2, 5.0, candidates)
