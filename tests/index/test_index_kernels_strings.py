"""Tables of strings: joined and laid out as plain Python joins and lays them out."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from periplus.index.kernels import string_table

tables = st.lists(st.sets(st.binary(max_size=4), max_size=20), min_size=1, max_size=5)


def laid(words: list[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ends = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return np.frombuffer(b"".join(words) or b"\0", np.uint8).copy(), ends[:-1].copy(), ends[1:].copy()


@given(tables)
def test_tables_are_joined_in_order(sets: list[set[bytes]]) -> None:
    words = [word for own in sets for word in sorted(own)]
    bounds = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    numbers, owners = np.zeros(len(words), np.int64), np.zeros(len(words), np.int64)
    count = string_table.merge_sorted(*laid(words), bounds, numbers, owners)
    every = sorted(set().union(*sets))
    assert count == len(every)
    assert [every[number] for number in numbers.tolist()] == words
    assert [words[owner] for owner in owners[:count].tolist()] == every


@given(st.lists(st.binary(max_size=6), min_size=1, max_size=20), st.data())
def test_strings_are_laid_out_in_another_order(words: list[bytes], data: st.DataObject) -> None:
    order = data.draw(st.lists(st.integers(0, len(words) - 1), max_size=20))
    blob, starts = string_table.reorder_strings(*laid(words), np.array(order, np.int64))
    raw = blob.tobytes()
    assert [raw[a:b] for a, b in itertools.pairwise(starts.tolist())] == [words[n] for n in order]
