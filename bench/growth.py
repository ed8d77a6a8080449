"""How building, size, memory and query times grow with the number of short documents: a table with exponents.

python bench/growth.py [--sizes 1000000,5000000,20000000] [--words 24] [--memory-mb 512] [--scratch FOLDER] [--try]

Every size is generated, built, searched and served in a process of its own, and deleted before the next.
"""

import argparse
import multiprocessing
import shutil
import tempfile
from pathlib import Path
from typing import Any

from figures import exponent
from million import measure
from periplus.settings import IndexSettings
from record import save

_FREE_BYTES = 700
"""Disk space for a document while it is built: text, tokens and the finished index."""
_ROWS = {
    "build_seconds": "build, generation included, s",
    "build_own_mb": "own memory of the build, MB",
    "index_mb": "index with stored text, MB",
    "segments": "segments",
    "check_seconds": "check, s",
    "p50_ms": "query, p50, ms",
    "p99_ms": "query, p99, ms",
    "cold_p50_ms": "never asked before, p50, ms",
    "cold_p99_ms": "never asked before, p99, ms",
    "start_seconds": "start to the first answer, s",
    "start_memory_mb": "memory at the first answer, MB",
    "memory_mb": "memory after all queries, MB",
}


def measure_size(documents: int, words: int, memory_mb: int, scratch: Path) -> dict[str, Any]:
    """Return the figures of one size; what was made is deleted."""
    free = shutil.disk_usage(scratch).free
    if free < documents * _FREE_BYTES:
        raise SystemExit(f"{documents:,} documents need {documents * _FREE_BYTES / 1e9:.0f} GB of disk in {scratch}.")
    options = argparse.Namespace(
        documents=documents, words=words, workers=1, memory_mb=memory_mb, corpus=None, queries=None
    )
    with tempfile.TemporaryDirectory(prefix="periplus-growth-", dir=scratch) as folder:
        return measure(Path(folder), options)


def growth_table(measured: list[dict[str, Any]]) -> str:
    """Return the figures of all sizes as a Markdown table, with the exponent of each."""
    sizes = [figures["documents"] for figures in measured]
    lines = [
        "| documents | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent |",
        "|---" * (len(sizes) + 2) + "|",
    ]
    for name, label in _ROWS.items():
        values = [figures[name] for figures in measured]
        slope = exponent(sizes, values)
        lines.append(f"| {label} | " + " | ".join(f"{value:,}" for value in values) + f" | {slope:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000000,5000000,20000000")
    parser.add_argument("--words", type=int, default=24, help="longest document, in words; the shortest is half of it")
    parser.add_argument("--memory-mb", type=int, default=IndexSettings().memory_mb)
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--try", action="store_true", dest="trying", help="print the figures, but keep none")
    options = parser.parse_args()
    measured = []
    for size in sorted(map(int, options.sizes.split(","))):
        print(f"{size:,} documents", flush=True)
        with multiprocessing.get_context("spawn").Pool(1) as process:
            arguments = size, options.words, options.memory_mb, options.scratch
            measured.append(process.apply(measure_size, arguments))
        print(growth_table(measured), flush=True)
        if not options.trying:
            save("growth", {"words_most": options.words, "memory_mb": options.memory_mb, "sizes": measured})


if __name__ == "__main__":
    main()
