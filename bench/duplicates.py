"""Near-duplicates: simhashes of the fake web's pages, precision and recall of the pairs found at several distances.

.venv/bin/python bench/duplicates.py [PAGES] [HOSTS]
"""

import sys
import time
from collections import defaultdict
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

from periplus.fakeweb import FakeWeb, FakeWebPlan, GroundTruth
from periplus.parse import parse
from periplus.records import FetchRequest, FetchResult, Outcome, Page
from periplus.settings import ParseSettings
from periplus.text.kernels import simhash
from periplus.url import parse_address
from record import save

DISTANCES = (0, 1, 2, 3, 4, 6, 8, 10, 12, 16)


def read(web: FakeWeb, urls: list[str]) -> dict[str, Page]:
    """Read the pages as a crawl would, without sockets."""
    pages = {}
    for url in urls:
        target = parse_address(url)
        answer = web.response(target.host, target.path)
        headers = tuple((name.lower(), value) for name, value in answer.headers)
        page = parse(
            FetchResult(FetchRequest(target), Outcome.OK, 0.0, answer.status, headers, answer.body), ParseSettings()
        )
        if answer.status == 200 and page is not None:
            pages[url] = page
    return pages


def true_pairs(truth: GroundTruth, numbers: dict[str, int]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return the pairs of near-duplicates, and those of exact duplicates."""
    groups: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for url in numbers:
        original = truth.near_duplicates.get(url) or truth.duplicates.get(url) or url
        groups[original].append((numbers[url], "near" if url in truth.near_duplicates else "same"))
    near, same = set(), set()
    for group in groups.values():
        for (one, kind), (other, other_kind) in combinations(sorted(group), 2):
            (same if kind == other_kind == "same" else near).add((one, other))
    return near, same


def texts_of(pages: dict[str, Page], which: str) -> list[bytes]:
    if which == "all text":
        return [page.text.encode() for page in pages.values()]
    return [main_text(page).encode() for page in pages.values()]


def main_text(page: Page) -> str:
    spans = zip(page.main[::2], page.main[1::2], strict=True)
    return "\n".join(page.text[begin:end] for begin, end in spans) or page.text


def measure(texts: list[bytes], near: set[tuple[int, int]], same: set[tuple[int, int]]) -> list[dict[str, float]]:
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=bounds[1:])
    data = np.frombuffer(b"".join(texts), np.uint8)
    began = time.perf_counter()
    hashes = simhash.simhashes(data, bounds)
    speed = len(data) / (time.perf_counter() - began) / 1e6
    rows = []
    for distance in DISTANCES:
        began = time.perf_counter()
        pairs = simhash.near_pairs(hashes, distance)
        seconds = time.perf_counter() - began
        # Pairs of the very same bytes are known by their fingerprint: they are neither found nor missed here.
        found = {(int(a), int(b)) for a, b in pairs} - same
        right = len(found & near)
        precision, recall = right / max(1, len(found)), right / max(1, len(near))
        rows.append({"distance": distance, "pairs": len(found), "precision": precision, "recall": recall})
        rows[-1] |= {"f1": 2 * precision * recall / max(1e-9, precision + recall), "lookup_ms": seconds * 1e3}
        rows[-1]["hash_mb_s"] = speed
    return rows


def main(pages: int, hosts: int) -> None:
    web = FakeWeb(FakeWebPlan(seed=7, hosts=hosts, pages=pages))
    truth = web.truth()
    urls = [page.url for page in truth.pages] + list(truth.near_duplicates) + list(truth.duplicates)
    read_pages = read(web, list(dict.fromkeys(urls)))
    numbers = {url: number for number, url in enumerate(read_pages)}
    near, same = true_pairs(truth, numbers)
    print(f"{len(read_pages):,} pages, {len(near):,} near pairs, {len(same):,} pairs of the same bytes")
    simhash.warm()
    figures = {"pages": len(read_pages), "near_pairs": len(near), "same_pairs": len(same)}
    for which in ("all text", "main content"):
        rows = figures[which] = measure(texts_of(read_pages, which), near, same)
        print(f"\n{which:<14}{'pairs':>8}{'precision':>11}{'recall':>9}{'F1':>8}{'look-up ms':>12}")
        for row in rows:
            print(
                f"  within {row['distance']:>3}  {row['pairs']:>8,}{row['precision']:>11.3f}{row['recall']:>9.3f}"
                f"{row['f1']:>8.3f}{row['lookup_ms']:>12.1f}"
            )
    best = max((row["f1"], which, row["distance"]) for which in ("all text", "main content") for row in figures[which])
    print(f"\nbest F1 {best[0]:.3f} ({best[1]}, {best[2]} bits)   ({save('duplicates', figures).name})")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["3000"])[0]), int((sys.argv[2:] or ["60"])[0]))
