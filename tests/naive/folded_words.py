"""The hashes of the words of folded text, letter by letter."""


def hash_folded_words(text: bytes, merged: int) -> list[tuple[int, int, int]]:
    """Return begin, end and FNV-1a of each word; a run of the letter `merged` counts as one letter."""
    found, begin = [], 0
    for word in text.split(b"\0"):
        if word:
            found.append((begin, begin + len(word), _hash(word, merged)))
        begin += len(word) + 1
    return found


def _hash(word: bytes, merged: int) -> int:
    value = 0xCBF29CE484222325
    for at, letter in enumerate(word):
        if letter != merged or word[at - 1 : at] != bytes([merged]):
            value = (value ^ letter) * 0x100000001B3 % 2**64
    return value
