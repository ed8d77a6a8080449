"""What happens to a store in a crash, on a full disk and under damage."""

import errno
import os
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import make_record, make_result

from periplus.errors import CorruptFile, DiskFailed, NewerFormat
from periplus.settings import StoreSettings
from periplus.store import PageStore
from periplus.store.append_file import AppendFile

KIND = StoreSettings()


def committed_then(folder, committed: int, flushed: int):
    """Write a store and leave it as a kill -9 would: some visits durable, some only with the operating system."""
    store = PageStore.open(folder / "live", KIND, write=True)
    for n in range(committed):
        store.append(make_record(n), make_result(n, b"body %d" % n))
    store.commit()
    for n in range(committed, committed + flushed):
        store.append(make_record(n), make_result(n, b"body %d" % n))
        store.flush()
    shutil.copytree(folder / "live", folder / "dead")
    store.close()
    return folder / "dead"


def keys(folder, write):
    with PageStore.open(folder, KIND, write=write) as store:
        found = list(store.records())
        assert [store.read_response(v).body for v in found] == [b"body %d" % (v.key - 1) for v in found]
        assert store.statistics().records == len(found)
        return [v.key for v in found]


@pytest.mark.parametrize("write", [True, False])
def test_flushed_visits_survive_a_kill(tmp_path, write):
    dead = committed_then(tmp_path, 3, 4)
    assert keys(dead, write) == [1, 2, 3, 4, 5, 6, 7]


def test_a_torn_tail_is_cut_at_every_byte(tmp_path):
    dead = committed_then(tmp_path, 2, 2)
    log = dead / "visits-00000.log"
    whole = log.read_bytes()
    warc = (dead / "pages-00000.warc.zst").read_bytes()
    manifest = (dead / "manifest.json").read_bytes()
    with PageStore.open(dead, KIND) as store:
        before_last = len(whole) - _last_frame_length(store, log)
    for length in range(before_last, len(whole)):
        log.write_bytes(whole[:length])
        (dead / "pages-00000.warc.zst").write_bytes(warc)
        (dead / "manifest.json").write_bytes(manifest)
        assert [v.key for v in PageStore.open(dead, KIND).records()] == [1, 2, 3]
        with PageStore.open(dead, KIND, write=True) as store:
            assert log.stat().st_size == before_last
            store.append(make_record(9), make_result(9, b"body 9"))
        assert keys(dead, False) == [1, 2, 3, 10]


def _last_frame_length(store, log):
    from periplus.store.fetch_log import read_file_frames

    frame = list(read_file_frames(log, 0))[-1]
    return frame.end - frame.offset


def test_the_warc_is_cut_to_its_last_referenced_record(tmp_path):
    dead = committed_then(tmp_path, 2, 1)
    warc = dead / "pages-00000.warc.zst"
    whole = warc.stat().st_size
    with warc.open("ab") as file:
        file.write(b"half a record that no fetch record points to")
    (dead / "pages-00001.warc.zst").write_bytes(b"just begun")
    assert keys(dead, True) == [1, 2, 3]
    assert warc.stat().st_size == whole
    assert not (dead / "pages-00001.warc.zst").exists()


def test_a_visit_without_its_whole_record_is_not_kept(tmp_path):
    """After a power cut the log may have reached the disk and the WARC not."""
    dead = committed_then(tmp_path, 2, 2)
    warc = dead / "pages-00000.warc.zst"
    warc.write_bytes(warc.read_bytes()[:-20])
    assert keys(dead, True) == [1, 2, 3]


def test_a_lost_manifest_is_made_again(tmp_path):
    dead = committed_then(tmp_path, 3, 2)
    (dead / "manifest.json").unlink()
    assert keys(dead, False) == [1, 2, 3, 4, 5]
    assert keys(dead, True) == [1, 2, 3, 4, 5]


def test_pages_without_any_log_are_not_thrown_away(tmp_path):
    dead = committed_then(tmp_path, 3, 0)
    (dead / "manifest.json").unlink()
    (dead / "visits-00000.log").unlink()
    with pytest.raises(CorruptFile, match="no fetch log"):
        PageStore.open(dead, KIND, write=True)
    assert (dead / "pages-00000.warc.zst").stat().st_size > 0


@settings(max_examples=60, deadline=None)
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_in_the_durable_part_is_found(tmp_path_factory, where, bit):
    dead = committed_then(tmp_path_factory.mktemp("flip"), 3, 0)
    log = dead / "visits-00000.log"
    raw = bytearray(log.read_bytes())
    at = int(where * len(raw))
    raw[at] ^= 1 << bit
    log.write_bytes(raw)
    if 12 <= at < 16:
        return  # reserved, not read
    with pytest.raises((CorruptFile, NewerFormat), match=str(log)):
        list(PageStore.open(dead, KIND).records())


@settings(max_examples=60, deadline=None)
@given(where=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
def test_damage_to_the_manifest_is_found_or_harmless(tmp_path_factory, where, value):
    dead = committed_then(tmp_path_factory.mktemp("manifest"), 3, 1)
    path = dead / "manifest.json"
    raw = bytearray(path.read_bytes())
    raw[int(where * len(raw))] = value
    path.write_bytes(raw)
    try:
        assert keys(dead, True) == [1, 2, 3, 4]
    except (CorruptFile, NewerFormat) as error:
        assert str(dead) in str(error)  # noqa: PT017


@pytest.mark.parametrize("raw", [b"", b"{}", b"\xff\xfe", b"[1]", b'{"format": 1, "visits": -4}', b'{"format": "x"}'])
def test_a_garbage_manifest_is_an_error(tmp_path, raw):
    dead = committed_then(tmp_path, 1, 0)
    (dead / "manifest.json").write_bytes(raw)
    for write in (True, False):
        with pytest.raises(CorruptFile, match=r"manifest\.json"):
            PageStore.open(dead, KIND, write=write)


def test_a_newer_store_is_refused(tmp_path):
    dead = committed_then(tmp_path, 1, 0)
    (dead / "manifest.json").write_bytes(b'{"format": 99, "shape": "unheard of"}')
    for write in (True, False):
        with pytest.raises(NewerFormat):
            PageStore.open(dead, KIND, write=write)


def test_a_missing_or_short_file_is_named(tmp_path):
    dead = committed_then(tmp_path, 3, 0)
    warc, log = dead / "pages-00000.warc.zst", dead / "visits-00000.log"
    os.truncate(warc, warc.stat().st_size - 1)
    with pytest.raises(CorruptFile, match="pages-00000"):
        PageStore.open(dead, KIND, write=True)
    os.truncate(log, log.stat().st_size - 1)
    with pytest.raises(CorruptFile, match="visits-00000"):
        list(PageStore.open(dead, KIND).records())
    log.unlink()
    with pytest.raises(CorruptFile, match="missing"):
        list(PageStore.open(dead, KIND).records())


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path, monkeypatch):
    real = os.pwrite
    room = 3000

    def pwrite(descriptor, data, offset):
        nonlocal room
        if room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        room -= min(len(data), room) or 1
        return real(descriptor, bytes(data)[: max(1, min(len(data), 500))], offset)

    store = PageStore.open(tmp_path / "s", KIND, write=True)
    taken = []
    monkeypatch.setattr(os, "pwrite", pwrite)
    with pytest.raises(DiskFailed, match="full"):  # noqa: PT012
        for n in range(500):
            taken.append(store.append(make_record(n, os.urandom(600).hex()), make_result(n, os.urandom(500))))
            store.flush()
    with pytest.raises(DiskFailed):
        store.commit()
    assert [v.key for v in PageStore.open(tmp_path / "s", KIND).records()] == [v.key for v in taken[:-1]]
    room = 10**9
    assert store.commit() == len(taken)
    store.close()
    assert list(PageStore.open(tmp_path / "s", KIND).records()) == taken


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE])
def test_what_cannot_be_read_now_is_not_truncated(tmp_path, monkeypatch, number):
    dead = committed_then(tmp_path, 2, 3)
    plain = type(dead).open

    def failing(path, *arguments, **named):
        if path.name.startswith("pages-"):
            raise OSError(number, os.strerror(number), str(path))
        return plain(path, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(type(dead), "open", failing)
        with pytest.raises(DiskFailed, match=r"pages-00000"):
            PageStore.open(dead, KIND, write=True)
    assert keys(dead, write=True) == [1, 2, 3, 4, 5]


def test_what_a_failed_sync_may_have_dropped_is_written_again(tmp_path, monkeypatch):
    file = AppendFile(tmp_path / "file")
    file.add(b"first")
    file.sync()
    file.add(b"second")

    def fail(_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", fail)
        with pytest.raises(DiskFailed):
            file.sync()
    written = []
    plain = os.pwrite
    with monkeypatch.context() as patched:
        patched.setattr(
            os, "pwrite", lambda handle, data, offset: written.append((offset, data)) or plain(handle, data, offset)
        )
        file.sync()
        file.sync()
    assert written == [(5, b"second")]
    assert (tmp_path / "file").read_bytes() == b"firstsecond"


def test_a_new_log_whose_length_alone_survived_is_begun_again(tmp_path):
    with PageStore.open(tmp_path, StoreSettings(), write=True) as store:
        store.commit()
    log = tmp_path / "visits-00000.log"
    (tmp_path / "manifest.json").unlink()
    log.write_bytes(bytes(16))
    assert keys(tmp_path, True) == []
    with PageStore.open(tmp_path, StoreSettings(), write=True) as store:
        store.append(make_record(1), make_result(1, b"body 1"))
        store.commit()
    assert len(keys(tmp_path, False)) == 1
