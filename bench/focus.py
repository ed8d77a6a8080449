"""How much of a focused crawl is about its topic, beside the same crawl without a topic, on the fake web.

.venv/bin/python bench/focus.py [--hosts 200] [--pages 8000] [--fetch 600] [--seeds 3]
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import msgspec
import numpy as np

from periplus.crawl import Crawler
from periplus.fakeweb import FakeWeb, FakeWebPlan, run_in_process
from periplus.records import LIST_KIND
from periplus.settings import Settings
from periplus.store import PageStore
from record import save

TOPICS = {
    "lighthouses": "lighthouse lamp keeper",
    "bees": "bees hive honey",
    "railways": "railway locomotive signal",
    "cheese": "cheese rind milk",
    "volcanoes": "volcano lava crater",
}
MARKS = (0.25, 0.5, 1.0)


def crawl(web: FakeWeb, plan: FakeWebPlan, most: int, change: dict[str, Any]) -> tuple[list[str], float]:
    """Crawl and give the URLs of pages in the order in which they came, and the processor's seconds."""
    with (
        tempfile.TemporaryDirectory(prefix="periplus-focus-") as place,
        run_in_process(plan, Path(place) / "hosts") as server,
    ):
        settings = Settings()
        settings = msgspec.structs.replace(
            settings,
            fetch=msgspec.structs.replace(
                settings.fetch, allow=("127.0.0.0/8",), hosts_file=str(Path(place) / "hosts"), connections=16
            ),
            frontier=msgspec.structs.replace(settings.frontier, delay=0.0, delay_factor=0.0),
            crawl=msgspec.structs.replace(settings.crawl, pages=most, scope="web"),
            focus=msgspec.structs.replace(settings.focus, **change),
        )
        began = time.process_time()
        Crawler(Path(place) / "data", settings, server.seeds).run()
        seconds = time.process_time() - began
        with PageStore.open(Path(place) / "data" / "store", settings.store) as store:
            visits = [visit for visit in store.records(0) if visit.page is not None and visit.page.kind != LIST_KIND]
        return [visit.url for visit in visits], seconds


def curve(urls: list[str], right: set[str], most: int) -> np.ndarray[Any, Any]:
    """Return how many of the first n pages were about the topic, for every n."""
    hits = np.cumsum([url in right for url in urls[:most]])
    return (
        hits if len(hits) == most else np.concatenate([hits, np.full(most - len(hits), hits[-1] if len(hits) else 0)])
    )


def draw(name: str, values: np.ndarray[Any, Any], most: int) -> str:
    """Draw a curve as one line of blocks: the share of the pages in each twentieth that were right."""
    parts = np.diff(np.concatenate([[0], values[np.linspace(0, most - 1, 21).astype(int)[1:]]]))
    shares = parts / (most / 20)
    return f"    {name:<15}" + "".join("▁▂▃▄▅▆▇█"[min(7, int(share * 8))] for share in shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pages", type=int, default=8_000)
    parser.add_argument("--fetch", type=int, default=600)
    parser.add_argument("--seed", type=int, default=23)
    parser.add_argument("--topics", default=",".join(TOPICS))
    given = parser.parse_args()
    plan = FakeWebPlan(given.seed, given.hosts, given.pages)
    web = FakeWeb(plan)
    truth = web.truth()
    plain, plain_seconds = crawl(web, plan, given.fetch, {})
    rows: list[dict[str, Any]] = []
    print(
        f"{len(truth.pages):,} pages of {given.hosts} hosts; {given.fetch} fetched; one crawl without a topic for all"
    )
    for topic in given.topics.split(","):
        right = {page.url for page in truth.pages if page.topic == topic}
        local = web.locality(topic)
        print(
            f"{topic}: {len(right):,} pages are about it ({local.share:.1%} of articles); of the links of its articles "
            f"{local.all:.0%} lead to it, of those to other hosts {local.far:.0%}"
        )
        base = curve(plain, right, given.fetch)
        row: dict[str, Any] = {"topic": topic, "right": len(right), "locality": local._asdict()}
        ways = {"words": {"topic": TOPICS[topic]}, "three pages": {"pages": examples(truth, topic)}}
        print(draw("breadth-first", base, given.fetch))
        for name, change in ways.items():
            urls, seconds = crawl(web, plan, given.fetch, change)
            found = curve(urls, right, given.fetch)
            figures = [
                (
                    int(given.fetch * mark),
                    int(found[int(given.fetch * mark) - 1]),
                    int(base[int(given.fetch * mark) - 1]),
                )
                for mark in MARKS
            ]
            print(draw(name, found, given.fetch))
            times, cost = found[-1] / max(1, base[-1]), seconds / len(urls) * 1e3
            told = ", ".join(f"{ours} of {n} (breadth-first {theirs})" for n, ours, theirs in figures)
            print(f"    {name}: {told}; {times:.1f} times, {cost:.2f} ms a page")
            row[name] = {
                "harvest": figures,
                "times": float(times),
                "ms_per_page": cost,
                "curve": found[:: max(1, given.fetch // 60)].tolist(),
            }
        row["breadth_first_curve"] = base[:: max(1, given.fetch // 60)].tolist()
        rows.append(row)
    print(f"without a topic {plain_seconds / len(plain) * 1e3:.2f} ms a page (processor time)")
    for name in ("words", "three pages"):
        times = [row[name]["times"] for row in rows]
        print(f"{name}: {np.mean(times):.1f} times breadth-first on average, at least {min(times):.1f}")
    save(
        "focus",
        {
            "plan": {"hosts": given.hosts, "pages": given.pages, "seed": given.seed},
            "fetch": given.fetch,
            "plain_ms": plain_seconds / len(plain) * 1e3,
            "topics": rows,
        },
    )


def examples(truth: Any, topic: str) -> tuple[str, ...]:
    """Return three articles of a topic, from three hosts."""
    of_host: dict[str, str] = {}
    for page in truth.pages:
        if page.topic == topic and page.kind == "article":
            of_host.setdefault(page.url.split("/")[2], page.url)
    return tuple(list(of_host.values())[:3])


if __name__ == "__main__":
    main()
