"""A web with every bomb: what is stored, what each process takes, and that a restart meets none of them twice.

.venv/bin/python bench/bombs.py [--pages 25] [--memory 256] [--seconds 5] [--kills 3]

Good pages and documents, thirty documents that mean gigabytes or hours, sitemaps and a robots.txt of the same kind,
each on a host of its own (tests/crawl/bomb_web.py). The crawl runs in a process of its own, which is killed with
SIGKILL some times while a document takes long, and started again; memory is sampled from outside, of every process.
Ends with 1 if a good page is missing, a bomb that took long at a kill or had failed is requested again, a process
exceeds its limit, or one is left behind.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "crawl"))

import msgspec
from bomb_web import GOOD_HOST, BombWeb

from periplus.records import FetchRecord
from periplus.settings import ParseSettings, Settings
from periplus.store import PageStore
from periplus.url import parse_address
from record import save

PROGRAM = """
import pathlib, sys
import msgspec
from periplus.crawl import Crawler
from periplus.settings import Settings
settings = msgspec.json.decode(pathlib.Path(sys.argv[2]).read_bytes(), type=Settings)
Crawler(pathlib.Path(sys.argv[1]), settings, sys.argv[3:]).run()
"""
BASE_MB = 400
"""What any process of a crawl may take: libraries, kernels, and for the crawl its state and the documents that wait."""
RECORD, SLOW, ENDED = 40, 2, (3, 4)


def tree(process: int) -> list[int]:
    """Return a process and all below it."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(below for child in children for below in tree(int(child)))]


def resident_mb(process: int) -> float:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / (1 << 20)
    except (OSError, IndexError):
        return 0.0


def slow_documents(folder: Path) -> set[int]:
    """Return the keys of the URLs whose documents took long according to the journal, and have not ended."""
    journal = folder / "crawl" / "parsing.journal"
    data = journal.read_bytes() if journal.exists() else b""
    slow: set[int] = set()
    for offset in range(16, len(data) - RECORD + 1, RECORD):
        key = int.from_bytes(data[offset + 8 : offset + 16], "little")
        if data[offset] == SLOW:
            slow.add(key)
        elif data[offset] in ENDED:
            slow.discard(key)
    return slow


class Run:
    """One crawl after the other in the same folder, watched."""

    def __init__(self, folder: Path, settings: Settings, web: BombWeb) -> None:
        self.folder = folder
        self._web = web
        self._met: dict[str, int] = {}
        """URLs of bombs that took long at a kill, and how often they had been requested by then."""
        self.peak_mb = {"crawler": 0.0, "server": 0.0, "worker": 0.0, "together": 0.0}
        self.left_behind = 0
        (folder / "settings.json").write_bytes(msgspec.json.encode(settings))

    def crawl(self, kill: bool) -> int:
        """Run until the end, or until a document takes long that did not at the start; return the exit status."""
        data = self.folder / "data"
        arguments = [data, self.folder / "settings.json", f"http://{GOOD_HOST}/"]
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, *map(str, arguments)])
        seen: set[int] = set()
        slow = None
        while process.poll() is None:
            members = tree(process.pid)
            seen.update(members)
            self._sample(members)
            if len(members) > 1 and slow is None:
                slow = slow_documents(data)
            if kill and slow is not None and slow_documents(data) - slow:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.02)
        code = process.wait()
        self._note_met(slow_documents(data))
        time.sleep(0.5)
        self.left_behind += sum(bool(tree(member)) and resident_mb(member) > 0 for member in seen)
        return code

    def _note_met(self, keys: set[int]) -> None:
        for url in self._web.bombs:
            if parse_address(url).key in keys:
                self._met.setdefault(url, self._web.web.requests.count(url))

    def met_again(self, failed: set[str]) -> list[str]:
        """Return the bombs that were requested after they had been met: at a kill, or to their end."""
        requests = self._web.web.requests
        again = [url for url, times in self._met.items() if requests.count(url) > times]
        return [self._web.bombs[url] for url in (*again, *failed)]

    def _sample(self, members: list[int]) -> None:
        sizes = [resident_mb(member) for member in members]
        names = ("crawler", "server", *("worker" for _ in sizes[2:]))
        for name, size in (*zip(names, sizes, strict=False), ("together", sum(sizes))):
            self.peak_mb[name] = max(self.peak_mb[name], size)


def read_records(folder: Path, settings: Settings) -> list[FetchRecord]:
    with PageStore.open(folder / "store", settings.store) as store:
        return list(store.records(0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=25)
    parser.add_argument("--memory", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--kills", type=int, default=3)
    options = parser.parse_args()
    web = BombWeb(options.pages)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        limits = ParseSettings(processes=2, max_memory_mb=options.memory, max_seconds=options.seconds)
        settings = web.settings(folder, limits)
        run = Run(folder, settings, web)
        began = time.monotonic()
        codes = [run.crawl(kill=True) for _ in range(options.kills)]
        codes += [run.crawl(kill=False), run.crawl(kill=False)]
        seconds = time.monotonic() - began
        records = read_records(folder / "data", settings)
    web.close()
    sys.exit(report(web, run, codes, seconds, records, options))


def report(
    web: BombWeb, run: Run, codes: list[int], seconds: float, records: list[FetchRecord], options: argparse.Namespace
) -> int:
    """Print the figures and write them; return 1 if something is wrong."""
    stored = {record.url for record in records if record.page is not None or record.duplicate_of}
    recorded = Counter(record.url for record in records if record.url in web.bombs)
    bombs = {web.bombs[record.url]: record for record in records if record.url in web.bombs}
    for name, record in bombs.items():
        print(f"{name:28} {record.bytes:9,} bytes  {record.outcome.value:13} {record.fault}")
    limit = BASE_MB + options.memory
    wrong = {
        "good pages missing": sorted(set(web.good) - stored),
        "bombs met again": run.met_again({url for url, times in recorded.items() if times > 1}),
        "bombs without a record": sorted(set(web.bombs.values()) - set(bombs)),
        "over the limit": [kind for kind in ("crawler", "server", "worker") if run.peak_mb[kind] > limit],
        "processes left behind": ["x"] * run.left_behind,
        "ended with an error": [code for code in codes if code not in (0, -signal.SIGKILL)],
    }
    figures: dict[str, Any] = {
        "good": len(web.good),
        "bombs": len(web.bombs),
        "requests for bombs": sum(url in web.bombs for url in web.web.requests),
        "kills": sum(code == -signal.SIGKILL for code in codes),
        "seconds": round(seconds, 1),
        "limit of a worker, MB": options.memory,
        "peak, MB": {kind: round(size) for kind, size in run.peak_mb.items()},
        "outcomes of bombs": dict(Counter(record.outcome.value for record in bombs.values())),
        **{name: len(cases) for name, cases in wrong.items()},
    }
    for name, value in figures.items():
        print(f"{name}: {value}")
    for name, cases in wrong.items():
        if cases:
            print(f"WRONG, {name}: {cases[:10]}")
    print(f"written to {save('bombs', figures)}")
    return int(any(wrong.values()))


if __name__ == "__main__":
    main()
