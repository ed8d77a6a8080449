"""Skip entries: packed as by definition, safe on any bytes, and read from segments that have them unpacked."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.made_pages import random_visits
from naive import skip_entries as naive
from naive.skip_entries import Row, pack, unpack
from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.index import Index, build_index, check_index
from periplus.index.plain_impacts import read_plain_impacts
from periplus.index.segment_file import SegmentFile
from periplus.index.skip_entries.kernels import MAX_ROW, add_steps, pack_rows, unpack_rows
from periplus.index.skip_entries.skip_columns import SKIP_COLUMNS, skip_columns
from periplus.settings import IndexSettings

STEP = st.tuples(st.integers(1, 1 << 20), st.integers(0, 1 << 22), st.integers(0, 1 << 22))
BYTES = st.binary(max_size=40) | st.lists(st.sampled_from([0, 1, 127, 128, 255]), max_size=24).map(bytes)


def rows_of(terms: list[list[Row]]) -> list[Row]:
    """Return the rows of terms, given the steps from row to row of each."""
    rows: list[Row] = []
    for steps in terms:
        rows.append((0, 0, 0))
        for one, two, three in steps:
            rows.append((rows[-1][0] + one, rows[-1][1] + two, rows[-1][2] + three))
    return rows


def unpacked(packed: bytes) -> list[Row] | None:
    raw = np.frombuffer(packed, np.uint8)
    count = unpack_rows(raw, np.zeros((0, 3), np.uint32))
    if count < 0:
        return None
    rows = np.zeros((count, 3), np.uint32)
    assert count == 0 or unpack_rows(raw, rows) == count
    return [(a, b, c) for a, b, c in rows.tolist()]


@given(st.lists(st.lists(STEP, max_size=9), max_size=6).map(rows_of))
def test_rows_are_packed_as_by_definition(rows: list[Row]) -> None:
    out = np.zeros(MAX_ROW * len(rows), np.uint8)
    packed = out[: pack_rows(np.array(rows, np.uint32).reshape(-1, 3), out)].tobytes()
    assert packed == pack(rows)
    assert unpacked(packed) == rows == unpack(packed)


@given(BYTES | BYTES.map(lambda raw: b"\0" + raw))
def test_any_bytes_are_rows_or_damaged(packed: bytes) -> None:
    assert unpacked(packed) == unpack(packed)


@given(st.lists(st.lists(STEP, max_size=9), max_size=6).map(rows_of))
def test_columns_have_the_steps_between_rows(rows: list[Row]) -> None:
    columns = skip_columns(np.frombuffer(pack(rows), np.uint8))
    assert [columns[name].tolist() for name in SKIP_COLUMNS] == [list(column) for column in naive.columns(rows)]
    found = np.zeros((len(rows), 3), np.uint32)
    assert add_steps(*(columns[name] for name in SKIP_COLUMNS), found)
    assert [(a, b, c) for a, b, c in found.tolist()] == rows


@given(st.lists(st.tuples(*[st.sampled_from([0, 0, 1, 7, (1 << 32) - 1])] * 3), max_size=12))
def test_any_columns_are_rows_or_damaged(steps: list[Row]) -> None:
    columns = np.array(steps, np.uint32).reshape(-1, 3).T
    found = np.zeros((len(steps), 3), np.uint32)
    valid = add_steps(*(np.ascontiguousarray(column) for column in columns), found)
    rows = naive.add_up(steps)
    assert valid == (rows is not None)
    assert rows is None or [(a, b, c) for a, b, c in found.tolist()] == rows


def test_unpacked_ones_of_earlier_segments_are_read(tmp_path: Path) -> None:
    build_index(random_visits(11, 700), tmp_path, IndexSettings())
    groups = Index.open(tmp_path).segments[0].postings.groups
    assert len(groups) > 0
    [path] = tmp_path.glob("seg-*/postings.arrays")
    whole = ArrayFile(path, "postings")
    assert "groups" not in whole
    arrays = {name: whole[name].copy() for name in ("stream", "positions", "wide")}
    arrays["plain_impact"] = read_plain_impacts(SegmentFile(path, "postings"))
    out = np.zeros(MAX_ROW * len(groups), np.uint8)
    skips = out[: pack_rows(groups, out)]
    path.unlink()
    write_arrays(path, "postings", arrays | {"groups": groups}, format=5)
    assert np.array_equal(Index.open(tmp_path).segments[0].postings.groups, groups)
    assert check_index(tmp_path) == []
    path.unlink()
    write_arrays(path, "postings", arrays | {"groups": groups[:, :2].copy()}, format=5)
    with pytest.raises(CorruptFile, match="groups"):
        Index.open(tmp_path)
    path.unlink()
    write_arrays(path, "postings", arrays | {"skips": skips}, format=5)
    assert np.array_equal(Index.open(tmp_path).segments[0].postings.groups, groups)
    path.unlink()
    write_arrays(path, "postings", arrays | {"skips": skips + np.uint8(1)}, format=5)
    with pytest.raises(CorruptFile, match="skips"):
        Index.open(tmp_path)
