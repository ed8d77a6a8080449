"""Letting go of old responses: the newest of every live page stays readable, whatever happens in between."""

import os
import time

import pytest
from store_samples import address, make_record, make_result

from periplus.cli import main
from periplus.errors import DiskFailed, NothingHere
from periplus.records import FetchRecord, Outcome
from periplus.settings import StoreSettings
from periplus.store import PageStore, read_warc

SMALL = StoreSettings(rotate_bytes=65_536)
GZIP = StoreSettings(rotate_bytes=65_536, warc="gzip")


def body(number: int, version: int) -> bytes:
    # Noise, so that it stays as long when it is compressed.
    return b"page %d version %d " % (number, version) + os.urandom(2_000)


def put(store: PageStore, number: int, version: int, when: float = 0.0) -> tuple[FetchRecord, bytes]:
    raw = body(number, version)
    made = make_record(number, f"version {version}")
    if when:
        made = FetchRecord(made.url, made.key, made.outcome, when, 200, page=made.page)
    return store.append(made, make_result(number, raw)), raw


def by_rounds(store: PageStore, pages: int = 60, versions: int = 4) -> list[dict[int, tuple[FetchRecord, bytes]]]:
    """Store all pages, then all of them again, as recrawls do."""
    return [{number: put(store, number, version) for number in range(pages)} for version in range(versions)]


def warc_bytes(store: PageStore) -> int:
    return store.statistics().warc_bytes


@pytest.mark.parametrize("settings", [SMALL, GZIP], ids=["zstd", "gzip"])
def test_the_newest_of_each_page_stays_and_older_ones_go(tmp_path, settings):
    with PageStore.open(tmp_path, settings, write=True) as store:
        rounds = by_rounds(store)
        rare, raw = put(store, 999, 0)
        before = warc_bytes(store)
        done = store.apply_retention(keep_bytes=1)
        assert done.files >= 4
        assert warc_bytes(store) < 0.5 * before
        assert done.freed == before - warc_bytes(store)
    for mode in (False, True):
        with PageStore.open(tmp_path, settings, write=mode) as store:
            assert all(store.read_response(made).body == raw for made, raw in rounds[-1].values())
            assert store.read_response(rare).body == raw
            gone = 0
            for made, _ in rounds[0].values():
                try:
                    store.read_response(made)
                except NothingHere:
                    gone += 1
            assert gone == len(rounds[0])
            assert len(list(store.records())) == 241


def test_a_page_seen_once_long_ago_stays_through_many_trims(tmp_path):
    first = {}
    with PageStore.open(tmp_path, SMALL, write=True) as store:
        for number in range(30):
            first[number] = put(store, number, 0)
        for turn in range(6):
            for number in range(100, 160):
                put(store, number, turn)
            store.apply_retention(keep_bytes=1)
            assert all(store.read_response(made).body == raw for made, raw in first.values())
    files = sorted(path.name for path in tmp_path.glob("*.warc.*"))
    assert len([name for name in files if name.startswith("kept-")]) <= 4
    # Kept files are WARC files that anybody can read.
    assert any(name.startswith("kept-") for name in files)
    urls = {page.url for name in files for page in read_warc(tmp_path / name)}
    assert {address(number).url for number in range(30)} <= urls


def test_what_is_gone_or_became_a_copy_is_not_carried(tmp_path):
    with PageStore.open(tmp_path, SMALL, write=True) as store:
        gone, _ = put(store, 1, 0)
        copied, _ = put(store, 2, 0)
        unchanged, raw = put(store, 3, 0)
        for number in range(10, 80):
            put(store, number, 0)
        for number in range(10, 80):
            put(store, number, 1)
        store.append(FetchRecord(gone.url, gone.key, Outcome.GONE, time.time(), 404))
        store.append(
            FetchRecord(copied.url, copied.key, Outcome.OK, time.time(), 200, duplicate_of="http://example.org/page/3")
        )
        store.append(FetchRecord(unchanged.url, unchanged.key, Outcome.NOT_MODIFIED, time.time(), 304))
        store.apply_retention(keep_bytes=1)
        for made in (gone, copied):
            with pytest.raises(NothingHere):
                store.read_response(made)
        assert store.read_response(unchanged).body == raw


def test_age_decides_and_young_files_stay(tmp_path):
    old, now = time.time() - 40 * 86_400, time.time()
    with PageStore.open(tmp_path, SMALL, write=True) as store:
        ancient = [put(store, number, 0, old)[0] for number in range(40)]
        recent = [put(store, number, 1, now) for number in range(80)]
        assert store.apply_retention(keep_days=60).files == 0
        assert store.apply_retention(keep_days=30).files >= 1
        assert sum(store.has_response(made) for made in ancient) < 40
        assert all(store.read_response(made).body == raw for made, raw in recent)


def test_everything_goes_when_that_is_asked_for(tmp_path):
    with PageStore.open(tmp_path, SMALL, write=True) as store:
        rounds = by_rounds(store, versions=2)
        store.apply_retention(keep_bytes=1)
        store.apply_retention(keep_bytes=1, everything=True)
        assert not list(tmp_path.glob("kept-*"))
        assert sum(store.has_response(made) for made, _ in rounds[-1].values()) < 40
        assert len(list(store.records())) == 120
        assert store.find(address(5).key).page.text == "version 1 5"


def test_new_files_never_take_the_name_of_an_old_one(tmp_path):
    names = set()
    for turn in range(4):
        with PageStore.open(tmp_path, SMALL, write=True) as store:
            for number in range(70):
                made, _ = put(store, number, turn)
                names.add((made.warc, made.warc_offset))
            store.apply_retention(keep_bytes=1, everything=True)
    assert len(names) == 280


def test_the_settings_do_it_while_a_crawl_writes(tmp_path):
    limited = StoreSettings(rotate_bytes=65_536, keep_bytes=300_000)
    with PageStore.open(tmp_path, limited, write=True) as store:
        last = by_rounds(store, pages=30, versions=12)[-1]
        assert warc_bytes(store) < 500_000
        assert all(store.read_response(made).body == raw for made, raw in last.values())


def test_shards_share_the_limit(tmp_path):
    limited = StoreSettings(rotate_bytes=65_536, keep_bytes=400_000)
    for folder in (tmp_path, tmp_path / "shard-01", tmp_path / "shard-02"):
        PageStore.open(folder, limited, write=True).close()
    for folder in (tmp_path, tmp_path / "shard-01", tmp_path / "shard-02"):
        with PageStore.open(folder, limited, write=True) as store:
            by_rounds(store, pages=20, versions=12)
            assert store.statistics().warc_bytes < 300_000


STEPS = {
    "relocated file": "periplus.store.retention.sync_folder",
    "table": "periplus.store.relocated_responses.write_arrays",
    "manifest": "periplus.store.store_writer.StoreWriter.remove_warcs",
    "unlink": "pathlib.Path.unlink",
}


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_any_step_loses_nothing(tmp_path, monkeypatch, step):
    store = PageStore.open(tmp_path, SMALL, write=True)
    last = by_rounds(store)[-1]

    class Killed(BaseException):
        pass

    def die(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(STEPS[step], die)
        with pytest.raises(Killed):
            store.apply_retention(keep_bytes=1)
    store._writer._resources.close()  # what the end of the process does
    with PageStore.open(tmp_path, SMALL, write=True) as again:
        assert all(again.read_response(made).body == raw for made, raw in last.values())
        assert len(list(again.records())) == 240
        again.apply_retention(keep_bytes=1)
        assert all(again.read_response(made).body == raw for made, raw in last.values())
        assert warc_bytes(again) < 300_000


def test_a_full_disk_leaves_all_as_it_was(tmp_path, monkeypatch):
    with PageStore.open(tmp_path, SMALL, write=True) as store:
        rounds = by_rounds(store, versions=2)
        with monkeypatch.context() as patch:

            def full(*_, **__):
                raise OSError(28, "No space left on device")

            patch.setattr("periplus.store.retention.os.fsync", full)
            with pytest.raises(DiskFailed):
                store.apply_retention(keep_bytes=1)
        assert all(store.read_response(made).body == raw for turn in rounds for made, raw in turn.values())


def test_a_lost_manifest_is_made_again_from_the_logs(tmp_path):
    with PageStore.open(tmp_path, SMALL, write=True) as store:
        last = by_rounds(store)[-1]
        store.apply_retention(keep_bytes=1)
    (tmp_path / "manifest.json").unlink()
    with PageStore.open(tmp_path, SMALL, write=True) as store:
        assert len(list(store.records())) == 240
        assert all(store.read_response(made).body == raw for made, raw in last.values())


def test_a_reader_follows_what_the_writer_carries_away(tmp_path):
    with PageStore.open(tmp_path, SMALL, write=True) as store:
        last = by_rounds(store, versions=2)[-1]
        store.commit()
        with PageStore.open(tmp_path, SMALL) as reader:
            assert all(reader.read_response(made).body == raw for made, raw in last.values())
            store.apply_retention(keep_bytes=1)
            assert all(reader.read_response(made).body == raw for made, raw in last.values())


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["store", "trim", "--keep-days", "3"]) == 1
    (tmp_path / "periplus-data").mkdir()
    (tmp_path / "periplus-data" / "periplus.json").write_text('{"format": 1}')
    with PageStore.open(tmp_path / "periplus-data" / "store", SMALL, write=True) as store:
        by_rounds(store)
    assert main(["store", "trim"]) == 1
    assert "keep-days" in capsys.readouterr().err
    assert main(["store", "trim", "--keep-bytes", "100000"]) == 0
    assert "moved to a newer file" in capsys.readouterr().out
    assert main(["store", "stats"]) == 0
    assert "240 pages in 240 fetch records" in capsys.readouterr().out
