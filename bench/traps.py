"""Crawler traps beside sites that only look like traps: what of each is requested.

.venv/bin/python bench/traps.py [--seeds 1 2 3] [--pages 800] [--out NAME]

Twelve kinds of traps, each on a host with good pages of its own, and twelve innocent sites are served over HTTP on
loopback; the shapes of URLs, names and texts are drawn by the seed. Counted at the server's side: good pages that were
requested, and requests to trap pages. Ends with 1 if a good page is missing or traps get 5 % of the requests.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from innocent_web import INNOCENT
from periplus.crawl import Crawler
from periplus.fakeweb import run_in_thread
from periplus.fakeweb.server.fake_response import FakeResponse
from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings
from record import save
from trap_web import TRAPS, Site, Writer, _plain, wildcard_hosts

HEADERS = (("Content-Type", "text/html; charset=utf-8"),)
LIMIT = 0.05


class TrapWeb:
    """All sites of one seed, as the server of the fake web wants them."""

    def __init__(self, seed: int, pages: int) -> None:
        self.sites: dict[str, Site] = {}
        self.kinds: dict[str, str] = {}
        for kind, maker in INNOCENT.items():
            name = f"{kind.replace(' ', '-')}.innocent.test"
            self._add(Site(name, maker(Writer(f"{seed} {kind}"), pages)), kind)
        for kind, trap in TRAPS.items():
            writer = Writer(f"{seed} {kind}")
            entries, answer = trap(writer)
            self._add(
                Site(f"{kind.replace(' ', '-')}.trap{len(kind)}.test", _plain(writer, pages // 5, entries), answer),
                kind,
            )
        writer = Writer(f"{seed} wildcard")
        self.wild, self.wild_answer = wildcard_hosts(writer, "wild.test", 3_000)
        entries = {f"http://{host}/": name for host, name in list(self.wild.items())[:5]}
        self._add(Site("directory.test", _plain(writer, pages // 5, entries)), "wildcard hosts")
        self.kinds |= dict.fromkeys(self.wild, "wildcard hosts")
        self.requested: Counter[tuple[str, str]] = Counter()

    def _add(self, site: Site, kind: str) -> None:
        self.sites[site.host], self.kinds[site.host] = site, kind

    @property
    def hosts(self) -> tuple[tuple[str, str], ...]:
        """Return where to listen: one address serves all hosts."""
        return (("all", "127.0.0.1"),)

    @property
    def seeds(self) -> list[str]:
        return [f"http://{host}/" for host in self.sites]

    def hosts_file_text(self, port: int) -> str:
        return "".join(f"127.0.0.1:{port} {host}\n" for host in self.kinds)

    def response(self, host: str, path: str, headers: Mapping[str, str] | None = None) -> FakeResponse:
        host = host.partition(":")[0]
        if path == "/robots.txt" or "no-such-page" in path:
            return FakeResponse(404, HEADERS, b"<p>Not found")
        self.requested[host, path] += 1
        text = self.wild_answer(host, path) if host in self.wild else self.sites[host].answer(path)
        return FakeResponse(200 if text else 404, HEADERS, (text or "<p>Not found").encode())

    def good(self) -> set[tuple[str, str]]:
        """Return host and path of every good page."""
        return {(host, path) for host, site in self.sites.items() for path in site.pages}


def crawl(seed: int, pages: int) -> dict[str, Any]:
    """Crawl the web of one seed to the end; return what was requested."""
    web = TrapWeb(seed, pages)
    with tempfile.TemporaryDirectory() as folder, run_in_thread(web) as server:  # type: ignore[arg-type]
        hosts = Path(folder) / "hosts"
        server.write_hosts_file(hosts)
        settings = Settings(
            fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(hosts), connections=16),
            frontier=FrontierSettings(delay=0, max_delay=0, per_address=0),
            crawl=CrawlSettings(scope="web", depth=2_000, pages=200_000),
        )
        began = time.monotonic()
        statistics = Crawler(Path(folder) / "data", settings, web.seeds).run()
        seconds = time.monotonic() - began
    return _count(web, statistics, seconds)


def _count(web: TrapWeb, statistics: Any, seconds: float) -> dict[str, Any]:
    good, rows = web.good(), {}
    for kind in dict.fromkeys(web.kinds.values()):
        own = {page for page in good if web.kinds[page[0]] == kind}
        asked = {page: times for page, times in web.requested.items() if web.kinds[page[0]] == kind}
        rows[kind] = {
            "good": len(own),
            "missing": len(own - asked.keys()),
            "trap_requests": sum(times for page, times in asked.items() if page not in good),
        }
        for host, path in sorted(own - asked.keys())[:3]:
            sys.stderr.write(f"missing: http://{host}{path}\n")
    requests = web.requested.total()
    trapped = sum(row["trap_requests"] for row in rows.values())
    return {
        "kinds": rows,
        "good_pages": len(good),
        "missing": sum(row["missing"] for row in rows.values()),
        "requests": requests,
        "trap_requests": trapped,
        "trap_share": round(trapped / requests, 4),
        "held": getattr(statistics, "held", None),
        "seconds": round(seconds, 1),
    }


def main() -> int:
    """Crawl the web of each seed and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--pages", type=int, default=800)
    parser.add_argument("--out", default="traps")
    arguments = parser.parse_args()
    runs = {}
    for seed in arguments.seeds:
        runs[str(seed)] = run = crawl(seed, arguments.pages)
        print(f"seed {seed}")
        for kind, row in run["kinds"].items():
            print(
                f"  {kind:<16} {row['good']:>6} good {row['missing']:>5} missing "
                f"{row['trap_requests']:>6} trap requests"
            )
        print(
            f"  {run['good_pages']:,} good pages, {run['missing']} missing; "
            f"{run['trap_requests']} of {run['requests']:,} requests to traps ({run['trap_share']:.1%}), "
            f"{run['held']} held back, {run['seconds']} s"
        )
    save(arguments.out, {"pages": arguments.pages, "runs": runs})
    failed = any(run["missing"] or run["trap_share"] >= LIMIT for run in runs.values())
    print("FAILED" if failed else "every good page fetched, traps under 5 % of requests")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
