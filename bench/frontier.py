"""How a crawl grows: the frontier and the table of duplicates at three sizes, each ten times the last.

.venv/bin/python bench/frontier.py [--sizes 30000,300000,3000000] [--requests 20000]

Every size runs in a process of its own, with as many pages as URLs, 100 URLs a host, and a tenth as many seeds, each of
a host of its own. Times are those of a core
(process time), with a clock of the benchmark's own for politeness: nothing is fetched. Memory is what the process grew
by. The exponent e says that a figure grows as size^e; of a cost for each URL, 0 is flat.
"""

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parent))

from figures import exponent, folder_bytes
from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.policies.original_urls import OriginalUrls
from periplus.frontier import Frontier
from periplus.frontier.frontier_snapshot import unpack
from periplus.hashing import fingerprint
from periplus.records import FetchRequest, Outcome
from periplus.settings import FrontierSettings, Settings
from periplus.url import parse_address
from record import save

_URLS_OF_HOST = 100
_BATCH = 50
"""URLs added at once: the new links of a page."""
_LATE = 1_000
"""URLs between two snapshots."""
_STATISTICS = 1_000
"""Times that the figures for the screen are asked for."""
_FIGURES = {
    "add_us": "add a URL, us",
    "schedule_us": "schedule a request, us",
    "slowest_us": "slowest hosts, us",
    "frontier_bytes": "memory a URL, B",
    "snapshot_s": "first snapshot, s",
    "snapshot_bytes": "first snapshot a URL, B",
    "next_snapshot_s": "next snapshot, s",
    "next_seen_bytes": "next snapshot: keys of URLs, B",
    "seed_us": "add a seed of a new host, us",
    "seed_bytes": "memory a seed, B",
    "page_us": "enter a page, us",
    "duplicate_us": "find a duplicate, us",
    "page_bytes": "duplicates: table a page, B",
    "page_memory": "duplicates: memory a page, B",
    "page_snapshot_bytes": "duplicates: snapshot, B",
    "load_s": "duplicates: load, s",
}


def resident_bytes() -> int:
    """Return the memory of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096


def request_batches(size: int) -> Iterator[list[FetchRequest]]:
    """Yield requests in batches; neighbours are of different hosts."""
    hosts = max(1, size // _URLS_OF_HOST)
    for begin in range(0, size, _BATCH):
        numbers = range(begin, min(begin + _BATCH, size))
        urls = [f"http://host{n % hosts}.test/section-{n % 13}/page-{n}.html" for n in numbers]
        yield [FetchRequest(parse_address(url), 1, -float(n % 17)) for url, n in zip(urls, numbers, strict=True)]


def measure_frontier(size: int, requests: int, folder: Path) -> dict[str, float]:
    """Add URLs, schedule requests, write a snapshot."""
    before = resident_bytes()
    frontier = Frontier(FrontierSettings(), folder / "spill")
    seconds = 0.0
    for batch in request_batches(size):
        start = time.process_time()
        frontier.add(batch)
        seconds += time.process_time() - start
    figures = {"add_us": 1e6 * seconds / size, "frontier_bytes": (resident_bytes() - before) / size}
    done, now = min(requests, size // 2), 1.0
    start = time.process_time()
    for number in range(done):
        while (request := frontier.next(now)) is None:
            now += max(1e-3, frontier.wait(now) or 0.0)
        frontier.done(request, Outcome.OK, now, 0.05 + number % 7 / 100)
    figures["schedule_us"] = 1e6 * (time.process_time() - start) / done
    start = time.process_time()
    for _ in range(_STATISTICS):
        frontier.slowest.top(3)
    figures["slowest_us"] = 1e6 * (time.process_time() - start) / _STATISTICS
    start = time.process_time()
    dump = frontier.dump()
    figures["snapshot_s"] = time.process_time() - start
    seen = folder / "seen"
    figures["snapshot_bytes"] = (len(dump) + (folder_bytes(seen) if seen.is_dir() else 0)) / size
    before_files = {path.name for path in seen.iterdir()} if seen.is_dir() else set()
    frontier.add([FetchRequest(parse_address(f"http://host1.test/late-{number}"), 1) for number in range(_LATE)])
    start = time.process_time()
    dump = frontier.dump()
    figures["next_snapshot_s"] = time.process_time() - start
    files = [path for path in seen.iterdir() if path.name not in before_files] if seen.is_dir() else []
    figures["next_seen_bytes"] = float(sum(path.stat().st_size for path in files) + len(unpack(dump).seen))
    frontier.close()
    return figures


def measure_seeds(count: int, folder: Path) -> dict[str, float]:
    """Add seeds, each of a host of its own, to a crawl that has none."""
    before = resident_bytes()
    state = CrawlState(folder / "seeds" / "crawl" / "frontier.bin", Settings())
    start = time.process_time()
    state.add_seeds(parse_address(f"http://www.host{number}.test/start-{number}.html") for number in range(count))
    figures = {"seed_us": 1e6 * (time.process_time() - start) / count}
    figures["seed_bytes"] = (resident_bytes() - before) / count
    assert len(state.outlinks.seeds) == count
    state.frontier.close()
    return figures


def measure_duplicates(size: int, folder: Path) -> dict[str, float]:
    """Enter pages, find duplicates among them, load the table again."""
    before = resident_bytes()
    table = OriginalUrls(folder)
    start = time.process_time()
    for number in range(size):
        table.add(
            fingerprint(b"%d" % number), f"http://host{number % 997}.test/section-{number % 13}/page-{number}.html"
        )
    figures = {"page_us": 1e6 * (time.process_time() - start) / size}
    figures["page_memory"] = (resident_bytes() - before) / size
    filed = len(table) - len(table.newest)
    figures["page_bytes"] = table.nbytes / filed if filed else float("nan")
    figures["file_bytes"] = folder_bytes(folder) / filed if filed else float("nan")
    figures["page_snapshot_bytes"] = float(len(msgspec.msgpack.encode((table.newest, table.files))))
    step = max(1, size // 10_000)
    asked = range(0, size, step)
    start = time.process_time()
    missing = sum(table.get(fingerprint(b"%d" % number)) is None for number in asked)
    figures["duplicate_us"] = 1e6 * (time.process_time() - start) / len(asked)
    assert not missing, f"{missing} pages were not found"
    start = time.process_time()
    again = OriginalUrls.load(folder, table.newest, table.files)
    figures["load_s"] = time.process_time() - start
    assert len(again) == size
    return figures


def measure(size: int, requests: int) -> dict[str, float]:
    """Return the figures of one size."""
    with tempfile.TemporaryDirectory() as name:
        duplicates = measure_duplicates(size, Path(name) / "originals")
        seeds = measure_seeds(max(1_000, size // 10), Path(name))
        return measure_frontier(size, requests, Path(name)) | seeds | duplicates


def measure_apart(size: int, requests: int) -> dict[str, float]:
    """Return the figures of one size, taken in a process of its own."""
    command = [sys.executable, __file__, "--one", str(size), "--requests", str(requests)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    figures: dict[str, float] = json.loads(output)
    return figures


def summarise(sizes: Sequence[int], rows: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Return the figures of all sizes with their exponents."""
    growth = {name: round(exponent(sizes, [row[name] for row in rows]), 2) for name in _FIGURES}
    columns = {
        str(size): {name: round(value, 3) for name, value in row.items()} for size, row in zip(sizes, rows, strict=True)
    }
    return {"sizes": columns, "exponents": growth}


def main() -> None:
    """Measure all sizes, print a table, and record it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="30000,300000,3000000")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--one", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.requests)))
        return
    sizes = [int(size) for size in arguments.sizes.split(",")]
    rows = [measure_apart(size, arguments.requests) for size in sizes]
    summary = summarise(sizes, rows)
    print(f"{'':30}" + "".join(f"{size:>14,}" for size in sizes) + f"{'exponent':>10}")
    for name, title in _FIGURES.items():
        values = "".join(f"{row[name]:>14,.2f}" for row in rows)
        print(f"{title:30}{values}{summary['exponents'][name]:>10.2f}")
    save("frontier", summary)


if __name__ == "__main__":
    main()
