"""The page store: round trips, rotation, reading while writing, look-up by key."""

import random

import msgspec
import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_samples import address, make_record, make_result

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile, DataError, FolderInUse, NothingHere
from periplus.records import FetchRecord, FetchResult, Outcome, Page
from periplus.settings import StoreSettings
from periplus.store import PageStore
from periplus.store.key_index import KeyIndex
from periplus.store.log_frames import RecordBatch

SMALL = StoreSettings(rotate_bytes=65_536)


@pytest.fixture(params=["zstd", "gzip"])
def kind(request):
    return StoreSettings(warc=request.param)


def test_visits_and_responses_come_back(tmp_path, kind):
    with PageStore.open(tmp_path / "store", kind, write=True) as store:
        written = [store.append(make_record(n), make_result(n, b"body %d" % n * 50)) for n in range(20)]
        assert store.commit() == 20
    reader = PageStore.open(tmp_path / "store", kind)
    assert list(reader.records()) == written
    for n, one in enumerate(written):
        response = reader.read_response(one)
        assert response.body == b"body %d" % n * 50
        assert (response.url, response.status, response.when) == (one.url, 200, 1_700_000_000.25 + n)


def test_what_is_appended_can_be_read_before_a_flush(tmp_path):
    with PageStore.open(tmp_path, StoreSettings(), write=True) as store:
        one = store.append(make_record(1), make_result(1))
        assert list(store.records()) == [one]
        assert store.read_response(one).body == b"<p>Hello"
        assert store.find(one.key) == one


def test_only_good_bodies_are_kept(tmp_path):
    gone = FetchResult(make_result(1).request, Outcome.GONE, 1.0, 404, body=b"not here")
    with PageStore.open(tmp_path, StoreSettings(), write=True) as store:
        assert store.append(make_record(1), gone).warc == ""
        assert store.append(make_record(2), make_result(2, b"")).warc == ""
        with pytest.raises(NothingHere):
            store.read_response(store.append(make_record(3)))


@pytest.mark.parametrize("start", [0, 1, 57, 299, 300, 10_000])
def test_reading_begins_anywhere_over_rotated_files(tmp_path, start):
    with PageStore.open(tmp_path, SMALL, write=True) as store:
        for n in range(300):
            # Random-looking text does not compress, so that both kinds of file rotate.
            store.append(make_record(n, "%0500x" % (7**590 * (n + 3) % 16**500)), make_result(n, bytes(range(256)) * 4))
            if n % 10 == 0:
                store.flush()
        assert [v.key for v in store.records(start)] == list(range(start + 1, 301))
    assert len(list(tmp_path.glob("visits-*.log"))) > 1
    reader = PageStore.open(tmp_path, SMALL)
    assert [v.key for v in reader.records(start)] == list(range(start + 1, 301))
    assert reader.statistics().records == reader.statistics().pages == 300


def test_warc_files_rotate_and_stay_readable(tmp_path):
    with PageStore.open(tmp_path, SMALL, write=True) as store:
        written = [
            store.append(make_record(n), make_result(n, (7**9000 * (n + 5)).to_bytes(4000, "little")))
            for n in range(60)
        ]
    assert len({one.warc for one in written}) > 1
    reader = PageStore.open(tmp_path, SMALL)
    assert all(
        reader.read_response(one).body == (7**9000 * (n + 5)).to_bytes(4000, "little") for n, one in enumerate(written)
    )


def test_a_reader_follows_a_writer(tmp_path):
    store = PageStore.open(tmp_path, StoreSettings(), write=True)
    reader = PageStore.open(tmp_path, StoreSettings())
    for n in range(10):
        one = store.append(make_record(n), make_result(n))
        store.flush()
        assert [v.key for v in reader.records()] == list(range(1, n + 2))
        assert reader.find(one.key) == one
        assert reader.read_response(one).status == 200
        assert reader.statistics().records == n + 1
    store.close()


def test_a_second_writer_is_refused(tmp_path):
    with PageStore.open(tmp_path, StoreSettings(), write=True), pytest.raises(FolderInUse):
        PageStore.open(tmp_path, StoreSettings(), write=True)
    PageStore.open(tmp_path, StoreSettings(), write=True).close()


def test_a_reader_cannot_write_and_an_absent_store_is_said_to_be(tmp_path):
    with pytest.raises(NothingHere):
        PageStore.open(tmp_path / "none", StoreSettings())
    PageStore.open(tmp_path, StoreSettings(), write=True).close()
    with pytest.raises(DataError):
        PageStore.open(tmp_path, StoreSettings()).append(make_record(1))


def test_a_store_grows_over_many_openings_and_a_changed_compression(tmp_path):
    for n in range(6):
        kind = StoreSettings(warc="gzip" if n % 2 else "zstd")
        with PageStore.open(tmp_path, kind, write=True) as store:
            store.append(make_record(n), make_result(n, b"%d" % n))
    reader = PageStore.open(tmp_path, StoreSettings())
    assert [reader.read_response(v).body for v in reader.records()] == [b"%d" % n for n in range(6)]


def test_find_returns_the_newest_successful_record(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.store.key_index._SAVE_AT", 8)
    with PageStore.open(tmp_path, StoreSettings(), write=True) as store:
        for n in range(50):
            store.append(make_record(n))
        store.commit()
        assert store.find(7) == make_record(6)
        newer = store.append(msgspec.structs.replace(make_record(6), etag="new"))
        store.append(FetchRecord(newer.url, newer.key, Outcome.NOT_MODIFIED, 5.0))
        assert store.find(7) == newer
    assert (tmp_path / "visits.keys").exists()
    assert PageStore.open(tmp_path, StoreSettings()).find(7) == newer
    assert PageStore.open(tmp_path, StoreSettings()).find(50) == make_record(49)
    assert PageStore.open(tmp_path, StoreSettings()).find(2**64 - 1) is None


def test_find_latest_returns_the_newest_record_whatever_its_outcome(tmp_path, monkeypatch):
    """Against a plain walk through the log, over several openings, by files and by what came since."""
    chance, known = random.Random(7), {}
    monkeypatch.setattr("periplus.store.key_index._SAVE_AT", 8)
    for _ in range(4):
        with PageStore.open(tmp_path, StoreSettings(), write=True) as store:
            for _ in range(40):
                n, outcome = chance.randrange(25), chance.choice((Outcome.OK, Outcome.GONE, Outcome.TIMEOUT))
                one = (
                    make_record(n)
                    if outcome is Outcome.OK
                    else FetchRecord(make_record(n).url, n + 1, outcome, chance.random())
                )
                store.append(one)
                known[n + 1] = one
                if chance.random() < 0.2:
                    store.commit()
                    assert store.find_latest(n + 1) == one
    reader = PageStore.open(tmp_path, StoreSettings())
    assert {key: reader.find_latest(key) for key in range(1, 26)} == {key: known.get(key) for key in range(1, 26)}
    assert reader.find_latest(999) is None
    read, add_frame = [], KeyIndex._add_frame
    monkeypatch.setattr(
        KeyIndex, "_add_frame", lambda self, log, frame: (read.append(frame.records), add_frame(self, log, frame))
    )
    assert PageStore.open(tmp_path, StoreSettings()).find_latest(1) == known[1]
    assert sum(read) < 40, "of the log, only what the file does not know is read"


def test_keys_written_before_failures_were_known_are_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.store.key_index._SAVE_AT", 8)
    with PageStore.open(tmp_path, StoreSettings(), write=True) as store:
        for n in range(20):
            store.append(make_record(n) if n % 2 else FetchRecord(make_record(n).url, n + 1, Outcome.GONE, 5.0))
        store.commit()
        store.find(1)
    path = tmp_path / "visits.keys"
    file = ArrayFile(path, "visit-keys")
    old = {name: np.array(file[name]) for name in ("keys", "places")}
    write_arrays(path, "visit-keys", old, dict(file.notes))
    reader = PageStore.open(tmp_path, StoreSettings())
    assert reader.find_latest(1).outcome is Outcome.GONE
    assert reader.find_latest(2) == make_record(1)
    assert reader.find(1) is None


def test_a_damaged_or_foreign_key_file_is_rebuilt(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.store.key_index._SAVE_AT", 8)
    for name in ("a", "b"):
        with PageStore.open(tmp_path / name, StoreSettings(), write=True) as store:
            for n in range(50 if name == "a" else 20):
                store.append(make_record(n, name))
            store.commit()
            store.find(1)
    keys = tmp_path / "b" / "visits.keys"
    keys.write_bytes((tmp_path / "a" / "visits.keys").read_bytes())
    assert PageStore.open(tmp_path / "b", StoreSettings()).find(3) == make_record(2, "b")
    raw = bytearray(keys.read_bytes())
    raw[-100] ^= 255
    keys.write_bytes(raw)
    assert PageStore.open(tmp_path / "b", StoreSettings()).find(3) == make_record(2, "b")


def test_a_visit_cannot_lead_out_of_the_folder(tmp_path):
    with PageStore.open(tmp_path / "s", StoreSettings(), write=True) as store, pytest.raises(CorruptFile):
        store.read_response(msgspec.structs.replace(make_record(1), warc="../secret.warc.zst"))


def test_an_absurdly_large_page_is_left_out_but_its_record_stored(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.store.store_writer._MAX_RECORD", 10_000)
    with PageStore.open(tmp_path, StoreSettings(), write=True) as store:
        assert store.append(make_record(1, "x" * 20_000)).page is None
        assert [v.key for v in store.records()] == [2]


ANY_TEXT = st.text(max_size=40)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(ANY_TEXT, st.binary(max_size=200), st.booleans(), st.integers(0, 2**64 - 1)), max_size=12)
)
def test_any_sequence_comes_back(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("any")
    written = []
    with PageStore.open(folder, StoreSettings(), write=True) as store:
        for n, (text, body, flush, key) in enumerate(rows):
            one = FetchRecord(
                address(n).url, key, Outcome.OK, 1.5, page=Page(address(n).url, title=text, text=text * 3)
            )
            written.append(store.append(one, make_result(n, body)))
            if flush:
                store.flush()
    reader = PageStore.open(folder, StoreSettings())
    assert list(reader.records()) == written
    for one, (_, body, _, _) in zip(written, rows, strict=True):
        assert (reader.read_response(one).body if one.warc else b"") == body


def test_lone_surrogates_do_no_harm(tmp_path):
    with PageStore.open(tmp_path, StoreSettings(), write=True) as store:
        store.append(make_record(1, "bad \ud800 text"), make_result(1, headers=(("x-odd", "\udcff"),)))
        assert next(store.records()).page.text == "bad ? text 1"


def test_a_frame_has_the_records_of_its_batch_that_were_not_left_out():
    batch = RecordBatch()
    for first in (1, 4):
        kept = [make_record(first, "x" * 50_000), make_record(first + 1, "short"), make_record(first + 2, "bad \ud800")]
        assert batch.add(kept[0])
        assert not batch.add(make_record(9, "y" * 3_000), 2_000)
        with pytest.raises(TypeError):
            batch.add(msgspec.structs.replace(make_record(9), page={("z" * 500,): object()}))
        assert batch.add(kept[1], 2_000)
        assert batch.add(kept[2])
        frame = batch.pack(3, 7, 8, 1)
        plain = zstandard.decompress(frame[32:])
        decoded = msgspec.msgpack.decode(plain, type=list[FetchRecord])
        assert decoded[:2] == kept[:2]
        assert decoded[2].page.text == f"bad ? {first + 2}"
        assert (batch.records, batch.size) == (3, len(plain) - 5)
        batch.clear()
        assert (batch.records, batch.size) == (0, 0)
