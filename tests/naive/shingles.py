"""The shingles of a text, word by word."""

import re


def shingles(text: str, own_words: set[str], size: int = 6) -> set[tuple[str, ...]]:
    """Return the shingles: words in a row of one line, numbers all alike, without lines that repeat the URL."""
    found = set()
    for line in text.lower().split("\n"):
        words = [re.sub("[0-9]+", "#", word) for word in re.findall(r"[a-z0-9\u0080-\U0010ffff]+", line)]
        own = sum(word in own_words for word in words)
        if own and (len(words) <= 8 or 2 * own >= len(words)):
            continue
        found |= {tuple(words[n : n + size]) for n in range(len(words) - size + 1)}
        if 0 < len(words) < size:
            found.add(tuple(words))
    return found
