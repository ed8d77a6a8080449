"""Pages of the term dictionary: as by definition, read in both editions, and safe on any bytes."""

from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from naive import term_pages as naive
from periplus.index.kernels.term_dictionary import TermDictionary, TermTable, find_term
from periplus.index.kernels.term_packing import allocate_dictionary, pack_terms, unpack_terms

ALPHABETS = st.sampled_from([b"ab", b"abcdefghijkl", b"\x01\x02a\xc3", bytes(range(1, 256))])
TERMS = ALPHABETS.flatmap(
    lambda letters: st.sets(
        st.lists(st.sampled_from(letters), min_size=1, max_size=14).map(bytes)
        | st.lists(st.sampled_from(letters), min_size=1, max_size=20).map(lambda end: b"long" * 33 + bytes(end)),
        min_size=1,
        max_size=60,
    )
).map(sorted)
NUMBERS = st.tuples(
    st.integers(1, 3) | st.integers(1, 1 << 30), st.integers(0, 5) | st.integers(0, 1 << 30), st.integers(0, 70)
)


@st.composite
def entries(draw: st.DrawFn) -> list[naive.Entry]:
    found = []
    for term in draw(TERMS):
        frequency, size, positions = draw(NUMBERS)
        encoding = draw(st.sampled_from([0, 0, 0, 1, 2]))
        group, headers = (draw(st.integers(0, 300)), draw(st.integers(1, 300))) if encoding else (0, 0)
        row = draw(st.integers(0, 200)) if encoding == 2 else -1
        found.append(naive.Entry(term, frequency, size, positions, encoding, group, headers, row))
    return found


def table_of(terms: list[naive.Entry]) -> TermTable:
    """Return terms as arrays."""
    columns = list(zip(*terms, strict=True))
    starts, sizes, positions = (
        np.array([0, *accumulate(values)], np.int64) for values in (map(len, columns[0]), columns[2], columns[3])
    )
    frequency, group, headers, row = (np.array(columns[n], np.int32) for n in (1, 5, 6, 7))
    encoding = np.array(columns[4], np.uint8)
    blob = np.frombuffer(b"".join(columns[0]), np.uint8)
    return TermTable(blob, starts, frequency, sizes[1:], positions[1:], encoding, group, headers, row)


def dictionary_of(pages: list[bytes], terms: list[naive.Entry]) -> TermDictionary:
    """Return a dictionary with pages."""
    starts = np.array([0, *accumulate(map(len, pages))], np.int64)
    stream, position = (
        np.array([0, *accumulate(entry[column] for entry in terms)][:-1:16], np.int64) for column in (2, 3)
    )
    arrays = np.frombuffer(b"".join(pages), np.uint8), starts, stream, position
    for array in arrays:
        array.flags.writeable = False
    return TermDictionary(*arrays)


@given(entries())
def test_terms_are_packed_as_by_definition(terms: list[naive.Entry]) -> None:
    out = allocate_dictionary(table_of(terms))
    size = pack_terms(table_of(terms), out)
    assert out.pages[:size].tobytes() == b"".join(naive.pack(terms))
    expected = dictionary_of(naive.pack(terms), terms)
    for one, two in zip(out[1:], expected[1:], strict=True):
        assert one.tolist() == two.tolist()


@given(entries(), st.booleans())
def test_terms_of_both_editions_are_read(terms: list[naive.Entry], short: bool) -> None:
    dictionary = dictionary_of(naive.pack(terms, short=short), terms)
    for found, expected in zip(unpack_terms(dictionary, len(terms)), table_of(terms), strict=True):
        assert found.tolist() == expected.tolist()
    for entry in terms:
        found = find_term(dictionary, np.frombuffer(entry.term, np.uint8))
        assert (found.frequency, found.end - found.begin) == (entry.frequency, entry.size)
        assert (found.encoding, found.first_group, found.headers, found.bitset_row) == entry[4:]


@given(st.binary(min_size=1, max_size=80) | st.lists(st.sampled_from([0, 1, 97, 128, 192, 255]), min_size=1).map(bytes))
def test_any_bytes_are_terms_or_damaged(raw: bytes) -> None:
    pages = np.frombuffer(raw, np.uint8)
    none = np.zeros(1, np.int64)
    none.flags.writeable = False
    bounds = np.array([0, len(raw)], np.int64)
    bounds.flags.writeable = False
    dictionary = TermDictionary(pages, bounds, none, none)
    table = unpack_terms(dictionary, 16)
    assert len(table.frequency) <= 16
    assert len(table.blob) == table.start[-1] <= 16 * 255
    find_term(dictionary, np.frombuffer(b"a", np.uint8))
