"""Letters, stop words and repetitions of a text, counted character by character: the twin of `kernels.quality`."""

import math
import unicodedata
from collections import Counter
from itertools import pairwise

from periplus.score.kernels.page_features import LATIN, LETTERS, OTHER
from periplus.text import LANGUAGES, stop_words

SCRIPTS = ("GREEK", "HEBREW", "ARABIC", "DEVANAGARI", "THAI", ("HIRAGANA", "KATAKANA"), "CJK", "HANGUL")
APART = {"ß": "s", "æ": "a", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "œ": "o", "þ": "t", "ð": "d"}


def bucket(character: str) -> int:
    """Give the bucket of a letter, -1 if it is none."""
    if not character.isalpha():
        return -1
    low = character.lower()
    plain = APART.get(low) or unicodedata.normalize("NFD", low)[0]
    if "a" <= plain <= "z":
        return ord(plain) - ord("a")
    if "а" <= low <= "я":
        return LATIN + ord(low) - ord("а")
    for number, script in enumerate(SCRIPTS):
        if unicodedata.name(character, "").startswith(script):
            return LATIN + 32 + number
    return OTHER


def measure(text: str, language: int, letters: list[float]) -> tuple[float, float, float, float]:
    """Give divergence, share of stop words, words and share of repetitions."""
    words = "".join(c if bucket(c) >= 0 else " " for c in text).split()
    marks = [tuple(b if (b := bucket(c)) < LATIN + 32 else c for c in word) for word in words]
    stops = {tuple(b if (b := bucket(c)) < LATIN + 32 else c for c in word) for word in stop_words(LANGUAGES[language])}
    counts = Counter(bucket(c) for c in text if bucket(c) >= 0)
    total = sum(counts.values())
    far = 0.0
    for number, q in enumerate(letters):
        p = counts[number] / total if total else 0.0
        m = (p + q) / 2
        far += (p * math.log2(p / m) if p else 0.0) / 2 + (q * math.log2(q / m) if q else 0.0) / 2
    share = sum(mark in stops for mark in marks) / max(1, len(marks)) if stops else -1.0
    twice = sum(one == other for one, other in pairwise(marks))
    return far if total else 0.0, share, max(len(marks), total / LETTERS), twice / max(1, len(marks))
