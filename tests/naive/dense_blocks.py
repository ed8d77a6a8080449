"""Dense blocks by definition: a set of documents, a number of two bits for each, and the impacts of escaped ones."""

from typing import NamedTuple

ESCAPED, BODY_ONLY = 3, 32
PLAIN, SAME, MASKED, ALL = range(4)


class Posting(NamedTuple):
    """One posting of a block; the impact of those that are not escaped is looked up elsewhere."""

    offset: int
    code: int
    mask: int = BODY_ONLY
    impact: int = 0


def write_list(postings: list[Posting]) -> bytes:
    """Return a block that is not dense."""
    out = b""
    for offset, code, mask, impact in postings:
        out += bytes([code << 6 | offset])
        if code == ESCAPED:
            out += bytes([impact]) if mask == BODY_ONLY else bytes([0, mask, impact])
    return out


def write_all(impacts: list[int], mask: int, *, shares: bool = False) -> bytes:
    """Return a dense block that has all documents, of which all are in the same fields."""
    least = min(impacts)
    width = (max(impacts) - least).bit_length()
    above = sum((impact - least) << n * width for n, impact in enumerate(impacts))
    packed = above.to_bytes(8 * width, "little") if width else bytes(1)
    return bytes([ALL << 6 | 63, mask | 128, least, width | 128 * shares]) + packed


def write_earlier_all(impacts: list[int], mask: int) -> bytes:
    """Return the same block in format 4."""
    return bytes([ALL << 6 | 63, mask, *impacts])


def write_dense(postings: list[Posting]) -> bytes:
    """Return a dense block."""
    escaped = [posting for posting in postings if posting.code == ESCAPED]
    masks = {posting.mask for posting in escaped}
    if len(escaped) == 64 and len(masks) == 1:
        return write_all([posting.impact for posting in escaped], *masks)
    documents = sum(1 << posting.offset for posting in postings)
    codes = sum(posting.code << 2 * n for n, posting in enumerate(postings))
    kind = PLAIN if masks <= {BODY_ONLY} else SAME if len(masks) == 1 else MASKED
    out = bytes([kind << 6 | 63]) + documents.to_bytes(8, "little") + codes.to_bytes((len(postings) + 3) // 4, "little")
    out += bytes(masks) if kind == SAME else b""
    return out + b"".join(bytes([p.impact, p.mask]) if kind == MASKED else bytes([p.impact]) for p in escaped)


def write(postings: list[Posting]) -> bytes:
    """Return a block as a segment of format 4 has it."""
    one, other = write_list(postings), write_dense(postings)
    return other if len(one) >= 12 and len(other) < len(one) else one
