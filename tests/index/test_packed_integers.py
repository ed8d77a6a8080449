"""Packed columns: as by definition, safe on any bytes, and read as they were written."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.made_pages import random_visits
from naive import packed_integers as naive
from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.index import Index, build_index, check_index
from periplus.index.packed_integers.kernels import MAX_PACKED_BLOCK, pack_integers, unpack_integers
from periplus.index.plain_impacts import are_plain_impacts, pack_plain_impacts, read_plain_impacts
from periplus.index.segment_file import SegmentFile, write_segment_file
from periplus.settings import IndexSettings

LISTS = st.integers(0, 56).flatmap(lambda width: st.lists(st.integers(0, (1 << width) - 1), max_size=150))
BYTES = st.binary(max_size=40) | st.lists(st.sampled_from([0, 1, 7, 56, 57, 127, 128, 255]), max_size=24).map(bytes)


def packed(values: list[int], differences: bool) -> bytes:
    out = np.full(-(-len(values) // 64) * MAX_PACKED_BLOCK, 0xFF, np.uint8)
    return out[: pack_integers(np.array(values, np.int64), differences, out)].tobytes()


def unpacked(raw: bytes, differences: bool, count: int) -> list[int] | None:
    values = np.zeros(count, np.int64)
    most = (1 << 56) - 1
    return values.tolist() if unpack_integers(np.frombuffer(raw, np.uint8), differences, most, values) else None


@given(LISTS, st.booleans())
def test_integers_are_packed_as_by_definition(values: list[int], differences: bool) -> None:
    values = sorted(values) if differences else values
    raw = packed(values, differences)
    assert raw == naive.pack(values, differences)
    assert unpacked(raw, differences, len(values)) == values == naive.unpack(raw, differences, len(values))


@given(BYTES, st.booleans(), st.integers(0, 140))
def test_any_bytes_are_integers_or_damaged(raw: bytes, differences: bool, count: int) -> None:
    assert unpacked(raw, differences, count) == naive.unpack(raw, differences, count)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64, np.int32, np.int64])
def test_columns_are_read_as_they_were_written(kind: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    columns: dict[str, np.ndarray[Any, Any]] = {
        "runs": np.repeat(random.integers(0, 200, 300), random.integers(1, 30, 300)).astype(kind),
        "few": random.integers(0, 8, 3_000).astype(kind),
        "rising": np.sort(random.integers(0, 100, 3_000)).astype(kind),
        "zeros": np.zeros(1_000, kind),
        "short": np.zeros(4, kind),
        "all": random.integers(0, np.iinfo(kind).max, 2_000, dtype=kind, endpoint=True),
        "negative": (np.arange(1_000) - 1).astype(kind),
        "left": np.arange(600).astype(kind),
    }
    write_segment_file(tmp_path, "names", columns, {"other": 1}, packed=[*list(columns)[:-1], "absent"])
    file, plain = SegmentFile(tmp_path / "names.arrays", "names"), ArrayFile(tmp_path / "names.arrays", "names")
    file.check()
    assert file.notes["other"] == 1
    assert {"few", "rising", "zeros"} <= set(file.notes["packed"])
    assert not {"short", "all", "left"} & set(file.notes["packed"])
    for name, column in columns.items():
        assert file[name].dtype == column.dtype
        assert np.array_equal(file[name], column)
        assert not file[name].flags.writeable
        assert plain[name].nbytes <= column.nbytes


@pytest.mark.parametrize(
    "note",
    [
        {"few": ["<u8", 3_001, False]},
        {"few": ["<u8", 1 << 40, False]},
        {"few": ["<u8", -1, False]},
        {"few": ["<f8", 3_000, False]},
        {"few": ["|u1", 3_000, True]},
        {"few": ["<u8", "3000", False]},
        {"few": ["<u8", 3_000]},
        {"raw": ["<u8", 3_000, False]},
        {"absent": ["<u8", 3_000, False]},
        [],
    ],
)
def test_a_note_that_does_not_fit_is_damage(note: Any, tmp_path: Path) -> None:
    few = np.frombuffer(naive.pack([n % 7 for n in range(3_000)], False), np.uint8)
    path = tmp_path / "names.arrays"
    write_arrays(path, "names", {"few": few, "raw": np.zeros(3_000, np.uint64)}, {"packed": note}, format=4)
    with pytest.raises(CorruptFile, match=r"names\.arrays"):
        [file := SegmentFile(path, "names"), [file[name] for name in note]]


@pytest.mark.parametrize("distinct", [1, 5, 400])
def test_impacts_of_plain_postings_are_read_as_they_were_written(distinct: int, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    blocks = 40
    triples = random.integers(0, 256, (distinct, 3)).astype(np.uint8)
    of_documents = triples[random.integers(0, distinct, blocks * 64)]
    impacts = np.ascontiguousarray(of_documents.reshape(blocks, 64, 3).transpose(0, 2, 1)).reshape(-1)
    arrays = pack_plain_impacts(impacts)
    assert ("plain_impact" in arrays) == (distinct == 400)
    write_segment_file(tmp_path, "postings", arrays, packed=("impact_number",))
    file = SegmentFile(tmp_path / "postings.arrays", "postings")
    assert are_plain_impacts(file, blocks)
    assert not are_plain_impacts(file, blocks + 1)
    assert np.array_equal(read_plain_impacts(file), impacts)


def test_packed_arrays_of_a_segment_are_validated(tmp_path: Path) -> None:
    build_index(random_visits(3, 900), tmp_path, IndexSettings())
    assert check_index(tmp_path) == []
    found = 0
    [folder] = tmp_path.glob("seg-*")
    for path in sorted(folder.glob("*.arrays")):
        file = SegmentFile(path, path.stem)
        raw = ArrayFile(path, path.stem)
        arrays = {name: raw[name].copy() for name in raw.sizes()}
        before = path.read_bytes()
        for name, cut in itertools.product(file.notes.get("packed", {}), (0, 1)):
            changed = arrays | {name: arrays[name][:-1] if cut else np.append(np.uint8(200), arrays[name][1:])}
            path.unlink()
            write_arrays(path, path.stem, changed, file.notes, format=file.format)
            with pytest.raises(CorruptFile, match=f"{path.stem}.arrays is damaged in '{name}'"):
                Index.open(tmp_path)
            found += 1
        path.unlink()
        path.write_bytes(before)
    assert found >= 8
    assert check_index(tmp_path) == []
