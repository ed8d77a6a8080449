"""Stores of several shards read as one: every record once, in one order for everybody, also while they grow."""

import errno
import os
import random
from types import SimpleNamespace

import msgspec
import pytest
from store_samples import make_record, make_result

from periplus.errors import CorruptFile, DiskFailed, NewerFormat
from periplus.settings import StoreSettings
from periplus.store import PageStore, shard_folder
from periplus.store.read_order import ReadOrder

WANTED = StoreSettings(rotate_bytes=65_536)


def open_parts(folder, count):
    return [PageStore.open(shard_folder(folder, number), WANTED, write=True) for number in range(count)]


def test_all_is_read_once_in_an_order_that_stays(tmp_path):
    chance, parts = random.Random(5), open_parts(tmp_path, 3)
    early = PageStore.open(tmp_path, WANTED)
    known: list[str] = []
    for n in range(600):
        chance.choice(parts).append(make_record(n), make_result(n))
        if chance.random() < 0.05:
            for part in parts:
                part.flush()
            # A reader that follows, one that begins anew, and one in the middle see the same.
            known += [one.url for one in early.records(len(known))]
            assert [one.url for one in PageStore.open(tmp_path, WANTED).records()] == known
            middle = chance.randint(0, len(known))
            assert [one.url for one in early.records(middle)] == known[middle:]
    for part in parts:
        part.close()
    known += [one.url for one in early.records(len(known))]
    assert sorted(known) == sorted(make_record(n).url for n in range(600))
    assert early.statistics().records == early.statistics().pages == 600
    assert list(early.records(600)) == list(early.records(10**9)) == []


def test_pages_and_responses_are_found_in_every_part(tmp_path):
    parts = open_parts(tmp_path, 3)
    for n in range(60):
        parts[n % 3].append(make_record(n), make_result(n, b"body %d" % n * 30))
    parts[0].append(msgspec.structs.replace(make_record(7), when=make_record(7).when + 9), make_result(7, b"newer"))
    for part in parts:
        part.close()
    with PageStore.open(tmp_path, WANTED) as store:
        for n in range(60):
            found = store.find(make_record(n).key)
            assert found is not None
            assert store.read_response(found).body == (b"newer" if n == 7 else b"body %d" % n * 30)
            assert store.find_latest(make_record(n).key) == found
        assert store.find(12345) is None
        assert store.find_latest(12345) is None


def test_a_shard_that_comes_later_is_read_too(tmp_path):
    first, second = open_parts(tmp_path, 2)
    first.append(make_record(1))
    first.flush()
    store = PageStore.open(tmp_path, WANTED)
    assert len(list(store.records())) == 1
    third = PageStore.open(shard_folder(tmp_path, 2), WANTED, write=True)
    third.append(make_record(3))
    second.append(make_record(2))
    for part in (first, second, third):
        part.close()
    assert {one.url for one in store.records(1)} == {make_record(2).url, make_record(3).url}


def test_one_store_becomes_several_under_a_reader(tmp_path):
    """Who has read a store that was alone goes on with the same numbers; no order is written before it is needed."""
    first = PageStore.open(tmp_path, WANTED, write=True)
    for n in range(5):
        first.append(make_record(n))
    first.flush()
    store = PageStore.open(tmp_path, WANTED)
    assert len(list(store.records())) == 5
    assert not (tmp_path / "order.bin").exists()
    first.append(make_record(5))
    second = PageStore.open(shard_folder(tmp_path, 1), WANTED, write=True)
    second.append(make_record(6))
    for part in (first, second):
        part.close()
    assert [one.url for one in store.records(5)] == [make_record(5).url, make_record(6).url]
    assert [one.url for one in PageStore.open(tmp_path, WANTED).records()] == [make_record(n).url for n in range(7)]


def test_what_is_torn_or_damaged(tmp_path):
    for part, n in zip(open_parts(tmp_path, 2), range(2), strict=True):
        part.append(make_record(n))
        part.close()
    urls = [one.url for one in PageStore.open(tmp_path, WANTED).records()]
    path = tmp_path / "order.bin"
    good = path.read_bytes()
    for torn in (good[:-3], good + b"x", good[:-16], good[:5], b""):
        path.write_bytes(torn)
        assert sorted(one.url for one in PageStore.open(tmp_path, WANTED).records()) == sorted(urls)
    path.write_bytes(good[:14] + bytes([good[14] ^ 1]) + good[15:])
    with pytest.raises(CorruptFile, match=r"order\.bin is damaged at byte 12"):
        list(PageStore.open(tmp_path, WANTED).records())
    path.write_bytes(good[:8] + b"\x09\0\0\0" + good[12:])
    with pytest.raises(NewerFormat, match="format 9"):
        list(PageStore.open(tmp_path, WANTED).records())
    path.write_bytes(b"something else altogether")
    with pytest.raises(CorruptFile, match="not a read order"):
        list(PageStore.open(tmp_path, WANTED).records())


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    for part in open_parts(tmp_path, 2):
        part.append(make_record(1))
        part.close()

    def refuse(path, *rest):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr("periplus.store.read_order.os", SimpleNamespace(**{**vars(os), "open": refuse}))
    assert len(list(PageStore.open(tmp_path, WANTED).records())) == 2
    assert not (tmp_path / "order.bin").exists()


@pytest.mark.parametrize("left", [b"", b"PERI", bytes(12)])
def test_a_read_order_that_a_power_failure_left_unwritten_is_written_again(tmp_path, left):
    path = tmp_path / "order.bin"
    path.write_bytes(left)
    order = ReadOrder(tmp_path)
    order.extend({0: 3, 1: 2})
    again = ReadOrder(tmp_path)
    again.extend({0: 3, 1: 2})
    assert again.runs == order.runs == [(0, 3), (1, 2)]


def test_a_run_of_the_read_order_that_was_not_synced_is_written_again(tmp_path, monkeypatch):
    ReadOrder(tmp_path).extend({0: 3})
    before = (tmp_path / "order.bin").read_bytes()

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "the disk has failed")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", fail)
        with pytest.raises(DiskFailed):
            ReadOrder(tmp_path).extend({0: 3, 1: 2})
    # What is in memory only must not be read as if it were on disk: later runs are appended to it.
    assert (tmp_path / "order.bin").read_bytes() == before
    order = ReadOrder(tmp_path)
    order.extend({0: 3, 1: 2})
    assert order.runs == [(0, 3), (1, 2)]
