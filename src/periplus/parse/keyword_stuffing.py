"""Keyword stuffing: running text that says next to nothing but its keywords.

A reference repeats its words too: 'const' is a fifth of a list of members, 'savepoint' a tenth of the page about it,
and an index consists of names. So only running text counts: lines of ten words and more that are nearly all plain
words, not code, signatures, names or numbers. And there a frequent word does not count, but that there are hardly any
others, or that a phrase of two long words takes up a fifth of the text.

Text without spaces between words, such as Japanese, is not judged.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

__all__ = ["LIMITS", "LONG_WORD", "MIN_FREQUENT", "MIN_WORDS", "find_keyword_stuffing"]

MIN_WORDS: Final = 160
"""Words of running text from which on a page is judged."""
_MAX_WORDS: Final = 400
"""Words whose vocabulary is counted."""
_MIN_LINE: Final = 10
_MIN_PLAIN_SHARE: Final = 0.85
"""Words of a line of running text, and the share of them that are plain."""
_MIN_VOCABULARY: Final = 0.045
"""Different words per word. References that are made of one sentence, such as that of a numeric type, have 0.05."""
_MAX_PHRASE_SHARE: Final = 0.2
"""Share of the words that one phrase may take up. Among 140,000 pages of documentation, one has more than 0.17."""
LONG_WORD: Final = 4
"""Characters of a word of a phrase; shorter ones are function words in most languages."""
MIN_FREQUENT: Final = 0.05
"""Share of one long word in the text without which it is not looked at more closely: it would take too long."""
_PLAIN_WORD: Final = re.compile(r"(?<!\S)[\"“«]?[^\W\d_]++(?:['’-][^\W\d_]++)*+[\"”»]?[.,;:!?…]*+(?!\S)")
_MARKS: Final = ".,;:!?…"
_WORD: Final = re.compile(r"[^\W\d_]+")
LIMITS: Final = (
    *(MIN_WORDS, _MAX_WORDS, _MIN_LINE),
    *(_MIN_PLAIN_SHARE, _MIN_VOCABULARY, _MAX_PHRASE_SHARE / 2, LONG_WORD),
)
"""The same limits, as `may_be_stuffed` takes them for a first look without strings."""


def find_keyword_stuffing(text: str) -> str:
    """Return why a text, in which a long word is frequent, is stuffed with keywords, or ''."""
    running = [word for words in _running_lines(text) for word in words]
    if len(running) < MIN_WORDS:
        return ""
    first = running[:_MAX_WORDS]
    vocabulary = set(first)
    if len(vocabulary) < _MIN_VOCABULARY * len(first):
        return f"only {len(vocabulary)} different words in {len(first)}"
    # A phrase is no more frequent than its first word.
    least = _MAX_PHRASE_SHARE / 2 * len(running)
    frequent = [word for word, count in Counter(running).items() if count > least]
    if not any(len(word) >= LONG_WORD for word in frequent):
        return ""
    phrases = Counter([pair for pair in pairwise(running) if len(pair[0]) >= LONG_WORD <= len(pair[1])])
    for phrase, times in phrases.most_common(1):
        if 2 * times > _MAX_PHRASE_SHARE * len(running):
            return f"'{' '.join(phrase)}' {times} times in {len(running)} words"
    return ""


def _running_lines(text: str) -> Iterator[list[str]]:
    """Yield the words of the lines that consist of plain words."""
    for line in text.split("\n"):
        words = line.split()
        if len(words) < _MIN_LINE:
            continue
        least = _MIN_PLAIN_SHARE * len(words)
        # Of most lines so many words are nothing but letters that the others need not be looked at.
        bare = [word.rstrip(_MARKS) for word in words]
        plain = list(map(str.isalpha, bare))
        if all(plain):
            yield bare
        elif sum(plain) >= least or len(_PLAIN_WORD.findall(line)) >= least:
            yield [
                piece
                for word, is_plain in zip(bare, plain, strict=True)
                for piece in ((word,) if is_plain else _WORD.findall(word))
            ]
