"""Copies, the obvious way: look at all pages visited before."""


def copies(rows, contents):
    """Give for each visit of `rows` with the content of an earlier one the first that has it."""
    first, found = {}, {}
    for row in sorted(rows):
        if contents[row]:
            original = first.setdefault(contents[row], row)
            if original != row:
                found[row] = original
    return found


def near_pairs(pages):
    """Give all (later, earlier) pairs of pages at one path of two hosts whose hashes differ in three bits at most.

    pages: for each its visit, host, path and simhash.
    """
    return {
        (one, two)
        for one, (visit, host, path, mark) in enumerate(pages)
        for two, (before, elsewhere, same, other) in enumerate(pages)
        if before < visit and host != elsewhere and path == same and mark and other and (mark ^ other).bit_count() <= 3
    }
