"""Reports and kill -9: what was acknowledged is there, whatever the moment."""

import multiprocessing
import os
import random
import signal
import time

from periplus.hashing import fingerprint_text
from periplus.records import VisitReport
from periplus.signals import append_visit_reports, read_visit_counts
from periplus.signals.visit_counts import prune_visit_reports
from periplus.signals.visit_reports import LogPosition, read_visit_reports


def report(folder, pipe, name):
    for number in range(1_000_000):
        append_visit_reports(folder, [VisitReport(f"http://{name}.test/{number}/{part}") for part in range(20)])
        pipe.send(number)


def test_every_acknowledged_report_is_read_after_kills(tmp_path):
    context = multiprocessing.get_context("fork")
    chance = random.Random(8)
    acknowledged: dict[str, int] = {}
    for turn in range(12):
        here, there = context.Pipe(duplex=False)
        writer = context.Process(target=report, args=(tmp_path, there, f"w{turn}"))
        writer.start()
        there.close()
        here.recv()
        time.sleep(chance.random() * 0.05)
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        last = 0
        try:
            while True:
                last = here.recv()
        except EOFError:
            acknowledged[f"w{turn}"] = last
    urls, position = set(), LogPosition()
    while True:
        found, after = read_visit_reports(tmp_path, position)
        if after == position:
            break
        urls.update(sighting.url for sighting in found)
        position = after
    for name, last in acknowledged.items():
        for number in range(last + 1):
            assert {f"http://{name}.test/{number}/{part}" for part in range(20)} <= urls


def forget(folder, end):
    prune_visit_reports(folder, end, kept=0)


def test_counts_are_neither_lost_nor_doubled_by_kills(tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.signals.visit_reports._MAX_FILE_BYTES", 2_000)
    context = multiprocessing.get_context("fork")
    chance = random.Random(9)
    url = "http://a.test/page"
    for turn in range(10):
        for number in range(8):
            append_visit_reports(
                tmp_path, [VisitReport(url), *(VisitReport(f"http://a.test/{turn}/{number}/{k}") for k in range(9))]
            )
        end = read_visit_reports(tmp_path, LogPosition(), 1 << 30)[1]
        process = context.Process(target=forget, args=(tmp_path, end))
        process.start()
        time.sleep(chance.random() * 0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert read_visit_counts(tmp_path).lookup(fingerprint_text(url)) == 8 * (turn + 1)
    prune_visit_reports(tmp_path, end, kept=0)
    assert read_visit_counts(tmp_path).lookup(fingerprint_text(url)) == 80
