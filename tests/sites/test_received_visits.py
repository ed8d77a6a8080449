"""Visits that other sites send: counted once, for the crawl and for popularity, not as interests of the people here."""

import time
from pathlib import Path

import pytest
from site_fixtures import NETWORK, make_sites

from periplus.crawl.outlinks import OutlinkExtractor
from periplus.crawl.reported_visits import VisitReportReader
from periplus.errors import DiskFailed
from periplus.records import Address, VisitReport
from periplus.settings import CrawlSettings
from periplus.signals import (
    LogPosition,
    ReceivedVisit,
    append_received_visits,
    append_visit_reports,
    read_trending,
    read_visit_counts,
    read_visit_reports,
)
from periplus.sites import ReceivedVisits, read_interests
from periplus.sites.messaging.applied_batches import AppliedBatches
from periplus.sites.messaging.batches import encode_batch
from periplus.sites.messaging.sinks import SinkReceiver
from periplus.url import parse_address

_OWN, _OTHER = "https://own.example/", "https://other.example/"


def _reports(url: str, count: int) -> list[VisitReport]:
    return [VisitReport(url, when=time.time(), source=source) for source in range(1, count + 1)]


def test_a_batch_that_is_redelivered_after_a_crash_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends after the visits are on disk and before that is recorded; 1,200 visits are several lines."""
    topology, keys = make_sites(tmp_path, ("a", "b"))
    items = [VisitReport(f"https://h{n}.example/", when=time.time()) for n in range(1_200)]
    body = encode_batch(keys["a"], NETWORK, "a", "b", "visits", "lane", 7, items)

    def receiver() -> SinkReceiver:
        return SinkReceiver(tmp_path / "b", "b", lambda: topology, {"visits": ReceivedVisits(tmp_path / "data").apply})

    def fail(self: AppliedBatches, sender: str, lane: str, number: int) -> None:
        raise DiskFailed("The disk is gone.")

    with monkeypatch.context() as broken:
        broken.setattr(AppliedBatches, "add", fail)
        for _ in range(2):
            with pytest.raises(DiskFailed):
                receiver().receive("a", "visits", body)
    append_visit_reports(tmp_path / "data", _reports(_OWN, 3))
    receiver().receive("a", "visits", body)
    receiver().receive("a", "visits", body)
    counts = read_visit_counts(tmp_path / "data")
    assert counts.lookup(parse_address("https://h1199.example/").key) == 1
    assert int(counts.counts.sum()) == 1_203


def test_a_batch_of_which_a_part_was_written_is_completed(tmp_path: Path) -> None:
    reports = [VisitReport(f"https://h{n}.example/", when=1e9) for n in range(700)]
    append_received_visits(tmp_path, reports, "a lane 1")
    (log,) = (tmp_path / "passive").glob("visits-*.log")
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    append_received_visits(tmp_path, reports, "a lane 1")
    append_received_visits(tmp_path, reports, "a lane 1")
    assert int(read_visit_counts(tmp_path).counts.sum()) == 700
    append_received_visits(tmp_path, reports[:5], "a lane 12")  # Another batch, whose name begins alike.
    assert int(read_visit_counts(tmp_path).counts.sum()) == 705


def test_only_visits_that_were_reported_here_are_interests_and_trends(tmp_path: Path) -> None:
    append_visit_reports(tmp_path, _reports(_OWN, 5))
    before = read_interests(tmp_path, "b", now=0.0)
    append_received_visits(tmp_path, _reports(_OTHER, 40), "a lane 1")
    append_received_visits(tmp_path, _reports(_OWN, 40), "a lane 2")
    after = read_interests(tmp_path, "b", now=0.0)
    assert after.readers == before.readers == 5
    assert [url for url, _ in read_trending(tmp_path)] == [_OWN]
    assert read_trending(tmp_path)[0][1] == 5
    assert read_visit_counts(tmp_path).lookup(parse_address(_OTHER).key) == 40


def test_a_reporter_cannot_pretend_to_be_another_site(tmp_path: Path) -> None:
    append_visit_reports(tmp_path, [ReceivedVisit(_OWN, origin="a lane 1")])
    (report,) = read_visit_reports(tmp_path, LogPosition())[0]
    assert type(report) is VisitReport


def test_received_visits_are_not_sent_on(tmp_path: Path) -> None:
    """Two sites that disagree on who crawls a host would send them to and fro for ever."""
    append_visit_reports(tmp_path, [VisitReport(_OWN)])
    append_received_visits(tmp_path, [VisitReport(_OTHER)], "a lane 1")
    sent: list[Address] = []
    outlinks = OutlinkExtractor(CrawlSettings(scope="web"), [parse_address(_OWN)])
    VisitReportReader(tmp_path).read(
        outlinks, lambda key: None, lambda address: False, forward=lambda address, report: sent.append(address)
    )
    assert [address.url for address in sent] == [_OWN]
