"""Names by definition: words cut by a regular expression, titles counted by looking for each of them."""

import re

_WORD = re.compile(r"[^\W_]+")
_SEED, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def title_name(title: str) -> str:
    """Return a title without what is in brackets at its end or behind a separator."""
    title = re.split(r"(?<=.) (?:\||- |– |— )", title, maxsplit=1)[0]
    bracket = re.fullmatch(r"(.+?) \([^(]*\)", title, re.DOTALL)
    return bracket.group(1) if bracket else title


def count_mentions(titles: list[str], bodies: list[str]) -> list[int]:
    """Return how many other bodies have each title of plain words; the longest title at a word counts, case aside at
    its first letter."""
    words = [tuple(_WORD.findall(title)) for title in titles]
    by_length = sorted({name for name in words if name}, key=len, reverse=True)
    counts = [0] * len(titles)
    for number, body in enumerate(bodies):
        tokens, seen, at = _WORD.findall(body), set(), 0
        while at < len(tokens):
            here = next((name for name in by_length if _stands(name, tokens[at : at + len(name)])), None)
            at += len(here) if here else 1
            if here:
                seen.add(_fold(here))
        for other, name in enumerate(words):
            if name and other != number and _fold(name) in seen and _fold(words[number]) != _fold(name):
                counts[other] += 1
    return counts


def _fold(name: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{word.lower()}{word[0].isupper() if at else ''}" for at, word in enumerate(name))


def _stands(name: tuple[str, ...], tokens: list[str]) -> bool:
    return len(tokens) == len(name) and _fold(name) == _fold(tuple(tokens))


def name_key(words: list[bytes]) -> int:
    """Return the key of a name: FNV-1a over its letters; numbers stay apart."""
    letters = b""
    for word in words:
        letters += (b"|" if letters[-1:].isdigit() and word[:1].isdigit() else b"") + word.replace(b"'", b"")
    key = _SEED
    for letter in letters:
        key = ((key ^ letter) * _PRIME) & _MASK
    return key | 1 if letters else 0
