"""Positions of a posting in one field by definition: a head, then one long binary number."""

import itertools


def number(value: int) -> bytes:
    """Return a position delta, a count or a width as bytes."""
    if value < 192:
        return bytes([value])
    value -= 192
    if value < 63 * 256:
        return bytes([192 + (value >> 8), value & 255])
    rest = b""
    while value >= 128:
        rest += bytes([value & 127 | 128])
        value >>= 7
    return b"\xff" + rest + bytes([value])


def write(offsets: list[int]) -> bytes:
    """Return ascending positions as a segment of format 4 has them."""
    if len(offsets) == 1 and offsets[0] < 64:
        return bytes(offsets)
    steps = [offsets[0], *(b - a - 1 for a, b in itertools.pairwise(offsets))]
    width = max(1, max(step.bit_length() for step in steps))
    many, wide = len(offsets) > 11, width > 14
    head = bytes([64 + 16 * (0 if many else len(offsets)) + (15 if wide else width)])
    head += (number(len(offsets)) if many else b"") + (number(width) if wide else b"")
    bits = sum(step << width * n for n, step in enumerate(steps))
    return head + bits.to_bytes((width * len(steps) + 7) // 8, "little")


def write_bytes(offsets: list[int]) -> bytes:
    """Return them as segments up to format 3 have them."""
    steps = [offsets[0], *(b - a for a, b in itertools.pairwise(offsets))]
    return b"".join(map(number, (len(offsets), *steps)))
