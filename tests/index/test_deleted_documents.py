"""Documents of segments that count no more, against a dictionary of the last document of each page."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.index.builder import deleted_documents
from periplus.index.index_manifest import SegmentEntry

KEYS = st.integers(0, 7).map(lambda number: number << 61 | number)
SEGMENTS = st.lists(st.lists(KEYS, unique=True, min_size=1, max_size=6), max_size=5)


@given(segments=SEGMENTS, withdrawn=st.sets(KEYS), at_once=st.sampled_from([1, 4, 1 << 20]), data=st.data())
def test_the_last_document_of_a_page_stays_unless_it_is_withdrawn(
    segments: list[list[int]], withdrawn: set[int], at_once: int, data: st.DataObject
) -> None:
    before = [data.draw(st.sets(st.integers(0, len(keys) - 1))) for keys in segments[: data.draw(st.integers(0, 5))]]
    entries = [SegmentEntry(str(number), len(keys)) for number, keys in enumerate(segments)]
    arrays = [np.array(sorted(numbers), np.int64) for numbers in before]
    last = {key: number for number, keys in enumerate(segments) for key in keys}
    expected = [
        {at for at, key in enumerate(keys) if last[key] != number or key in withdrawn}
        | (before[number] if number < len(before) else set())
        for number, keys in enumerate(segments)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deleted_documents, "_KEYS_AT_ONCE", at_once)
        patch.setattr(deleted_documents, "read_keys", lambda _, name: np.array(segments[int(name)], np.uint64))
        found = deleted_documents.find_deleted(Path(), entries, arrays, withdrawn)
    assert [numbers.tolist() for numbers in found] == [sorted(numbers) for numbers in expected]
    assert all(numbers.dtype == np.int64 for numbers in found)
