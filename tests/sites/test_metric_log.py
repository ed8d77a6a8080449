"""Metric logs: what is written is read, within bounds, and damage is left out."""

import pytest

from periplus.sites import (
    DocumentState,
    ForwardedLinks,
    MetricLog,
    PageAccess,
    PageFetch,
    PagePlacement,
    QueryAnswer,
    SiteLocation,
    UrlDiscovery,
    read_metric_log,
)
from periplus.sites.metric_records import decode_metric, encode_metric

RECORDS = [
    SiteLocation(1.0, "zurich", 47.4, 8.5),
    PageFetch(2.0, "zurich", 2**64 - 1, 14_000, 0.3, 48.0, 9.0),
    PageFetch(2.5, "zurich", 8),
    ForwardedLinks(3.0, "zurich", "madrid", 17),
    UrlDiscovery(4.0, "zurich", 9, "people"),
    PagePlacement(5.0, "zurich", 9, "madrid", 2, ("zurich", "madrid")),
    PageAccess(6.0, "madrid", 9, 1, 3, 77),
    QueryAnswer(7.0, "madrid", 77, 0.08, ("zurich",), True, 2, (9, 8)),
    DocumentState(8.0, "madrid", 9, True, False),
]


def test_records_are_read_as_they_were_written(tmp_path):
    with MetricLog(tmp_path) as log:
        for record in RECORDS:
            log.write(record)
    with MetricLog(tmp_path) as log:
        log.write(RECORDS[0])
    assert list(read_metric_log(tmp_path)) == [*RECORDS, RECORDS[0]]
    assert log.dropped == 0


def test_records_are_written_after_some_seconds(tmp_path):
    now = [0.0]
    log = MetricLog(tmp_path, clock=lambda: now[0])
    log.write(RECORDS[0])
    assert list(read_metric_log(tmp_path)) == []
    now[0] = 6.0
    log.write(RECORDS[1])
    assert list(read_metric_log(tmp_path)) == RECORDS[:2]


def test_deferred_records_wait_for_a_flush_within_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.sites.metric_log._MAX_WAITING", 600)
    log = MetricLog(tmp_path, deferred=True)
    for number in range(700):
        log.write(PageFetch(1.0, "zurich", number))
    assert list(read_metric_log(tmp_path)) == []
    log.flush()
    assert (len(list(read_metric_log(tmp_path))), log.dropped) == (600, 100)


def test_logs_are_bounded(tmp_path):
    log = MetricLog(tmp_path, max_file_bytes=2_000)
    for number in range(400):
        log.write(PageFetch(float(number), "zurich", number))
        if number % 5 == 4:
            log.flush()
    files = sorted((tmp_path / "site").iterdir())
    assert len(files) == 4
    assert sum(file.stat().st_size for file in files) <= 8_000
    assert [record.page for record in read_metric_log(tmp_path)][-1] == 399
    assert log.dropped == 0


def test_a_record_that_cannot_be_written_is_dropped_and_counted(tmp_path):
    (tmp_path / "site").write_text("in the way")
    with MetricLog(tmp_path) as log:
        log.write(RECORDS[0])
    assert log.dropped == 1


def test_damaged_lines_are_left_out(tmp_path):
    with MetricLog(tmp_path) as log:
        for record in RECORDS:
            log.write(record)
    path = tmp_path / "site" / "metrics-00000.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[3] = lines[3].replace(b"8", b"9", 1)
    path.write_bytes(b"\n".join(lines)[:-20])
    assert list(read_metric_log(tmp_path)) == RECORDS[:2] + RECORDS[3:-1]


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b"[1]",
        b"\xff",
        b'{"kind":"unknown"}',
        b'{"kind":"site","when":1,"site":"a","latitude":91,"longitude":0}',
        b'{"kind":"fetch","when":-1,"site":"a","page":1}',
        b'{"kind":"query","when":1,"site":"a","query":1,"seconds":1e999}',
        b'{"kind":"placement","when":1,"site":"a","page":1,"master":"b","ordinal":0}',
        encode_metric(SiteLocation(1.0, "x" * 200, 0.0, 0.0)),
    ],
)
def test_what_is_out_of_bounds_is_not_a_record(line):
    assert decode_metric(line) is None
