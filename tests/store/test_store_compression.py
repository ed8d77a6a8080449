"""Compression: round trips within bounds, lines of any kind of file."""

import gzip

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from periplus.errors import BadFile, CorruptFile
from periplus.store import compress, decompress, read_lines


@given(st.binary(max_size=5000), st.integers(1, 19))
def test_round_trip(data, level):
    assert decompress(compress(data, level), len(data)) == data


@given(st.binary(max_size=300))
def test_noise_is_an_error_or_a_frame(data):
    try:
        assert len(decompress(data, 1000)) <= 1000
    except CorruptFile:
        pass


def test_no_more_than_was_allowed_for():
    data = b"\0" * 1_000_000
    stated = compress(data)
    engine = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    silent = engine.compress(data) + engine.flush()
    for frame in (stated, silent):
        assert decompress(frame, 1_000_000) == data
        with pytest.raises(CorruptFile):
            decompress(frame, 999_999)


LINES = [b"one", b"", "zwölf".encode(), b"x" * 200_000, b"last"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, compress], ids=["plain", "gzip", "zstd"])
def test_lines_of_each_kind(tmp_path, pack):
    path = tmp_path / "lines"
    path.write_bytes(pack(b"\n".join(LINES[:2]) + b"\r\n" + b"\n".join(LINES[2:])))
    assert list(read_lines(path)) == LINES


def test_lines_run_over_frames(tmp_path):
    path = tmp_path / "lines.zst"
    path.write_bytes(compress(b"on") + compress(b"e\ntw") + compress(b"o\n"))
    assert list(read_lines(path)) == [b"one", b"two"]


@pytest.mark.parametrize("pack", [gzip.compress, compress], ids=["gzip", "zstd"])
def test_a_file_that_is_cut_off_is_an_error(tmp_path, pack):
    whole = pack(bytes(str(list(range(20_000))), "ascii").replace(b",", b"\n"))
    path = tmp_path / "lines"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadFile, match="lines"):
        list(read_lines(path))


def test_an_endless_line_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.store.compression.MAX_LINE", 1000)
    path = tmp_path / "long"
    path.write_bytes(compress(b"short\n" + b"x" * 2000))
    with pytest.raises(BadFile, match="line 2"):
        list(read_lines(path))


def test_absent_and_empty(tmp_path):
    with pytest.raises(BadFile, match="none"):
        list(read_lines(tmp_path / "none"))
    (tmp_path / "empty").touch()
    assert list(read_lines(tmp_path / "empty")) == []
