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


def written_words(raw: bytes) -> list[tuple[bytes, bool, int, int, int]]:
    """Return the words of a text as they are written, byte by byte: each with whether it begins with a capital, whether
    it may belong to the name of the word before it, whether it is in brackets or quotation marks, and its line."""
    words: list[tuple[bytes, bool, int, int, int]] = []
    at = line = inside = gap = begin = 0
    quoted, breaks, comma = False, True, False
    while at < len(raw):
        size = _mark_size(raw[at : at + 3])
        if not size and _is_letter(raw[at : at + 1]):
            begin = at
            while at < len(raw) and _is_letter(raw[at : at + 1]) and not _mark_size(raw[at : at + 3]):
                at += 1
            first = raw[begin : begin + (1 if raw[begin] < 128 else 2 if raw[begin] < 0xE0 else 3)]
            is_capital = len(first) < 3 or first[0] == 0xE1  # Letters of other scripts that take three bytes.
            joined = 0 if breaks or gap > 3 else 1 if comma else 2
            depth = 1 if inside else 2 if quoted else 0
            words.append(
                (raw[begin:at], is_capital and first.decode("utf-8", "replace").isupper(), joined, depth, line)
            )
            gap, breaks, comma = 0, False, False
            continue
        sign = raw[at : at + max(1, size)]
        if sign == b"(" or sign == "\uff08".encode():
            inside, breaks = inside + 1, True
        elif sign == b")" or sign == "\uff09".encode():
            inside, breaks = max(0, inside - 1), True
        elif sign == b'"':
            quoted, breaks = not quoted, True
        elif sign == b"\n":
            line, inside, quoted, breaks = line + 1, 0, False, True
        elif sign == b"," or (sign == b"." and gap == 0 and words and at - begin > 1):
            comma = True
        elif sign in (b";", b":") or size == 3:
            breaks = breaks or sign != "\u2019".encode()
            quoted = quoted if sign not in ("\u201c".encode(), "\u201d".encode()) else sign == "\u201c".encode()
        gap += 1
        at += len(sign)
    return words


def _is_letter(byte: bytes) -> bool:
    return byte.isalnum() or byte >= b"\x80"


def _mark_size(raw: bytes) -> int:
    """Return the bytes of a sign of punctuation beyond ASCII, or 0."""
    if len(raw) == 3:
        point = (raw[0] & 0x0F) << 12 | (raw[1] & 0x3F) << 6 | (raw[2] & 0x3F)
        is_sign = 0x2000 <= point < 0x2080 or (0x3000 <= point < 0x3040 and not 0x3005 <= point <= 0x3007)
        if raw[0] >= 0xE2 and raw[1] >= 0x80 and raw[2] >= 0x80 and (is_sign or 0xFF00 <= point < 0xFF10):
            return 3
    return 2 if len(raw) > 1 and raw[0] == 0xC2 and raw[1] < 0xBF else 0
