"""Rules inside retrieval: what blocking a thousand hosts costs a query, and whether ten results stay ten.

    python bench/rules.py [--folder FOLDER] [--documents N] [--hosts N] [--blocked N] [--queries N] [--rounds N]

Pages of simplewiki_entity get one of --hosts hosts each, by their fingerprints. Four rule sets are compared with none:
hosts that are blocked, the same with as many that are raised and lowered, a Goggles file of patterns, and regular
expressions. Queries run in turn with each set, so that whatever else the machine does falls on all of them; each query
begins with another set, since later ones find warm caches. Each query is one call of the searcher, from words to a
result page; what rules make of a segment is resolved before, and timed.
Times are those of the processor, the least of all rounds for each query: they do not depend on what else runs.
"""

import argparse
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from clients import percentile
from periplus.evaluate import read_documents
from periplus.hashing import fingerprint_text
from periplus.index import build_index
from periplus.records import FetchRecord, Query
from periplus.result_rules import RuleStore, forget_resolved
from periplus.search import Searcher
from periplus.settings import SearchSettings, Settings
from query_turns import rotate
from record import save

DATA = Path(__file__).parents[2] / "shared" / "data"
SETTINGS = msgspec.structs.replace(Settings(), search=SearchSettings(budget_ms=600_000))
SIZE = 10


def read_pages(most: int, hosts: int) -> list[FetchRecord]:
    """Return pages, each of a host by its fingerprint."""
    pages = []
    for item in itertools.islice(
        read_documents(DATA / "ir" / "simplewiki_entity" / "docs.jsonl.zst", []), most or None
    ):
        assert item.page is not None
        url = f"https://h{item.key % hosts}.test/wiki/{item.url.rpartition('/')[2]}"
        page = msgspec.structs.replace(item.page, url=url)
        pages.append(msgspec.structs.replace(item, url=url, key=fingerprint_text(url), page=page))
    return pages


def read_queries(count: int) -> list[str]:
    """Return queries of the log: words of people, without operators."""
    lines = (DATA / "queries" / "search-benchmark-game.jsonl").read_text("utf-8").splitlines()
    words = [json.loads(line)["query"] for line in lines]
    return [text for text in dict.fromkeys(words) if text.isascii() and not set(text) & set('"+-*:')][:count]


def rule_sets(blocked: int) -> dict[str, str]:
    """Return the rule sets that are compared, by name."""
    block = "\n".join(f"*://*.h{number}.test/*" for number in range(blocked))
    moved = "\n".join(
        f"raise h{number}.test 4\nlower h{number + blocked}.test 4" for number in range(blocked, 2 * blocked)
    )
    patterns = "! name: patterns\n" + "\n".join(f"/wiki/{number:04}*$discard" for number in range(500, 1000))
    patterns += "\n" + "\n".join(f"$downrank=2,site=h{number}.test" for number in range(blocked))
    expressions = "\n".join(f"/h{number}\\.test\\/wiki\\/[0-9]*7$/" for number in range(100))
    return {
        "blocked hosts": block,
        "blocked, raised and lowered hosts": f"{block}\n{moved}",
        "patterns": patterns,
        "regular expressions": expressions,
    }


def run(searcher: Searcher, words: str, ids: Sequence[str]) -> tuple[float, list[str], int]:
    """Return the seconds of a core that a query took, the hosts of its results, and how many pages match."""
    began = time.thread_time()
    page = searcher.search(Query(words, size=SIZE, rules=tuple(ids)))
    return time.thread_time() - began, [hit.url.split("/")[2] for hit in page.hits], page.total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the index is, or is built")
    parser.add_argument("--documents", type=int, default=60_000)
    parser.add_argument("--hosts", type=int, default=5_000)
    parser.add_argument("--blocked", type=int, default=1_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.folder or Path(temporary)
        if not (folder / "index" / "manifest.json").exists():
            build_index(read_pages(options.documents, options.hosts), folder / "index", SETTINGS.index)
        measure(folder, options)


def measure(folder: Path, options: argparse.Namespace) -> None:
    """Run all queries with all rule sets; print and record the figures."""
    searcher, store = Searcher.open(folder, SETTINGS), RuleStore(folder)
    queries = read_queries(options.queries)
    ids = {"none": ()} | {name: (store.add(text, name=name).id,) for name, text in rule_sets(options.blocked).items()}
    blocked = {f"h{number}.test" for number in range(options.blocked)}
    resolved: dict[str, float] = {}
    for name, own in ids.items():
        run(searcher, queries[0], own)
        forget_resolved()
        resolved[name] = (
            run(searcher, queries[0], own)[0] - min(run(searcher, queries[0], own)[0] for _ in range(3))
        ) * 1000
    best: dict[str, dict[str, float]] = {name: {} for name in ids}
    short, leaked, full = dict.fromkeys(ids, 0), 0, 0
    for turn in range(options.rounds):
        for number, words in enumerate(queries):
            for name, own in rotate(list(ids.items()), turn + number):
                seconds, hosts, total = run(searcher, words, own)
                best[name][words] = min(seconds, best[name].get(words, seconds))
                short[name] += len(hosts) < min(SIZE, total) and total >= 5 * SIZE
                leaked += name.startswith("blocked") and bool(blocked & set(hosts))
                full += name == "none" and len(hosts) == SIZE
    figures: dict[str, Any] = {"documents": searcher.statistics().documents, "queries": len(queries), "sets": {}}
    plain = statistics.median(best["none"].values())
    for name, times in best.items():
        p50 = statistics.median(times.values())
        figures["sets"][name] = {
            "p50_ms": round(p50 * 1000, 3),
            "p99_ms": percentile(sorted(times.values()), 0.99),
            "p50_growth_percent": round((p50 / plain - 1) * 100, 1),
            "resolved_ms": round(resolved[name], 1),
            "pages_of_less_than_ten": short[name],
        }
        print(name, figures["sets"][name])
    figures["results_of_blocked_hosts"] = leaked
    figures["full_pages_without_rules"] = full
    print("results of blocked hosts:", leaked, "  full pages without rules:", full)
    print(save("rules", figures))


if __name__ == "__main__":
    main()
