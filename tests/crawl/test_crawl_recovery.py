"""Kill -9 at any moment, damage what a crash can damage, go on: nothing lost, and no page asked for twice."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from periplus.crawl import Crawler
from periplus.settings import Settings

CHILD = """
import sys
from pathlib import Path
import msgspec
from periplus.crawl import Crawler
from periplus.settings import Settings
settings = msgspec.json.decode(sys.argv[2], type=Settings)
Crawler(Path(sys.argv[1]), settings, sys.argv[3:]).run()
"""


def start(folder: Path, settings: Settings, seeds: tuple[str, ...]) -> subprocess.Popen:
    import msgspec

    text = msgspec.json.encode(settings).decode()
    return subprocess.Popen([sys.executable, "-c", CHILD, str(folder), text, *seeds], stderr=subprocess.PIPE)


def kill_after(requests: int, server, folder: Path, settings: Settings, seeds: tuple[str, ...]) -> None:
    """Crawl in a process of its own, and kill it once the web has seen so many more requests."""
    enough = server.requests().total + requests
    child = start(folder, settings, seeds)
    while server.requests().total < enough and child.poll() is None:
        time.sleep(0.002)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() in (-signal.SIGKILL, 0), child.stderr.read().decode()
    child.stderr.close()


def asked_twice(server) -> int:
    return sum(n - 1 for url, n in server.requests().counts.items() if not url.endswith("/robots.txt"))


@pytest.mark.parametrize("checkpoint_seconds", [0.05, 60.0])
def test_kill_9_loses_nothing(server, fast, fake_web, tmp_path, read_stored, urls_of, checkpoint_seconds):
    data, settings = tmp_path / "data", fast(checkpoint_seconds=checkpoint_seconds, commit_seconds=0.05)
    chance = random.Random(int(checkpoint_seconds))
    kills = 2
    for _ in range(kills):
        kill_after(chance.randint(5, 120), server, data, settings, fake_web.seeds)
    child = start(data, settings, ())
    _, complaint = child.communicate(timeout=120)
    assert child.returncode == 0, complaint.decode()
    visits = read_stored(data, settings)
    assert {page.url for page in fake_web.truth().pages} <= urls_of(visits)
    assert asked_twice(server) <= kills * settings.fetch.connections
    assert not fake_web.truth().blocked & server.requests().counts.keys()
    assert len({visit.url for visit in visits}) == len(visits)


def log_of(data: Path) -> Path:
    return max((path for path in (data / "store").iterdir() if "log" in path.name or "visit" in path.name), key=_size)


def _size(path: Path) -> int:
    return path.stat().st_size


def test_a_torn_log_is_mended(server, fast, fake_web, tmp_path, read_stored, urls_of):
    data, settings = tmp_path / "data", fast(checkpoint_seconds=60.0, commit_seconds=60.0)
    kill_after(80, server, data, settings, fake_web.seeds)
    log = log_of(data)
    with log.open("r+b") as file:
        file.truncate(_size(log) - 7)
        file.seek(0, os.SEEK_END)
        file.write(b"torn")
    Crawler(data, settings).run()
    assert {page.url for page in fake_web.truth().pages} <= urls_of(read_stored(data, settings))


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "log gone"])
def test_a_damaged_snapshot_is_made_again(server, fast, fake_web, tmp_path, read_stored, urls_of, damage):
    data, settings = tmp_path / "data", fast()
    Crawler(data, fast(pages=30), fake_web.seeds).run()
    snapshot = data / "crawl" / "frontier.bin"
    good = snapshot.read_bytes()
    middle = len(good) // 2
    if damage == "log gone":
        for path in (data / "store").iterdir():
            path.unlink()
    else:
        flipped = good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :]
        snapshot.write_bytes({"flip": flipped, "cut": good[:middle], "empty": b""}[damage])
    final = Crawler(data, settings).run()
    assert "rebuilt" in final.notes[0]
    assert {page.url for page in fake_web.truth().pages} <= urls_of(read_stored(data, settings))
    if damage != "log gone":
        # Sitemaps are known from robots.txt only, which is asked for again; pages are not.
        twice = {u for u, n in server.requests().counts.items() if n > 1}
        assert not twice & {page.url for page in fake_web.truth().pages}


def test_retry_after_survives_a_kill(tmp_path, make_settings):
    """A host that asked to be left alone is left alone by the next run, snapshot or not."""
    from periplus.crawl.crawl_state import CrawlState
    from periplus.records import FetchRecord, Outcome
    from periplus.store import PageStore
    from periplus.url import parse_address

    hosts = tmp_path / "hosts"
    hosts.write_text("")
    settings = make_settings(hosts)
    seed = parse_address("http://busy.test/")
    with PageStore.open(tmp_path / "store", settings.store, write=True) as store:
        memory = CrawlState.recover(tmp_path / "frontier.bin", settings, store, [seed])
        memory.save(store.commit(), 1000.0)
        store.append(FetchRecord(seed.url, seed.key, Outcome.BUSY, 1000.0, 503, elapsed=0.5, retry_after=120.0))
        again = CrawlState.recover(tmp_path / "frontier.bin", settings, store, [])
    assert again.frontier.wait(1000.5) == pytest.approx(120.0)
    due = again.frontier.next(1120.5)
    assert due is not None
    assert due.attempt == 1


def test_a_fault_within_a_turn_loses_nothing(server, fast, fake_web, tmp_path, monkeypatch, read_stored, urls_of):
    data, settings = tmp_path / "data", fast()
    crawler = Crawler(data, settings, fake_web.seeds)
    extract, left = crawler._state.outlinks.extract, [25]

    def failing(visit):
        left[0] -= 1
        if left[0] == 0:
            raise RuntimeError("a fault of ours")
        return extract(visit)

    monkeypatch.setattr(crawler._state.outlinks, "extract", failing)
    with pytest.raises(RuntimeError, match="ours"):
        crawler.run()
    Crawler(data, settings).run()
    assert {page.url for page in fake_web.truth().pages} <= urls_of(read_stored(data, settings))
