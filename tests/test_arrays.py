"""Array files: what goes in comes out, and no damage goes unnoticed."""

import errno
import gc
import os
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import periplus.arrays as arrays_module
from periplus.arrays import ArrayFile, check_files, write_arrays
from periplus.errors import CorruptFile, DiskFailed, NewerFormat

TYPES = ["|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f4", "<f8", "|b1"]
ANY_ARRAY = st.sampled_from(TYPES).flatmap(
    lambda kind: arrays_of.arrays(
        np.dtype(kind), arrays_of.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=9)
    )
)
SAMPLE = {
    "numbers": np.arange(1000, dtype=np.int64),
    "bytes": np.frombuffer(b"abc" * 9, np.uint8),
    "none": np.zeros(0, "<f4"),
}


@given(st.dictionaries(st.text(max_size=8), ANY_ARRAY, max_size=4))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_goes_in_comes_out(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    path = tmp_path / "a.arrays"
    length = write_arrays(path, "test", arrays, {"note": 1})
    file = ArrayFile(path, "test")
    file.check()
    assert path.stat().st_size == length
    assert file.notes == {"note": 1}
    assert set(file.sizes()) == set(arrays)
    for name, array in arrays.items():
        assert name in file
        assert file[name].dtype == array.dtype
        np.testing.assert_array_equal(file[name], array)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample.arrays"
    write_arrays(path, "test", SAMPLE)
    return path


def test_arrays_are_aligned_and_read_only(sample: Path) -> None:
    view = ArrayFile(sample, "test")["numbers"]
    assert view.ctypes.data % 64 == 0
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_the_wrong_kind_and_a_missing_array_are_named(sample: Path) -> None:
    with pytest.raises(CorruptFile, match="holds 'test', not 'other'"):
        ArrayFile(sample, "other")
    with pytest.raises(CorruptFile, match="has no array 'more'"):
        ArrayFile(sample, "test")["more"]


def test_every_flipped_bit_is_noticed(sample: Path) -> None:
    whole = sample.read_bytes()
    rng = np.random.default_rng(1)
    used = _used(whole)
    flips = [(position, bit) for position in range(24) for bit in range(8)]
    flips += [(position, int(rng.integers(8))) for position in rng.choice(used, 300).tolist()]
    for position, bit in flips:
        sample.write_bytes(whole[:position] + bytes([whole[position] ^ (1 << bit)]) + whole[position + 1 :])
        with pytest.raises((CorruptFile, NewerFormat), match=r"sample\.arrays"):
            ArrayFile(sample, "test").check()


def _used(whole: bytes) -> np.ndarray:
    """Positions that carry meaning: all but the zeros that pad the header and the arrays."""
    length = struct.unpack_from("<I", whole, 12)[0]
    start = -(-(16 + length + 8) // 64) * 64
    parts = [np.arange(16 + length + 8)]
    for array in SAMPLE.values():
        parts.append(np.arange(start, start + array.nbytes))
        start += -(-array.nbytes // 64) * 64
    return np.concatenate(parts)


def test_every_truncation_is_noticed(sample: Path) -> None:
    whole = sample.read_bytes()
    end = int(_used(whole)[-1])
    for length in [*range(0, 200), *range(200, end, 97), end]:
        sample.write_bytes(whole[:length])
        with pytest.raises(CorruptFile, match=r"sample\.arrays"):
            ArrayFile(sample, "test").check()


def test_a_newer_version_is_refused(sample: Path) -> None:
    whole = bytearray(sample.read_bytes())
    struct.pack_into("<I", whole, 8, 2)
    sample.write_bytes(whole)
    with pytest.raises(NewerFormat, match="format 2"):
        ArrayFile(sample, "test")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorruptFile, match=r"none\.arrays"):
        ArrayFile(tmp_path / "none.arrays", "test")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system does not say what is resident")
def test_checking_leaves_nothing_in_memory_and_everything_readable(tmp_path: Path) -> None:
    values = np.arange(1 << 20, dtype=np.int32)
    write_arrays(tmp_path / "large.arrays", "sample", {"values": values})
    opened = ArrayFile(tmp_path / "large.arrays", "sample")
    opened.check()
    assert _resident_kb(tmp_path / "large.arrays") == 0
    assert np.array_equal(opened["values"], values)
    assert _resident_kb(tmp_path / "large.arrays") >= values.nbytes // 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system does not say what is resident")
def test_a_byte_that_is_read_brings_few_of_its_neighbours_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.arrays"
    write_arrays(path, "sample", {"values": np.ones(1 << 23, np.uint8)})
    opened = ArrayFile(path, "sample")
    before = _resident_kb(path)
    assert opened["values"][1 << 22] == 1
    assert _resident_kb(path) - before <= 512


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system does not say what is resident")
def test_parts_are_read_without_becoming_memory_of_the_process(tmp_path: Path) -> None:
    path, values = tmp_path / "large.arrays", np.arange(1 << 20, dtype=np.uint32).view(np.uint8)
    write_arrays(path, "sample", {"some": np.ones(3), "values": values})
    reader = ArrayFile(path, "sample", parts=True).part_reader("values")
    before = _resident_kb(path)
    for start, stop in [(0, 0), (0, 1), (5, 70_000), (len(values) - 9, len(values)), (len(values), len(values))]:
        assert reader.read(start, stop) == values[start:stop].tobytes()
    assert _resident_kb(path) == before


def _open_files(path: Path) -> int:
    """Return how many descriptors of a file this process has."""
    links = [Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return sum(link.samefile(path) for link in links if link.exists())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system does not list descriptors")
def test_a_reader_of_parts_outlives_its_file_and_closes_its_descriptor(sample: Path) -> None:
    reader = ArrayFile(sample, "test", parts=True).part_reader("bytes")
    with_reader = _open_files(sample)
    opened = ArrayFile(sample, "test")
    assert _open_files(sample) == with_reader + 1  # the mapping has one of its own
    write_arrays(sample.with_name("other"), "test", {"bytes": np.zeros(27, np.uint8)})
    os.replace(sample, sample.with_name("gone"))
    os.replace(sample.with_name("other"), sample)
    assert reader.read(3, 9) == b"abcabc"
    child = os.fork()
    if child == 0:
        os._exit(reader.read(0, 5) != b"abcab")
    assert [reader.read(n, n + 3) for n in range(3)] == [b"abc", b"bca", b"cab"]
    assert os.waitpid(child, 0)[1] == 0
    sample.with_name("gone").replace(sample)
    del reader, opened
    gc.collect()
    assert _open_files(sample) == 0


def test_parts_that_cannot_be_read_are_named(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CorruptFile, match="has no bytes 'numbers'"):
        ArrayFile(sample, "test", parts=True).part_reader("numbers")
    with pytest.raises(CorruptFile, match="has no bytes 'bytes'"):
        ArrayFile(sample, "test").part_reader("bytes")
    reader = ArrayFile(sample, "test", parts=True).part_reader("bytes")
    whole = sample.read_bytes()
    os.truncate(sample, whole.index(b"abcabc") + 20)
    assert reader.read(0, 20) == whole[whole.index(b"abcabc") :][:20]
    with pytest.raises(CorruptFile, match=r"sample\.arrays is cut off in 'bytes'"):
        reader.read(10, 27)

    def fail(*arguments: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(arrays_module.os, "pread", fail)
    with pytest.raises(DiskFailed, match=r"refused .*sample\.arrays"):
        reader.read(0, 5)


def _resident_kb(path: Path) -> int:
    """Give how much of a mapped file this process has in memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    return sum(
        next(int(line.split()[1]) for line in lines if line.startswith("Rss:")) for line in lines if str(path) in line
    )


def test_every_flipped_bit_and_every_cut_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "some.arrays"
    write_arrays(path, "some", {"a": np.arange(5, dtype=np.uint8), "b": np.zeros(0, np.int64), "c": np.ones(3)})
    whole = path.read_bytes()
    damaged = [whole[:size] for size in range(0, len(whole), 9)] + [whole + b"\0", whole + bytes(64)]
    damaged += [
        whole[: bit // 8] + bytes([whole[bit // 8] ^ 1 << bit % 8]) + whole[bit // 8 + 1 :]
        for bit in range(8 * len(whole))
    ]
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises((CorruptFile, NewerFormat)):
            ArrayFile(path, "some", format=0).check()


@pytest.mark.parametrize("large", [0, 1 << 40])
def test_of_several_files_the_first_damaged_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(arrays_module, "_LARGE", large)
    paths = [tmp_path / name for name in "abcd"]
    for path in paths:
        write_arrays(path, "test", {"numbers": np.arange(1_000)})
    check_files([ArrayFile(path, "test") for path in paths])
    for path in paths[1:3]:
        damaged = bytearray(path.read_bytes())
        damaged[-100] ^= 1
        path.write_bytes(damaged)
    with pytest.raises(CorruptFile, match=f"{paths[1]} is damaged"):
        check_files([ArrayFile(path, "test") for path in paths])
