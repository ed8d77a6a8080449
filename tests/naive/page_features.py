"""Naive twin of `score.kernels.page_features`: letters, stop words and repetitions, character by character."""

import math
import unicodedata
from collections import Counter
from itertools import pairwise

from periplus.score.kernels.page_features import LATIN, LETTERS, OTHER
from periplus.text import LANGUAGES, stop_words

SCRIPTS = ("GREEK", "HEBREW", "ARABIC", "DEVANAGARI", "THAI", ("HIRAGANA", "KATAKANA"), "CJK", "HANGUL")
WITHOUT_DECOMPOSITION = {"ß": "s", "æ": "a", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "œ": "o", "þ": "t", "ð": "d"}


def bucket(character: str) -> int:
    """Return the bucket of a character, -1 if it is not a letter."""
    if not character.isalpha():
        return -1
    low = character.lower()
    plain = WITHOUT_DECOMPOSITION.get(low) or unicodedata.normalize("NFD", low)[0]
    if "a" <= plain <= "z":
        return ord(plain) - ord("a")
    if "а" <= low <= "я":
        return LATIN + ord(low) - ord("а")
    for number, script in enumerate(SCRIPTS):
        if unicodedata.name(character, "").startswith(script):
            return LATIN + 32 + number
    return OTHER


def measure_text(text: str, language: int, letters: list[float]) -> tuple[float, float, float, float]:
    """Return divergence, share of stop words, number of words and share of repeated words."""
    words = "".join(c if bucket(c) >= 0 else " " for c in text).split()
    folded = [tuple(b if (b := bucket(c)) < LATIN + 32 else c for c in word) for word in words]
    stops = {tuple(b if (b := bucket(c)) < LATIN + 32 else c for c in word) for word in stop_words(LANGUAGES[language])}
    counts = Counter(bucket(c) for c in text if bucket(c) >= 0)
    total = sum(counts.values())
    divergence = 0.0
    for number, q in enumerate(letters):
        p = counts[number] / total if total else 0.0
        m = (p + q) / 2
        divergence += (p * math.log2(p / m) if p else 0.0) / 2 + (q * math.log2(q / m) if q else 0.0) / 2
    share = sum(word in stops for word in folded) / max(1, len(folded)) if stops else -1.0
    repeated = sum(word == following for word, following in pairwise(folded))
    return divergence if total else 0.0, share, max(len(folded), total / LETTERS), repeated / max(1, len(folded))
