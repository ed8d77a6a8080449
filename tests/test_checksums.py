"""Checksums of JSON files and JSON lines: every flipped bit is noticed, and files of earlier versions still open."""

import errno
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from periplus.checksums import add_checksum
from periplus.errors import CorruptFile, DiskFailed, NewerFormat
from periplus.files import decode_json, encode_json
from periplus.json_lines import append_json_line, check_json_lines, read_json_lines

MAX_BYTES = 1 << 20
PLACE = Path("some.json")


def flipped_bits(data: bytes) -> list[bytes]:
    """Return every file that differs from `data` in one bit."""
    return [data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :] for at in range(len(data)) for bit in range(8)]


@pytest.mark.parametrize("indent", [0, 1])
def test_every_flipped_bit_and_every_cut_of_a_json_file_is_noticed(indent: int) -> None:
    data = encode_json({"format": 2, "pages": {"http://a.test/": 1.5}, "name": "tide"}, indent=indent)
    for damaged in [*flipped_bits(data), *(data[:size] for size in range(len(data)))]:
        with pytest.raises((CorruptFile, NewerFormat)):
            decode_json(PLACE, damaged, dict[str, Any], 2, checksum_since=2)


def test_a_json_file_comes_back_without_its_checksum() -> None:
    value = {"format": 2, "pages": [1, 2]}
    assert decode_json(PLACE, encode_json(value), dict[str, Any], 2, checksum_since=2) == value


def test_a_json_file_of_an_earlier_version_opens_and_one_without_its_checksum_does_not() -> None:
    assert decode_json(PLACE, b'{"format":1,"x":3}', dict[str, Any], 2, checksum_since=2)["x"] == 3
    with pytest.raises(CorruptFile, match="no checksum"):
        decode_json(PLACE, b'{"format":2,"x":3}', dict[str, Any], 2, checksum_since=2)


def test_every_flipped_bit_of_json_lines_is_noticed_and_other_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    for number in range(3):
        append_json_line(path, b'{"n":%d}' % number, 2, MAX_BYTES)
    whole, records = path.read_bytes(), list(read_json_lines(path, 2, 2))
    assert records == [b'{"n":0}', b'{"n":1}', b'{"n":2}']
    for damaged in flipped_bits(whole):
        path.write_bytes(damaged)
        assert any(line.fault for line in check_json_lines(path, 2))
        left = list(read_json_lines(path, 2, 2))
        # A bit of a line end damages the lines on both sides of it.
        assert len(left) >= 1
        assert all(line in records for line in left)


def test_damaged_lines_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "some.jsonl"
    append_json_line(path, b'{"n":7}', 2, MAX_BYTES)
    path.write_bytes(path.read_bytes().replace(b"7", b"6", 1))
    with caplog.at_level(logging.WARNING):
        list(read_json_lines(path, 2, 2))
    assert "some.jsonl" in caplog.text


def test_lines_appended_to_a_file_of_an_earlier_version_have_checksums(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_bytes(b'{"format":1}\n{"n":1}\n')
    for number in (2, 3):
        append_json_line(path, b'{"n":%d}' % number, 2, MAX_BYTES)
    assert list(read_json_lines(path, 2, 2)) == [b'{"n":1}', b'{"n":2}', b'{"n":3}']
    assert path.read_bytes().count(b'{"format":2') == 1
    path.write_bytes(path.read_bytes()[:-10] + b"\n")
    assert [line.fault for line in check_json_lines(path, 2) if line.fault] == ["it has no checksum"]


def test_a_line_that_was_cut_short_is_ended_by_the_next_writer(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    for number in range(2):
        append_json_line(path, b'{"n":%d}' % number, 2, MAX_BYTES)
    path.write_bytes(path.read_bytes()[:-5])
    assert [line.fault for line in check_json_lines(path, 2) if line.fault] == ["it was cut short"]
    append_json_line(path, b'{"n":9}', 2, MAX_BYTES)
    assert list(read_json_lines(path, 2, 2)) == [b'{"n":0}', b'{"n":9}']


def test_a_later_version_and_a_full_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    append_json_line(path, b'{"n":1}', 3, MAX_BYTES)
    with pytest.raises(NewerFormat):
        list(read_json_lines(path, 2, 2))
    with pytest.raises(NewerFormat):
        append_json_line(path, b'{"n":1}', 2, MAX_BYTES)
    assert not append_json_line(tmp_path / "full.jsonl", b'{"n":1}', 2, 4)


def test_a_line_that_is_written_in_pieces_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines.jsonl"
    plain = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: plain(descriptor, bytes(data)[:5]))
    assert append_json_line(path, b'{"n":1}', 2, MAX_BYTES)
    assert list(read_json_lines(path, 2, checksum_since=2)) == [b'{"n":1}']


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_a_line_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "lines.jsonl"
    append_json_line(path, b'{"n":1}', 2, MAX_BYTES)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(DiskFailed, match=r"lines\.jsonl"):
            append_json_line(path, b'{"n":2}', 2, MAX_BYTES)
    assert path.read_bytes() == before


def test_a_line_after_one_that_a_power_failure_may_take_stands_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(add_checksum(b'{"format":2}') + b"\n" + add_checksum(b'{"a":1}') + b"\n")  # by another process
    for number in (2, 3):
        append_json_line(path, b'{"a":%d}' % number, 2, 1_000)
    written = path.read_bytes()
    assert list(read_json_lines(path, 2, 2)) == [b'{"a":1}', b'{"a":2}', b'{"a":3}']
    first = written.index(b'{"a":2') - 1
    path.write_bytes(bytes(first) + written[first:])
    assert list(read_json_lines(path, 2, 2)) == [b'{"a":2}', b'{"a":3}']
