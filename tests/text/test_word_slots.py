"""The hash table of words: words are the same if all bits of their hashes are, also where halves of them agree."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from periplus.text.analyzer import WordTable

HALF = st.sampled_from([0, 1, 2, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF])
HASHES = st.lists(st.tuples(HALF, HALF).map(lambda halves: halves[0] << 32 | halves[1]), max_size=60)


@given(batches=st.lists(HASHES, max_size=4))
def test_words_are_numbered_by_the_whole_hash(batches: list[list[int]]) -> None:
    table, numbers = WordTable(4), dict[int, int]()
    for hashes in batches:
        expected = [numbers.setdefault(hashed, len(numbers)) for hashed in hashes]
        blob, starts = np.full(len(hashes), 97, np.uint8), np.arange(len(hashes) + 1, dtype=np.int64)
        found = table._add(blob, starts, np.array(hashes, np.uint64), np.zeros(len(hashes), np.uint8))
        assert found.tolist() == expected
        assert table.count == len(numbers)
