"""What a kernel makes of addresses is the tuple that they were taken from, field by field."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import config, njit

from periplus.accel import pointers
from periplus.index.kernels import postings_reader
from periplus.query.kernels import match
from periplus.query.kernels.plan import get_plan, get_scratch, make_scratch


def filled(made: Any) -> Any:
    """Give a tuple in which no two fields are alike: of arrays that hold their field's number, and of numbers."""
    parts = []
    for number, part in enumerate(made):
        if isinstance(part, np.ndarray):
            shape = tuple(2 + number + side for side in range(part.ndim))
            parts.append(np.full(shape, number, part.dtype))
        else:
            parts.append(type(part)(number + 3))
    return type(made)(*parts)


def tiny_plan() -> match.Plan:
    flat, wide = np.zeros(1, np.int32), np.zeros((1, 1), np.int32)
    numbers = (1, 1, np.uint64(1 << 63), 0.5, 0.5)
    place, given = np.zeros((1, 8), np.int64), np.zeros((0, 1), np.uint64)
    tables = (place, flat.astype(np.float32), wide, wide, wide, wide, flat, given)
    return match.Plan(*tables, *numbers, given[:, 0], 1, given, 1)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there are no addresses without compiling")
@pytest.mark.parametrize(
    ("made", "get"),
    [
        (postings_reader.make_tiny_postings(), postings_reader.get_postings),
        (tiny_plan(), get_plan),
        (make_scratch(1, 1, 1, True, 1), get_scratch),
    ],
)
def test_every_field_comes_back(made: NamedTuple, get: Any) -> None:
    arrays = filled(made)

    @njit
    def copies(addresses: Any) -> Any:
        return get(addresses)

    pinned = pointers.pin(arrays)
    found = copies(pinned.addresses)
    assert type(found).__name__ == type(arrays).__name__
    for name, part, other in zip(arrays._fields, arrays, found, strict=True):
        if isinstance(part, np.ndarray):
            assert part.dtype == other.dtype, name
            assert np.array_equal(part, other), name
        else:
            assert part == other, name
