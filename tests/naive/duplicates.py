"""Duplicates, the obvious way: look at all pages fetched before."""


def find_duplicates(rows, contents):
    """Return for each record of `rows` with the content of an earlier one the first that has it."""
    first, found = {}, {}
    for row in sorted(rows):
        if contents[row]:
            original = first.setdefault(contents[row], row)
            if original != row:
                found[row] = original
    return found


def near_duplicate_pairs(pages):
    """Return all (later, earlier) pairs of pages at one path of two hosts whose hashes differ in three bits at most.

    pages: for each its fetch record, host, path and simhash.
    """
    return {
        (one, two)
        for one, (record, host, path, simhash) in enumerate(pages)
        for two, (before, other_host, other_path, other) in enumerate(pages)
        if before < record and host != other_host and path == other_path
        if simhash and other and (simhash ^ other).bit_count() <= 3
    }
