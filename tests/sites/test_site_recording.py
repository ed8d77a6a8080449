"""What a site records of pages and answers."""

import pytest

from periplus.app.sites.site_metrics import SiteRecorder
from periplus.evaluate import evaluate_records
from periplus.records import FetchRecord, Outcome, Query, ResultPage
from periplus.sites import LocatedHost, MasterChoice, Place, read_metric_log


def _answer(seconds, *sites):
    return ResultPage(Query("tides"), (), 0, True, False, seconds, 5, sites=sites)


def test_answers_are_recorded_without_their_words(tmp_path):
    recorder = SiteRecorder(tmp_path, "zurich", Place(47.4, 8.5))
    local = ("zurich", "local", 1.0, 3, "")
    recorder.record_answer(_answer(0.1))
    recorder.record_answer(_answer(0.1, local, ("madrid", "not asked", 0.0, 0, "")))
    recorder.record_answer(_answer(0.2, local, ("madrid", "answered", 30.0, 2, "")))
    recorder.record_answer(_answer(0.6, local, ("madrid", "silent", 600.0, 0, "")))
    recorder.log.flush()
    found = evaluate_records(read_metric_log(tmp_path))
    assert (found.queries, found.query_locality, found.forwarding_precision) == (4, 0.5, 0.5)
    assert [row.sites for row in found.latency] == [1, 2]
    assert not any(b"tides" in path.read_bytes() for path in (tmp_path / "site").iterdir())


def test_pages_are_recorded_with_their_masters(tmp_path):
    recorder = SiteRecorder(tmp_path, "zurich", Place(47.4, 8.5))
    records = [FetchRecord(f"http://a.test/{n}", n, Outcome.OK, 10.0, 200, elapsed=0.5) for n in (1, 2)]
    hosts = [LocatedHost(Place(47.4, 8.5)), LocatedHost()]
    choices = [MasterChoice("madrid", 2, ("zurich", "madrid")), MasterChoice("zurich", 1, ())]
    recorder.record_pages(records, hosts, choices)
    found = evaluate_records(read_metric_log(tmp_path))
    assert (found.pages_fetched, found.total_download_time, found.placed_pages) == (2, 1.0, 2)
    assert found.score_ordinals == (1, 1)
    assert found.modelled_download_time == pytest.approx(0.008, rel=0.01)


def test_a_log_that_cannot_be_written_changes_nothing(tmp_path):
    (tmp_path / "site").write_text("in the way")
    recorder = SiteRecorder(tmp_path, "zurich", None)
    recorder.record_answer(_answer(0.1))
    recorder.log.flush()
    assert recorder.log.dropped == 1


def test_records_that_have_waited_are_written(tmp_path):
    recorder = SiteRecorder(tmp_path, "zurich", Place(47.4, 8.5))
    recorder.log.flush_old()
    assert list(read_metric_log(tmp_path)) == []
    recorder.log._clock = lambda: 1e18
    recorder.log.flush_old()
    assert len(list(read_metric_log(tmp_path))) == 1
