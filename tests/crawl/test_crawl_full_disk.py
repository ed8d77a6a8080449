"""On a real file system that is small, a crawl pauses before the disk is full, and loses nothing."""

import json
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import json, os, sys
from pathlib import Path
import periplus.crawl.crawler as crawler_module
from periplus import health
from periplus.crawl import Crawler
from periplus.crawl.policies import limit_watch
from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, LimitSettings, Settings
from periplus.store import PageStore

limit_watch._SECONDS = crawler_module._CONTROL_SECONDS = 0.0
crawler_module._MAX_WAIT = 0.01
folder, hosts, seed = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
(folder / "data").mkdir()
(folder / "ballast").write_bytes(os.urandom(BALLAST))
settings = Settings(
    fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=hosts, connections=8),
    frontier=FrontierSettings(delay=0, max_delay=0),
    crawl=CrawlSettings(scope="web"),
    limits=LimitSettings(disk_reserve_mb=2),
)
with Crawler(folder / "data", settings, [seed]) as crawler:
    while not crawler.statistics().paused and crawler.step():
        pass
    paused = crawler.statistics()
    while crawler.statistics().busy:
        crawler.step()
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    (folder / "ballast").unlink()
    while crawler.step():
        pass
    ended = crawler.statistics()
with PageStore.open(folder / "data" / "store", settings.store) as store:
    records = sum(record.page is not None for record in store.records())
print(json.dumps([paused.paused, paused.pages, free, ended.pages, records]))
"""


def test_a_crawl_pauses_before_a_small_disk_is_full(server, fast, fake_web, tmp_path):
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("unshare is needed to mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    fast()  # writes the hosts file
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("BALLAST", "14_500_000"))
    mount = 'mount -t tmpfs -o size=16m tmpfs "$0"'
    tried = subprocess.run(["unshare", "-rm", "sh", "-c", mount, str(disk)], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("a small file system cannot be mounted here")
    seed = fake_web.truth().pages[0].url
    done = subprocess.run(
        [
            *("unshare", "-rm", "sh", "-c", f'{mount} && exec "$@"', str(disk)),
            *(sys.executable, str(script), str(disk), str(tmp_path / "hosts"), seed),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    reason, paused_at, free, pages, records = json.loads(done.stdout.splitlines()[-1])
    assert "limits.disk_reserve_mb" in reason
    assert 0 < paused_at < pages
    assert free > 0
    assert records >= pages > 100
