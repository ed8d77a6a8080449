"""Many terms by one call: the same places as one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from periplus.index.kernels import term_dictionary, term_lookup, term_packing
from periplus.index.kernels.postings_format import SIZED
from periplus.index.kernels.postings_reader import make_tiny_postings
from periplus.index.validation.kernels.term_checks import SegmentArrays


def packed(terms: list[bytes]) -> term_dictionary.TermDictionary:
    """Make a lexicon in which each term has as many documents as its number, plus one."""
    count = len(terms)
    starts = np.zeros(count + 1, np.int64)
    np.cumsum([len(term) for term in terms], out=starts[1:])
    ends, zeros = np.arange(1, count + 1, dtype=np.int64), np.zeros(count, np.int32)
    held = term_dictionary.TermTable(
        np.frombuffer(b"".join(terms), np.uint8),
        starts,
        np.arange(1, count + 1, dtype=np.int32),
        ends,
        ends,
        np.zeros(count, np.uint8),
        zeros,
        zeros,
        zeros - 1,
    )
    room = term_packing.allocate_dictionary(held)
    size = term_packing.pack_terms(held, room)
    whole = room._replace(pages=room.pages[:size])
    for array in whole:
        array.flags.writeable = False
    return whole


def trusted(held: term_dictionary.TermDictionary) -> SegmentArrays:
    """Return arrays of a segment whose terms all count as validated."""
    tiny, wide = make_tiny_postings(), np.zeros((0, 2), np.int64)
    wide.flags.writeable = False
    return SegmentArrays(tiny.stream, 1, tiny.groups, wide, 1, 1, SIZED, np.full(len(held.pages), 255, np.uint8))


@given(st.sets(st.binary(min_size=1, max_size=6), min_size=1, max_size=60), st.lists(st.binary(max_size=6), max_size=9))
def test_terms_are_found_as_one_by_one(known: set[bytes], others: list[bytes]) -> None:
    terms = sorted(known)
    held = packed(terms)
    asked = [*terms[::3], *others]
    starts = np.zeros(len(asked) + 1, np.int64)
    np.cumsum([len(term) for term in asked], out=starts[1:])
    found = term_lookup.find_terms(held, trusted(held), np.frombuffer(b"".join(asked) or b"\0", np.uint8), starts)
    for term, row in zip(asked, found.tolist(), strict=True):
        alone = term_dictionary.find_term(held, np.frombuffer(term, np.uint8)) if term else term_dictionary.ABSENT_TERM
        assert tuple(row) == tuple(alone)
        assert row[0] == (terms.index(term) + 1 if term in known else 0)
