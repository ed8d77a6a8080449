"""The simhash kernel against its naive twin, and what it is for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import simhash as naive
from periplus.text.kernels import simhash

WORDS = [f"word{n}" for n in range(400)]


def hashes(*texts: bytes) -> np.ndarray:
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=bounds[1:])
    return simhash.simhashes(np.frombuffer(b"".join(texts), np.uint8), bounds)


@given(st.lists(st.one_of(st.text("abC D1,東京é", max_size=30).map(str.encode), st.binary(max_size=30)), max_size=5))
def test_the_kernel_hashes_as_the_naive_twin_does(texts: list[bytes]) -> None:
    assert hashes(*texts).tolist() == [naive.simhash(text) for text in texts]
    assert [simhash.simhash_text(np.frombuffer(text, np.uint8)) for text in texts] == hashes(*texts).tolist()


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20), st.integers(0, 20), st.data())
def test_the_bands_find_every_pair(values: list[int], distance: int, data) -> None:
    for value in values[:5]:
        flips = data.draw(st.lists(st.integers(0, 63), max_size=distance))
        values = [*values, value ^ sum(1 << bit for bit in set(flips))]
    found = simhash.near_pairs(np.array(values, np.uint64), distance)
    assert found.tolist() == naive.near_pairs(values, distance)


def test_alike_is_near_and_different_is_far() -> None:
    text = " ".join(WORDS)
    changed = text.replace("word200", "other")
    one, near, far, nothing = hashes(text.encode(), changed.encode(), " ".join(WORDS[::-1]).encode(), b"...")
    near_by, far_by = simhash.distances(np.array([one, one]), np.array([near, far]))
    assert near_by <= 8
    assert far_by >= 16
    assert nothing == 0


@pytest.mark.parametrize("copies", [2, 50])
def test_copies_are_pairs(copies: int) -> None:
    pairs = simhash.near_pairs(hashes(*[b"the very same words here"] * copies), 3)
    assert len(pairs) == copies * (copies - 1) // 2
