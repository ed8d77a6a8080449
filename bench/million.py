"""A million documents: build, check, search, serve; time and memory of each (T4, T12, T13).

python bench/million.py [--documents N] [--words N] [--workers N] [--keep FOLDER] [--built] [--corpus FILE]

Documents are generated, or they are the passages of a corpus. Generated words are of no language, and are taken for
those of many: a word has a form for each of them, which real text does not have. So both are measured.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from corpus import Passage, make_passages, make_queries, read_passages, read_queries, tokenise
from figures import folder_bytes
from own_memory import OwnMemory
from peers.ours import page_visits
from periplus.index import Index, build_index, check_index
from periplus.settings import IndexSettings, Settings
from record import save
from whole_path import search_all, serve

_TURNS = 6
"""Times that each query is asked; the least counts, since other programs of the machine delay most of them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=60, help="longest document, in words; the shortest is half of it")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--memory-mb", type=int, default=IndexSettings().memory_mb)
    parser.add_argument("--keep", type=Path, help="use this folder, and leave it there")
    parser.add_argument("--built", action="store_true", help="search and serve the index that --keep left, only")
    parser.add_argument(
        "--corpus", type=Path, help="JSONL of {id, url, title, text}, plain, .gz or .zst, cut into passages"
    )
    parser.add_argument("--queries", type=Path, help="JSONL of {query, tags} for it")
    options = parser.parse_args()
    if bool(options.corpus) != bool(options.queries):
        parser.error("--corpus and --queries go together")
    name = "million_corpus" if options.corpus else "million"
    if options.built:
        figures = ask(options.keep, Settings(folder=str(options.keep)), options)
        save(f"{name}_asked", {"documents": options.documents, "words_most": options.words} | figures)
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options.keep or Path(folder), options)
    save(name, figures)


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    settings = Settings(folder=str(folder), index=IndexSettings(memory_mb=options.memory_mb, workers=options.workers))
    visits = page_visits(islice(_passages(options), options.documents))
    with OwnMemory() as memory:
        began = time.perf_counter()
        counted = build_index(visits, folder / "index", settings.index)
        built = time.perf_counter() - began
    figures: dict[str, Any] = {
        "documents": counted.documents,
        "words_most": options.words,
        "workers": options.workers,
        "build_seconds": round(built, 1),
        "build_memory_mb": round(_peak_mb()),
        "build_own_mb": round(memory.peak_mb),
        "index_mb": round(folder_bytes(folder / "index") / 1e6),
        "segments": len(Index.open(folder / "index", verify=False).segments),
    }
    print(
        f"build: {counted.documents:,} documents in {built:.0f} s, making them included; "
        f"{figures['segments']} segments, {figures['index_mb']} MB, peak memory {figures['build_memory_mb']} MB, "
        f"{figures['build_own_mb']} MB not mapped from files",
        flush=True,
    )
    began = time.perf_counter()
    faults = check_index(folder / "index")
    figures |= {"check_seconds": round(time.perf_counter() - began, 1), "faults": len(faults)}
    print(f"check: {figures['faults']} faults, {figures['check_seconds']} s", flush=True)
    return figures | ask(folder, settings, options)


def ask(folder: Path, settings: Settings, options: argparse.Namespace) -> dict[str, Any]:
    """Search the index, and serve it."""
    generated = make_passages(options.words)
    asked = read_queries(options.queries) if options.queries else make_queries(_tokens(islice(generated, 5_000)))
    figures = search_all(folder, settings, asked, 2 * _TURNS)
    figures |= serve(folder, asked)
    print(
        f"search: words to hits with titles and snippets, p50 {figures['p50_ms']} ms, p99 {figures['p99_ms']} ms; "
        f"of the core p50 {figures['cpu_p50_ms']} ms, p99 {figures['cpu_p99_ms']} ms\n"
        f"serve: first answer after {figures['start_seconds']} s ({figures['start_cpu_seconds']} s of a core), "
        f"{figures['start_memory_mb']} MB resident then, {figures['memory_mb']} MB "
        f"after {figures['served']:,} queries"
    )
    return figures


def _passages(options: argparse.Namespace) -> Iterator[Passage]:
    return read_passages(options.corpus, options.words) if options.corpus else make_passages(options.words)


def _tokens(passages: Iterable[Passage]) -> list[str]:
    return list(tokenise(passage.text for passage in passages))


def _peak_mb() -> float:
    """Return the peak memory of this process or of its largest child."""
    own, others = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(own, others) * 1024 / 1e6


if __name__ == "__main__":
    main()
