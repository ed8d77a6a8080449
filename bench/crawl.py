"""Crawl speed: Periplus beside Scrapy on one loopback web of real-sized pages, one core each, and bare fetching.

.venv/bin/python bench/crawl.py [--pages 1000,3000,10000] [--shares 1,0.14] [--rounds 1] [--seen 1000000]

Each runs in a process of its own on one core; the web is rendered and compressed before, and served by the other core.
Both obey robots.txt, hold the same number of requests under way, follow every link they find and keep the HTML on disk.
Ours also writes WARC and digests, drops copies, syncs to disk every second and writes checkpoints. Scrapy runs without
AutoThrottle, cookies, retries and statistics that nobody reads. Bare fetch is our own client given the list of all
URLs: no reading, no storing. Starting up (imports, compiled kernels) is not counted for any. Pages/s are of wall time,
and of core time, which the last line compares: other work on the machine does not change it as much.
Of `--rounds` runs of each the fastest counts. Two sizes of pages, 110 kB and 15 kB, are measured at each number of
pages; then one crawl of each size runs with timers around its stages, which make it a little slower. Scrapy stops after
a thousand pages, as its time for a page is the same in larger webs.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from crawl_stages import time_stages
from crawlweb import BenchWeb
from record import save

CONNECTIONS = 64
SCRAPY_PAGES = 1_000
"""Pages after which Scrapy stops: its time for a page does not depend on their number, and it takes long enough."""


def ours(web: BenchWeb, port: int, folder: Path) -> int:
    """Crawl with everything on; give the number of pages."""
    from periplus.crawl import Crawler
    from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings

    settings = Settings(
        fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=_hosts_file(web, port, folder), connections=CONNECTIONS),
        frontier=FrontierSettings(delay=0, max_delay=0, per_address=0),
        crawl=CrawlSettings(scope="web"),
    )
    return Crawler(folder / "data", settings, [web.urls()[0]]).run().pages


def bare(web: BenchWeb, port: int, folder: Path) -> int:
    """Fetch all pages and nothing else."""
    from periplus.fetch import Fetcher
    from periplus.records import FetchRequest, Outcome
    from periplus.settings import FetchSettings
    from periplus.url import parse_address

    hosts = _hosts_file(web, port, folder)
    fetcher = Fetcher(FetchSettings(allow=("127.0.0.0/8",), hosts_file=hosts, connections=CONNECTIONS))
    urls = web.urls()
    # Hosts in turn, as a polite crawl would ask them.
    waiting = [FetchRequest(parse_address(urls[place])) for first in range(50) for place in range(first, len(urls), 50)]
    pages = 0
    while waiting or fetcher.busy():
        while waiting and fetcher.busy() < CONNECTIONS:
            fetcher.start(waiting.pop())
        pages += sum(fetched.outcome is Outcome.OK for fetched in fetcher.poll(0.2))
    fetcher.close()
    return pages


def scrapy(web: BenchWeb, port: int, folder: Path) -> int:
    """Crawl the first pages with Scrapy: follow all links, append every page to a file."""
    from scrapy_peer import run

    return run(web, port, folder / "pages.html", CONNECTIONS, SCRAPY_PAGES)


def _hosts_file(web: BenchWeb, port: int, folder: Path) -> str:
    path = folder / "hosts"
    path.write_text("".join(f"127.0.0.1:{port} {web.name(host)}\n" for host in range(web.hosts)))
    return str(path)


def prepare(what: str, web: BenchWeb) -> None:
    """Load what will be needed, and compile its kernels: starting up is not crawling."""
    if what == "scrapy":
        import scrapy_peer

        assert scrapy_peer
        return
    from periplus.crawl import Crawler
    from periplus.crawl.policies import kernels as content_kernels
    from periplus.crawl.regions import kernels as region_kernels
    from periplus.parse import parse
    from periplus.parse.html.kernels import word_survey
    from periplus.records import FetchRequest, FetchResult, Outcome
    from periplus.score.kernels import page_features, weighting
    from periplus.settings import ParseSettings
    from periplus.text.kernels import simhash
    from periplus.url import parse_address

    for kernels in (region_kernels, content_kernels, word_survey, page_features, weighting, simhash):
        kernels.warm()
    html = (("content-type", "text/html"),)
    sample = FetchResult(FetchRequest(parse_address(web.urls()[0])), Outcome.OK, 0.0, 200, html, web.render(0, 0))
    assert Crawler
    assert parse(sample, ParseSettings()) is not None


def child(what: str, pages: int, share: float, port: int) -> None:
    """Run one crawler in this process, on one core, and print what came of it."""
    folder = Path(tempfile.mkdtemp(prefix="bench-crawl-"))
    try:
        web = BenchWeb(pages, share)
        prepare(what, web)
        began, used = time.monotonic(), time.process_time()
        timer = time_stages() if what == "stages" else None
        found = {"ours": ours, "stages": ours, "bare": bare, "scrapy": scrapy}[what](web, port, folder)
        result: dict[str, Any] = {"pages": found, "seconds": time.monotonic() - began}
        result["cpu"] = time.process_time() - used
        if timer is not None:
            timer.switch("end")
            result["stages"] = {name: 1_000 * spent / found for name, spent in timer.seconds.items()}
        result["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(result))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(what: str, pages: int, share: float, port: int, core: int) -> dict[str, Any]:
    """Run one crawler in a process of its own."""
    command = [sys.executable, __file__, "--child", what, "--pages", str(pages), "--port", str(port)]
    command += ["--shares", str(share)]
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, preexec_fn=lambda: os.sched_setaffinity(0, {core})
    )
    result: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return result


def compare(pages: int, share: float, rounds: int, cores: list[int], with_stages: bool) -> dict[str, Any]:
    """Measure all three on one web of so many pages, and the stages of ours."""
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("crawlweb.py")), str(pages), str(share)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.sched_setaffinity(0, {cores[-1]}),
    )
    assert server.stdout is not None
    assert server.stdin is not None
    try:
        ready = json.loads(server.stdout.readline())
        row: dict[str, Any] = {"pages": BenchWeb(pages).pages}
        row["page_bytes"] = ready["bytes"] // row["pages"]
        for what in ("scrapy", "ours", "bare"):
            runs = [measure(what, pages, share, ready["port"], cores[0]) for _ in range(rounds)]
            best = min(runs, key=lambda run: run["cpu"])
            best["pages_per_second"] = max(run["pages"] / run["seconds"] for run in runs)
            best["pages_per_cpu_second"] = best["pages"] / best["cpu"]
            row[what] = {name: round(value, 3) for name, value in best.items()}
            if best["pages"] < (min(SCRAPY_PAGES, row["pages"]) if what == "scrapy" else row["pages"]):
                print(f"{what} found {best['pages']:.0f} pages of {row['pages']}", file=sys.stderr)
        if with_stages:
            stages = measure("stages", pages, share, ready["port"], cores[0])["stages"]
            row["stages_ms"] = {name: round(stages[name], 4) for name in sorted(stages, key=stages.get, reverse=True)}
    finally:
        server.stdin.close()
        server.wait()
    return row


def seen_bytes(count: int) -> dict[str, float]:
    """Measure the memory of the set of URLs seen, by the process's own size, and the time to ask it."""
    program = (
        "import sys,time,resource\nimport numpy as np\nfrom periplus.frontier import SeenSet\n"
        "def rss(): return int(open('/proc/self/statm').read().split()[1])*4096\n"
        "rng=np.random.default_rng(1)\n"
        "def fill(seen, n):\n"
        "    for at in range(0,n,150):\n"
        "        keys=rng.integers(0,2**63,min(150,n-at),dtype=np.uint64).tolist()\n"
        "        seen.update([keys[p] for p in seen.unseen(keys)])\n"
        "fill(SeenSet(),50_000)\n"  # what Python and NumPy take once is no URL's
        "seen=SeenSet(); before=rss(); began=time.monotonic()\n"
        "fill(seen,int(sys.argv[1]))\n"
        "took=time.monotonic()-began\n"
        "peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss*1024\n"
        "print(len(seen),(rss()-before)/len(seen),(peak-before)/len(seen),took/len(seen)*1e6)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(count)], stdout=subprocess.PIPE, check=True, text=True)
    urls, held, peak, took = map(float, ran.stdout.split())
    return {"urls": urls, "bytes": round(held, 2), "peak_bytes": round(peak, 2), "microseconds": round(took, 2)}


def report(share: float, sizes: list[int], rounds: int, cores: list[int]) -> list[dict[str, Any]]:
    """Measure webs of several sizes with pages of one size, and print what came of it."""
    print(f"\n{'pages':>7}{'':>10}{'pages/s':>10}{'per cpu s':>11}{'ms':>8}{'MB':>8}")
    rows = []
    for size in sizes:
        row = compare(size, share, rounds, cores, size == sizes[-1])
        rows.append(row)
        for what in ("scrapy", "ours", "bare"):
            one = row[what]
            speeds = f"{one['pages_per_second']:>10,.1f}{one['pages_per_cpu_second']:>11,.1f}"
            speeds += f"{1_000 / one['pages_per_cpu_second']:>8.2f}"
            print(f"{row['pages']:>7,}{what:>10}{speeds}{one['memory_mb']:>8,.0f}", flush=True)
    print(f"core ms a page of {rows[-1]['page_bytes'] // 1000} kB by stage:")
    for name, spent in rows[-1]["stages_ms"].items():
        print(f"{spent:>9.3f}  {name}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", default="1000,3000,10000", help="sizes of the web, parted by commas")
    parser.add_argument("--shares", default="1,0.14", help="sizes of pages: 1 is 110 kB, 0.14 is 15 kB")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seen", default="1000000,10000000", help="URLs seen to measure the memory of, or nothing")
    parser.add_argument("--try", action="store_true", dest="is_try", help="save nothing")
    parser.add_argument("--child", choices=("ours", "stages", "bare", "scrapy"), help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        child(asked.child, int(asked.pages), float(asked.shares), asked.port)
        return
    cores = sorted(os.sched_getaffinity(0))
    seen = [seen_bytes(int(count)) for count in asked.seen.split(",") if count]
    for one in seen:
        print(
            f"{one['urls']:>12,.0f} URLs seen: {one['bytes']:.1f} B each, {one['microseconds']:.2f} us to ask and add"
        )
    sizes = [int(size) for size in asked.pages.split(",")]
    webs = {float(share): report(float(share), sizes, asked.rounds, cores) for share in asked.shares.split(",")}
    for share, rows in webs.items() if not asked.is_try else ():
        name = "crawl" if share == 1 else "crawl_small_pages"
        save(name, {"web": rows, "seen": seen, "connections": CONNECTIONS})
    # By core time: the machine may be busy with other work, which wall time would measure too.
    ratios = []
    for rows in webs.values():
        last = {what: rows[-1][what]["pages_per_cpu_second"] for what in ("scrapy", "ours", "bare")}
        ratios.append((last["ours"] / last["scrapy"], last["ours"] / last["bare"], rows[-1]["page_bytes"]))
    for beside, of_bare, size in ratios:
        print(f"{size // 1000} kB: {beside:.1f}x Scrapy pages/s, {of_bare:.0%} of bare fetch")
    print(f"{min(r[0] for r in ratios):.1f}x Scrapy pages/s, {min(r[1] for r in ratios):.0%} of bare fetch")


if __name__ == "__main__":
    main()
