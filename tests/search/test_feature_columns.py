"""Features as they travel: packed into columns, and spread again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.errors import BadInput
from periplus.rank import FEATURES
from periplus.search.sharding.feature_columns import pack_features, unpack_features


@given(st.integers(0, 120), st.integers(0, (1 << len(FEATURES)) - 1))
def test_columns_come_back_where_they_were(count: int, needed: int) -> None:
    rows = np.random.default_rng(count).random((count, len(FEATURES)))
    packed, columns = pack_features(rows, needed)
    expected = np.zeros_like(rows)
    expected[:, columns] = rows[:, columns]
    assert np.array_equal(unpack_features(packed, columns), expected)
    assert {n for n in range(len(FEATURES)) if needed >> n & 1} <= set(columns.tolist())


@pytest.mark.parametrize(
    ("shape", "columns"), [((2,), [0, 1]), ((2, 2), [0]), ((2, 2), [0, len(FEATURES)]), ((2, 1), [255])]
)
def test_what_is_not_packed_is_refused(shape: tuple[int, ...], columns: list[int]) -> None:
    with pytest.raises(BadInput):
        unpack_features(np.zeros(shape), np.array(columns, np.uint8))
