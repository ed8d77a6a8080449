"""How soon is a page found after it was given to a live index? Target T11: 1 s, goal 200 ms.

    python bench/live.py [--documents N] [--pages N]

One thread feeds pages of a generated corpus at a steady rate, so that publishing and merging go on; every page that is
measured holds a word of its own, and another thread asks for that word, through the searcher, until it is found. The
very first page is told apart: it waits until the compiled kernels are loaded.
"""

import argparse
import statistics
import tempfile
import threading
import time
from itertools import islice
from pathlib import Path

from corpus import Passage, make_passages
from peers.ours import page_visits
from periplus.index import LiveIndex, build_index
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import Settings
from record import save


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--rate", type=float, default=50.0, help="other pages a second meanwhile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        figures = measure(Path(name), options.documents, options.pages, options.rate)
    save("live", figures)
    print(
        f"page found after: median {figures['median_ms']:.0f} ms, p95 {figures['p95_ms']:.0f} ms, "
        f"worst {figures['worst_ms']:.0f} ms, the very first {figures['first_ms']:.0f} ms "
        f"({options.pages} pages, beside {figures['documents']:,} documents)"
    )


def measure(folder: Path, documents: int, pages: int, rate: float) -> dict[str, float]:
    settings = Settings()
    build_index(page_visits(islice(make_passages(100, seed=1), documents)), folder / "index", settings.index)
    seconds = []
    with LiveIndex(folder / "index", settings.index) as live:
        searcher = Searcher.open(folder, settings)
        ended = threading.Event()
        other = threading.Thread(target=_feed, args=(live, ended, rate))
        other.start()
        try:
            for number in range(-1, pages):
                word = f"zq{number}mark"
                began = time.perf_counter()
                page = Passage(f"https://fresh.example/{number}", f"Page {number}", f"one fresh {word} page")
                live.add(*page_visits([page]))
                while not searcher.search(Query(word, verbatim=True)).hits:
                    searcher.refresh()
                    time.sleep(0.002)
                seconds.append(time.perf_counter() - began)
                time.sleep(0.05)
        finally:
            ended.set()
            other.join()
        segments = len(live.manifest.segments)
    first, *seconds = seconds
    seconds.sort()
    return {
        "documents": documents,
        "pages": pages,
        "other_pages_per_second": rate,
        "median_ms": statistics.median(seconds) * 1000,
        "p95_ms": seconds[int(len(seconds) * 0.95)] * 1000,
        "worst_ms": seconds[-1] * 1000,
        "first_ms": first * 1000,
        "segments": segments,
    }


def _feed(live: LiveIndex, ended: threading.Event, rate: float) -> None:
    for visit in page_visits(make_passages(100, seed=2)):
        if ended.wait(1 / rate):
            return
        live.add(visit)


if __name__ == "__main__":
    main()
