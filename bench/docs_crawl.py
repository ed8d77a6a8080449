"""Debian's documentation crawled from loopback, against an independent truth of what can be reached.

.venv/bin/python bench/docs_crawl.py [--only python,postgresql,openjdk,rust] [--keep FOLDER --minutes 4]

The packages python3.11-doc, postgresql-doc-15, openjdk-17-doc and rust-doc are fetched with apt (doc_packages.py) and
served by a plain static server (docs_server.py). The truth is a breadth-first walk by lxml and urllib (docs_truth.py),
cached beside the packages. The crawl runs with default settings, except that it waits for nobody and has no limit of
pages. With --minutes the walk and the crawl end after so long each, and go on when it is called again with the same
folder. Every reachable page has to be fetched, or missing for a reason that has a name: sites in several runs add up in
bench/results/docs_crawl.json, and the exit status is 1 if a page is missing without a reason.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from doc_packages import fetch_packages
from docs_server import StaticServer
from docs_truth import SiteTruth, address_of, find_truth
from record import RESULTS, save


class DocSite(NamedTuple):
    """One site: a package, and the folder in it that is served."""

    package: str
    folder: str
    start: str = "/"


SITES = {
    "python": DocSite("python3.11-doc", "usr/share/doc/python3.11/html"),
    "postgresql": DocSite("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html"),
    "openjdk": DocSite("openjdk-17-doc", "usr/share/doc/openjdk-17-jre-headless"),
    "rust": DocSite("rust-doc", "usr/share/doc/rust-doc/html"),
}


class CrawledSite(NamedTuple):
    """What a crawl has done; URLs are by path and query."""

    statistics: Any
    seconds: float
    records: dict[str, Any]
    held: dict[str, str]
    """URLs that are held back, and why."""


def crawl(host: str, start: str, port: int, folder: Path, minutes: float = 0.0) -> CrawledSite | None:
    """Crawl a site; return None if the time was over before the crawl was."""
    from periplus.crawl import Crawler
    from periplus.crawl.inspection.url_lookup import load_frontier, read_snapshots
    from periplus.crawl.regions.regions import RegionTable
    from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings
    from periplus.store import PageStore

    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1:{port} {host}\n")
    settings = Settings(
        fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(hosts)),
        frontier=FrontierSettings(delay=0, max_delay=0, retries=2),
        crawl=CrawlSettings(scope="host", pages=1_000_000, host_pages=1_000_000, minutes=minutes),
    )
    began = time.monotonic()
    statistics = Crawler(folder / "data", settings, [f"http://{host}{start}"]).run()
    earlier = folder / "seconds"
    seconds = time.monotonic() - began + (float(earlier.read_text()) if earlier.is_file() else 0.0)
    earlier.write_text(str(seconds))
    if statistics.waiting:
        print(f"{host}: {statistics.pages:,} pages so far, {statistics.waiting:,} URLs wait", flush=True)
        return None
    with PageStore.open(folder / "data" / "store", settings.store) as store:
        records = {address_of(record.url): record for record in store.records()}
    held: dict[str, str] = {}
    for directory, snapshot in read_snapshots(folder / "data"):
        reasons = {region.region: region.reason for region in RegionTable(snapshot.regions).held()}
        table, frontier = RegionTable(snapshot.regions), load_frontier(directory, snapshot, settings)
        for _, urls in frontier.held_urls():
            held |= {address_of(url): reasons.get(table.region_of(url), "its region") for url in urls}
        frontier.close()
    return CrawledSite(statistics, seconds, records, held)


def find_reason(path: str, truth: SiteTruth, site: CrawledSite, fetched: dict[str, str]) -> str:
    """Return why a reachable page is missing; '' if there is no reason."""
    record = site.records.get(path)
    if record is not None:
        return f"outcome {record.outcome.value}"
    if path in site.held:
        return f"held back: {site.held[path]}"
    twin = fetched.get(truth.pages[path].body)
    if twin is not None:
        return "its bytes were fetched under another URL"
    parents = truth.pages[path].parent
    if parents in site.held:
        return "only pages that are held back link to it"
    parent = site.records.get(parents)
    if parent is not None and parent.page is not None and parent.page.nofollow:
        return "its parent asks not to follow links"
    return ""


def compare(host: str, truth: SiteTruth, site: CrawledSite) -> dict[str, Any]:
    """Return the figures of one site."""
    from periplus.records import Outcome

    statistics, records = site.statistics, site.records
    good = {path for path, record in records.items() if record.outcome is Outcome.OK}
    fetched = {truth.pages[path].body: path for path in truth.pages if path in good}
    missing = {path: find_reason(path, truth, site, fetched) for path in truth.pages if path not in good}
    reasons = Counter(reason for reason in missing.values() if reason)
    unnamed = [path for path, reason in missing.items() if not reason]
    html = {path for path in good if records[path].page is None or records[path].page.kind == "text/html"}
    return {
        "site": host,
        "reachable": len(truth.pages),
        "fetched": len(truth.pages) - len(missing),
        "copies": sum(bool(records[path].duplicate_of) for path in truth.pages if path in good),
        "truncated": sum(records[path].truncated for path in truth.pages if path in good),
        "missing": dict(reasons),
        "unnamed": len(unnamed),
        "unnamed_examples": [(path, truth.pages[path].parent) for path in unnamed[:10]],
        "held_back": statistics.held,
        "behind_limits": statistics.behind,
        "cuts": [cut.text for cut in statistics.cuts],
        "not_in_truth": len(html - truth.pages.keys()),
        "not_in_truth_examples": sorted(html - truth.pages.keys())[:10],
        "errors": statistics.errors,
        "other_addresses": dict(Counter(truth.others.values())),
        "requests": statistics.fetched,
        "seconds": round(site.seconds, 1),
    }


def main() -> int:
    """Crawl the sites, print and save the figures; return 1 if a page is missing without a reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SITES), help="sites, with commas between them")
    parser.add_argument("--keep", type=Path, help="keep the data folders here")
    parser.add_argument("--minutes", type=float, default=0.0, help="end after so long, to go on in another run")
    parser.add_argument("--truth", action="store_true", help="find the truth only, which is cached")
    options = parser.parse_args()
    cache = fetch_packages([site.package for site in SITES.values()])
    wanted = {name: SITES[name] for name in options.only.split(",")}
    server = StaticServer({f"{name}.test": cache / site.package / site.folder for name, site in wanted.items()})
    file = RESULTS / "docs_crawl.json"
    rows = {row["site"]: row for row in json.loads(file.read_text("utf-8"))["figures"]} if file.is_file() else {}
    try:
        for name, site in wanted.items():
            began = time.monotonic()
            truth = find_truth(f"{name}.test", server.port, site.start, cache, options.minutes * 60)
            if truth is None:
                print(f"{name}: the walk goes on in the next run", flush=True)
                continue
            print(f"{name}: {len(truth.pages):,} pages can be reached ({time.monotonic() - began:.0f} s)", flush=True)
            if options.truth:
                continue
            folder = options.keep / name if options.keep else Path(tempfile.mkdtemp(prefix="docs-crawl-"))
            folder.mkdir(parents=True, exist_ok=True)
            try:
                crawled = crawl(f"{name}.test", site.start, server.port, folder, options.minutes)
            finally:
                if options.keep is None:
                    shutil.rmtree(folder)
            if crawled is None:
                continue
            rows[name] = compare(name, truth, crawled)
            print(json.dumps(rows[name], indent=1), flush=True)
            save("docs_crawl", [rows[site] for site in SITES if site in rows])
    finally:
        server.close()
    for row in rows.values():
        share = row["fetched"] / max(1, row["reachable"])
        print(
            f"{row['site']:<11}{row['fetched']:>7,} of {row['reachable']:>7,} pages ({share:.2%}), "
            f"{sum(row['missing'].values()):,} missing for a reason {row['missing']}, {row['unnamed']:,} without one"
        )
    return 1 if any(row["unnamed"] for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
