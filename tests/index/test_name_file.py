"""The file of names: entries of each key as in columns, in both editions, and damage."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from index.made_pages import random_visits, visit
from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.index import Index, build_index, check_index
from periplus.index.segment_file import SegmentFile
from periplus.index.vocabulary.name_file import (
    NameColumns,
    find_damage,
    known_names,
    name_columns,
    name_entries,
    shorten_keys,
    write_name_file,
)
from periplus.settings import IndexSettings

COLUMNS = ("name_key", "name_document", "name_kind", "name_weight")


def made_names(seed: int, count: int, documents: int, bits: int) -> NameColumns:
    """Return names of random keys of so many bits, the upper ones: several documents have the same."""
    random = np.random.default_rng(seed)
    keys = np.sort(random.integers(0, 1 << bits, count, dtype=np.uint64) << np.uint64(64 - bits) | np.uint64(1))
    kinds = (random.integers(0, high, count).astype(kind) for high, kind in ((5, np.uint8), (256, np.uint8)))
    return NameColumns(keys, random.integers(0, documents, count).astype(np.int32), *kinds)


@pytest.fixture(params=[(0, 0, 4), (1, 1, 48), (600, 3, 6), (600, 900, 8), (5_000, 70_000, 12), (40_000, 250_000, 46)])
def names(request: pytest.FixtureRequest) -> tuple[NameColumns, int]:
    count, documents, bits = request.param
    return made_names(count, count, max(1, documents), bits), documents


def assert_has(file: SegmentFile, names: NameColumns) -> None:
    for found, written in zip(name_columns(file), names, strict=True):
        assert found.dtype == written.dtype
        np.testing.assert_array_equal(found, written)
    own = np.unique(names.key)
    other = np.uint64(1 << 17)
    asked = np.concatenate((own, own ^ other, own ^ np.uint64(1), np.array([0, 1, (1 << 64) - 1], np.uint64)))
    known = known_names(file, asked)
    assert known.tolist() == np.isin(asked, own).tolist()
    for key in asked[:: max(1, len(asked) // 500)].tolist():
        rows = np.flatnonzero(names.key == np.uint64(key))[:7]
        assert name_entries(file, key, 7) == np.stack([column[rows] for column in names[1:]], axis=1).tolist()


def test_names_are_found_as_in_columns(names: tuple[NameColumns, int], tmp_path: Path) -> None:
    columns, documents = names
    mentions = np.arange(documents, dtype=np.int32) % 9
    write_name_file(tmp_path, columns, mentions)
    file = SegmentFile(tmp_path / "names.arrays", "names")
    assert find_damage(file, documents) == ""
    assert find_damage(file, documents + 1) == "mentions"
    np.testing.assert_array_equal(file["mentions"], mentions)
    assert_has(file, columns)


def test_names_of_earlier_segments_are_read(names: tuple[NameColumns, int], tmp_path: Path) -> None:
    columns, documents = names
    arrays: dict[str, Any] = dict(zip(COLUMNS, columns, strict=True))
    write_arrays(tmp_path / "names.arrays", "names", arrays | {"mentions": np.zeros(documents, np.int32)}, format=3)
    file = SegmentFile(tmp_path / "names.arrays", "names")
    assert find_damage(file, documents) == ""
    assert_has(file, columns)


@pytest.mark.parametrize(
    ("array", "value"), [("name_document", 1 << 20), ("name_kind", 9), ("name_key", 0), ("mentions", -2)]
)
def test_damaged_columns_are_refused(tmp_path: Path, array: str, value: int) -> None:
    build_index(random_visits(4, 60), tmp_path, IndexSettings())
    path = next(tmp_path.glob("seg-*/names.arrays"))
    file = Index.open(tmp_path).segments[0].files["names"]
    arrays: dict[str, Any] = dict(zip(COLUMNS, map(np.array, name_columns(file)), strict=True))
    arrays["mentions"] = np.array(file["mentions"])
    assert len(arrays["name_key"])
    write_arrays(path, "names", arrays, format=3)
    assert check_index(tmp_path) == []
    arrays[array][-1] = value
    write_arrays(path, "names", arrays, format=3)
    with pytest.raises(CorruptFile, match=array):
        Index.open(tmp_path)


def test_names_of_equal_short_keys_are_those_of_one(tmp_path: Path) -> None:
    key = 5 << 40
    names = NameColumns(
        np.array([key + 1, key + 1, key + 3, key + 3, key + (1 << 16) + 1], np.uint64),
        np.array([4, 6, 6, 2, 1], np.int32),
        np.array([0, 2, 1, 3, 0], np.uint8),
        np.array([9, 8, 7, 6, 5], np.uint8),
    )
    assert shorten_keys(names.key).tolist() == [key + 1] * 4 + [key + (1 << 16) + 1]
    write_name_file(tmp_path, names, np.zeros(9, np.int32))
    file = SegmentFile(tmp_path / "names.arrays", "names")
    assert find_damage(file, 9) == ""
    assert name_entries(file, key + 3, 7) == [[4, 0, 9], [6, 1, 7], [2, 3, 6]]
    assert name_entries(file, key + (1 << 16) + 1, 7) == [[1, 0, 5]]


def test_rows_of_all_forms_are_read(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    count = 3_000
    keys = np.sort(random.integers(0, 900, count)).astype(np.uint64) << np.uint64(50) | np.uint64(1)
    documents = np.cumsum(random.integers(1, 3, count)).astype(np.int32)
    columns = NameColumns(
        keys, documents, random.integers(0, 2, count).astype(np.uint8), random.integers(0, 4, count).astype(np.uint8)
    )
    write_name_file(tmp_path, columns, np.zeros(int(documents[-1]) + 1, np.int32))
    file = SegmentFile(tmp_path / "names.arrays", "names")
    assert find_damage(file, int(documents[-1]) + 1) == ""
    assert_has(file, columns)


def test_any_changed_byte_is_refused_or_harmless(tmp_path: Path) -> None:
    visits = [visit(f"https://names.test/{n}", f"Title {n % 90}", f"Text of {n}.") for n in range(300)]
    build_index(visits, tmp_path, IndexSettings())
    path = next(tmp_path.glob("seg-*/names.arrays"))
    stored = ArrayFile(path, "names")
    arrays = {name: stored[name].copy() for name in stored.sizes()}
    random, refused = np.random.default_rng(1), 0
    for name in (*["keys", "rows", "bucket_key", "bucket_row", "bits", "common", "count"] * 30,):
        changed = arrays[name].copy()
        flat = changed.view(np.uint8)
        flat[random.integers(len(flat))] ^= np.uint8(1 << random.integers(8))
        if random.random() < 0.1:
            changed = changed[:-1]
        path.unlink()
        write_arrays(path, "names", arrays | {name: changed}, stored.notes, format=4)
        try:
            file = Index.open(tmp_path).segments[0].files["names"]
        except CorruptFile:
            refused += 1
            continue
        columns = name_columns(file)
        assert int(columns.document.max()) < len(visits)
        assert known_names(file, columns.key).all()
    assert refused > 60
