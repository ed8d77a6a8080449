"""WARC files: ours in the hands of others, others' in ours, and hostile ones."""

import base64
import contextlib
import gzip
import io
import zlib
from pathlib import Path

import brotli
import msgspec
import pytest
import zstandard
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import address, make_record, make_result
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from periplus.errors import BadFile, CorruptFile
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import StoreSettings
from periplus.store import PageStore, read_warc
from periplus.store.warc.warc_reader import check_record
from periplus.store.warc.warc_writer import _digests, info_record

SUITE = Path(__file__).parents[3] / "shared" / "data" / "suites" / "warc"
EXPECTED = {
    "bad.arc": None,
    "example-bad-non-chunked.warc.gz": 1,
    "example-bad.warc.gz.bad": 2,
    "example-iana.org-chunked.warc": 1,
    "example-resource.warc.gz": 1,
    "example-space-in-target-uri.warc.gz": 1,
    "example-space-in-url.arc": None,
    "example-trunc.warc": 1,
    "example-wget-bad-target-uri.warc.gz": 3,
    "example-wrong-chunks.warc.gz": 1,
    "example.arc": None,
    "example.arc.gz": None,
    "example.warc": 1,
    "example.warc.gz": 1,
    "post-test.warc.gz": 3,
}


def store_of(folder, compression, count=5, **more):
    with PageStore.open(folder, StoreSettings(warc=compression), write=True) as store:
        for n in range(count):
            store.append(make_record(n), make_result(n, b"<p>body %d</p>" % n, **more))
    return next(folder.glob("pages-*.warc.*"))


def plain(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_fastwarc_reads_ours_and_its_digests_hold(tmp_path, compression):
    path = store_of(tmp_path, compression, headers=(("content-encoding", "br"), ("transfer-encoding", "chunked")))
    stream = path.open("rb") if compression == "gzip" else io.BytesIO(plain(path))
    records = 0
    for n, record in enumerate(ArchiveIterator(stream, parse_http=False)):
        if n == 0:
            assert record.record_type == WarcRecordType.warcinfo
            continue
        assert record.verify_block_digest()
        record.parse_http()
        assert record.verify_payload_digest()
        assert record.headers["WARC-IP-Address"] == "192.0.2.7"
        assert record.http_headers["content-length"] == str(len(b"<p>body 0</p>"))
        assert record.reader.read() == b"<p>body %d</p>" % (n - 1)
        records += 1
    assert records == 5


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_warcio_reads_ours(tmp_path, compression):
    path = store_of(tmp_path, compression, headers=(("content-encoding", "gzip"), ("transfer-encoding", "chunked")))
    stream = path.open("rb") if compression == "gzip" else io.BytesIO(plain(path))
    found = []
    for record in WarcioIterator(stream, check_digests="raise"):
        if record.rec_type == "response":
            assert record.http_headers.get_statuscode() == "200"
            found.append((record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read()))
    assert found == [(address(n).url, b"<p>body %d</p>" % n) for n in range(5)]


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_we_read_ours(tmp_path, compression):
    path = store_of(tmp_path, compression)
    pages = list(read_warc(path))
    assert [(p.url, p.status, p.body) for p in pages] == [
        (address(n).url, 200, b"<p>body %d</p>" % n) for n in range(5)
    ]
    assert pages[0].header("content-type") == "text/html"
    bare = tmp_path / "plain.warc"
    bare.write_bytes(plain(path))
    assert list(read_warc(bare)) == pages


@settings(max_examples=60, deadline=None)
@given(url=st.text(max_size=60), name=st.text(max_size=30), value=st.text(max_size=60), ip=st.text(max_size=10))
def test_no_header_can_be_smuggled_in(tmp_path_factory, url, name, value, ip):
    from periplus.store.warc.warc_writer import response_record

    place = address(1)
    hostile = FetchResult(
        FetchRequest(type(place)("http://h/" + url, "http", "h", 80, "/", "h", 1)),
        Outcome.OK,
        float("1e18"),
        200,
        ((name, value), ("x-last", "a\r\nWARC-Type: request\r\n\r\nWARC/1.1\r\n")),
        b"body",
        ip=ip,
    )
    record = response_record(hostile)
    head, _, rest = record.partition(b"\r\n\r\n")
    names = [line.split(b":")[0] for line in head.split(b"\r\n")[1:]]
    assert len(names) == len(set(names))
    assert set(names) <= {
        b"WARC-Type", b"WARC-Record-ID", b"WARC-Date", b"WARC-Target-URI", b"WARC-Payload-Digest",
        b"WARC-Block-Digest", b"WARC-IP-Address", b"Content-Type", b"Content-Length",
    }  # fmt: skip
    assert rest.partition(b"\r\n\r\n")[2] == b"body\r\n\r\n"
    path = tmp_path_factory.mktemp("w") / "one.warc"
    path.write_bytes(record)
    assert [page.body for page in read_warc(path)] == [b"body"]


@pytest.mark.data
@pytest.mark.skipif(not SUITE.exists(), reason="../shared/data/suites/warc is absent")
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_suite_of_odd_files(name):
    pages, error = read_all(SUITE / name)
    if EXPECTED[name] is None:
        assert not pages
        assert "no WARC records" in str(error)
    else:
        assert len(pages) == EXPECTED[name]
        assert all(page.url and not page.url.startswith("<") and page.body for page in pages)


@pytest.mark.data
@pytest.mark.skipif(not SUITE.exists(), reason="../shared/data/suites/warc is absent")
def test_every_file_of_the_suite_ends_calmly():
    for path in sorted(SUITE.iterdir()):
        read_all(path)


def read_all(path):
    pages = []
    try:
        for page in read_warc(path):
            pages.append(page)  # noqa: PERF402
    except BadFile as error:
        return pages, error
    return pages, None


@pytest.mark.parametrize("kind", ["plain", "gzip", "zstd"])
def test_a_file_that_is_cut_off_says_so_after_the_readable_part(tmp_path, kind):
    path = store_of(tmp_path / "store", "gzip" if kind == "gzip" else "zstd", count=4)
    whole = plain(path) if kind == "plain" else path.read_bytes()
    name = tmp_path / ("x.warc" if kind == "plain" else path.name)
    last = whole.rindex({"plain": b"WARC/1.1", "gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}[kind])
    end = len(whole) - 4 if kind == "plain" else len(whole)
    for cut in (*range(last + 1, end, 5), end - 1):
        name.write_bytes(whole[:cut])
        pages, error = read_all(name)
        # The zstd reader gives up up to 64 kB before the cut, which is all of this file.
        kept = 0 if kind == "zstd" else 3
        assert [page.body for page in pages[:kept]] == [b"<p>body %d</p>" % n for n in range(kept)]
        assert "truncated" in str(error) or "damaged" in str(error), cut
    name.write_bytes(whole)
    pages, error = read_all(name)
    assert (len(pages), error) == (4, None)


def test_a_long_record_that_is_passed_over_and_cut_off(tmp_path):
    path = tmp_path / "long.warc"
    path.write_bytes(bomb_record(5000) + b"x" * 4000)
    with pytest.raises(BadFile, match="truncated in record 1"):
        list(read_warc(path, max_body=1000))


@settings(max_examples=80, deadline=None)
@given(cut=st.floats(0, 1), at=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255), kind=st.integers(0, 2))
def test_damage_gives_the_readable_part_or_a_reason(tmp_path_factory, cut, at, value, kind):
    folder = tmp_path_factory.mktemp("damaged")
    path = store_of(folder, "gzip" if kind == 0 else "zstd", count=3)
    raw = bytearray(plain(path) if kind == 2 else path.read_bytes())
    raw[int(at * len(raw))] = value
    path = folder / ("x.warc" if kind == 2 else f"x{path.suffix}")
    path.write_bytes(raw[: max(1, int(cut * len(raw)))])
    pages, _ = read_all(path)
    assert len(pages) <= 3


def bomb_record(size):
    return b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: http://b/\r\nContent-Length: %d\r\n\r\n" % size


def test_a_bomb_is_passed_over(tmp_path):
    path = tmp_path / "bomb.warc.zst"
    body = b"\0" * (70 << 20)
    good = b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: http://g/\r\nContent-Length: 2\r\n\r\nok\r\n\r\n"
    pack = zstandard.ZstdCompressor().compress
    path.write_bytes(pack(bomb_record(len(body)) + body + b"\r\n\r\n") + pack(good))
    assert [page.url for page in read_warc(path)] == ["http://g/"]


def test_an_encoded_bomb_is_passed_over(tmp_path):
    inner = gzip.compress(b"\0" * (70 << 20))
    block = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner
    path = tmp_path / "bomb.warc"
    head = b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://b/\r\nContent-Type: application/http\r\n"
    path.write_bytes(head + b"Content-Length: %d\r\n\r\n" % len(block) + block + b"\r\n\r\n")
    assert list(read_warc(path)) == []


def test_a_claim_of_many_gigabytes_ends_the_reading(tmp_path):
    path = tmp_path / "claim.warc"
    path.write_bytes(bomb_record(1 << 45) + b"tiny")
    with pytest.raises(BadFile, match="bomb"):
        list(read_warc(path))


@pytest.mark.parametrize("filling", [b"\n", b"\0", b"WARC/1.1\r\n"])
def test_an_endless_gap_ends_the_reading_after_the_good_part(tmp_path, filling):
    good = b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: http://g/\r\nContent-Length: 2\r\n\r\nok\r\n\r\n"
    path = tmp_path / "gap.warc.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(good + filling * ((8 << 20) // len(filling))))
    pages, error = read_all(path)
    assert [page.body for page in pages] == [b"ok"]
    assert "bomb" in str(error) or "damaged" in str(error)


def test_a_panic_of_the_reader_is_damage(tmp_path, monkeypatch):
    class PanicException(BaseException):
        pass

    def panic(*arguments, **more):
        raise PanicException("unwrap")

    monkeypatch.setattr("periplus.store.warc.warc_reader.ArchiveIterator", panic)
    (tmp_path / "x.warc").write_bytes(b"WARC/1.1\r\n")
    with pytest.raises(BadFile, match="damaged"):
        list(read_warc(tmp_path / "x.warc"))


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(BadFile, match=r"none\.warc"):
        list(read_warc(tmp_path / "none.warc"))


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_flipped_bit_never_changes_a_stored_response(tmp_path, compression):
    path = store_of(tmp_path, compression, count=1)
    whole = path.read_bytes()
    with PageStore.open(tmp_path, StoreSettings()) as store:
        record = next(store.records())
        expected, start = store.read_response(record), record.warc_offset
        for bit in range(8 * start, 8 * len(whole), 3):
            path.write_bytes(whole[: bit // 8] + bytes([whole[bit // 8] ^ 1 << bit % 8]) + whole[bit // 8 + 1 :])
            with contextlib.suppress(CorruptFile):
                assert store.read_response(record) == expected


def test_a_response_whose_digest_is_wrong_is_an_error_and_is_not_imported(tmp_path, caplog):
    """The frames of earlier versions have no checksum: the digest of the record is all there is."""
    path = store_of(tmp_path / "a", "zstd", count=2)
    frames = zstandard.ZstdCompressor(write_checksum=False)
    with PageStore.open(tmp_path / "a", StoreSettings()) as store:
        first, second = store.records()
        start = first.warc_offset
        size = second.warc_offset - start
        plain_record = zstandard.ZstdDecompressor().decompress(path.read_bytes()[start : start + size])
        other = frames.compress(plain_record.replace(b"body 0", b"body 8"))
        path.write_bytes(path.read_bytes()[:start] + other)
        with pytest.raises(CorruptFile, match="digest"):
            store.read_response(first)
        path.write_bytes(path.read_bytes()[:start] + frames.compress(plain_record))
        assert store.read_response(first).body == b"<p>body 0</p>"
        path.write_bytes(path.read_bytes()[:start] + frames.compress(plain_record.replace(b"Digest", b"Digost")))
        with pytest.raises(CorruptFile, match="digest"):
            store.read_response(first)
    bare, ours = tmp_path / "b.warc", tmp_path / "c.warc"
    records = plain_record.replace(b"body 0", b"body 8") + plain_record
    bare.write_bytes(records)
    ours.write_bytes(info_record("c.warc", 0.0) + records)
    assert [page.body for page in read_warc(ours)] == [b"<p>body 0</p>"]
    assert "wrong digest, left out: 1" in caplog.text
    assert [page.body for page in read_warc(bare)] == [b"<p>body 8</p>", b"<p>body 0</p>"]
    assert "wrong digest: 1" in caplog.text


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
def test_a_body_is_stored_as_it_was_sent_and_read_decoded(tmp_path, compression, encoding):
    body = b"<p>" + b"tide " * 2_000
    encode = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}[encoding]
    result = make_result(1, body, headers=(("content-encoding", encoding), ("content-type", "text/html")))
    result = msgspec.structs.replace(result, raw=encode(body))
    with PageStore.open(tmp_path, StoreSettings(warc=compression), write=True) as store:
        record = store.append(make_record(1), result)
        assert store.read_response(record).body == body
        assert check_record(store.read_response_record(record)) == ""
    path = next(tmp_path.glob("pages-*.warc.*"))
    assert result.raw in plain(path)
    assert [page.body for page in read_warc(path)] == [body]
    stream = io.BytesIO(plain(path))
    responses = [record for record in WarcioIterator(stream, check_digests="raise") if record.rec_type == "response"]
    assert len(responses) == 1


def test_a_body_of_unknown_encoding_is_stored_decoded(tmp_path):
    """Headers without the body as it was sent: the record must not claim an encoding."""
    path = store_of(tmp_path, "zstd", 1, headers=(("content-encoding", "gzip"),))
    assert b"x-crawler-content-encoding: gzip" in plain(path)
    assert [page.body for page in read_warc(path)] == [b"<p>body 0</p>"]


@given(st.binary(min_size=20, max_size=20), st.binary(min_size=20, max_size=20))
def test_digests_are_in_base_32(first: bytes, second: bytes) -> None:
    assert _digests(first, second) == tuple(base64.b32encode(raw).decode() for raw in (first, second))
