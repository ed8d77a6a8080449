"""Sorting strings by their bytes: as `sorted` does, however many are looked at together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.index.builder import byte_sort


@pytest.fixture(params=[1, 3, 1 << 18])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(byte_sort, "_CHUNK", request.param)
    return int(request.param)


STRINGS = st.lists(st.text(alphabet="ab", max_size=30) | st.text(alphabet="\x00aé", max_size=20), max_size=40)


@pytest.mark.usefixtures("chunk")
@given(texts=STRINGS)
def test_strings_are_sorted_by_their_bytes_and_equal_ones_stay_in_order(texts: list[str]) -> None:
    strings = [text.encode() for text in texts]
    bounds = np.cumsum([0, *map(len, strings)]).astype(np.int64)
    blob = np.frombuffer(b"".join(strings), np.uint8)
    longest = max(map(len, strings), default=0)
    expected = sorted(range(len(strings)), key=lambda number: strings[number].ljust(longest, b"\0"))
    assert byte_sort.sort_strings(blob, bounds[:-1], bounds[1:]).tolist() == expected
    narrow = bounds.astype(np.uint32)
    assert byte_sort.sort_strings(blob, narrow[:-1], narrow[1:]).tolist() == expected


@pytest.mark.usefixtures("chunk")
def test_many_equal_strings_are_one_group() -> None:
    strings = [b"https://example.org/page"] * 7 + [b"https://example.org/pages", b"a"] * 2
    bounds = np.cumsum([0, *map(len, strings)]).astype(np.int64)
    order = byte_sort.sort_strings(np.frombuffer(b"".join(strings), np.uint8), bounds[:-1], bounds[1:])
    assert order.tolist() == [8, 10, *range(7), 7, 9]
