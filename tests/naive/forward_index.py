"""Naive twins of the kernels of the forward index."""

from collections.abc import Sequence

Fields = Sequence[Sequence[int]]
"""Words of a document, field by field."""


def count_word_uses(documents: Sequence[Fields], words: int) -> list[list[int]]:
    """Count the documents and the tokens of each word."""
    flat = [[word for field in document for word in field] for document in documents]
    return [[sum(word in one for one in flat), sum(one.count(word) for one in flat)] for word in range(words)]


def sort_tokens(documents: Sequence[Fields], terms: Sequence[int], first: int, last: int) -> list[tuple[int, int, int]]:
    """Return term, document and position of each token whose term is from `first` up to, not including, `last`."""
    return sorted(
        (terms[word], number, field << 29 | offset)
        for number, document in enumerate(documents)
        for field, text in enumerate(document)
        for offset, word in enumerate(text)
        if first <= terms[word] < last
    )


def assign_blocks(sizes: Sequence[int], least: int) -> list[list[int]]:
    """Return the texts of each block of at least `least` bytes."""
    blocks: list[list[int]] = [[]]
    for text in range(len(sizes)):
        if sum(sizes[other] for other in blocks[-1]) >= least:
            blocks.append([])
        blocks[-1].append(text)
    return [block for block in blocks if block]
