"""Packed integers by definition: blocks of 64, as one long binary number each."""

from naive.adjacency import number

LIMIT = 1 << 56


def pack(values: list[int], differences: bool) -> bytes:
    """Return integers as bytes, or the differences of ascending ones."""
    if differences:
        values = [b - a for a, b in zip([0, *values], values, strict=False)]
    packed = b""
    for first in range(0, len(values), 64):
        block = values[first : first + 64]
        width = (max(block) - min(block)).bit_length()
        bits = sum((value - min(block)) << width * n for n, value in enumerate(block))
        packed += bytes([width]) + number(min(block)) + bits.to_bytes((width * len(block) + 7) // 8, "little")
    return packed


def unpack(packed: bytes, differences: bool, count: int) -> list[int] | None:
    """Return so many integers, None if the bytes are not those of so many."""
    values: list[int] = []
    at = 0
    while len(values) < count:
        if at >= len(packed) or packed[at] > 56:
            return None
        width, least, shift = packed[at], 0, 0
        at += 1
        while True:
            if at >= len(packed) or shift >= 63:
                return None
            least |= (packed[at] & 127) << shift
            shift += 7
            at += 1
            if packed[at - 1] < 128:
                break
        here = min(64, count - len(values))
        size = (width * here + 7) // 8
        if at + size > len(packed):
            return None
        bits = int.from_bytes(packed[at : at + size], "little")
        at += size
        for n in range(here):
            value = least + (bits >> width * n & (1 << width) - 1)
            value += values[-1] if differences and values else 0
            if value >= LIMIT:
                return None
            values.append(value)
    return values if at == len(packed) else None
