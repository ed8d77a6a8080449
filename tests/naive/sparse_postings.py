"""Postings of a sparse term by definition: one long binary number, low bits first."""

from collections.abc import Sequence

from naive.dense_blocks import BODY_ONLY, ESCAPED, Posting


def width_of(frequency: int, blocks: int) -> int:
    """Return how many bits of a gap are written as they are."""
    return max(width for width in range(31) if width == 0 or frequency << width <= 44 * blocks)


def write(postings: Sequence[Posting], blocks: int) -> bytes:
    """Return the postings of a term, whose offsets are numbers of documents of a segment with so many blocks."""
    width, last, bits = width_of(len(postings), blocks), -1, ""
    for document, code, mask, impact in postings:
        gap = document - last - 1
        last = document
        if gap >> width < 16:
            bits += "1" * (gap >> width) + "0" + low_bits(gap, width)
        else:
            bits += "1" * 16 + low_bits(gap, 32)
        bits += low_bits(code, 2)
        if code == ESCAPED:
            bits += ("0" if mask == BODY_ONLY else "1" + low_bits(mask, 7)) + low_bits(impact, 8)
    return int("0" + bits[::-1], 2).to_bytes((len(bits) + 7) // 8, "little")


def low_bits(value: int, width: int) -> str:
    """Return so many bits of a number, the lowest first."""
    return "".join(str(value >> bit & 1) for bit in range(width))
