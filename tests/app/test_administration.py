"""What operators rely on: the log of changes, the schedule and who does its jobs, and what to do next."""

import json
import threading
import time

import pytest

from conditions import wait_until
from periplus.app.administration.change_log import ChangeLog
from periplus.app.administration.health_advice import advise
from periplus.app.administration.job_schedule import JobSchedule, ScheduledJob
from periplus.app.administration.job_scheduler import JobScheduler, background_scheduler
from periplus.errors import BadInput
from periplus.files import open_data_folder
from periplus.health import PartHealth
from periplus.publish import Inbox, make_published_record
from periplus.settings import FetchSettings, Settings


@pytest.fixture
def folder(tmp_path):
    return open_data_folder(tmp_path / "data", create=True)


def test_the_oldest_changes_make_room(folder):
    log = ChangeLog(folder, max_bytes=2_000)
    for number in range(100):
        log.add("me", "block a host", f"host{number}.test")
    found = [change.detail for change in log.latest(1_000)]
    assert found[0] == "host99.test"
    assert found == [f"host{99 - n}.test" for n in range(len(found))], "none is missing in between"
    assert 10 < len(found) < 100
    assert [change.detail for change in log.latest(2)] == ["host99.test", "host98.test"]


def test_changes_of_several_threads_are_all_kept(folder):
    def add(number):
        for n in range(20):
            ChangeLog(folder).add(f"writer {number}", "x", str(n))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ChangeLog(folder).latest(1_000)) == 80


def test_a_damaged_line_is_left_out(folder):
    log = ChangeLog(folder)
    log.add("me", "first")
    log.add("me", "second")
    path = folder / "changes.jsonl"
    path.write_bytes(path.read_bytes().replace(b"first", b"fjrst"))
    assert [change.what for change in log.latest()] == ["second"]


def test_jobs_are_due_after_their_interval(folder):
    schedule = JobSchedule(folder)
    assert [job.next_time() for job in schedule.jobs()] == [0.0, 0.0]
    job = schedule.set("recrawl", 2.0, 10.0)
    assert not job.is_due(job.set_at + 7_199)
    assert job.is_due(job.set_at + 7_201)
    begun = schedule.begin("recrawl")
    assert not begun.is_due(begun.started + 7_199)
    assert schedule.request("recrawl").is_due(time.time())
    assert not schedule.begin("recrawl").requested
    for name, hours in (("recrawl", -1.0), ("recrawl", 1e9), ("recrawl", float("inf")), ("explode", 1.0)):
        with pytest.raises(BadInput):
            schedule.set(name, hours)
    path = folder / "schedule.json"
    assert json.loads(path.read_bytes())["format"] == 1
    path.write_bytes(b"{")
    assert schedule.set("build", 1.0).every_hours == 1.0, "a damaged file is replaced by the next change"


def test_a_job_that_cannot_be_done_says_why(folder):
    schedule = JobSchedule(folder)
    schedule.request("recrawl")
    scheduler = JobScheduler(folder, Settings())
    assert scheduler.step(time.time()) == 1
    assert scheduler.step(time.time()) == 0, "once is enough"
    job = schedule.jobs()[0]
    assert (job.failed, "The crawl did not start" in job.result) == (True, True)
    assert ChangeLog(folder).latest()[0].who == "schedule"


@pytest.mark.slow  # it starts a process that loads all kernels
def test_a_requested_build_is_done_by_the_server(folder):
    inbox = Inbox(folder)
    inbox.add_record(make_published_record("Tides", "High water at noon."))
    for path, _ in list(inbox.pending_records()):
        inbox.mark_indexed(path)
    schedule = JobSchedule(folder)
    schedule.request("build")
    with background_scheduler(folder, Settings()):
        wait_until(lambda: schedule.jobs()[1].ended > 0)
    assert (schedule.jobs()[1].result, schedule.jobs()[1].failed) == ("The index has 1 pages.", False)


def advice(folder, crawl=(), documents=10, jobs=(), parts=(), damaged=0, settings=None):
    contact = Settings(fetch=FetchSettings(contact="me@a.test"))
    every = advise(folder, settings or contact, dict(crawl), documents, jobs, parts, damaged)
    return {one.name: one for one in every}


def test_advice_names_the_next_step(folder):
    assert {one.state for one in advice(folder, {"state": "running", "running": True}).values()} == {"good"}
    assert advice(folder, documents=0)["Index"].action == "Start a crawl."
    assert advice(folder, {"pages": 5}, 0)["Index"].command == "periplus index build"
    assert advice(folder)["Crawl"].page == "/admin"
    assert advice(folder, {"state": "paused", "running": True})["Crawl"].action == "Resume it."
    limited = {"state": "paused", "running": True, "paused": "limits.disk_gb is used up"}
    assert "limits.disk_gb" in advice(folder, limited)["Crawl"].text
    full = {"state": "stopped", "pages": 200_000, "waiting": 3}
    assert "higher limit" in advice(folder, full)["Crawl"].action
    failing = {"state": "stopped", "fetched": 100, "errors": {"timeout": 70, "redirect": 20}}
    assert "70 of 100 requests failed, most with 'timeout'" in advice(folder, failing)["Requests"].text
    part = PartHealth("publisher", 3, 4, time.time() - 600, "No room.")
    assert "10 minutes" in advice(folder, parts=[part])["Part 'publisher'"].text
    failed = ScheduledJob("build", failed=True, result="No room.")
    assert advice(folder, jobs=[failed])["Job 'build'"].page == "/admin/schedule"
    assert "Contact" in advice(folder, settings=Settings())
    old = {"state": "stopped", "pages": 1, "when": time.time() - 40 * 86_400}
    assert "40 days" in advice(folder, old)["Freshness"].text
