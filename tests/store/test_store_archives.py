"""Archives in the hands of others: dictionaries of WARC files, records of requests and errors, and the CDXJ index."""

import io
import json
import random
import shutil
import struct

import msgspec
import pytest
import zstandard
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import given
from hypothesis import strategies as st
from store_samples import address, make_record, make_result
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from periplus.errors import BadFile, CorruptFile
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import StoreSettings
from periplus.store import PageStore, check_store_folder, read_warc, repair_store_files, write_cdxj
from periplus.store.warc.surt import sort_key
from periplus.store.warc.warc_dictionary import DICTIONARY_NAME, DICTIONARY_START

WITH_DICTIONARY = StoreSettings(dictionary_kb=1, rotate_bytes=65_536)


def body_of(number: int) -> bytes:
    words = random.Random(number)
    line = " ".join(words.choice(("tide", "harbour", "lighthouse", "keeper", "fog", "buoy")) for _ in range(60))
    return b"<html><head><link rel=stylesheet href=/style.css></head><body><nav>Home</nav><p>" + line.encode()


def fill(folder, settings=WITH_DICTIONARY, numbers=range(300)):
    with PageStore.open(folder, settings, write=True) as store:
        return [store.append(make_record(n), make_result(n, body_of(n))) for n in numbers]


def test_later_files_begin_with_a_dictionary_that_others_read(tmp_path):
    fill(tmp_path)
    first, second, *_ = sorted(tmp_path.glob("pages-*.warc.zst"))
    data = second.read_bytes()
    assert first.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert data[:4] == DICTIONARY_START == struct.pack("<I", 0x184D2A5D)
    size = struct.unpack("<I", data[4:8])[0]
    raw = zstandard.ZstdDecompressor().decompress(data[8 : 8 + size])
    assert raw[:4] == b"\x37\xa4\x30\xec"
    dictionary = zstandard.ZstdCompressionDict(raw)
    engine = zstandard.ZstdDecompressor(dict_data=dictionary)
    rest, records = data[8 + size :], 0
    while rest:
        frame = zstandard.get_frame_parameters(rest)
        assert frame.has_checksum
        assert frame.dict_id == dictionary.dict_id() > 0
        assert frame.content_size < 2**32
        reader = engine.decompressobj()
        assert reader.decompress(rest).startswith(b"WARC/1.1\r\n")
        rest, records = reader.unused_data, records + 1
    found = ArchiveIterator(second.open("rb"), parse_http=True)
    responses = [record.reader.read() for record in found if record.record_type == WarcRecordType.response]
    assert responses == [page.body for page in read_warc(second)]
    assert records == 1 + len(responses)
    plain = tmp_path.parent / f"{tmp_path.name}-plain"
    fill(plain, StoreSettings(rotate_bytes=65_536))
    sizes = [sum(path.stat().st_size for path in folder.glob("pages-*")) for folder in (tmp_path, plain)]
    assert sizes[0] < sizes[1] * 0.8


def test_a_store_with_a_dictionary_reopens_and_reads_every_response(tmp_path):
    records = fill(tmp_path, numbers=range(200)) + fill(tmp_path, numbers=range(200, 260))
    # Without the setting, the file that was begun with a dictionary is filled with it, and the next one has none.
    records += fill(tmp_path, StoreSettings(rotate_bytes=65_536), range(260, 600))
    with PageStore.open(tmp_path, StoreSettings()) as store:
        assert [store.read_response(record).body for record in records] == [body_of(n) for n in range(600)]
    assert list(check_store_folder(tmp_path)) == []
    starts = [path.read_bytes()[:4] == DICTIONARY_START for path in sorted(tmp_path.glob("pages-*.zst"))]
    assert starts[:2] == [False, True]
    assert not starts[-1]
    assert json.loads((tmp_path / "manifest.json").read_bytes())["format"] == 3


def test_retention_keeps_responses_of_files_with_a_dictionary(tmp_path):
    settings = StoreSettings(dictionary_kb=1, rotate_bytes=10_000)
    records = fill(tmp_path, settings)
    with PageStore.open(tmp_path, settings, write=True) as store:
        for n in range(0, 300, 2):
            records[n] = store.append(make_record(n), make_result(n, body_of(n)))
        assert store.apply_retention(keep_bytes=1).relocated > 0
        assert [store.read_response(record).body for record in records] == [body_of(n) for n in range(300)]
    assert list(check_store_folder(tmp_path)) == []


def test_a_damaged_dictionary_is_restored_from_its_copy(tmp_path):
    records = fill(tmp_path)
    path = sorted(tmp_path.glob("pages-*.zst"))[1]
    good, removed = path.read_bytes(), []
    for offset in (0, 5, 40, 400):
        path.write_bytes(good[:offset] + bytes([good[offset] ^ 16]) + good[offset + 1 :])
        assert any(fault.path == path for fault in check_store_folder(tmp_path))
        removed.clear()
        repair = repair_store_files(tmp_path, lambda *parts: removed.append(parts), lambda orphans: None)
        assert repair.lost_responses == [] == repair.unrepaired
        assert removed
        assert path.read_bytes() == good
    assert list(check_store_folder(tmp_path)) == []
    # Without the copy nothing is changed: the records may be well.
    (tmp_path / DICTIONARY_NAME).unlink()
    bad = good[:40] + bytes([good[40] ^ 16]) + good[41:]
    path.write_bytes(bad)
    repair = repair_store_files(tmp_path, lambda *parts: None, lambda orphans: None)
    assert repair.unrepaired
    assert path.read_bytes() == bad
    path.write_bytes(good)
    with PageStore.open(tmp_path, StoreSettings()) as store:
        assert store.read_response(records[-1]).body == body_of(299)


def test_a_damaged_record_beside_a_dictionary_is_repaired_alone(tmp_path):
    records = fill(tmp_path)
    victim = next(record for record in records if record.warc.startswith("pages-00001"))
    path = tmp_path / victim.warc
    data = bytearray(path.read_bytes())
    data[victim.warc_offset + 30] ^= 255
    path.write_bytes(data)
    repair = repair_store_files(tmp_path, lambda *parts: None, lambda orphans: None)
    assert repair.lost_responses == [victim.url]
    assert list(check_store_folder(tmp_path)) == []


@pytest.mark.parametrize("size", [9 << 20, 2**32 - 1])
def test_a_dictionary_of_any_size_from_elsewhere_is_bounded(tmp_path, size):
    path = tmp_path / "pages-00000.warc.zst"
    path.write_bytes(DICTIONARY_START + struct.pack("<I", size) + bytes(100))
    with pytest.raises(BadFile):
        list(read_warc(path))
    bomb = zstandard.ZstdCompressor().compress(bytes(64 << 20))
    path.write_bytes(DICTIONARY_START + struct.pack("<I", len(bomb)) + bomb + bytes(10))
    with pytest.raises(BadFile):
        list(read_warc(path))


def test_requests_and_errors_are_stored_where_wanted(tmp_path):
    sent = (("Host", "example.org"), ("User-Agent", "PeriplusBot/0.1"), ("X-Odd", "a\r\nWARC-Type: response"))
    page = msgspec.structs.replace(make_result(1), sent=sent)
    gone = FetchResult(
        FetchRequest(address(2)), Outcome.GONE, 1.7e9, 404, (("content-type", "text/html"),), raw=b"Gone.", sent=sent
    )
    moved = FetchResult(FetchRequest(address(3)), Outcome.REDIRECT, 1.7e9, 301, (("location", "/page/1"),), sent=sent)
    silent = FetchResult(FetchRequest(address(4)), Outcome.TIMEOUT, 1.7e9, sent=sent)
    settings = StoreSettings(warc="gzip", requests=True, errors=True)
    with PageStore.open(tmp_path, settings, write=True) as store:
        for number, result in enumerate((page, gone, moved, silent), 1):
            record = msgspec.structs.replace(make_record(number), outcome=result.outcome, page=None)
            assert bool(store.append(record, result).warc) == (result is page)
    [path] = tmp_path.glob("pages-*")
    records = [
        (
            r.rec_type,
            r.rec_headers.get_header("WARC-Target-URI"),
            r.http_headers,
            r.content_stream().read(),
            r.rec_headers,
        )
        for r in WarcioIterator(path.open("rb"), check_digests="raise")
    ]
    kinds = [(kind, url and url[-1]) for kind, url, *_ in records]
    assert kinds == [
        ("warcinfo", None),
        *(pair for n in "123" for pair in (("response", n), ("request", n))),
    ]
    assert [r[2].get_statuscode() for r in records[1::2]] == ["200", "404", "301"]
    assert records[3][3] == b"Gone."
    assert records[2][2].statusline == "/page/1 HTTP/1.1"
    assert records[2][2].get_header("X-Odd") == "a WARC-Type: response"
    assert records[2][4].get_header("WARC-Concurrent-To") == records[1][4].get_header("WARC-Record-ID")
    assert list(check_store_folder(tmp_path)) == []
    with PageStore.open(tmp_path / "none", StoreSettings(warc="gzip"), write=True) as store:
        store.append(make_record(2), gone)
        store.append(make_record(1), page)
    assert [r.rec_type for r in WarcioIterator(next((tmp_path / "none").glob("pages-*")).open("rb"))] == [
        "warcinfo",
        "response",
    ]


@pytest.mark.parametrize("settings", [WITH_DICTIONARY, StoreSettings(warc="gzip", rotate_bytes=65_536)])
def test_the_cdxj_index_finds_every_response(tmp_path, settings):
    folders = [tmp_path / "store", tmp_path / "store" / "shard-01"]
    fill(folders[0], settings, range(150))
    fill(folders[1], settings, range(150, 300))
    out = folders[0] / "index.cdxj"
    result = write_cdxj(folders, out)
    lines = out.read_text().splitlines()
    assert result.records == len(lines) == 300
    assert lines == sorted(lines)
    found = {}
    for line in lines:
        key, date, fields = line.split(" ", 2)
        entry = json.loads(fields)
        assert key == sort_key(entry["url"])
        assert (entry["mime"], entry["status"], len(date)) == ("text/html", "200", 14)
        with (folders[0] / entry["filename"]).open("rb") as file:
            if settings is not WITH_DICTIONARY:
                file.seek(int(entry["offset"]))
                record = next(iter(WarcioIterator(io.BytesIO(file.read(int(entry["length"]))))))
                assert record.rec_headers.get_header("WARC-Payload-Digest") == entry["digest"]
                found[entry["url"]] = record.content_stream().read()
            else:
                found[entry["url"]] = body_of(int(entry["url"].rpartition("/")[2]))
    assert found == {address(n).url: body_of(n) for n in range(300)}
    before = {path: path.stat().st_ino for path in folders[0].rglob("pages-*.cdxj")}
    fill(folders[1], settings, range(300, 310))
    assert write_cdxj(folders, out).records == 310
    written = [path for path, inode in before.items() if path.stat().st_ino != inode]
    assert [path.parent for path in written] == [folders[1]]
    shutil.rmtree(folders[1])
    assert write_cdxj(folders[:1], out).records == 150


def test_an_index_of_many_files_is_merged_in_several_passes(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.store.warc.cdxj._MAX_OPEN", 3)
    fill(tmp_path, StoreSettings(rotate_bytes=65_536, warc="gzip"), range(0))
    for n in range(8):
        fill(tmp_path / f"shard-{n:02d}", StoreSettings(), range(n * 5, n * 5 + 5))
    folders = [tmp_path, *sorted(tmp_path.glob("shard-*"))]
    assert write_cdxj(folders, tmp_path / "out.cdxj").records == 40
    lines = (tmp_path / "out.cdxj").read_text().splitlines()
    assert lines == sorted(lines)
    assert len({json.loads(line.split(" ", 2)[2])["filename"] for line in lines}) == 8
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".out")]


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www2.Example.org/", "org,example)/"),
        ("http://example.org:8080/A/b//", "org,example:8080)/a/b"),
        ("https://example.org:443/a?B=2&a=1", "org,example)/a?a=1&b=2"),
        ("http://127.0.0.1:5000/x", "1,0,0,127:5000)/x"),
        ("http://example.org/%7Ea/%25%32%35?q=%C3%A9+b", "org,example)/~a/%25?q=%c3%a9+b"),
        ("http://example.org/a?PHPSESSID=0123456789abcdef0123456789abcdef&b=2", "org,example)/a?b=2"),
        ("http://example.org/(S(4hqa0555fwsecu455xqckv45))/m.aspx", "org,example)/m.aspx"),
        ("http://[::1]/x", "::1)/x"),
    ],
)
def test_keys_are_those_that_replay_tools_look_up(url, key):
    assert sort_key(url) == key


@given(st.text(max_size=80))
def test_any_text_has_a_key(text):
    assert "\n" not in sort_key(f"http://h/{text}")
    sort_key(text)


def test_a_truncated_dictionary_is_damage(tmp_path):
    from periplus.store.warc.warc_dictionary import file_dictionary

    path = tmp_path / "pages-00000.warc.zst"
    path.write_bytes(DICTIONARY_START + struct.pack("<I", 500) + bytes(100))
    with pytest.raises(CorruptFile):
        file_dictionary(path)
