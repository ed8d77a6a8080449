"""A supervisor and its shards as processes: killed at random, told what to do, and shards that never come up."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from periplus.crawl import CrawlControl
from periplus.errors import BadInput
from periplus.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
CHILD = """
import sys
from pathlib import Path
import msgspec
from periplus.crawl import Supervisor
from periplus.errors import PeriplusError
from periplus.settings import Settings
import signal
settings = msgspec.json.decode(sys.argv[2], type=Settings)
try:
    supervisor = Supervisor(Path(sys.argv[1]), settings, sys.argv[4:], int(sys.argv[3]))
    signal.signal(signal.SIGTERM, lambda number, frame: supervisor.stop())
    found = supervisor.run()
except PeriplusError as error:
    sys.exit(f"{type(error).__name__}: {error}")
print(found.pages, supervisor.before().pages)
"""


def start(folder: Path, settings: Settings, shards: int, seeds: tuple[str, ...] = ()) -> subprocess.Popen:
    text = msgspec.json.encode(settings).decode()
    command = [sys.executable, "-c", CHILD, str(folder), text, str(shards), *seeds]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(child: subprocess.Popen) -> str:
    said, complaint = child.communicate(timeout=120)
    assert child.returncode == 0, complaint
    return said


def wait_for(what, seconds: float = 120.0):
    limit = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < limit, what
        time.sleep(0.01)
    return found


def test_a_dozen_random_kills():
    """Every good page once, no pause broken: judged by the server's own log, as the benchmark does at length."""
    options = "--kills 12 --shards 2 --hosts 8 --pages 120 --delay 0.03 --seed 5 --quick"
    found = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "kills.py"), *options.split()],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    kills = re.search(r"(\d+) kills: no page lost, none stored twice, no pause broken", found.stdout)
    assert kills is not None
    assert int(kills[1]) > 5


def test_a_crawl_in_shards_does_as_it_is_told(server, fast, fake_web, tmp_path, read_stored, urls_of):
    data, settings = tmp_path / "data", fast()
    slow = msgspec.structs.replace(settings.frontier, delay=0.05, max_delay=0.05)
    settings = msgspec.structs.replace(settings, frontier=slow)
    control = CrawlControl(data)
    child = start(data, settings, 2, fake_web.seeds)
    try:
        wait_for(lambda: control.status().get("pages", 0) > 5)
        assert {shard["number"] for shard in control.status()["shards"]} == {0, 1}
        second = start(data, settings, 2)
        assert second.wait(timeout=120) == 1
        assert "FolderInUse" in second.communicate()[1]
        control.pause()
        wait_for(lambda: {shard["state"] for shard in control.status()["shards"]} == {"paused"})
        wait_for(lambda: control.status()["busy"] == 0)
        before = server.requests().total
        control.resize(3)
        control.pause()  # a word too many does no harm
        time.sleep(0.1)
        assert server.requests().total <= before + settings.fetch.connections
        control.resize(3)
        wait_for(lambda: len(control.status()["shards"]) == 3)
        os.kill(control.status()["shards"][2]["process"], signal.SIGKILL)
        dead = control.status()["shards"][2]["process"]
        wait_for(lambda: control.status()["shards"][2]["process"] != dead)
        wait_for(lambda: server.requests().total > before + 20)
        control.stop()
        assert int(end(child).split()[0]) > 5
    finally:
        child.kill()
        child.wait()
    assert control.status()["state"] == "stopped"
    with pytest.raises(BadInput, match="No crawl is running"):
        control.resume()
    with pytest.raises(BadInput, match="No crawl is running"):
        control.resize(2)
    child = start(data, fast(), 0)
    pages, before = map(int, end(child).split())
    assert pages > before > 5
    visits = read_stored(data, settings)
    assert {page.url for page in fake_web.truth().pages} <= urls_of(visits)
    assert len({visit.url for visit in visits}) == len(visits)
    text = (data / "crawl" / "metrics.prom").read_text()
    assert sum(int(n) for n in re.findall(r'periplus_crawl_pages_total\{shard="\d"\} (\d+)', text)) == pages


@pytest.mark.parametrize("shards", [1, 2])
def test_a_crawl_that_another_program_begins(server, fast, fake_web, tmp_path, shards):
    data, settings = tmp_path / "data", fast(shards=shards, pages=30)
    slow = msgspec.structs.replace(settings.frontier, delay=0.2, max_delay=0.2)
    control = CrawlControl(data, msgspec.structs.replace(settings, frontier=slow))
    with pytest.raises(BadInput, match="settings"):
        CrawlControl(data).start(fake_web.seeds)
    with pytest.raises(BadInput, match="did not start: There is no crawl"):
        control.start()
    control.start(fake_web.seeds)
    assert control.status()["running"]
    with pytest.raises(BadInput, match="already"):
        control.start()
    control.stop()
    wait_for(lambda: not control.status()["running"])
    assert len(control.status().get("shards", ())) == (shards if shards > 1 else 0)
    wait_for(lambda: "The crawl has ended" in (data / "crawl" / "detached.log").read_text())


def test_a_shard_that_never_comes_up_is_given_up_with_its_log(server, fast, fake_web, tmp_path):
    data = tmp_path / "data"
    assert end(start(data, fast(pages=20), 2, fake_web.seeds)) == "20 0\n"
    inbox = data / "crawl" / "shard-01" / "inbox"
    (inbox / "00-1.parcel").write_bytes(b"PERIPARC damaged")
    child = start(data, fast(pages=40), 0)
    _, complaint = child.communicate(timeout=120)
    assert child.returncode == 1
    log = data / "crawl" / "shard-01" / "shard.log"
    assert complaint.startswith("ProcessFailed: Shard 1 ended 5 times in a row: periplus: ")
    assert "00-1.parcel is damaged" in complaint
    assert str(log) in complaint
    assert log.read_text().count("00-1.parcel is damaged") == 5
    assert not CrawlControl(data).status()["running"]


def test_nothing_to_go_on_with_and_nobody_there(tmp_path, make_settings):
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1:1 dead.test\n")
    child = start(tmp_path / "data", make_settings(hosts), 2)
    assert "no crawl in" in child.communicate(timeout=120)[1]
    child = start(tmp_path / "data", make_settings(hosts), 2, ("http://dead.test/",))
    assert "NoNetwork" in child.communicate(timeout=120)[1]
