"""Words of a vocabulary that somebody may have meant by another.

The sorted words are walked as the tree they are: what a word shares with the one before need not be looked at again,
and a beginning that already has too many slips takes all words with that beginning along. The states of the walk are
bits, one for each letter of the typed word, for no slip, one and two. What it finds is weighed by `slips`.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.vocabulary.kernels.edit_cost import edit_cost, sound_key
from periplus.index.vocabulary.kernels.surface_forms import MAX_LETTERS, Vocabulary

__all__ = ["BLOCK", "CandidateList", "SoundIndex", "build_sound_index", "find_candidates", "look_up_frequencies"]

BLOCK = 64
"""Words that are passed over at once, where all share enough with those before them."""
_BEGINNING = 3
"""In so many letters one slip is looked for, not two: people seldom miss a beginning, and there are many of them."""
_MOST_ALIKE = 256
"""Words of one sound that are weighed."""


class SoundIndex(NamedTuple):
    """What helps to walk a vocabulary fast."""

    key: npt.NDArray[np.uint32]
    """The sounds of all words, in order."""
    word: npt.NDArray[np.int32]
    """The word of each."""
    least: npt.NDArray[np.uint8]
    """The least that any word of a block shares with the one before it."""


class CandidateList(NamedTuple):
    """Words that may have been meant, best first."""

    word: npt.NDArray[np.int32]
    cost: npt.NDArray[np.int32]
    score: npt.NDArray[np.float32]


@njit(cache=True, nogil=True)
def build_sound_index(words: Vocabulary) -> SoundIndex:  # pragma: no cover - compiled
    """Work out the sound of every word."""
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
    """Give the documents of each of some words (`letters` cut by `start`), 0 where it is not known."""
    found = np.zeros(len(start) - 1, np.int32)
    for wanted in range(len(found)):
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
                found[wanted] = words.count[middle]
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
    return found


@njit(cache=True, nogil=True, forceinline=True)
def _offer(found: CandidateList, used: int, word: int, cost: int, score: float) -> int:  # pragma: no cover - compiled
    """Keep a word if it is among the best; give how many there are."""
    for i in range(used):
        if found.word[i] == word:
            return used
    most = len(found.word)
    if used == most and score <= found.score[most - 1]:
        return used
    at = min(used, most - 1)
    while at > 0 and found.score[at - 1] < score:
        found.word[at], found.cost[at], found.score[at] = found.word[at - 1], found.cost[at - 1], found.score[at - 1]
        at -= 1
    found.word[at], found.cost[at], found.score[at] = word, cost, score
    return min(used + 1, most)


@njit(cache=True, nogil=True)
def find_candidates(
    words: Vocabulary,
    sounds: SoundIndex,
    typed: npt.NDArray[np.uint16],
    slips: int,
    weight: float,
    found: CandidateList,
) -> int:  # pragma: no cover - compiled
    """Fill `found` with words at most `slips` (1 or 2) from `typed`, or spoken like it; give how many.

    A word's score is the logarithm of its documents less `weight` for what an ordinary slip costs."""
    masks = np.zeros(256, np.uint64)
    for i in range(len(typed)):
        masks[typed[i] & 255] |= np.uint64(1) << np.uint64(i)
    rows = np.zeros((3, 2 * MAX_LETTERS + 2), np.int32)
    used = _alike(words, sounds, typed, weight, found, rows)
    return _walk(words, sounds.least, typed, slips, weight, found, used, masks, rows)


@njit(cache=True, nogil=True)
def _alike(
    words: Vocabulary, sounds: SoundIndex, typed: Any, weight: float, found: CandidateList, rows: Any
) -> int:  # pragma: no cover - compiled
    """Weigh the words that are spoken like the typed one."""
    used, wanted = 0, sound_key(typed, 0, len(typed))
    at = np.searchsorted(sounds.key, wanted)
    end = min(len(sounds.key), at + _MOST_ALIKE)
    while at < end and sounds.key[at] == wanted:
        word = np.int64(sounds.word[at])
        begin, last = words.start[word], words.start[word + 1]
        if abs(last - begin - len(typed)) <= 3:
            cost = min(edit_cost(typed, 0, len(typed), words.letters, begin, last, rows), 100 + 40 * len(typed))
            score = np.log(1.0 + words.count[word]) - weight * cost / 100
            if cost <= 220:
                used = _offer(found, used, word, cost, score)
        at += 1
    return used


@njit(cache=True, nogil=True)
def _walk(
    words: Vocabulary,
    least: Any,
    typed: Any,
    slips: int,
    weight: float,
    found: CandidateList,
    used: int,
    masks: Any,
    rows: Any,
) -> int:  # pragma: no cover - compiled
    """Walk the words; `states` has, for each depth, the bits for no slip, one and two."""
    states = np.zeros((MAX_LETTERS + 1, 3), np.uint64)
    one, two = np.uint64(1), np.uint64(2)
    states[0, 0], states[0, 1], states[0, 2] = 1, 3, 3
    accept = one << np.uint64(len(typed))
    count, depth, word = len(words.count), 0, 0
    dead = 255  # Beginnings of this length have too many slips.
    while word < count:
        if words.shared[word] >= dead:
            word += 1
            while word % BLOCK == 0 and word < count and least[word // BLOCK] >= dead:
                word += BLOCK
            continue
        dead = 255
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
            if depth <= _BEGINNING:
                n2 = n1
            states[depth, 0], states[depth, 1], states[depth, 2] = n0, n1, n2
            alive = n2 if slips > 1 else n1
            if alive & ((accept << one) - one) == 0:
                dead = depth
                break
        if dead == 255:
            alive = states[length, 2] if slips > 1 else states[length, 1]
            if alive & accept != 0:
                cost = edit_cost(typed, 0, len(typed), words.letters, begin, begin + length, rows)
                score = np.log(1.0 + words.count[word]) - weight * cost / 100
                used = _offer(found, used, word, cost, score)
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
    found = CandidateList(np.zeros(4, np.int32), np.zeros(4, np.int32), np.zeros(4, np.float32))
    find_candidates(words, build_sound_index(words), typed, 2, 5.0, found)
