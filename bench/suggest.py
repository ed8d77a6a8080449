"""Completions at a million entries: what one costs, typed right and with a letter amiss, and how soon they are there.

.venv/bin/python bench/suggest.py [--entries 1000000] [--asked 3000]

Titles are made of words by Zipf's law, all different, and indexed as pages with hardly any text and ranks by a power
law. Beginnings of titles are asked at every length from two letters on, as somebody types them; then with one letter
amiss. Costs are processor time of `Searcher.suggest`, all of it.
"""

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import misspellings
import record
from corpus import make_passages
from periplus.hashing import fingerprint_text
from periplus.index import build_index
from periplus.records import FetchRecord, Outcome, Page
from periplus.search import Searcher
from periplus.settings import Settings


class Ranks:
    """Static ranks by a power law, and no links."""

    def static_ranks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """Return a rank derived from the key."""
        return ((keys % np.uint64(65_521)).astype(np.float32) / 65_521) ** 4

    def flags(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
        """Warn of nothing."""
        return np.zeros(len(keys), np.uint16)

    def anchors(self, key: int) -> str:
        """Return nothing."""
        return ""

    def representatives(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Return every page as its own representative."""
        return keys


def make_titles(count: int) -> Iterator[str]:
    """Make different titles of two to six words."""
    chance, seen = random.Random(2026), set[str]()
    for passage in make_passages(200):
        words = passage.text.split()
        for at in range(0, len(words) - 6, 6):
            title = " ".join(words[at : at + chance.randint(2, 6)]).capitalize()
            if title not in seen:
                seen.add(title)
                yield title
                if len(seen) == count:
                    return


def make_pages(titles: list[str]) -> Iterator[FetchRecord]:
    """Make a page of each title."""
    for number, title in enumerate(titles):
        url = f"https://site{number % 20_000}.example/{number}"
        page = Page(url, title=title, text=title, language="en")
        yield FetchRecord(url, fingerprint_text(url), Outcome.OK, 0.0, 200, page=page)


def measure(searcher: Searcher, beginnings: list[str]) -> dict[str, float]:
    """Ask for completions; give quantiles of microseconds, and the share that gave any."""
    for typed in beginnings[:50]:
        searcher.suggest(typed)
    seconds, given = [], 0
    for typed in beginnings:
        began = time.thread_time()
        found = searcher.suggest(typed)
        seconds.append(time.thread_time() - began)
        given += bool(found)
    ordered = sorted(seconds)
    places = {"p50_us": 0.5, "p99_us": 0.99, "p999_us": 0.999}
    figures = {name: round(1e6 * ordered[int(share * len(ordered))], 1) for name, share in places.items()}
    return {**figures, "answered": round(given / len(beginnings), 4)}


def main() -> None:
    """Make titles, index, ask, print, record."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entries", type=int, default=1_000_000)
    options.add_argument("--asked", type=int, default=3_000)
    given = options.parse_args()
    titles = list(make_titles(given.entries))
    with tempfile.TemporaryDirectory(prefix="periplus-suggest-") as scratch:
        folder = Path(scratch)
        built = build_index(make_pages(titles), folder / "index", Settings().index, Ranks())
        began = time.perf_counter()
        searcher = Searcher.open(folder, Settings())
        opened = time.perf_counter() - began
        began = time.perf_counter()
        searcher.suggest(titles[0][:4])
        first = time.perf_counter() - began
        figures: dict[str, Any] = {
            "entries": len(titles),
            "segments": built.segments,
            "build_seconds": round(built.seconds),
        }
        figures |= {"open_seconds": round(opened, 2), "first_ms": round(1000 * first, 2)}
        figures["words_file_mb"] = round(sum(f.stat().st_size for f in folder.rglob("words.arrays")) / 1e6, 1)
        chance = random.Random(7)
        chosen = [chance.choice(titles).lower() for _ in range(given.asked)]
        typed = [title[: chance.randint(2, min(20, len(title)))] for title in chosen]
        figures["beginnings"] = measure(searcher, typed)
        long = [title[: chance.randint(5, 20)] for title in chosen]
        amiss = [misspellings.misspell(title, chance.choice(misspellings.KINDS[:5]), chance) for title in long]
        figures["one_letter_amiss"] = measure(searcher, amiss)
        opened_now = searcher._session
        assert opened_now is not None
        opened_now.suggester.ready()
    figures["memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
    print(json.dumps(figures, indent=1))
    record.save("suggest", figures)
    right, wrong = figures["beginnings"], figures["one_letter_amiss"]
    print(
        f"completions of {len(titles):,} entries: p50 {right['p50_us']:.0f} us, p99 {right['p99_us']:.0f} us; "
        f"one letter amiss p50 {wrong['p50_us']:.0f} us, p99 {wrong['p99_us']:.0f} us"
    )


if __name__ == "__main__":
    main()
